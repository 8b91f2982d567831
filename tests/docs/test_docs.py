"""The documentation does what it says."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click
import pytest

from rulewise.cli import COMMANDS, cli
from rulewise.config import load_config, parse_toml
from rulewise.induction import INDUCERS
from rulewise.llm import LLMS
from rulewise.rerank import RERANKERS
from rulewise.retrieval import RETRIEVERS
from rulewise.retrieval.analyzers import ANALYZERS
from rulewise.retrieval.encoders import ENCODERS, is_local_available
from rulewise.rules.formats import FORMATS
from rulewise.samples import sample_path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(<!-- no-run -->\s*\n)?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SKETCHES = ROOT / "docs" / "design"
WITH_CODE = [
    page
    for page in PAGES
    if SKETCHES not in page.parents and any(not skip for skip, _ in BLOCK.findall(page.read_text(encoding="utf-8")))
]


def reply(prompt: str) -> str:
    if prompt.endswith("rule:"):
        return "If a bicycle has not been collected for months, then it may be sold."
    if "Only respond with the ranking results" in prompt:
        return "[1] > [2]"
    return 'Rules used: [1]\nPremise: [1] unclaimed | "nobody has collected it"\nAnswer: yes'


@pytest.fixture
def url() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": reply(body["messages"][-1]["content"])}
            done = {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}  # fmt: skip
            data = json.dumps(done).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=[pytest.mark.slow] if page.name == "README.md" else [])
        for page in WITH_CODE
    ],
)
def test_python_blocks_run(page, url, tmp_path, monkeypatch, capsys):
    available, reason = is_local_available()
    if 'build_encoder("local")' in page.read_text(encoding="utf-8") and not available:
        pytest.skip(f"needs the extra local: {reason}")
    monkeypatch.chdir(tmp_path)
    shutil.copy(sample_path("my_rules.csv"), tmp_path / "my_rules.csv")
    shutil.copy(sample_path("demos.jsonl"), tmp_path / "demos.jsonl")
    names: dict[str, object] = {}
    for skip, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if skip:
            continue
        # the model that a page names is served by the test, everything else is as printed
        code = re.sub(r'build_llm\("openai:([^"]+)"\)', rf'build_llm("openai:\1", base_url={url!r}, api_key="k")', code)
        exec(compile(code, str(page), "exec"), names)
    if page.name == "README.md":
        assert "yes" in capsys.readouterr().out


def test_some_pages_have_code_that_runs():
    assert {page.name for page in WITH_CODE} >= {"README.md", "formats.md", "add.md"}


@pytest.mark.parametrize(
    ("page", "registry"),
    [
        ("formats.md", FORMATS),
        ("retrievers.md", RETRIEVERS),
        ("retrievers.md", ANALYZERS),
        ("retrievers.md", ENCODERS),
        ("llms.md", LLMS),
        ("rerankers.md", RERANKERS),
        ("induction.md", INDUCERS),
    ],
)
def test_every_registered_name_is_in_the_reference(page, registry):
    text = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
    missing = [name for name in registry if f"`{name}`" not in text and f"`{name}:" not in text]
    assert missing == []


def commands(group: click.Group, name: str) -> Iterator[str]:
    context = click.Context(group, info_name=name)
    for child in group.list_commands(context):
        command = group.get_command(context, child)
        yield f"{name} {child}"
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {child}")


def test_every_command_and_subcommand_is_in_the_built_reference():
    pytest.importorskip("mkdocs_click", reason="needs the extra docs")
    import markdown

    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    html = markdown.markdown(text, extensions=["attr_list", "mkdocs-click"])
    headings = set(re.findall(r"<h\d[^>]*>(.*?)</h\d>", html))
    expected = set(commands(cli, "rulewise"))
    assert {f"rulewise {name}" for name in COMMANDS} <= expected
    assert expected - headings == set()
    assert "Sentinel" not in html  # what the style `table` makes of options without a default


def test_the_examples_of_notations_parse():
    text = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    examples = dict(re.findall(r"^\| `(\w+)` \| `(.+?)`", text, re.MULTILINE))
    assert set(examples) == set(FORMATS)
    for name, example in examples.items():
        rule = FORMATS.load(name).parse(example, id="x")
        assert rule.head is not None, name
        assert rule.body, name


def test_the_configuration_shown_is_whole_and_loads(tmp_path):
    text = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "config.toml").write_text(block, encoding="utf-8")
    config = load_config(tmp_path / "config.toml")
    assert config.retrieval.depth == 20
    said = parse_toml(block)
    for section in dataclasses.fields(config):
        assert [*said[section.name]] == [key.name for key in dataclasses.fields(getattr(config, section.name))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_to_files(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_name_no_path_of_one_machine(page):
    assert re.findall(r"(?<![\w.])/(?:work|tmp|root|home)/", page.read_text(encoding="utf-8")) == []
