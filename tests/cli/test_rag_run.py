"""`rulewise rag run`: traces of a file of questions, that go on where they were, and ask again what failed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rulewise.cli import cli
from rulewise.cli.rag_traces import TraceFile, check_save
from rulewise.errors import FileFormatError, InputError
from rulewise.llm.base import Completion
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.types import Answer, Query

QUESTION = "May I book first class"
GOOD = "Rules used: first\nDocuments used: [1]\nAnswer: Yes, first class."


class Counting:
    """Gives its replies in turn, "" for a failed call; None stops the process there, as a kill would."""

    name = "counting"

    def __init__(self, replies: list[str | None]) -> None:
        self.replies, self.n_asked = replies, 0

    def complete(self, prompts, sampling, *, on_done=None):
        done = []
        for position, _ in enumerate(prompts):
            reply = self.replies.pop(0)
            if reply is None:
                raise KeyboardInterrupt
            self.n_asked += 1
            done.append(Completion(text=reply, model=self.name, failure="" if reply else "no server"))
            if on_done is not None:
                on_done(position, done[-1])
        return done


class Place:
    """A folder with documents, rules and five questions, and `rulewise rag run` over it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        self.queries, self.out = folder / "q.jsonl", folder / "out.jsonl"
        (folder / "docs.jsonl").write_text('{"id": "d", "text": "Rides of more than four hours are first class."}\n')
        (folder / "rules.csv").write_text("id,text\ntrain,If a ride is long then first class may be booked.\n")
        self.ask_for(5)

    def ask_for(self, *numbers: int) -> None:
        given = range(numbers[0]) if len(numbers) == 1 else numbers
        rows = ({"id": f"q{n}", "input": f"{QUESTION} {n}?"} for n in given)
        self.queries.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(self, *arguments: object, replies: list[str | None] = []) -> Result:  # noqa: B006
        from rulewise.llm.metered import MeteredLLM
        from rulewise.llm.prices import load_prices

        self.llm = Counting(list(replies))
        llm = MeteredLLM(self.llm, load_prices(None))
        self.monkeypatch.setattr("rulewise.config.open_llm", lambda config, settings: llm)
        common = ["--queries", self.queries, "--out", self.out, "--rules", self.folder / "rules.csv"]
        if "--documents" not in arguments:
            common += ["--documents", self.folder / "docs.jsonl"]
        return CliRunner().invoke(cli, ["rag", "run", *map(str, (*common, *arguments))])

    def answers(self) -> list[tuple[str, str]]:
        traces = [RagTrace.from_dict(json.loads(line)) for line in self.out.read_text().splitlines()]
        return [(trace.query.id, trace.answer.text) for trace in traces]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("RULEWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RULEWISE_LLM", raising=False)
    return Place(tmp_path, monkeypatch)


def test_a_run_goes_on_where_it_was(place: Place):
    first = place.run(replies=[GOOD] * 5)
    assert first.exit_code == 0, first.output
    assert "5 questions, 5 answered" in first.stdout
    lines = place.out.read_bytes().splitlines(keepends=True)
    place.out.write_bytes(lines[0] + lines[1][:50])  # killed while the second line was written
    second = place.run(replies=[GOOD] * 4)
    assert "1 of 5 questions are there already" in second.output
    assert "the last line was not finished" in second.output
    assert [id for id, _ in place.answers()] == ["q0", "q1", "q2", "q3", "q4"]
    third = place.run()
    assert third.exit_code == 0
    assert "5 of 5 questions are there already" in third.output


def test_failed_questions_are_asked_again_in_their_places(place: Place):
    first = place.run(replies=[GOOD, "", GOOD, "", GOOD])
    assert first.exit_code == 3
    assert "2 of 5 questions not answered: no server" in first.output
    kept = place.out.read_bytes().splitlines()
    second = place.run(replies=["Answer: now", ""])
    assert second.exit_code == 3
    assert "2 of them without an answer, asked again" in second.output
    assert "5 questions, 4 answered" in second.stdout
    assert place.answers() == [
        ("q0", "Yes, first class."), ("q1", "now"), ("q2", "Yes, first class."), ("q3", ""),
        ("q4", "Yes, first class."),
    ]  # fmt: skip
    assert [place.out.read_bytes().splitlines()[at] for at in (0, 2, 4)] == [kept[at] for at in (0, 2, 4)]
    assert place.run(replies=["Answer: at last"]).exit_code == 0
    assert place.answers()[3] == ("q3", "at last")
    assert {path.name for path in place.folder.glob("out*")} == {"out.jsonl", "out.jsonl.settings.json"}


