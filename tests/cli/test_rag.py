"""`rulewise rag`: a folder of documents and a file of rules, questions, answers with what bears them out."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rulewise.cli import cli
from rulewise.llm.recorded import RecordingLLM
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.testing import ScriptedLLM

QUESTION = "May I book first class from Berlin to Munich?"
GOOD = "Rules used: first\nDocuments used: [1]\nAnswer: Yes, first class."
FACTS = [
    ("Japan", "Make a visit", "China", "2013"),
    ("Japan", "Consult", "Peru", "2012"),
    ("Chile", "Make a visit", "Peru", "2012"),
]
MINED = "[Entity1, Make a visit, Entity2] leads to [Entity1, Consult, Entity2]\n"


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["rag", *map(str, arguments)])


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RULEWISE_LLM", raising=False)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "sick.txt").write_text("A doctor's note is needed from the third day of illness.")
    (folder / "sub" / "travel.txt").write_text(
        "Travel by train is first class if the journey takes more than four hours. Berlin to Munich takes five hours."
    )
    return folder


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.csv"
    path.write_text(
        "id,text\n"
        'ill,"If an employee is ill for three days, then a note must be given."\n'
        'train,"If a journey takes more than four hours, then first class may be booked."\n'
    )
    return path


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "facts.tsv"
    path.write_text("".join("\t".join(fact) + "\n" for fact in FACTS))
    return path


@pytest.fixture
def mined(tmp_path: Path) -> Path:
    path = tmp_path / "mined.txt"
    path.write_text(MINED)
    return path


class Recorder:
    """Records the replies that a list gives to the prompts of the command itself."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.monkeypatch = path, monkeypatch

    def answer(self, *replies: str) -> None:
        from rulewise.llm.metered import MeteredLLM
        from rulewise.llm.prices import load_prices

        llm = MeteredLLM(RecordingLLM(ScriptedLLM(list(replies)), self.path), load_prices(None))
        self.monkeypatch.setattr("rulewise.config.open_llm", lambda config, settings: llm)


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    return Recorder(tmp_path / "replies.jsonl", monkeypatch)


def test_search_shows_rules_reasons_and_documents(docs: Path, rules: Path):
    shown = invoke("search", QUESTION, "--documents", docs, "--rules", rules)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[1] == "Rule 1    If a journey takes more than four hours, then first class may be booked."
    assert "train: its BM25 score for the query is" in lines[2]
    assert any(line.startswith("[1]") and "Berlin to Munich takes five hours" in line for line in lines)
    assert any("sub/travel.txt#1" in line and "found by rule 1" in line for line in lines)


def test_search_without_rules_is_that_of_the_question_alone(docs: Path):
    shown = invoke("search", QUESTION, "--documents", docs, "--json")
    trace = RagTrace.from_dict(json.loads(shown.stdout))
    assert [search.form for search in trace.searches] == ["query"]
    assert trace.hits[0].item.id == "sub/travel.txt#1"


def test_search_over_a_graph_binds_the_subject(facts: Path, mined: Path):
    shown = invoke(
        "search", "Time 2014 what does Japan Consult ?", "--documents", facts, "--graph", "--rules", mined, "--k", 2
    )
    assert shown.exit_code == 0, shown.output
    assert "Asks      Consult of Japan at 2014 (template)" in shown.stdout
    assert "Time 2013 Japan Make a visit China." in shown.stdout


def test_aliases_and_a_given_relation_lead_to_rules(tmp_path: Path, facts: Path, mined: Path):
    aliases = tmp_path / "aliases.toml"
    aliases.write_text('"Consult" = ["whom does {subject} talk to?"]\n')
    common = ("--documents", facts, "--graph", "--rules", mined, "--rule-choice", "head", "--json")
    by_alias = json.loads(invoke("search", "Whom does Japan talk to?", *common, "--aliases", aliases).stdout)
    assert by_alias["choice"]["recognised"]["subject"] == "Japan"
    given = json.loads(invoke("search", "Whom?", *common, "--relation", "Consult").stdout)
    assert given["choice"]["recognised"]["how"] == "given"
    wrong = invoke("search", "Whom?", *common, "--relation", "Consul")
    assert "Did you mean 'Consult'" in str(wrong.exception)


def test_a_built_index_gives_the_same_documents(docs: Path, rules: Path, tmp_path: Path):
    built = invoke("build", docs, "--out", tmp_path / "index", "--json")
    assert built.exit_code == 0, built.output
    assert json.loads(built.stdout)["documents"] == 2
    assert json.loads(built.stdout)["read"]["chunks"] == 2
    searches = [
        json.loads(invoke("search", QUESTION, "--documents", where, "--rules", rules, "--json").stdout)
        for where in (docs, tmp_path / "index")
    ]
    assert searches[0]["hits"] == searches[1]["hits"]


