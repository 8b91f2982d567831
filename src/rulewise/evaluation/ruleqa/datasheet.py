"""The datasheet of a RuleQA set: sizes against the paper's, coverage, balance, leakage checks, how it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.evaluation.ruleqa.bank import Bank
from rulewise.evaluation.ruleqa.measured import how_measured
from rulewise.evaluation.ruleqa.parts import Parts
from rulewise.evaluation.ruleqa.presets import Preset
from rulewise.evaluation.ruleqa.queries import Asked
from rulewise.evaluation.ruleqa.settings import RuleQASettings, Sizes
from rulewise.evaluation.ruleqa.training import TrainingRow
from rulewise.metrics.answers import holds

__all__ = ["Facts", "datasheet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that a datasheet is written from; see `builder.build_ruleqa`.

    `eligible` counts the questions about popular and about long-tail subjects that queries were chosen from.
    """

    settings: RuleQASettings
    preset: Preset | None
    parts: Parts
    documents: KnowledgeGraph
    bank: Bank
    pool: Sequence[Asked]
    n_with_rule: int
    n_with_oracle: int
    chosen: Sequence[Asked]
    details: Mapping[str, Mapping[str, Any]]
    border: float
    f_r: Sequence[TrainingRow]
    f_g: Sequence[TrainingRow]
    n_taken: int
    retrieved: Mapping[str, Any]
    eligible: tuple[int, int]


def datasheet(facts: Facts) -> dict[str, Any]:
    """The datasheet as JSON: keys are those of the Markdown page that `folder.write_ruleqa` makes of it."""
    settings, documents = facts.settings, facts.documents
    built = Sizes(
        rules=len(facts.bank.library),
        documents=documents.n_facts,
        f_r=len(facts.f_r),
        f_g=len(facts.f_g),
        queries=len(facts.chosen),
    )
    paper = asdict(facts.preset.paper) if facts.preset is not None else {}
    own = asdict(built)
    sizes = {
        key: {"here": n, **({"paper": paper[key], "difference": n - paper[key]} if key in paper else {})}
        for key, n in own.items()
    }
    relations = Counter(row["relation"] for row in facts.details.values())
    popularity = Counter(row["popularity"] for row in facts.details.values())
    named = _named(facts)
    return {
        "name": settings.name,
        "preset": "" if facts.preset is None else facts.preset.key,
        "source": settings.source,
        "licence": settings.licence,
        "notes": [] if facts.preset is None else list(facts.preset.notes),
        "remarks": _remarks(facts, popularity, named),
        "sizes": sizes,
        "coverage": {**_coverage(facts), "with_answer_in_the_subjects_name": len(named)},
        "pool": {
            "questions": len(facts.pool),
            "with_rule": facts.n_with_rule,
            "with_oracle_document": facts.n_with_oracle,
        },
        "leakage": _leakage(facts),
        "documents_of_f_g": dict(facts.retrieved),
        "balance": {
            "popular": popularity["popular"],
            "long-tail": popularity["long-tail"],
            "popular_to_choose_from": facts.eligible[0],
            "long-tail_to_choose_from": facts.eligible[1],
            "border_degree": facts.border,
        },
        "relations": dict(sorted(relations.items(), key=lambda pair: (-pair[1], pair[0]))),
        "rules": {
            "from": facts.bank.how,
            **_measured(facts),
            "left_out": facts.bank.dropped,
            "by_body_atoms": {
                str(n): count for n, count in sorted(Counter(len(r.body) for r in facts.bank.library).items())
            },
            "inverse": sum(len(w) == 1 and w[0].is_inverse for w in facts.bank.walks.values()),
            "least_confidence": min((rule.confidence or 0.0 for rule in facts.bank.library), default=None),
        },
        "graph": {
            "train": facts.parts.train.n_facts,
            "valid": facts.parts.valid.n_facts,
            "test": facts.parts.test.n_facts,
            "repeated_rows_left_out": facts.parts.n_repeated,
            **{
                f"{name}_times": _span(graph)
                for name, graph in (
                    ("train", facts.parts.train),
                    ("valid", facts.parts.valid),
                    ("test", facts.parts.test),
                    ("documents", documents),
                )
                if graph.is_temporal
            },
        },
        "settings": settings.to_dict(),
    }


def _named(facts: Facts) -> list[Asked]:
    """The queries whose subject's name holds an answer, as `answer_recall` looks for it."""
    names = facts.documents.entity_names
    return [q for q in facts.chosen if holds(names[q.subject], [names[answer] for answer in q.answers])]


