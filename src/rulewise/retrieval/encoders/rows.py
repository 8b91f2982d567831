"""From a back end's vectors to the rows that the contract of encoders promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import EncoderError

__all__ = ["clean", "unit_rows"]


def clean(text: str) -> str:
    """The text with NUL characters made spaces and lone surrogates question marks, which every back end can take."""
    if "\0" in text:
        text = text.replace("\0", " ")
    return text.encode("utf-8", "replace").decode("utf-8") if _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def unit_rows(
    texts: Sequence[str],
    back_end: Callable[[list[str]], Any],
    *,
    name: str,
    batch: int,
    dim: int | None = None,
) -> NDArray[np.float32]:
    """Rows of length 1 in the texts' order, equal texts encoded once, blank texts a row of zeros.

    Args:
        texts: Any strings; see `clean`.
        back_end: Maps a list of at most `batch` non-blank texts to as many vectors.
        name: Who is to blame in messages.
        batch: Texts a call, at least 1.
        dim: Length of the vectors, or None to take it from the first reply. If it is None and no text can tell,
            the back end is asked for the vector of one letter.

    Raises:
        EncoderError: If the back end returns another number of vectors, another length, NaN or infinity.
    """
    cleaned = [clean(text) for text in texts]
    unique = list(dict.fromkeys(text for text in cleaned if text.strip()))
    if texts and not unique and dim is None:
        dim = _checked(back_end(["a"]), 1, None, name).shape[1]
    blocks: list[NDArray[np.float32]] = []
    for start in range(0, len(unique), batch):
        part = unique[start : start + batch]
        block = _checked(back_end(part), len(part), dim, name)
        dim = block.shape[1]
        blocks.append(block)
    rows = np.zeros((len(texts), dim or 0), dtype=np.float32)
    if blocks:
        known = np.concatenate(blocks)
        position = {text: at for at, text in enumerate(unique)}
        filled = [at for at, text in enumerate(cleaned) if text in position]
        rows[filled] = known[[position[cleaned[at]] for at in filled]]
    return rows


def _checked(vectors: Any, n: int, dim: int | None, name: str) -> NDArray[np.float32]:
    try:
        block = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise EncoderError(f"{name} returned vectors of unequal length, or no vectors ({exc}).") from exc
    if block.ndim != 2 or block.shape[0] != n or block.shape[1] == 0:
        raise EncoderError(f"{name} returned an array of shape {block.shape} for {n} texts; expected ({n}, dim).")
    if dim is not None and block.shape[1] != dim:
        raise EncoderError(
            f"{name} returned vectors of length {block.shape[1]}; expected {dim}. "
            "One index needs one model: if the endpoint changed its model, build the index anew."
        )
    if not np.isfinite(block).all():
        bad = int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
        raise EncoderError(f"{name} returned NaN or infinity for text {bad + 1} of a batch of {n}.")
    norms = np.linalg.norm(block, axis=1, keepdims=True)
    if not (norms > 0).all():
        bad = int(np.flatnonzero(norms[:, 0] == 0)[0])
        raise EncoderError(
            f"{name} returned a vector of zeros for text {bad + 1} of a batch of {n}, which is not blank."
        )
    unit: NDArray[np.float32] = (block / norms).astype(np.float32)
    return unit
