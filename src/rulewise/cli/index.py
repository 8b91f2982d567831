"""`rulewise index`: build, update, show and check saved indexes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import OK, PROBLEMS, emit, note, progress
from rulewise.cli.options import ReadOptions, library_options, note_without, open_library
from rulewise.errors import InputError
from rulewise.files import check_not_input

if TYPE_CHECKING:
    from rulewise.retrieval.base import Encoder
    from rulewise.retrieval.index import IndexSource

__all__ = ["analyzer_options", "choose_analyzer", "index", "make_encoder"]

PATH = click.Path(path_type=Path)


class _ShortGroup(click.Group):
    """A group that takes a first argument which is no command for the LIBRARY of `build`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            if Path(args[0]).exists():
                args = ["build", *args]
            else:
                from rulewise.registry import unknown_name

                raise click.UsageError(
                    f"{unknown_name('command', args[0], self.commands)} And there is no file of this name to index.",
                    ctx,
                )
        return super().resolve_command(ctx, args)


def analyzer_options(function: Any) -> Any:
    """Add --analyzer, --bigrams/--no-bigrams and --query-terms; `choose_analyzer` reads them."""
    for option in (
        click.option("--query-terms", metavar="once|each|damped", help="How often a repeated term of a query counts."),
        click.option("--bigrams/--no-bigrams", default=None, help="Whether pairs of words count, so that order does."),
        click.option("--analyzer", metavar="NAME", help="How texts become terms; `rule` if not given."),
    ):
        function = option(function)
    return function


def choose_analyzer(name: str | None, bigrams: bool | None, query_terms: str | None) -> str | None:
    """The analyzer that the options name, or None if they name none.

    Raises:
        InputError: If there is no such analyzer, or it has no such setting.
    """
    from rulewise.retrieval.analyzers import make_analyzer

    if name is None and bigrams is None and query_terms is None:
        return None
    switches = [] if bigrams is None else ["bigrams" if bigrams else "words"]
    whole = "+".join([name or "rule", *switches, *([query_terms] if query_terms else [])])
    make_analyzer(whole)
    return whole


def make_encoder(spec: str) -> tuple[Encoder | None, str]:
    """The encoder of a specification, behind the cache; (None, the reason) if `local` cannot run here."""
    from rulewise.config import open_encoder
    from rulewise.retrieval.encoders import is_local_available
    from rulewise.settings import read_settings

    if spec == "local":
        available, reason = is_local_available()
        if not available:
            return None, reason
    return open_encoder(spec, read_settings()), ""


def _source(path: Path, reading: ReadOptions) -> IndexSource:
    from rulewise.retrieval.index import IndexSource

    return IndexSource.of(path, asdict(replace(reading, columns=dict(reading.columns))))


def _advance(n: int) -> AbstractContextManager[Any]:
    return progress("encoding rules", n)


def _show(manifest: Mapping[str, Any]) -> None:
    analyzer, encoder, source = manifest["analyzer"], manifest["encoder"], manifest["source"]
    settings = ", ".join(f"{key} {value}" for key, value in analyzer["settings"].items())
    click.echo(f"rules     {manifest['n_rules']}, {manifest['n_without_terms']} of them without any term")
    click.echo(f"surface   {manifest['surface'] or 'as given'}")
    click.echo(f"analyzer  {analyzer['name']} version {analyzer['version']}{f' ({settings})' if settings else ''}")
    click.echo(f"BM25      k1 {manifest['bm25']['k1']}, b {manifest['bm25']['b']}, {manifest['n_terms']} terms")
    click.echo(f"encoder   {encoder['name'] + ', dimension ' + str(encoder['dim']) if encoder else 'none'}")
    click.echo(f"source    {source['path'] if source else 'unknown'}")
    click.echo(f"created   {manifest['created']}")


@click.group(cls=_ShortGroup)
def index() -> None:
    """Build, update or check a saved index of a rule library.

    `rulewise index LIBRARY --out DIR` is short for `rulewise index build LIBRARY --out DIR`.
    """


