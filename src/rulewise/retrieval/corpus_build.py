"""How a corpus index is built: in steps that are kept, so that a build that was stopped goes on where it was.

The work lies in a hidden folder beside the index, `.NAME.build`, with a plan that says what is being built. Each step
is written whole before it counts as done: a column of texts, the postings of a block of documents, a block of vectors.
The folder becomes the index at the very end, so that readers see the index before or the one after.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.mapped import MappedTexts
from rulewise.errors import EncoderError, InputError
from rulewise.files import check_replaceable, dumps, parse_json, sha256_texts, write_text
from rulewise.retrieval.analyzers import Analyzer
from rulewise.retrieval.base import Encoder
from rulewise.retrieval.corpus_columns import sorted_positions
from rulewise.retrieval.corpus_folder import FORMAT, write_manifest
from rulewise.retrieval.corpus_sources import SOURCES
from rulewise.retrieval.corpus_terms import postings_of, save_postings, write_matrix
from rulewise.retrieval.index_folder import MANIFEST
from rulewise.retrieval.top import item_ids, item_texts
from rulewise.types import Document

__all__ = ["BuildPlan", "Progress", "build_folder", "plan_of", "work_folder"]

Progress = Callable[[str, int, int], None]
"""Called with a step ("texts", "terms", "scores", "vectors"), the documents done and the documents there are."""

_BLOCK = 1 << 14
_ENCODED_AT_ONCE = 1024
_DONE = "vectors.json"
_OPTIONAL = ("vectors.npy", "metadata.bin", "metadata.npy", SOURCES)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """What is built.

    Attributes:
        fingerprint: Of the corpus.
        n_documents: Documents in it.
        analyzer: What makes terms.
        k1: See `rulewise.retrieval.bm25.BM25`.
        b: See `rulewise.retrieval.bm25.BM25`.
        encoder: What makes vectors; None for an index without.
        encoder_spec: What `build_encoder` makes this encoder of; "" if that is not known.
    """

    fingerprint: str
    n_documents: int
    analyzer: Analyzer
    k1: float
    b: float
    encoder: Encoder | None
    encoder_spec: str

    @property
    def record(self) -> dict[str, Any]:
        """The plan as plain values; a build that was stopped goes on only under an equal one."""
        return {
            "format": FORMAT,
            "block": _BLOCK,
            "fingerprint": self.fingerprint,
            "n_documents": self.n_documents,
            "analyzer": self.analyzer.spec,
            "bm25": {"k1": self.k1, "b": self.b, "method": "lucene"},
            "encoder": None if self.encoder is None else self.encoder.name,
        }


def plan_of(
    corpus: Sequence[Document], *, analyzer: Analyzer, k1: float, b: float, encoder: Encoder | None, encoder_spec: str
) -> BuildPlan:
    """The plan for a corpus; its fingerprint is taken over all ids and texts."""
    fingerprint: str | None = getattr(corpus, "fingerprint", None)
    if fingerprint is None:
        pairs = zip(item_ids(corpus), item_texts(corpus), strict=True)
        fingerprint = sha256_texts(part for pair in pairs for part in pair)
    if encoder is not None and not encoder_spec and encoder.name.startswith("local:"):
        encoder_spec = "local"
    return BuildPlan(
        fingerprint=fingerprint,
        n_documents=len(corpus),
        analyzer=analyzer,
        k1=float(k1),
        b=float(b),
        encoder=encoder,
        encoder_spec=encoder_spec,
    )


def work_folder(out: Path) -> Path:
    """Where the work on an index lies until it is done."""
    return out.parent / f".{out.name}.build"


def build_folder(
    corpus: Sequence[Document],
    out: Path,
    plan: BuildPlan,
    *,
    created: str,
    sources: str = "",
    on_progress: Progress | None = None,
) -> None:
    """Build an index, with what is kept of its sources if anything, and put it in its place; the caller holds the lock.

    Raises:
        InputError: If there is something at `out` that is no index, or ids repeat.
        EncoderError: If the encoder fails.
    """
    if out.is_file() or (out.is_dir() and not (out / MANIFEST).is_file() and any(out.iterdir())):
        raise InputError(
            f"{out}: is there already and is no index, so it is not replaced. Choose another folder, or remove it."
        )
    work = work_folder(out)
    steps = work / "steps"
    plan_file = work / "plan.json"
    if not plan_file.is_file() or _json(plan_file) != plan.record:
        if work.exists():
            shutil.rmtree(work)
        steps.mkdir(parents=True)
        write_text(plan_file, json.dumps(plan.record) + "\n")

    def tell(step: str, done: int) -> None:
        if on_progress is not None:
            on_progress(step, done, plan.n_documents)

    made = work / "made"
    made.mkdir(exist_ok=True)
    _write_columns(corpus, made)
    tell("texts", plan.n_documents)
    n_terms, n_without = _write_terms(corpus, made, steps, plan, tell)
    dim = None if plan.encoder is None else _write_vectors(corpus, made, steps, plan.encoder, tell)
    manifest = {
        **{key: value for key, value in plan.record.items() if key not in ("format", "block", "encoder")},
        "encoder": None if plan.encoder is None else {"name": plan.encoder.name, "spec": plan.encoder_spec, "dim": dim},
        "created": created,
        "n_terms": n_terms,
        "n_without_terms": n_without,
    }
    (made / SOURCES).unlink(missing_ok=True)
    if sources:
        write_text(made / SOURCES, sources)
    write_manifest(made, manifest)
    _put(made, out)
    shutil.rmtree(work)


def _write_columns(corpus: Sequence[Document], made: Path) -> None:
    ids, texts = item_ids(corpus), item_texts(corpus)
    if not (made / "order.npy").is_file():
        order = sorted_positions(ids, name=str(getattr(corpus, "name", "corpus")))
        MappedTexts.write(made / "ids.bin", ids)
        _save(made / "order.npy", order)
    if not (made / "texts.bin").is_file():
        MappedTexts.write(made / "texts.bin", texts)
    # the fingerprint of the plan is of ids and texts, so metadata may have changed since a build was stopped
    metadata = made / "metadata.bin"
    metadata.unlink(missing_ok=True)
    if any(document.metadata for document in corpus):
        MappedTexts.write(metadata, (dumps(dict(d.metadata)) if d.metadata else "" for d in corpus))


def _write_terms(
    corpus: Sequence[Document], made: Path, steps: Path, plan: BuildPlan, tell: Callable[[str, int], None]
) -> tuple[int, int]:
    """Make the term matrix; the number of terms and of documents without any."""
    n = plan.n_documents
    texts = item_texts(corpus)
    vocabulary: dict[str, int] = {}
    blocks: list[Path] = []
    n_without = 0
    for first in range(0, n, _BLOCK):
        block, new = steps / f"{first}.npy", steps / f"{first}.json"
        if new.is_file():
            found = _json(new)
            for term in found["new"]:
                vocabulary[term] = len(vocabulary)
        else:
            postings = postings_of(texts[first : first + _BLOCK], first, vocabulary, plan.analyzer)
            save_postings(block, postings)
            found = {"new": postings.new, "n_without": int(np.count_nonzero(postings.lengths == 0))}
            # written last and whole: where it is, the postings are
            write_text(new, dumps(found))
        n_without += found["n_without"]
        blocks.append(block)
        tell("terms", min(n, first + _BLOCK))
    # the scores are quickly made, so they are made anew rather than kept in part
    MappedTexts.write(made / "terms.bin", vocabulary)
    done = 0

    def on_block(n_documents: int) -> None:
        nonlocal done
        done += n_documents
        tell("scores", done)

    write_matrix(made, blocks, len(vocabulary), k1=plan.k1, b=plan.b, on_block=on_block)
    return len(vocabulary), n_without


def _write_vectors(
    corpus: Sequence[Document], made: Path, steps: Path, encoder: Encoder, tell: Callable[[str, int], None]
) -> int:
    """Encode block by block; the length of the vectors."""
    texts, n = item_texts(corpus), len(corpus)
    file, record = made / "vectors.npy", steps / _DONE
    done = int(_json(record)["done"]) if record.is_file() and file.is_file() else 0
    tell("vectors", done)
    if not n:
        empty = encoder.encode([], role="document").astype(np.float32)
        _save(file, empty)
        return int(empty.shape[1])
    mapped: Any = np.load(file, mmap_mode="r+") if done else None
    for start, rows in _encoded(texts, done, encoder):
        if mapped is None:
            mapped = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=(n, rows.shape[1]))
        if rows.shape[1] != mapped.shape[1]:
            raise EncoderError(
                f"{encoder.name} gave vectors of length {rows.shape[1]} after others of length {mapped.shape[1]}. "
                "One index needs one model."
            )
        mapped[start : start + len(rows)] = rows
        mapped.flush()
        write_text(record, json.dumps({"done": start + len(rows)}))
        tell("vectors", start + len(rows))
    assert mapped is not None
    return int(mapped.shape[1])


def _encoded(texts: Sequence[str], done: int, encoder: Encoder) -> Iterator[tuple[int, NDArray[np.float32]]]:
    for start in range(done, len(texts), _ENCODED_AT_ONCE):
        part = list(texts[start : start + _ENCODED_AT_ONCE])
        yield start, encoder.encode(part, role="document").astype(np.float32, copy=False)


def _put(made: Path, out: Path) -> None:
    """Put a finished folder in its place; should this be stopped between two renames, the next build does the rest."""
    check_replaceable(out, {*(entry.name for entry in made.iterdir()), *_OPTIONAL})
    old = out.parent / f".{out.name}.old"
    if old.exists():
        shutil.rmtree(old)
    if out.exists():
        out.replace(old)
    try:
        made.replace(out)
    except BaseException:
        if old.exists() and not out.exists():
            old.replace(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _save(path: Path, array: NDArray[Any]) -> None:
    """Save an array under its name only when it is whole."""
    scratch = path.with_name(f"{path.name}.part")
    with scratch.open("wb") as out:
        np.save(out, array, allow_pickle=False)
    scratch.replace(path)


def _json(path: Path) -> Any:
    value: Mapping[str, Any] = parse_json(path.read_text(encoding="utf-8"))
    return value
