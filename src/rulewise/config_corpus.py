"""The documents that [rag] names: a saved index, or files, folders or a graph that are read and indexed now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rulewise.config_sections import RagConfig
from rulewise.errors import InputError

if TYPE_CHECKING:
    from rulewise.corpus.corpus import Corpus
    from rulewise.retrieval.base import Encoder
    from rulewise.retrieval.corpus_open import Searchable

__all__ = ["OnNote", "ReadCorpus", "is_built_index", "open_documents", "read_corpus"]

OnNote: TypeAlias = Callable[[str], None]
"""Called with a line for people: what was read and what was left out."""

_SHOWN = 20


class ReadCorpus(NamedTuple):
    """Documents, what was read and left out in a line, and the same as plain values."""

    corpus: Corpus
    summary: str
    report: dict[str, Any]


def read_corpus(
    paths: Sequence[Path],
    *,
    graph: bool = False,
    strict: bool = True,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    chunk_tokens: int = 200,
    overlap: int | None = None,
    on_note: OnNote | None = None,
) -> ReadCorpus:
    """The documents of files and folders, or of the facts of a graph, one a fact.

    Args:
        paths: The files and folders.
        graph: Whether they are of a graph.
        strict: Whether to stop at problems, or to leave out and count what has one.
        columns: See `rulewise.corpus.documents.read_documents`; not for a graph.
        encoding: Encoding of text files; None finds it. Not for a graph.
        chunk_tokens: The most tokens of a chunk.
        overlap: The most tokens that a chunk shares with the one before; None for a fifth of `chunk_tokens`.
        on_note: Told the first problems and the summary.

    Raises:
        FileFormatError: If something has a problem and `strict` is true.
        InputError: If there is no document, or columns or an encoding are given for a graph.
    """
    tell = on_note or (lambda line: None)  # noqa: ARG005
    read = (
        _read_graph(paths, strict=strict, columns=columns, encoding=encoding)
        if graph
        else _read_files(
            paths, strict=strict, columns=columns, encoding=encoding, chunk_tokens=chunk_tokens, overlap=overlap
        )
    )
    problems = read.report["problems"]
    for problem in problems[:_SHOWN]:
        tell(problem)
    if read.report["n_problems"] > _SHOWN:
        tell(f"... and {read.report['n_problems'] - _SHOWN} more problems")
    if not len(read.corpus):
        raise InputError(f"{', '.join(map(str, paths))}: holds no document. Read: {read.summary}.")
    tell(read.summary)
    return read


def _read_graph(
    paths: Sequence[Path], *, strict: bool, columns: Mapping[str, str] | None, encoding: str | None
) -> ReadCorpus:
    from rulewise.corpus.linearise import graph_corpus
    from rulewise.corpus.readers import read_graph

    if columns or encoding:
        raise InputError("Facts of a graph have subject, relation and object: no columns or encoding can be named.")
    found = read_graph(list(paths), strict=strict)
    corpus = graph_corpus(found.graph, name=", ".join(path.name for path in paths))
    report = {
        "documents": len(corpus),
        "facts": found.graph.n_facts,
        "lines": found.n_lines,
        "duplicates": found.graph.n_duplicates,
        "problems": list(found.problems),
        "n_problems": found.n_problems,
    }
    return ReadCorpus(corpus, f"{len(corpus):,} documents, one a fact; {found.summary()}", report)


def _read_files(
    paths: Sequence[Path],
    *,
    strict: bool,
    columns: Mapping[str, str] | None,
    encoding: str | None,
    chunk_tokens: int,
    overlap: int | None,
) -> ReadCorpus:
    from rulewise.corpus.documents import read_documents

    found = read_documents(
        paths,
        strict=strict,
        columns=columns,
        encoding=encoding,
        chunk_tokens=chunk_tokens,
        overlap=overlap,
    )
    return ReadCorpus(found.corpus, found.summary(), found.to_dict())


def is_built_index(path: Path) -> bool:
    """Whether a path is what `rulewise rag build` wrote."""
    from rulewise.retrieval.index_folder import MANIFEST
    from rulewise.retrieval.lance_store import is_lance_store

    return path.is_dir() and ((path / MANIFEST).is_file() or is_lance_store(path))


def open_documents(config: RagConfig, encoder: Encoder | None, *, on_note: OnNote | None = None) -> Searchable:
    """The saved index that a configuration names, or one made now, in memory, of its documents.

    Raises:
        InputError: If no documents are named or there are none, or too many to index them at every start.
        FileFormatError: If a file cannot be read, or an index is damaged.
        StaleIndexError: If documents changed since the index was built.
    """
    from rulewise.retrieval.corpus_open import EXACT_BELOW, open_corpus_index
    from rulewise.retrieval.corpus_sources import BuildSettings, check_sources

    paths = [Path(one) for one in config.documents]
    if not paths:
        raise InputError(
            "No documents are named. Give --documents, or documents in [rag]: files, a folder, or what `rulewise rag "
            "build` wrote."
        )
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: is not there. Give files or a folder of documents, or a built index.")
    if any(map(is_built_index, paths)):
        if len(paths) > 1:
            raise InputError(
                "An index cannot be searched together with other documents. Build one index of all of them."
            )
        if config.graph or config.document_map or config.document_encoding:
            raise InputError(
                f"{paths[0]}: is an index already. Leave out --graph, --document-map and --document-encoding: they say "
                "how documents are read."
            )
        if (doubt := check_sources(paths[0])) and on_note is not None:
            on_note(doubt)
        return open_corpus_index(paths[0], encoder=encoder)
    read = read_corpus(
        paths,
        graph=config.graph,
        strict=config.strict,
        columns=config.document_map or None,
        encoding=config.document_encoding or None,
        on_note=on_note,
    )
    if len(read.corpus) >= EXACT_BELOW:
        used = BuildSettings(
            graph=config.graph,
            encoder=config.encoder,
            columns=dict(config.document_map),
            encoding=config.document_encoding,
            strict=config.strict,
        )
        raise InputError(
            f"{len(read.corpus):,} documents are too many to index at every start. Build an index once, and give it as "
            f"--documents DIR: {used.command(paths, 'DIR')}"
        )
    return open_corpus_index(read.corpus, encoder=encoder)