@index.command()
@click.argument("library", type=PATH)
@click.option("--out", type=PATH, required=True, help="Folder of the index.")
@click.option("--surface", type=click.Choice(["natural", "formal"]), help="Which text is indexed; `text` if not given.")
@analyzer_options
@click.option("--k1", type=float, default=0.9, show_default=True, help="How slowly repeated terms saturate.")
@click.option("--b", type=float, default=0.4, show_default=True, help="How much length counts, from 0 to 1.")
@click.option("--encoder", metavar="SPEC", help="For dense search: local, st:MODEL or openai:MODEL; none if not given.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@library_options
def build(
    library: Path,
    out: Path,
    surface: Any,
    analyzer: str | None,
    bigrams: bool | None,
    query_terms: str | None,
    k1: float,
    b: float,
    encoder: str | None,
    as_json: bool,
    reading: ReadOptions,
) -> None:
    """Index the rules of LIBRARY into a folder that `rulewise search` and `rulewise ask` take in its place."""
    from rulewise.retrieval.index import RuleIndex

    check_not_input(out, [library])
    chosen = choose_analyzer(analyzer, bigrams, query_terms) or "rule"
    source = _source(library, reading)
    rules = open_library(library, reading)
    note_without(rules, surface)
    used, reason = make_encoder(encoder) if encoder else (None, "")
    if reason:
        note(f"{reason} The index gets no vectors; BM25 works.")
    with _advance(len(rules)) as advance:
        made = RuleIndex.build(
            rules,
            surface=surface,
            analyzer=chosen,
            k1=k1,
            b=b,
            encoder=used,
            encoder_spec=encoder or "",
            source=source,
            on_encoded=advance,
        )
    made.save(out)
    if as_json:
        emit({"path": str(out), **made.manifest})
    else:
        click.echo(f"indexed {len(rules)} rules into {out}")


@index.command()
@click.argument("path", metavar="DIR", type=PATH)
@click.argument("library", type=PATH, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def update(path: Path, library: Path | None, as_json: bool) -> None:
    """Bring the index DIR up to its library, or to another LIBRARY; only new texts are analysed and encoded."""
    from rulewise.retrieval.index import RuleIndex

    old = RuleIndex.load(path, fresh=False, verify=True)
    if library is None and old.source is None:
        raise InputError(
            f"{path}: does not say which file it was built from. Name it: rulewise index update {path} LIBRARY"
        )
    file = library or Path(old.source.path if old.source else "")
    check_not_input(path, [file])
    reading = ReadOptions(**old.source.reading) if old.source else ReadOptions()
    source = _source(file, reading)
    rules = open_library(file, reading)
    used = make_encoder(old.encoder_spec)[0] if old.encoder_spec else None
    with _advance(len(rules)) as advance:
        made, report = old.update(rules, encoder=used, source=source, on_encoded=advance)
    made.save(path)
    if as_json:
        emit({"path": str(path), "rules": len(rules), **asdict(report)})
    else:
        click.echo(
            f"{len(report.added)} added, {len(report.changed)} changed, {len(report.removed)} removed; "
            f"{len(rules)} rules, {report.n_analyzed} texts analysed, {report.n_encoded} encoded"
        )


@index.command()
@click.argument("path", metavar="DIR", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(path: Path, as_json: bool) -> None:
    """Show what the index DIR holds and how it was built."""
    from rulewise.retrieval.index import RuleIndex

    manifest = RuleIndex.load(path, fresh=False).manifest
    if as_json:
        emit({"path": str(path), **manifest})
    else:
        _show(manifest)


@index.command()
@click.argument("path", metavar="DIR", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def check(ctx: click.Context, path: Path, as_json: bool) -> None:
    """Check that the index DIR is whole, undamaged and up to date; exit with 3 if it is not.

    DIR is an index of rules, or one of documents that `rulewise rag build` wrote.
    """
    from rulewise.config_corpus import is_built_index

    is_corpus = is_built_index(path) and not (path / "rules.jsonl").is_file() and not (path / "terms.json").is_file()
    try:
        problems, doubt = _check_documents(path) if is_corpus else _check_rules(path)
    except InputError as exc:
        problems, doubt = [str(exc)], ""
    if as_json:
        emit({"path": str(path), "problems": problems, "doubt": doubt})
    else:
        click.echo("\n".join(problems) if problems else doubt or f"{path}: whole and up to date")
    ctx.exit(PROBLEMS if problems else OK)


def _check_rules(path: Path) -> tuple[list[str], str]:
    """What is wrong with an index of rules, and what cannot be said of it."""
    from rulewise.retrieval.index import RuleIndex
    from rulewise.retrieval.index_folder import damaged_files

    problems = [f"{path / name}: is missing or was changed since it was written" for name in damaged_files(path)]
    try:
        source = RuleIndex.load(path, verify=False).source  # the checksums were compared just now
    except InputError as exc:
        return [*problems, str(exc)], ""
    if source is None or not Path(source.path).is_file():
        where = source.path if source is not None else "its source"
        return problems, f"{path}: whole; whether it is up to date cannot be said, {where} is not there"
    return problems, ""


def _check_documents(path: Path) -> tuple[list[str], str]:
    """What is wrong with an index of documents, and what cannot be said of it."""
    from rulewise.retrieval.corpus_folder import read_corpus_folder
    from rulewise.retrieval.corpus_sources import check_sources
    from rulewise.retrieval.lance_store import LanceStore, is_lance_store

    doubt = ""
    if is_lance_store(path):
        n = len(LanceStore(path))
        doubt = f"{path}: a Lance dataset of {n:,} documents, which opens; it has no checksums that could be compared"
    else:
        read_corpus_folder(path, verify=True)
    unsaid = check_sources(path)
    return [], "; ".join(part for part in (doubt, unsaid) if part)