def test_a_damaged_index_is_refused_with_what_mends_it(docs: Path, tmp_path: Path):
    invoke("build", docs, "--out", tmp_path / "index")
    (tmp_path / "index" / "scores.npy").write_bytes(b"")
    shown = invoke("search", QUESTION, "--documents", tmp_path / "index")
    assert shown.exit_code == 1
    assert "rulewise rag build" in str(shown.exception)


@pytest.mark.parametrize("store", ["files", "lance"])
def test_an_index_of_documents_that_changed_is_refused(docs: Path, tmp_path: Path, store: str):
    if store == "lance":
        pytest.importorskip("lance", reason="needs the extra 'store'")
    index = tmp_path / "index"
    assert invoke("build", docs, "--out", index, "--store", store, "--chunk-tokens", 50).exit_code == 0
    (docs / "sick.txt").touch()
    assert invoke("search", QUESTION, "--documents", index).exit_code == 0  # another time, the same text
    (docs / "new.txt").write_text("First class needs an approval.")
    shown = invoke("search", QUESTION, "--documents", index)
    assert "is out of date" in str(shown.exception)
    assert "new.txt" in str(shown.exception)
    command = shlex.split(str(shown.exception).partition("Build it anew: ")[2])
    assert command[:3] == ["rulewise", "rag", "build"]
    assert "--chunk-tokens" in command
    assert invoke(*command[2:]).exit_code == 0
    assert "First class needs an approval." in invoke("search", QUESTION, "--documents", index).stdout
    shutil.rmtree(docs)
    moved = invoke("search", QUESTION, "--documents", index)
    assert moved.exit_code == 0  # an index may outlive its documents
    assert "whether it is up to date cannot be said" in moved.stderr


def test_documents_that_change_while_they_are_read_are_not_indexed(docs: Path, tmp_path: Path, monkeypatch):
    from rulewise.config_corpus import read_corpus

    def changing(*arguments, **options):
        read = read_corpus(*arguments, **options)
        (docs / "sick.txt").write_text("No note is needed.")
        return read

    monkeypatch.setattr("rulewise.config_corpus.read_corpus", changing)
    assert "sick.txt changed" in str(invoke("build", docs, "--out", tmp_path / "index").exception)
    assert not (tmp_path / "index").exists()


def test_small_chunks_need_no_overlap_to_be_named(docs: Path, tmp_path: Path):
    assert invoke("build", docs, "--out", tmp_path / "index", "--chunk-tokens", 16).exit_code == 0


def test_an_index_is_not_built_over_its_documents(docs: Path, tmp_path: Path):
    index = tmp_path / "index"
    assert invoke("build", docs, "--out", index).exit_code == 0
    (index / "more.txt").write_text("mine")
    assert "would be replaced" in str(invoke("build", index / "more.txt", "--out", index).exception)
    assert (index / "more.txt").read_text() == "mine"
    assert "none: is not there" in str(invoke("build", "none", "--out", index).exception)


def test_an_index_is_not_mixed_with_documents(docs: Path, tmp_path: Path):
    index = tmp_path / "index"
    invoke("build", docs, "--out", index)
    both = invoke("search", QUESTION, "--documents", index, "--documents", docs)
    assert "cannot be searched together with other documents" in str(both.exception)
    assert "is an index" in str(invoke("build", docs, index, "--out", tmp_path / "other").exception)
    assert "Leave out --graph" in str(invoke("search", QUESTION, "--documents", index, "--graph").exception)


def test_a_long_answer_is_cut_and_that_is_said(docs: Path, rules: Path, recorder: Recorder):
    recorder.answer("Answer: " + "word " * 5000)
    shown = invoke("ask", QUESTION, "--documents", docs, "--rules", rules)
    assert len(shown.stdout) < 5000
    assert "answer cut to 2000 of its 24999 characters" in shown.stdout