def test_failed_questions_are_left_if_that_is_asked_for(place: Place):
    place.run(replies=["", GOOD, GOOD, GOOD, GOOD])
    before = place.out.read_bytes()
    second = place.run("--keep-failed")
    assert second.exit_code == 3
    assert "1 of them without an answer, left as they are" in second.output
    assert "5 questions, 4 answered" in second.stdout
    assert place.out.read_bytes() == before


def test_new_questions_go_where_they_stand_among_the_others(place: Place):
    place.ask_for(1, 3)
    place.run(replies=["", GOOD])
    place.ask_for(5)
    second = place.run(replies=["Answer: again", "Answer: 0", "Answer: 2", "Answer: 4"])
    assert second.exit_code == 0, second.output
    assert place.answers() == [
        ("q0", "0"), ("q1", "again"), ("q2", "2"), ("q3", "Yes, first class."), ("q4", "4"),
    ]  # fmt: skip


def test_an_interrupted_second_run_keeps_what_was_asked_again(place: Place, monkeypatch: pytest.MonkeyPatch):
    place.run(replies=["", "", "", GOOD, GOOD])
    monkeypatch.setattr("rulewise.cli.rag._AT_ONCE", 1)
    stopped = place.run(replies=["Answer: first", "", None])
    assert stopped.exit_code != 0
    assert [text for _, text in place.answers()] == ["first", "", "", "Yes, first class.", "Yes, first class."]
    last = place.run(replies=["Answer: second", "Answer: third"])
    assert last.exit_code == 0, last.output
    assert [text for _, text in place.answers()][:3] == ["first", "second", "third"]


def trace(n: int, *, text: str = "", failure: str = "") -> RagTrace:
    id = f"q{n}"
    return RagTrace(query=Query(id=id, text=f"{n}?"), answer=Answer(query_id=id, text=text, failure=failure), usage={})


QUERIES = [Query(id=f"q{n}", text=f"{n}?") for n in range(3)]


def test_what_a_killed_run_asked_again_is_taken_up(tmp_path: Path):
    file = TraceFile(tmp_path / "out.jsonl")
    with file.adding(again=False) as add:
        add([trace(0, failure="x"), trace(1, text="one"), trace(2, failure="y")])
    with file.adding(again=True) as add:
        add([trace(0, text="zero"), trace(2, failure="z")])
    journal = tmp_path / "out.jsonl.again.jsonl"
    journal.write_bytes(
        journal.read_bytes()[:-5]
    )  # killed within the second line, before anything was put in its place
    assert file.settle(QUERIES) == {"q0": "", "q1": "", "q2": "y"}
    assert not journal.exists()
    assert file.settle(QUERIES) == {"q0": "", "q1": "", "q2": "y"}


def test_a_journal_without_its_traces_is_not_taken_up(tmp_path: Path):
    file = TraceFile(tmp_path / "out.jsonl")
    with file.adding(again=True) as add:
        add([trace(0, text="of a file that was removed")])
    assert file.settle(QUERIES) == {}
    assert [path.name for path in tmp_path.iterdir()] == []


def test_two_traces_of_a_query_and_a_damaged_journal_are_refused_and_stay(tmp_path: Path):
    file = TraceFile(tmp_path / "out.jsonl")
    with file.adding(again=False) as add:
        add([trace(0, text="a"), trace(0, text="b")])
    with pytest.raises(FileFormatError, match=r"out.jsonl:2: is the second trace of the query 'q0'"):
        file.settle(QUERIES)
    (tmp_path / "out.jsonl").write_bytes(b"")
    (tmp_path / "out.jsonl.again.jsonl").write_text("no trace\n")
    with pytest.raises(FileFormatError, match=r"again.jsonl:1: .*Give another --out"):
        file.settle(QUERIES)
    assert (tmp_path / "out.jsonl.again.jsonl").exists()


def test_one_run_at_a_time_writes_a_file(place: Place):
    with TraceFile(place.out).writing():
        assert "another process is writing it" in str(place.run(replies=[GOOD] * 5).exception)
    assert place.llm.n_asked == 0


