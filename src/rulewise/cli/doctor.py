"""`rulewise doctor`: what is installed, what is configured, what is missing and how to get it."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from rulewise._version import __version__
from rulewise.cli.console import emit
from rulewise.extras import EXTRAS, is_available
from rulewise.settings import Settings, read_settings

__all__ = ["doctor", "examine"]

BASE = ("numpy", "bm25s", "PyStemmer", "openai", "click", "rich", "openpyxl")
DISTRIBUTIONS = {"sentence_transformers": "sentence-transformers"}


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _folder(path: Path) -> dict[str, Any]:
    nearest = next((p for p in (path, *path.parents) if p.exists()), path)
    files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else []
    return {
        "path": str(path),
        "exists": path.is_dir(),
        "writable": os.access(nearest, os.W_OK),
        "files": len(files),
        "bytes": sum(p.stat().st_size for p in files),
    }


def _encoder() -> dict[str, Any]:
    from rulewise.retrieval.encoders import is_local_available

    available, reason = is_local_available()
    return {"name": "local", "available": available, "reason": reason}


def examine(settings: Settings) -> dict[str, Any]:
    """Everything the report shows, as plain values for `--json`; keys are never part of it."""
    return {
        "rulewise": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        "base": {name: _version(name) for name in BASE},
        "extras": {
            name: {
                "gives": gives,
                "modules": {m: is_available(m) for m in modules},
                "versions": {m: _version(DISTRIBUTIONS.get(m, m)) for m in modules},
                "install": f"pip install 'rulewise[{name}]'",
            }
            for name, (gives, modules) in EXTRAS.items()
        },
        "encoder": _encoder(),
        "llm": {
            "model": settings.llm or None,
            "base_url": settings.base_url or None,
            "api_key": "set" if settings.api_key else "unset",
        },
        "cache": _folder(settings.cache),
        "data": str(settings.data) if settings.data else None,
        "prices": str(settings.prices) if settings.prices else "the shipped table",
    }


def _lines(report: dict[str, Any]) -> list[str]:
    lines = [f"rulewise {report['rulewise']}, Python {report['python']}, {report['platform']}", "", "Base"]
    for name, found in report["base"].items():
        lines.append(f"  {'ok     ' if found else 'missing'} {name} {found or ''}".rstrip())
    lines += ["", "Extras"]
    for name, extra in report["extras"].items():
        missing = [m for m, there in extra["modules"].items() if not there]
        versions = ", ".join(f"{m} {v}" for m, v in extra["versions"].items() if v)
        state = "ok     " if not missing else "missing"
        lines.append(f"  {state} {name}: {extra['gives']}" + (f" ({versions})" if versions else ""))
        if missing:
            lines.append(f"          without: {', '.join(missing)}. {extra['install']}")
    encoder = report["encoder"]
    lines += ["", "Encoder"]
    if encoder["available"]:
        lines.append("  ok      local: dense and hybrid search work offline")
    else:
        lines.append(f"  missing local: {encoder['reason']}")
    llm = report["llm"]
    lines += ["", "Language model"]
    if llm["model"]:
        where = f" at {llm['base_url']}" if llm["base_url"] else ""
        lines.append(f"  set     {llm['model']}{where}, API key {llm['api_key']}")
    else:
        lines.append("  unset   give --llm PROVIDER:MODEL or set RULEWISE_LLM, for example openai:gpt-4o-mini or")
        lines.append(f"          ollama:qwen2.5:7b; API key {llm['api_key']}. `rulewise search` works without a model.")
    cache = report["cache"]
    size = f"{cache['files']} files, {cache['bytes'] / 1e6:.1f} MB" if cache["exists"] else "not made yet"
    lines += ["", "Folders"]
    lines.append(f"  {'ok     ' if cache['writable'] else 'problem'} cache {cache['path']} ({size})")
    if not cache["writable"]:
        lines.append("          cannot be written; set RULEWISE_CACHE to a folder that can")
    lines.append(f"  {'set    ' if report['data'] else 'unset  '} RULEWISE_DATA {report['data'] or '(benchmark data)'}")
    lines.append(f"          prices: {report['prices']}")
    return lines


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(as_json: bool) -> None:
    """Show extras, models, caches and what is missing."""
    report = examine(read_settings())
    if as_json:
        emit(report)
    else:
        click.echo("\n".join(_lines(report)))