def test_build_does_not_replace_a_folder_of_something_else(docs: Path, tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.md").write_text("mine")
    shown = invoke("build", docs, "--out", tmp_path / "mine")
    assert "is no index, so it is not replaced" in str(shown.exception)
    assert (tmp_path / "mine" / "notes.md").read_text() == "mine"


def test_ask_answers_with_cited_rules_and_documents(docs: Path, rules: Path, recorder: Recorder):
    recorder.answer(GOOD)
    shown = invoke("ask", QUESTION, "--documents", docs, "--rules", rules)
    assert shown.exit_code == 0, shown.output
    assert "Answer    Yes, first class." in shown.stdout
    assert "by rules      train" in shown.stdout
    assert "by documents  [1] sub/travel.txt#1" in shown.stdout


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("", "not answered"),
        ("Documents used: [9]\nAnswer: Yes", "Note "),
        ("Rules used: 7\nAnswer: \x1b[31mYes\x1b[0m", "Answer    �[31mYes"),
    ],
)
def test_replies_of_any_kind_are_shown_or_counted(docs: Path, rules: Path, recorder: Recorder, reply, expected):
    recorder.answer(reply)
    shown = invoke("ask", QUESTION, "--documents", docs, "--rules", rules)
    assert expected in shown.output
    assert "\x1b" not in shown.output


@pytest.mark.parametrize("method", ["standard-rag", "standard-prompting", "cot"])
def test_baselines_leave_parts_out(docs: Path, recorder: Recorder, method: str):
    recorder.answer("Answer: Yes")
    shown = invoke("ask", QUESTION, "--documents", docs, "--method", method, "--json")
    assert shown.exit_code == 0, shown.output
    trace = json.loads(shown.stdout)
    assert trace["answer"]["text"] == "Yes"
    assert bool(trace["hits"]) == (method == "standard-rag")


@pytest.mark.parametrize("method", ["ve", "cok", "rulerag-cok"])
def test_methods_of_several_steps_run(docs: Path, rules: Path, recorder: Recorder, method: str):
    recorder.answer(*["Step 1: It takes five hours.\nAnswer: Yes"] * 40)
    shown = invoke("ask", QUESTION, "--documents", docs, "--rules", rules, "--method", method, "--json")
    assert shown.exit_code == 0, shown.output
    trace = RagTrace.from_dict(json.loads(shown.stdout))
    assert trace.answer is not None
    assert trace.answer.text == "Yes"


def test_what_was_recorded_is_replayed_and_a_trace_is_saved(docs: Path, rules: Path, tmp_path: Path, monkeypatch):
    with monkeypatch.context() as patched:
        Recorder(tmp_path / "r.jsonl", patched).answer(GOOD)
        common = ("ask", QUESTION, "--documents", docs, "--rules", rules)
        assert invoke(*common).exit_code == 0
    shown = invoke(*common, "--replay", tmp_path / "r.jsonl", "--save", tmp_path / "traces.jsonl")
    assert shown.exit_code == 0, shown.output
    saved = RagTrace.from_dict(json.loads((tmp_path / "traces.jsonl").read_text()))
    assert saved.answer.rule_ids == ("train",)


def test_nothing_is_asked_if_the_traces_cannot_be_saved(docs: Path, rules: Path, tmp_path: Path, recorder: Recorder):
    recorder.answer()
    common = ("ask", QUESTION, "--documents", docs, "--rules", rules, "--save")
    (tmp_path / "notes.txt").write_text("mine")
    assert "Nothing was asked" in str(invoke(*common, tmp_path / "notes.txt").exception)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert "which is read as documents" in str(invoke(*common, docs / "traces.jsonl").exception)
    assert "is a folder" in str(invoke(*common, tmp_path).exception)
    assert not recorder.path.exists()