def test_a_run_does_not_go_on_with_other_settings(place: Place):
    assert place.run(replies=[GOOD] * 5).exit_code == 0
    before = place.out.read_bytes()
    other = place.run("--method", "standard-rag")
    assert "was made with method = 'rulerag', and now it is 'standard-rag'" in str(other.exception)
    for name in ("rules", "docs"):
        (file,) = place.folder.glob(f"{name}.*")
        text = file.read_text()
        file.write_text(text.replace("first", "second"))
        assert f"{'documents' if name == 'docs' else name}_sha256" in str(place.run().exception)
        file.write_text(text)
    assert place.out.read_bytes() == before
    (place.folder / "out.jsonl.settings.json").write_text("[1]")
    assert "settings.json: cannot be read" in str(place.run().exception)
    (place.folder / "out.jsonl.settings.json").unlink()
    assert "what it holds is not known" in str(place.run().exception)
    assert place.out.read_bytes() == before


def test_a_run_does_not_go_on_over_a_store_that_changed(place: Place):
    pytest.importorskip("lance", reason="needs the extra 'store'")
    from rulewise.retrieval.lance_store import LanceStore
    from rulewise.types import Document

    store = LanceStore.build(place.folder / "store", [Document(id="d", text="Rides of four hours are first class.")])
    given = ("--documents", place.folder / "store")
    assert place.run(*given, replies=[GOOD] * 5).exit_code == 0
    assert "5 of 5 questions are there already" in place.run(*given).output
    store.add([Document(id="e", text="Rides of two hours are second class.")])
    assert "documents_sha256" in str(place.run(*given).exception)


def test_the_same_settings_from_a_file_are_the_same(place: Place):
    assert place.run("--k", 10, replies=[GOOD] * 5).exit_code == 0
    (place.folder / "conf").mkdir()
    config = place.folder / "conf" / "rulewise.toml"
    text = '[llm]\nconcurrency = 3\n[rag]\ndocuments = ["../docs.jsonl"]\nrules = "../rules.csv"\n'
    config.write_text(text)

    def run_with_file(*arguments: object) -> Result:
        given = ("--config", config, "--queries", place.queries, "--out", place.out, *arguments)
        return CliRunner().invoke(cli, ["rag", "run", *map(str, given)])

    same = run_with_file()
    assert same.exit_code == 0, same.output + str(same.exception)
    assert "5 of 5 questions are there already" in same.output
    config.write_text(text + 'merge = "rrf"\n')
    assert "was made with merge = 'turns', and now it is 'rrf'" in str(run_with_file().exception)
    assert run_with_file("--merge", "turns").exit_code == 0


def test_traces_go_neither_over_what_is_read_nor_among_documents(place: Place):
    with pytest.raises(InputError, match="there is no folder"):
        TraceFile(place.folder / "none" / "out.jsonl")
    before = place.queries.read_bytes()
    assert "is read here" in str(place.run("--out", place.queries).exception)
    assert place.queries.read_bytes() == before
    assert "is a folder" in str(place.run("--out", place.folder).exception)
    (place.folder / "more").mkdir()
    (place.folder / "more" / "a.jsonl").write_text('{"text": "one"}\n')
    among = place.run("--documents", place.folder / "more", "--out", place.folder / "more" / "out.jsonl")
    assert "Give a file that lies elsewhere" in str(among.exception)


def test_what_is_saved_replaces_only_traces_of_the_same_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "saved.jsonl"
    check_save(file, QUERIES)
    assert not file.exists()
    file.write_text(json.dumps(trace(0, text="a").to_dict()) + "\n")
    check_save(file, QUERIES)
    for text in (
        "mine\n",
        "[1]\n",
        json.dumps({**trace(0, text="a").to_dict(), "query": {"id": "q0", "text": "Else?"}}),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match="Nothing was asked"):
            check_save(file, QUERIES)
        assert file.read_text() == text
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(InputError, match="no regular file"):
            check_save(path, QUERIES)
    with pytest.raises(InputError, match="there is no folder"):
        check_save(tmp_path / "none" / "a.jsonl", QUERIES)

    def refused(**options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    with pytest.raises(InputError, match=r"cannot be written \(Permission denied\)"):
        check_save(tmp_path / "new.jsonl", QUERIES)


def test_the_traces_of_other_questions_are_refused(place: Place):
    place.run(replies=[GOOD] * 5)
    place.ask_for(1, 2)
    before = place.out.read_bytes()
    assert "is not in the file of queries" in str(place.run().exception)
    place.queries.write_text(json.dumps({"id": "q0", "input": "Another?"}) + "\n")
    assert "reads otherwise there" in str(place.run().exception)
    assert place.out.read_bytes() == before
    place.out.write_text("no trace\n")
    assert "Give another --out" in str(place.run().exception)
    assert place.out.read_text() == "no trace\n"
