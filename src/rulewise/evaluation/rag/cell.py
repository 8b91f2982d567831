"""A cell of an experiment with documents: one way to choose rules, search documents and answer, on one set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from rulewise.errors import InputError
from rulewise.evaluation.benchmark import WHOLE
from rulewise.evaluation.cell_settings import cell_id, check_settings, typed_settings
from rulewise.retrieval.guided.base import GuidedForm
from rulewise.retrieval.guided.search import MERGES, REPEATS
from rulewise.types import Surface

__all__ = ["BY_TERMS", "DEFAULT_FORM", "RAG", "RAG_METHODS", "RagCell", "RagForm", "RagReasoner"]

RAG = "rag"
"""What marks the settings of such a cell among others, under the key "task"."""

RagForm: TypeAlias = Literal["query"] | GuidedForm
"""What documents are searched with: the query alone, or a guided form."""

RagReasoner: TypeAlias = Literal["none", "direct", "cot", "plain", "rules", "ve", "cok"]
"""How queries are answered: not at all; without documents, at once or step by step; from the documents alone; from
documents and rules; by verify-and-edit; by chain-of-knowledge (under a guided form, RuleRAG-CoK)."""

DEFAULT_FORM: GuidedForm = "concat"
"""The guided form where none is named: the paper's."""

BY_TERMS = "bm25"
"""What compares rules and queries by their terms, in the place of an encoder."""

NONE = "none"
_GUIDED = ""
RAG_METHODS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "query-alone": {"form": "query", "reasoner": "none"},
        "rule-guided": {"form": _GUIDED, "reasoner": "none"},
        "standard-prompting": {"form": "query", "reasoner": "direct"},
        "cot": {"form": "query", "reasoner": "cot"},
        "standard-rag": {"form": "query", "reasoner": "plain"},
        "rulerag-retriever": {"form": _GUIDED, "reasoner": "plain"},
        "rulerag-icl": {"form": _GUIDED, "reasoner": "rules"},
        "ve": {"form": "query", "reasoner": "ve"},
        "cok": {"form": "query", "reasoner": "cok"},
        "rulerag-cok": {"form": _GUIDED, "reasoner": "cok"},
    }
)
"""Names of arms -> form and reasoner; a form of "" is the grid's guided form, `DEFAULT_FORM` if it names none."""