def test_answers_that_cannot_be_saved_after_all_are_shown(
    docs: Path, rules: Path, tmp_path: Path, recorder, monkeypatch
):
    def full(path: Path, rows: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rulewise.files.write_jsonl", full)
    recorder.answer(GOOD)
    shown = invoke("ask", QUESTION, "--documents", docs, "--rules", rules, "--save", tmp_path / "traces.jsonl")
    assert "Yes, first class." in shown.stdout
    assert shown.exit_code == 1
    assert "No space left on device" in str(shown.exception)


def test_build_reports_what_was_read_and_left_out_as_one_object(docs: Path, tmp_path: Path):
    (docs / "blank.txt").touch()
    (docs / "rows.jsonl").write_text('{"text": "one"}\n{"id": "x"}\n')
    strict = invoke("build", docs, "--out", tmp_path / "index")
    assert "rows.jsonl:2: no text under" in str(strict.exception)
    assert not (tmp_path / "index").exists()
    built = invoke("build", docs, "--out", tmp_path / "index", "--lenient", "--json")
    assert built.exit_code == 0, built.output
    read = json.loads(built.stdout)["read"]
    (problem,) = read.pop("problems")
    assert problem.startswith("rows.jsonl:2: no text under")
    assert read == {
        "documents": 3, "files": 4, "texts": 3, "chunks": 2, "blank": ["blank.txt"], "n_blank": 1, "n_blank_pages": 0,
        "n_mended": 0, "n_problems": 1, "skipped": [], "n_skipped": 0,
    }  # fmt: skip
    assert "1 blank (blank.txt)" in built.stderr


def test_build_reports_what_was_read_of_a_graph(facts: Path, tmp_path: Path):
    facts.write_text(facts.read_text() * 2 + "a\tb\n")
    built = invoke("build", facts, "--graph", "--lenient", "--out", tmp_path / "index", "--json")
    read = json.loads(built.stdout)["read"]
    assert (read["documents"], read["facts"], read["lines"], read["duplicates"], read["n_problems"]) == (3, 3, 7, 3, 1)
    assert read["problems"][0].endswith(
        "facts.tsv:7: 2 columns. Expected subject, relation, object, and perhaps a time."
    )


def test_documents_may_name_their_columns_otherwise(tmp_path: Path):
    table = tmp_path / "notes.csv"
    table.write_bytes("NR;BODY\nn7;A note is needed for the café.\n".encode("cp1252"))
    unmapped = invoke("build", table, "--out", tmp_path / "index", "--encoding", "cp1252")
    assert "no column is called 'text' or 'contents'" in str(unmapped.exception)
    mapped = ("--map", "text=BODY", "--map", "id=NR", "--encoding", "cp1252")
    assert invoke("build", table, "--out", tmp_path / "index", *mapped).exit_code == 0
    as_read = ("--document-map", "text=BODY", "--document-map", "id=NR", "--document-encoding", "cp1252")
    for arguments in ((tmp_path / "index",), (table, *as_read)):
        found = json.loads(invoke("search", "which note?", "--json", "--documents", *arguments).stdout)
        assert found["documents"] == [
            {"id": "n7", "text": "A note is needed for the café.", "metadata": {"source": "notes.csv"}}
        ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--map", "text"), "'text' is not FIELD=COLUMN. Example: --map text="),
        (("--map", "text=a", "--map", "text=b"), "the field 'text' is mapped twice"),
        (("--map", "txt=BODY"), "Did you mean 'text'"),
        (("--map", "text=BODY", "--graph"), "no columns or encoding can be named"),
    ],
)
def test_columns_that_cannot_be_are_refused(docs: Path, tmp_path: Path, arguments, message):
    shown = invoke("build", docs, "--out", tmp_path / "index", *arguments)
    assert message in shown.output + str(shown.exception)
    assert not (tmp_path / "index").exists()


def test_damaged_sources_of_an_index_are_named(docs: Path, tmp_path: Path):
    invoke("build", docs, "--out", tmp_path / "index")
    (tmp_path / "index" / "sources.json").write_text('{"given": 1}')
    assert "sources.json: damaged" in str(invoke("search", QUESTION, "--documents", tmp_path / "index").exception)


def test_a_configuration_is_read_and_options_go_before_it(docs: Path, rules: Path, tmp_path: Path, recorder: Recorder):
    config = tmp_path / "rulewise.toml"
    config.write_text('[rag]\ndocuments = ["docs"]\nrules = "rules.csv"\nk = 1\nwith_query = false\nform = "concat"\n')
    trace = RagTrace.from_dict(json.loads(invoke("search", QUESTION, "--config", config, "--json").stdout))
    assert len(trace.hits) == 1
    assert {search.form for search in trace.searches} == {"concat"}
    # options that say what is the default anyway go before the file, too
    said = ("--k", 10, "--with-query", "--form", "both")
    trace = RagTrace.from_dict(json.loads(invoke("search", QUESTION, "--config", config, "--json", *said).stdout))
    assert len(trace.hits) == 2
    assert [search.form for search in trace.searches] == ["both", "query"]
    recorder.answer(GOOD)
    shown = invoke("ask", QUESTION, "--config", config)
    assert "by rules      train" in shown.stdout
    config.write_text(config.read_text() + 'method = "standard-rag"\n')
    recorder.answer(GOOD)
    assert "by rules" not in invoke("ask", QUESTION, "--config", config).stdout
    recorder.answer(GOOD)
    assert "by rules" in invoke("ask", QUESTION, "--config", config, "--method", "rulerag").stdout


def test_flags_and_the_reading_of_rules_go_before_a_configuration(facts: Path, tmp_path: Path):
    (tmp_path / "mined.csv").write_text(f'rule\n"{MINED.strip()}"\n')
    (tmp_path / "notes.jsonl").write_text('{"text": "Japan Make a visit China."}\n')
    config = tmp_path / "rulewise.toml"
    config.write_text('[rag]\ngraph = true\ndocuments = ["facts.tsv"]\nrules = "mined.csv"\nmap = { text = "wrong" }\n')
    common = ("search", "what does Japan Consult ?", "--config", config, "--json", "--map", "text=rule")
    assert json.loads(invoke(*common).stdout)["documents"][0]["text"].startswith("Time ")
    other = invoke(*common, "--no-graph", "--documents", tmp_path / "notes.jsonl")
    assert [one["text"] for one in json.loads(other.stdout)["documents"]] == ["Japan Make a visit China."]


