"""Running experiments: shared work, resuming, failures, and the same bytes whatever happened on the way."""

from __future__ import annotations

import json
import threading
from collections import Counter
from pathlib import Path

import pytest

from rulewise.errors import InputError, LLMError, MissingExtraError
from rulewise.evaluation.lock import locked
from rulewise.evaluation.run_folder import RunFolder
from rulewise.evaluation.runner import run_experiment
from rulewise.llm.base import failed
from rulewise.testing import ScriptedLLM
from tests.evaluation.conftest import GRID, QUERIES, good_reply

SAME_EVERY_TIME = ("plan.json", "replies.jsonl", "records.jsonl", "scores.jsonl", "status.json", "toy.jsonl")


def bytes_of(folder: Path) -> dict[str, bytes]:
    """All files that are to be the same in every run."""
    kept = [path for path in folder.rglob("*") if path.name in SAME_EVERY_TIME or path.parent.name == "rules"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


@pytest.fixture
def run(make_experiment, make_materials, tmp_path):
    def run(llm=None, *, text=GRID, out="run", **options):
        experiment = make_experiment(text)
        model = llm or ScriptedLLM(good_reply)
        open_model = model if callable(model) else lambda spec: model
        return run_experiment(
            experiment, tmp_path / out, materials=make_materials(experiment), open_model=open_model, **options
        )

    return run


def cell_of(summary, *, method, reasoner="none"):
    folder = RunFolder.open(summary.folder)
    (cell,) = [c for c in folder.plan.cells if c.method == method and c.reasoner == reasoner]
    return folder, cell


def test_every_arm_runs_and_is_scored_for_every_query(run):
    summary = run()
    assert summary.is_complete
    folder = RunFolder.open(summary.folder)
    for cell in folder.plan.cells:
        assert [row["query_id"] for row in folder.scores(cell)] == [query_id for query_id, *_ in QUERIES]


def test_scores_of_plain_retrieval_are_as_worked_out_by_hand(run):
    # q1 shares rent, end, lease with r1; q2 demand with r2; q3 shares nothing but "in", "may" with any rule;
    # q4 deposit, claim with r4; q5 no word with any rule, so that it finds nothing and counts as 0
    folder, cell = cell_of(run(), method="vanilla retrieval")
    scores = {row["query_id"]: row for row in folder.scores(cell)}
    assert [scores[q]["recall@1"] for q in ("q1", "q2", "q4", "q5")] == [1.0, 1.0, 1.0, 0.0]
    assert scores["q5"]["mrr"] == 0.0
    assert "queries without any hit, which count as 0: 1 (q5)" in folder.status(cell).notes


def test_searching_with_induced_rules_finds_what_the_query_alone_does_not(run):
    folder, cell = cell_of(run(), method="SIAR (w/ SI)")
    assert [row["recall@1"] for row in folder.scores(cell)] == [1.0] * 5


def test_one_induction_a_query_serves_all_cells(run):
    llm = ScriptedLLM(good_reply)
    run(llm)
    inductions = [p[0].content for p in llm.prompts if p[0].content.startswith("You are given a Query")]
    assert len(inductions) == len(set(inductions)) == len(QUERIES)
    assert max(Counter(p[0].content for p in llm.prompts).values()) == 1  # no prompt at all is sent twice


def test_a_demonstration_that_is_also_a_query_is_never_shown_and_that_is_said(run):
    llm = ScriptedLLM(good_reply)
    folder, cell = cell_of(run(llm), method="SIAR (w/ SI)")
    assert not any("would know the gold rule" in prompt[0].content for prompt in llm.prompts)
    assert any("demonstration" in note for note in folder.status(cell).notes)


def test_only_the_golden_baseline_is_shown_the_gold_rule_of_a_query_without_hits(run):
    llm = ScriptedLLM(good_reply)
    run(llm)
    asked = [p[0].content for p in llm.prompts if "Xyzzy" in p[0].content and "goes on with the buyer" in p[0].content]
    with_rules = [text for text in asked if "rank rules" not in text]
    assert len(with_rules) == 1  # one prompt for the golden rule and for the arm that found it by the induced rule


def test_running_again_asks_nothing_and_changes_nothing(run):
    summary = run()
    before = bytes_of(summary.folder)
    silent = ScriptedLLM([])
    again = run(silent)
    assert again.is_complete
    assert again.n_new_replies == 0
    assert silent.prompts == []
    assert bytes_of(again.folder) == before


@pytest.mark.parametrize("n_replies", [1, 3, 6, 11, 17, 24])
def test_a_run_that_was_interrupted_ends_as_one_that_was_not_and_pays_no_call_twice(run, n_replies):
    whole = run(out="whole")
    asked: list[str] = []

    def reply(prompt):
        if len(asked) == n_replies:
            raise KeyboardInterrupt
        asked.append(prompt)
        return good_reply(prompt)

    with pytest.raises(KeyboardInterrupt):
        run(ScriptedLLM(reply), block=2)
    rest = ScriptedLLM(good_reply)
    resumed = run(rest, block=2)
    assert bytes_of(resumed.folder) == bytes_of(whole.folder)
    assert not set(asked) & {prompt[0].content for prompt in rest.prompts}
    assert len(asked) + len(rest.prompts) == whole.n_replies


@pytest.mark.parametrize("block", [1, 2, 5])
def test_the_size_of_blocks_changes_no_byte(run, block):
    assert bytes_of(run(out=f"b{block}", block=block).folder) == bytes_of(run(out="whole").folder)


def test_replies_that_come_in_another_order_change_no_byte(run):
    class Backwards(ScriptedLLM):
        def complete(self, prompts, sampling, *, on_done=None):
            done = [ScriptedLLM(good_reply).complete([prompt], sampling)[0] for prompt in prompts]
            for position in reversed(range(len(prompts))):
                if on_done is not None:
                    on_done(position, done[position])
            return done

    assert bytes_of(run(Backwards([]), out="back").folder) == bytes_of(run(out="forth").folder)


def test_calls_that_fail_are_counted_by_reason_and_tried_again_by_the_next_run(run):
    def reply(prompt):
        is_induction = prompt.startswith("You are given a Query")
        return failed("HTTP 500", model="m") if is_induction and "Carl" in prompt else good_reply(prompt)

    first = run(ScriptedLLM(reply))
    folder, cell = cell_of(first, method="SIAR (w/ SI)")
    status = folder.status(cell)
    assert not first.is_complete
    assert (status.state, status.n_done, status.n_failed) == ("incomplete", 5, 1)
    assert status.reason.startswith("calls failed for 1 of 5 queries, which have no scores: induce: HTTP 500 (1)")
    assert status.failures == {"induce: HTTP 500": 1}
    assert [len(row) > 1 for row in folder.scores(cell)] == [True, False, True, True, True]
    assert first.failures["induce: HTTP 500"] == 6  # one query in each of six cells that induce
    second = run()
    assert second.failures == {}
    ours, whole = bytes_of(second.folder), bytes_of(run(out="never failed").folder)
    # the failed induction led to prompts that the other run never sent
    assert set(whole.pop("replies.jsonl").splitlines()) < set(ours.pop("replies.jsonl").splitlines())
    assert ours == whole


def test_a_cell_whose_every_call_failed_is_not_run_and_has_no_figures(run):
    empty = ScriptedLLM(lambda prompt: failed("empty reply", model="m"))
    summary = run(empty)
    states = Counter(status.state for status in summary.states.values())
    assert states == {"done": 1, "not run": 9}
    folder, cell = cell_of(summary, method="Direct", reasoner="direct")
    assert [set(row) for row in folder.scores(cell)] == [{"query_id"}] * 5
    assert "calls failed for 5 of 5 queries" in folder.status(cell).reason
    assert run().is_complete


def test_texts_that_no_rule_has_are_not_searched_in_the_place_of_others(run):
    text = GRID.replace('set = "toy"', 'set = "toy"\nsurface = "formal"')
    folder, cell = cell_of(run(text=text), method="vanilla retrieval")
    assert folder.status(cell).state == "not run"
    assert folder.status(cell).reason == "no rule of toy, library whole, has a formal text"


@pytest.mark.parametrize("name", ["rules", "queries"])
def test_a_file_that_is_missing_or_empty_stops_the_run_before_its_folder_is_made(run, toy_files, tmp_path, name):
    (toy_files / f"{name}.jsonl").rename(toy_files / "elsewhere.jsonl")
    with pytest.raises(InputError, match=f"{name}.jsonl"):
        run()
    (toy_files / f"{name}.jsonl").write_text("")
    with pytest.raises(InputError):
        run()
    assert not (tmp_path / "run").exists()


def test_a_run_that_was_killed_says_so_in_the_cell_it_was_in(run, tmp_path):
    folder = RunFolder.open(run().folder)
    (cell,) = [c for c in folder.plan.cells if c.method == "vanilla retrieval"]
    (folder.cell_folder(cell) / "status.json").unlink()
    (folder.cell_folder(cell) / "records.jsonl").rename(folder.cell_folder(cell) / "records.partial.jsonl")
    assert "the run ended before the cell was done" in folder.status(cell).reason
    assert run().is_complete


def test_a_model_that_cannot_be_reached_leaves_its_cells_not_run_and_the_others_done(run):
    class Down(ScriptedLLM):
        n_tries = 0

        def complete(self, prompts, sampling, *, on_done=None):
            type(self).n_tries += 1
            raise LLMError("no server at this address", model="small")

    summary = run(Down([]))
    states = Counter(status.state for status in summary.states.values())
    assert states == {"done": 1, "not run": 9}
    assert Down.n_tries == 1
    folder, cell = cell_of(summary, method="SIAR (w/ SI)")
    assert folder.status(cell).reason == "no server at this address" or "not asked again" in folder.status(cell).reason
    assert folder.scores(cell) == []  # not run is no score, and above all not 0
    assert run().is_complete


def test_a_model_that_goes_down_on_the_way_leaves_what_was_done(run):
    class Failing(ScriptedLLM):
        def complete(self, prompts, sampling, *, on_done=None):
            if len(self.prompts) >= 4:
                raise LLMError("quota used up", model="small")
            return super().complete(prompts, sampling, on_done=on_done)

    summary = run(Failing(good_reply), block=2)
    folder, cell = cell_of(summary, method="SIAR (w/ SI)")
    status = folder.status(cell)
    assert (status.state, status.n_done, status.n_queries, status.reason) == ("incomplete", 4, 5, "quota used up")
    assert len(folder.scores(cell)) == 4


def test_a_model_that_cannot_be_made_is_named_as_the_reason(run):
    def open_model(spec):
        raise MissingExtraError("'small' needs a package. Install it with: pip install x")

    summary = run(open_model)
    assert {s.reason for s in summary.states.values() if s.state == "not run"} >= {
        "'small' needs a package. Install it with: pip install x"
    }


def test_a_gold_rule_that_is_not_in_the_library_stops_the_run_before_anything_is_asked_or_written(run, toy_files):
    path = toy_files / "queries.jsonl"
    path.write_text(path.read_text().replace('"r4"', '"r44"'))
    llm = ScriptedLLM(good_reply)
    with pytest.raises(InputError, match="'r44' of query 'q4'"):
        run(llm)
    assert llm.prompts == []


def test_a_folder_with_a_run_on_other_data_is_refused_and_left_alone(run, toy_files):
    before = bytes_of(run().folder)
    path = toy_files / "queries.jsonl"
    path.write_text(path.read_text().replace("since March", "since April"))
    with pytest.raises(InputError, match="was run on other data"):
        run()
    assert bytes_of(run(out="other").folder) != before


def test_cells_can_be_added_to_a_run(run):
    run(text=GRID.replace('"siar-fused", ', ""))
    llm = ScriptedLLM(good_reply)
    summary = run(llm)
    assert summary.is_complete
    assert llm.prompts == []  # the new cell needs induced rules alone, which are there
    assert bytes_of(summary.folder) == bytes_of(run(out="whole").folder)


def test_running_some_of_the_cells_leaves_the_others_in_the_plan(run, make_experiment, make_materials, tmp_path):
    before = bytes_of(run().folder)
    some = make_experiment().only({"method": ["vanilla"]})
    run_experiment(some, tmp_path / "run", materials=make_materials(some), open_model=lambda spec: ScriptedLLM([]))
    assert bytes_of(tmp_path / "run") == before


def test_a_dated_query_finds_only_rules_in_force(run, toy_files):
    rules = [json.loads(line) for line in (toy_files / "rules.jsonl").read_text().splitlines()]
    rules[0]["effective_to"] = "2020-01-01"
    (toy_files / "rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    folder, cell = cell_of(run(out="undated"), method="vanilla retrieval")
    assert next(folder.records(cell)).hits[0].rule_id == "r1"
    queries = [json.loads(line) for line in (toy_files / "queries.jsonl").read_text().splitlines()]
    queries[0]["as_of"] = "2024-05-05"
    (toy_files / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    folder, cell = cell_of(run(), method="vanilla retrieval")
    assert "r1" not in [hit.rule_id for hit in next(folder.records(cell)).hits]
    assert folder.labelled("toy").examples["q1"].query.time == "2024-05-05"


def test_two_processes_cannot_run_in_one_folder(run, tmp_path):
    caught: list[BaseException] = []

    def try_it():
        try:
            run()
        except InputError as exc:
            caught.append(exc)

    with locked(tmp_path / "run"):
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    assert "another process is running in this folder" in str(caught[0])


def test_a_sample_is_drawn_by_its_seed_and_keeps_the_order(run):
    text = GRID.replace('set = "toy"', 'set = "toy"\nsample = 3\nseed = 7')
    folder, cell = cell_of(run(text=text), method="vanilla retrieval")
    ids = [record.query_id for record in folder.records(cell)]
    assert len(ids) == 3
    assert ids == sorted(ids)
    folder, cell = cell_of(run(text=text, out="again"), method="vanilla retrieval")
    assert [record.query_id for record in folder.records(cell)] == ids


def test_recorded_rules_restrict_a_cell_to_their_queries_and_ask_no_model(run, toy_files):
    rows = [{"query_id": "q5", "induced_rule": "If a flat is sold, the lease goes on."}]
    (toy_files / "induced.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = f"""
name = "toy"
metrics = ["recall@1"]
[induced.file]
path = "{toy_files / "induced.jsonl"}"
[[grid]]
set = "toy"
induced = "file"
form = ["input", "si"]
"""
    llm = ScriptedLLM([])
    summary = run(llm, text=text)
    folder = RunFolder.open(summary.folder)
    means = {cell.form: [row["recall@1"] for row in folder.scores(cell)] for cell in folder.plan.cells}
    assert means == {"input": [0.0], "si": [1.0]}
    assert any("1 of the set's 5 queries" in note for note in folder.status(folder.plan.cells[1]).notes)


def test_hostile_replies_are_kept_as_data_and_break_nothing(run):
    hostile = ["</script><script>alert(1)</script>", "\ud800", "\x00", "x" * 200_000, "[999999999]" * 50, "{}", "null"]
    count = iter(range(10**6))
    summary = run(ScriptedLLM(lambda prompt: hostile[next(count) % len(hostile)]))
    assert summary.is_complete
    folder = RunFolder.open(summary.folder)
    for cell in folder.plan.cells:
        assert len(list(folder.records(cell))) == 5


def test_a_block_must_hold_a_query(run):
    with pytest.raises(InputError, match="block must be at least 1"):
        run(block=0)