_CHOOSERS = ("head", "similarity")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "form": ("query", *get_args(GuidedForm)),
    "chooser": ("", *_CHOOSERS),
    "merge": ("", *MERGES),
    "repeats": ("", *REPEATS),
    "reasoner": get_args(RagReasoner),
    "style": ("", "cited", "paper"),
    "rewrite": ("", "body"),
}
_AT_LEAST = {"n_rules": 1, "k_per_rule": 0, "k": 1, "shown": 0, "shots": 0, "with_query": 0, "seed": 0, "sample": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class RagCell:
    """One arm on one set of queries, rules and documents (RuleRAG, sections 3 and 4).

    Attributes:
        set: Name of the set.
        retriever: "bm25", "dense", "hybrid", or "none".
        analyzer: How texts become terms; "" if the retriever uses none.
        encoder: What texts become vectors with, as `rulewise.retrieval.encoders.build_encoder` takes it; "" for none.
        form: What documents are searched with.
        chooser: How rules are chosen: "head", by the relation that is asked, or "similarity"; "" if none are.
        chooser_encoder: What rules and queries are compared with under "similarity", an encoder or "bm25"; under "head"
            the encoder that tells the relation where no template or alias does, "" for none.
        n_rules: Rules chosen, at most.
        theta: Least similarity of a chosen rule: a cosine, or a score of BM25.
        merge: How the documents of several rules are ranked together, see `rulewise.retrieval.guided.search.Merge`.
        repeats: What becomes of documents that state one fact at several times, with rules or without, see
            `rulewise.retrieval.guided.search.Repeats`; "last" needs a `k_per_rule` well above `k`. VE keeps them.
        k_per_rule: Documents that each search gives to the union; 0 for `k`.
        with_query: 1 if the query alone is searched with beside its rules, else 0.
        k: Documents kept; under "ve" and "cok" documents that each of their searches gives, the papers' 3.
        reasoner: How queries are answered.
        shown: Documents put in the prompt; 0 for all that are kept.
        style: What a generator is asked for: "cited", an answer with its rules and documents, or "paper", the missing
            object alone; "" for reasoners that ask in their own way.
        shots: Worked cases in the prompt; the paper gives 3 to closed models.
        rewrite: "body" if each query is asked by its rule's body relation, with the answer and the rules as they are
            (robustness, table 5); "" if not.
        model: Label of the language model; "" if none is asked.
        seed: Draws the sample and replies at a temperature above 0.
        sample: How many queries, drawn at random; 0 for all.
    """

    set: str
    retriever: str = "bm25"
    analyzer: str = "rule"
    encoder: str = "local"
    form: RagForm = "query"
    chooser: str = "head"
    chooser_encoder: str = ""
    n_rules: int = 3
    theta: float = 0.0
    merge: str = "turns"
    repeats: str = "keep"
    k_per_rule: int = 0
    with_query: int = 0
    k: int = 10
    reasoner: RagReasoner = "none"
    shown: int = 0
    style: str = "cited"
    shots: int = 0
    rewrite: str = ""
    model: str = ""
    seed: int = 0
    sample: int = 0

    # what reports ask of every cell and what has one value here
    surface: ClassVar[Surface] = "natural"
    library: ClassVar[str] = WHOLE
    distractors: ClassVar[int] = 1
    reranker: ClassVar[str] = NONE
    induced: ClassVar[str] = ""
    induces: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, choices=_CHOICES, at_least=_AT_LEAST)
        if self.with_query > 1:
            raise InputError(f"with_query must be 0 or 1, got {self.with_query}.")
        if not math.isfinite(self.theta):
            raise InputError(f"theta must be a number, got {self.theta}.")
        if self.chooser == "head" and self.chooser_encoder == BY_TERMS:
            raise InputError("chooser_encoder bm25 compares rules with the query: set chooser to similarity.")
        if self.chooser_encoder != BY_TERMS and not -1 <= self.theta <= 1:
            raise InputError(f"theta must be a cosine, from -1 to 1, got {self.theta}.")
        if self.shown > self.k:
            raise InputError(f"shown must be at most k, got shown {self.shown} and k {self.k}.")
        if self.retriever == NONE and self.reads:
            raise InputError("A cell without a retriever needs a reasoner that reads no document: direct or cot.")
        if self.uses_rules and not self.chooser:
            raise InputError("A cell that uses rules needs a chooser: head or similarity.")

    @property
    def reads(self) -> bool:
        """Whether documents are looked for at all."""
        return self.reasoner not in ("direct", "cot")

    @property
    def searches(self) -> bool:
        """Whether documents are ranked for the query; VE and CoK search for what their steps say instead."""
        return self.reasoner in (NONE, "plain", "rules")

    @property
    def is_guided(self) -> bool:
        """Whether rules guide the search."""
        return self.reads and self.form != "query"

    @property
    def uses_rules(self) -> bool:
        """Whether rules are chosen, to guide the search or to be shown."""
        return self.is_guided or self.reasoner == "rules"

    @property
    def asks(self) -> bool:
        """Whether a language model is asked."""
        return self.reasoner != NONE

    @property
    def n_shown(self) -> int:
        """Documents put in the prompt, or taken for shown where nothing is answered."""
        return self.shown or self.k

    def normalised(self) -> RagCell:
        """The cell with every setting that it does not use at one fixed value, so that equal work is equal."""
        cell = self
        if not cell.reads:
            cell = replace(cell, retriever=NONE, form="query", k=1, shown=0, rewrite="")
        if not cell.reads or cell.reasoner == "ve":
            cell = replace(cell, repeats="")
        elif not cell.repeats:
            cell = replace(cell, repeats="keep")
        if not cell.uses_rules:
            cell = replace(cell, chooser="", n_rules=1)
        if cell.chooser != "similarity":
            cell = replace(cell, theta=0.0)
        elif not cell.chooser_encoder:
            cell = replace(cell, chooser_encoder="local")
        if not cell.chooser:
            cell = replace(cell, chooser_encoder="")
        if not cell.is_guided:
            cell = replace(cell, merge="", with_query=0)
            if cell.repeats != "last":
                cell = replace(cell, k_per_rule=0)
        elif cell.n_rules == 1 and not cell.with_query:
            cell = replace(cell, merge="")
        if cell.k_per_rule == cell.k:
            cell = replace(cell, k_per_rule=0)
        if cell.retriever in (NONE, "dense"):
            cell = replace(cell, analyzer="")
        if cell.retriever in (NONE, "bm25"):
            cell = replace(cell, encoder="")
        if cell.shown == cell.k or cell.reasoner in ("ve", "cok"):
            cell = replace(cell, shown=0)
        if cell.reasoner not in ("direct", "plain", "rules"):
            cell = replace(cell, style="")
        if not cell.asks:
            cell = replace(cell, model="", shown=0, shots=0)
            if not cell.sample:
                cell = replace(cell, seed=0)
        return cell

    def as_search(self) -> RagCell:
        """The cell that searches alike and answers nothing."""
        return replace(self, reasoner="none").normalised()

    @property
    def method(self) -> str:
        """What the RuleRAG paper calls the arm, with the guided form: "Standard RAG", "RuleRAG-ICL (concat)"."""
        form = f" ({self.form})"
        if self.reasoner == "direct":
            name = "Standard Prompting"
        elif self.reasoner == "cot":
            name = "CoT"
        elif self.reasoner == "ve":
            name = "VE"
        elif self.reasoner == "cok":
            name = f"RuleRAG-CoK{form}" if self.is_guided else "CoK"
        elif self.reasoner == "rules":
            name = f"RuleRAG-ICL{form}" if self.is_guided else "RG-generator, query alone"
        elif self.reasoner == "plain":
            name = f"RG-retriever, plain generator{form}" if self.is_guided else "Standard RAG"
        else:
            name = f"rule-guided{form}" if self.is_guided else "query alone"
        return name

    @property
    def id(self) -> str:
        """A name for files: what tells cells apart in words, and eight digits that stand for all settings."""
        cell = self.normalised()
        words = [cell.set]
        if cell.reads:
            words.append(cell.retriever)
            words += [cell.analyzer] if cell.analyzer not in ("", "rule") else []
            words += [cell.encoder] if cell.encoder not in ("", "local") else []
            words.append(cell.form)
            words += ["repeats-last"] if cell.repeats == "last" else []
        if cell.chooser:
            words.append(cell.chooser)
        if cell.rewrite:
            words.append(f"rewrite-{cell.rewrite}")
        if cell.reasoner != NONE:
            words += [cell.reasoner, *([cell.style] if cell.style == "paper" else [])]
            words += [f"{cell.shots}-shot"] if cell.shots else []
        if cell.model:
            words.append(cell.model)
        return cell_id(words, cell.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """All settings as plain values, with "task" to tell them from those of other cells."""
        return {"task": RAG, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RagCell:
        """The inverse of `to_dict`; absent settings have their defaults.

        Raises:
            UnknownNameError: If a key is not a setting.
            InputError: If a value has the wrong type or is out of range.
        """
        settings = {key: value for key, value in data.items() if (key, value) != ("task", RAG)}
        return cls(**typed_settings(cls, settings))
