"""The house rules that a program can check."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

import rulewise

SOURCE = Path(rulewise.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = sorted(m.name for m in pkgutil.walk_packages([str(SOURCE)], prefix="rulewise."))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_holds_one_idea_and_at_most_500_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


def test_no_file_is_named_for_being_shared() -> None:
    refused = {"utils.py", "common.py", "helpers.py", "misc.py"}
    assert [p for p in FILES if p.name in refused or p.parent.name == "core"] == []


@pytest.mark.parametrize("name", MODULES)
def test_every_exported_name_exists(name: str) -> None:
    module = importlib.import_module(name)
    missing = [n for n in getattr(module, "__all__", []) if not hasattr(module, n)]
    assert missing == []


def test_the_front_door_is_about_thirty_names_and_lists_them() -> None:
    assert 15 <= len(rulewise.__all__) <= 45
    assert set(rulewise.__all__) <= set(dir(rulewise))


def test_only_settings_reads_the_environment() -> None:
    readers = [
        p.name for p in FILES if "os.environ" in p.read_text(encoding="utf-8") or "getenv" in p.read_text("utf-8")
    ]
    assert readers == ["settings.py"]


def test_nothing_in_the_package_prints() -> None:
    assert [p.name for p in FILES if "\n    print(" in p.read_text(encoding="utf-8")] == []


def test_json_is_parsed_where_deep_nesting_is_an_error_like_any_other() -> None:
    # `parse_json` in files.py; the others parse with options of their own, and handle RecursionError
    parsers = {p.name: p.read_text(encoding="utf-8") for p in FILES if "json.loads(" in p.read_text(encoding="utf-8")}
    assert sorted(parsers) == ["exchange.py", "files.py", "layout.py", "permutation.py"]
    assert all("RecursionError" in text for text in parsers.values())