def _remarks(facts: Facts, popularity: Mapping[str, int], named: Sequence[Asked]) -> list[str]:
    """What a reader would not expect of the set."""
    remarks = []
    n, most = facts.documents.n_facts, facts.settings.most
    if most.documents is not None and n > most.documents:
        remarks.append(
            f"{n:,} documents were taken, {n - most.documents:,} more than the {most.documents:,} asked for: that many "
            "are oracle documents of queries and training data, which are never left out. Fewer queries and rows of "
            "F_R and F_G need fewer."
        )
    popular, rare = popularity["popular"], popularity["long-tail"]
    if abs(popular - rare) > 1:
        n_chosen, n_all = len(facts.chosen), sum(facts.eligible)
        why = (
            f"all {n_all:,} that there are"
            if n_chosen == n_all
            else f"{n_chosen:,} of {n_all:,}, of which {facts.eligible[0]:,} are about popular subjects and "
            f"{facts.eligible[1]:,} about long-tail ones"
        )
        remarks.append(
            f"Popular and long-tail subjects are not balanced: {popular:,} queries and {rare:,}. Queries are {why}."
        )
    if named:
        names = facts.documents.entity_names
        first = named[0]
        remarks.append(
            f"Queries with an answer within their own subject's name: {len(named):,}, such as "
            f"{next(names[a] for a in first.answers if holds(names[first.subject], [names[a]]))!r} in "
            f"{names[first.subject]!r}: every document that names the subject then counts as one with the answer."
        )
    if most.queries is not None and len(facts.chosen) < most.queries:
        remarks.append(
            f"Queries found: {len(facts.chosen):,} instead of the {most.queries:,} asked for. No others have what "
            "queries must have."
        )
    return remarks


def _measured(facts: Facts) -> dict[str, Any]:
    """How many rules brought their metrics, and how many were measured; nothing where no rule was."""
    measured = facts.bank.measured
    if not measured:
        return {}
    whole = sum(len(keys) > 1 for keys in measured.values())
    return {
        "with_confidence_and_support_of_their_own": len(facts.bank.library) - len(measured),
        "measured_on_the_training_facts": whole,
        "measured_where_one_of_the_two_was_missing": len(measured) - whole,
        "measured_as": how_measured(facts.parts.train),
    }


def _coverage(facts: Facts) -> dict[str, int]:
    documents = facts.documents
    names = documents.relation_names
    heads = {rule.head.predicate for rule in facts.bank.library if rule.head is not None}
    entities = set(documents.subjects.tolist()) | set(documents.objects.tolist())
    together: set[tuple[int, int]] = set()
    for s, o in zip(documents.subjects.tolist(), documents.objects.tolist(), strict=True):
        together.add((s, o))
        together.add((o, s))
    return {
        "queries": len(facts.chosen),
        "with_rule": sum(names[asked.relation] in heads for asked in facts.chosen),
        "with_oracle_document": sum(bool(row["oracle"]) for row in facts.details.values()),
        "with_answer_in_some_document": sum(any(a in entities for a in q.answers) for q in facts.chosen),
        "with_answer_beside_subject": sum(any((q.subject, a) in together for a in q.answers) for q in facts.chosen),
        "with_answer_repeated": sum(bool(row["repeats"]) for row in facts.details.values()),
        "with_subject_not_in_documents": sum(q.subject not in entities for q in facts.chosen),
        "with_no_answer_in_documents": sum(not any(a in entities for a in q.answers) for q in facts.chosen),
    }


def _leakage(facts: Facts) -> dict[str, Any]:
    keys = [asked.key for asked in facts.chosen]
    f_r, f_g = {row.asked.key for row in facts.f_r}, {row.asked.key for row in facts.f_g}
    is_shared = facts.settings.documents == "train+valid"
    return {
        "test_facts_among_documents": 0,  # the builder stops otherwise
        "queries_asked_twice": len(keys) - len(set(keys)),
        "questions_in_both_f_r_and_f_g": len(f_r & f_g),
        "validation_questions_left_out_as_queries": facts.n_taken,
        "queries_in_training_data": len(set(keys) & (f_r | f_g)),
        "validation_facts_are_documents": is_shared,
        "remark": (
            "Validation facts are documents too, so that the answers of F_R and F_G stand in documents of their own "
            "time. Oracle documents are earlier than their query; other documents need not be."
            if is_shared
            else "Documents are facts of the training part only."
        ),
    }


def _span(graph: KnowledgeGraph) -> str:
    if graph.times is None or not graph.times.size:
        return ""
    return f"{graph.time_names[int(graph.times.min())]} to {graph.time_names[int(graph.times.max())]}"
