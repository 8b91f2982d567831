"""`rulewise llm`: price tables, caches, batch files, and a test call."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rulewise.cli.console import PROBLEMS, emit
from rulewise.errors import InputError
from rulewise.files import check_not_input
from rulewise.settings import read_settings

__all__ = ["llm"]

FILE = click.Path(dir_okay=False, path_type=Path)
OLD_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def _show(as_json: bool, report: dict[str, Any], lines: list[str]) -> None:
    if as_json:
        emit(report)
    else:
        click.echo("\n".join(lines))


@click.group()
def llm() -> None:
    """Price tables, caches and batch files of language models."""


@llm.command()
@click.option("--prices", "override", type=OLD_FILE, help="A TOML table over the shipped one [RULEWISE_PRICES].")
@as_json_option
def prices(override: Path | None, as_json: bool) -> None:
    """Show what models cost, US dollars per million tokens; a model that is not listed has an unknown price."""
    from rulewise.llm.prices import load_prices

    rows = load_prices(override or read_settings().prices).items()
    lines = [f"{'model':24} {'input':>8} {'output':>8}  as of"]
    for name, p in rows:
        lines.append(f"{name:24} {p.input:8.2f} {p.output:8.2f}  {'local' if p.is_local else p.as_of or 'unknown'}")
    _show(as_json, {"usd_per_million_tokens": {name: asdict(p) for name, p in rows}}, lines)


@llm.group()
def cache() -> None:
    """Look at, check and clear the cache of replies."""


def _store(path: Path | None) -> Any:
    from rulewise.llm.store import ReplyStore

    path = path or read_settings().cache / "replies.sqlite"
    if not path.exists():
        raise InputError(f"{path}: no such cache. It is made by the first run with a cache.")
    return ReplyStore(path)


@cache.command()
@click.argument("path", required=False, type=FILE)
@as_json_option
def info(path: Path | None, as_json: bool) -> None:
    """Show how many replies a cache holds, by model."""
    store = _store(path)
    found = store.info()
    lines = [f"{store.path}: {found.n_replies} replies, {found.n_bytes / 1e6:.1f} MB"]
    lines += [f"  {n:7} {model}" for model, n in found.by_model.items()]
    _show(as_json, {"path": str(store.path), **found._asdict()}, lines)


@cache.command()
@click.argument("path", required=False, type=FILE)
@as_json_option
@click.pass_context
def check(ctx: click.Context, path: Path | None, as_json: bool) -> None:
    """Check that every reply in a cache can be read; exit code 3 if not."""
    store = _store(path)
    problems = store.check()
    _show(as_json, {"path": str(store.path), "problems": problems}, problems or [f"{store.path}: no problems"])
    if problems:
        ctx.exit(PROBLEMS)


@cache.command()
@click.argument("path", required=False, type=FILE)
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json_option
def clear(path: Path | None, yes: bool, as_json: bool) -> None:
    """Remove all replies from a cache."""
    store = _store(path)
    if not yes:
        click.confirm(f"Remove {store.info().n_replies} replies from {store.path}?", abort=True, err=True)
    n_removed = store.clear()
    _show(as_json, {"path": str(store.path), "removed": n_removed}, [f"{n_removed} replies removed"])


@llm.group()
def batch() -> None:
    """Carry prompts to a batch service and replies back."""


@batch.command("export")
@click.argument("pending", type=OLD_FILE)
@click.option("--model", required=True, help="The name that the service knows the model by.")
@click.option("--out", required=True, type=FILE, help="The batch file to write.")
@click.option("--for", "service", type=click.Choice(["openai", "vllm"]), default="openai", show_default=True)
@as_json_option
def export(pending: Path, model: str, out: Path, service: str, as_json: bool) -> None:
    """Write the requests in PENDING as OpenAI batch JSONL, for a service or for `vllm run-batch`."""
    from rulewise.llm.batch import export_batch, read_requests

    check_not_input(out, [pending])
    done = export_batch(read_requests(pending), out, model=model, grammar="vllm" if service == "vllm" else "")
    lines = [f"{done.n_requests} requests written to {', '.join(map(str, done.files))}"]
    _show(as_json, {"requests": done.n_requests, "files": [str(f) for f in done.files]}, lines)


@batch.command("import")
@click.argument("output", type=OLD_FILE)
@click.option("--requests", "pending", required=True, type=OLD_FILE, help="The pending requests that were exported.")
@click.option("--into", "target", required=True, type=FILE, help="A recording (.jsonl), or a cache with --llm.")
@click.option("--llm", "spec", help="PROVIDER:MODEL whose cache --into is.")
@click.option("--base-url", help="Its address.")
@as_json_option
@click.pass_context
def import_(
    ctx: click.Context, output: Path, pending: Path, target: Path, spec: str | None, base_url: str | None, as_json: bool
) -> None:
    """Store the replies in a batch service's OUTPUT; exit code 3 if some are missing or failed."""
    from rulewise.llm.batch import import_batch, into_cache, into_recording, read_requests

    check_not_input(target, [output, pending])
    keep = into_recording(target)
    if spec is not None:
        from rulewise.llm.build import build_llm
        from rulewise.llm.store import ReplyStore
        from rulewise.llm.wrapper import identity_of

        keep = into_cache(ReplyStore(target), identity_of(build_llm(spec, base_url=base_url, api_key="unused")))
    found = import_batch(output, read_requests(pending), keep)
    lines = [f"{found.n_stored} replies stored in {target}"]
    for kind in ("failed", "truncated", "missing", "unknown", "repeated", "unreadable"):
        if problem := getattr(found, kind):
            lines.append(f"  {len(problem)} {kind}: {', '.join(str(p) for p in list(problem)[:5])}")
    _show(as_json, found._asdict(), lines)
    if not found.is_complete:
        ctx.exit(PROBLEMS)


@llm.command()
@click.argument("spec")
@click.option("--base-url", help="The address of the service.")
@as_json_option
@click.pass_context
def ping(ctx: click.Context, spec: str, base_url: str | None, as_json: bool) -> None:
    """Make one tiny call to the model SPEC (PROVIDER:MODEL) and show what came of it."""
    from rulewise.llm.base import Sampling, user_prompt
    from rulewise.llm.build import build_llm

    settings = read_settings()
    model = build_llm(spec, base_url=base_url or settings.base_url or None, api_key=settings.api_key or None)
    sampling = Sampling(max_tokens=64, seed=0, top_logprobs=1)
    (done,) = model.complete([user_prompt("Reply with the word yes.")], sampling)
    supports = sorted(getattr(model, "supports", ()))
    report = {"model": done.model, "reply": done.text, "failure": done.failure, "latency_s": round(done.latency_s, 3)}
    report |= {"tokens_in": done.tokens_in, "tokens_out": done.tokens_out, "supports": supports}
    report["has_logprobs"] = bool(done.logprobs)
    _show(as_json, report, [f"{name}: {', '.join(v) if isinstance(v, list) else v}" for name, v in report.items()])
    if not done.ok:
        ctx.exit(1)