def test_a_wrong_configuration_is_refused(docs: Path, tmp_path: Path):
    config = tmp_path / "rulewise.toml"
    config.write_text("[rag]\ndocments = []\n")
    shown = invoke("search", QUESTION, "--documents", docs, "--config", config)
    assert "Did you mean 'documents'" in str(shown.exception)
    assert isinstance(invoke("search", QUESTION, "--config", tmp_path / "none.toml").exception, FileNotFoundError)


def test_where_replies_are_kept_may_be_said_on_the_command_line(docs: Path, tmp_path: Path, monkeypatch):
    from rulewise.config import LLMConfig
    from rulewise.errors import InputError

    asked: list[LLMConfig] = []

    def opened(config: LLMConfig, settings: object) -> object:
        asked.append(config)
        raise InputError("stop")

    monkeypatch.setattr("rulewise.config.open_llm", opened)
    config = tmp_path / "rulewise.toml"
    config.write_text('[llm]\nmodel = "openai:a"\nconcurrency = 3\ncache = "kept.sqlite"\n')
    common = ("ask", QUESTION, "--documents", docs, "--method", "standard-rag", "--config", config)
    for more in ((), ("--no-cache",), ("--cache", "other.sqlite", "--llm", "openai:b")):
        assert str(invoke(*common, *more).exception) == "stop"
    assert [(one.model, one.cache, one.concurrency) for one in asked] == [
        ("openai:a", str(tmp_path / "kept.sqlite"), 3), ("openai:a", "", 3), ("openai:b", "other.sqlite", 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", QUESTION), "Give --documents"),
        (("search", "--documents", "DOCS"), "Give either questions"),
        (("search", "  ", "--documents", "DOCS"), "A question is blank"),
        (("search", QUESTION, "--documents", "missing"), "missing: is not there"),
        (("search", QUESTION, "--documents", "DOCS", "--rule-choice", "head"), "needs --rules"),
        (("search", QUESTION, "--documents", "DOCS", "--rules", "RULES", "--rule-choice", "head"), "no rule is parsed"),
        (("ask", QUESTION, "--documents", "DOCS"), "needs --rules"),
        (("ask", QUESTION, "--documents", "DOCS", "--rules", "RULES"), "No language model is named"),
        (("search", QUESTION, "--documents", "EMPTY"), "no file of a known kind"),
        (("search", QUESTION, "--documents", "DOCS", "--relation", "born"), "--relation: is about rules"),
        (
            ("search", QUESTION, "--documents", "DOCS", "--encoding", "cp1252"),
            "For documents it is --document-encoding",
        ),
        (
            ("ask", QUESTION, "--documents", "DOCS", "--method", "cok", "--max-prompt-tokens", "9"),
            "--max-prompt-tokens, max_prompt_tokens in [rag]: the method cok does not read it",
        ),
        (
            ("search", QUESTION, "--documents", "DOCS", "--rules", "RULES", "--theta", "nan"),
            "--theta: expected a finite number",
        ),
    ],
)
def test_wrong_usage_is_said_and_nothing_is_done(docs: Path, rules: Path, tmp_path: Path, arguments, message):
    (tmp_path / "empty").mkdir()
    places = {"DOCS": docs, "RULES": rules, "EMPTY": tmp_path / "empty"}
    shown = invoke(*(places.get(argument, argument) for argument in arguments))
    assert shown.exit_code in (1, 2)
    assert message in shown.output + str(shown.exception)


def test_aliases_must_be_lists_of_texts(tmp_path: Path, facts: Path, mined: Path):
    aliases = tmp_path / "a.json"
    for text, message in (("{", "neither TOML nor JSON"), ('{"Consult": "talk"}', "expected lists of texts")):
        aliases.write_text(text)
        shown = invoke("search", "Whom?", "--documents", facts, "--graph", "--rules", mined, "--aliases", aliases)
        assert message in str(shown.exception)


def test_many_documents_are_cut_in_the_display(docs: Path):
    for n in range(15):
        shutil.copy(docs / "sick.txt", docs / f"more{n:02d}.txt")
    shown = invoke("search", "doctor's note", "--documents", docs, "--k", 12)
    assert "... and 2 more documents" in shown.stdout
