"""A cell of an experiment: one arm on one set, with everything that its figures depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from rulewise.errors import InputError
from rulewise.evaluation.benchmark import WHOLE
from rulewise.evaluation.cell_settings import cell_id, check_settings, typed_settings
from rulewise.types import SearchForm, Surface

__all__ = ["Cell", "CellReasoner", "CellReranker"]

CellReranker: TypeAlias = Literal["none", "listwise", "pointwise"]
"""How hits are reranked."""

CellReasoner: TypeAlias = Literal["none", "direct", "cot", "golden", "induced", "rules"]
"""How queries are answered: not at all, without rules, step by step, or with the gold, induced or found rules."""

NONE = "none"
_WITHOUT_SEARCH = ("direct", "cot", "golden", "induced")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "surface": get_args(Surface),
    "form": get_args(SearchForm),
    "reranker": get_args(CellReranker),
    "reasoner": get_args(CellReasoner),
}
_AT_LEAST = {"distractors": 1, "n_demos": 0, "depth": 1, "k": 1, "shown": 1, "seed": 0, "sample": 0}
_NAMED = {
    "direct": "Direct",
    "golden": "Golden rule",
    "cot": "CoT",
    "induced": "Self-Induction",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One arm on one set.

    Attributes:
        set: Name of the set.
        surface: Which text of the rules is searched, induced and shown.
        library: Which library of the set; see `Benchmark.library`.
        distractors: Size of the searched library, as a multiple of its own; the rest are distractor rules. At least 1.
        retriever: "bm25", "dense", "hybrid", another registered name, or "none".
        analyzer: How texts become terms; "" if the retriever uses none.
        encoder: What texts become vectors with, as `rulewise.retrieval.encoders.build_encoder` takes it; "" for none.
        form: What is searched with.
        induced: Where induced rules come from: "model", or the label of a file of recorded ones; "" if none are needed.
            A cell that names recorded rules is run on the queries that have one, even if it searches with the query
            alone, so that it can be compared with those that do not.
        n_demos: Demonstrations in the induction prompt.
        reranker: How hits are reranked.
        depth: Hits given to the reranker; the paper's 20.
        k: Hits kept; the paper's 10.
        reasoner: How queries are answered.
        shown: Rules put in the reasoning prompt; the paper's 1.
        model: Label of the language model; "" if none is asked.
        seed: Draws the sample, the distractors, replies at a temperature above 0 and, if it is not 0, the
            demonstrations (0 takes the first ones).
        sample: How many queries, drawn at random; 0 for all.
    """

    set: str
    surface: Surface = "natural"
    library: str = WHOLE
    distractors: int = 1
    retriever: str = "bm25"
    analyzer: str = "rule"
    encoder: str = "local"
    form: SearchForm = "input"
    induced: str = "model"
    n_demos: int = 5
    reranker: CellReranker = "none"
    depth: int = 20
    k: int = 10
    reasoner: CellReasoner = "none"
    shown: int = 1
    model: str = ""
    seed: int = 0
    sample: int = 0

    def __post_init__(self) -> None:
        check_settings(self, choices=_CHOICES, at_least=_AT_LEAST)
        if self.reranker != NONE and self.depth < self.k:
            raise InputError(f"depth must be at least k, got depth {self.depth} and k {self.k}.")
        if self.reasoner == "rules" and self.shown > self.k:
            raise InputError(f"shown must be at most k, got shown {self.shown} and k {self.k}.")
        if self.retriever == NONE and self.reasoner not in _WITHOUT_SEARCH:
            raise InputError(
                "A cell without a retriever needs a reasoner that uses none: direct, cot, golden, induced."
            )

    @property
    def searches(self) -> bool:
        """Whether rules are searched; baselines that answer without searching do not."""
        return self.retriever != NONE and self.reasoner not in _WITHOUT_SEARCH

    @property
    def induces(self) -> bool:
        """Whether an induced rule is needed."""
        return self.reasoner == "induced" or (self.searches and self.form != "input")

    @property
    def asks(self) -> bool:
        """Whether a language model is asked."""
        return self.reranker != NONE or self.reasoner != NONE or (self.induces and self.induced == "model")

    def normalised(self) -> Cell:
        """The cell with every setting that it does not use at one fixed value, so that equal work is equal."""
        cell = self
        if not cell.searches:
            cell = replace(
                cell, retriever=NONE, form="input", reranker="none", library=WHOLE, distractors=1, k=1, shown=1
            )
            if cell.reasoner in ("direct", "cot"):
                cell = replace(cell, surface="natural")
        if cell.retriever in (NONE, "dense"):
            cell = replace(cell, analyzer="")
        if cell.retriever in (NONE, "bm25"):
            cell = replace(cell, encoder="")
        if not cell.induces:
            cell = replace(cell, induced="" if cell.induced == "model" else cell.induced, n_demos=0)
        elif cell.induced != "model":
            cell = replace(cell, n_demos=0)
        if cell.reranker == NONE:
            cell = replace(cell, depth=cell.k)
        if cell.reasoner != "rules":
            cell = replace(cell, shown=1)
        if not cell.asks:
            cell = replace(cell, model="")
        if not cell.sample and not cell.asks and cell.distractors == 1:
            cell = replace(cell, seed=0)
        return cell

    def as_search(self) -> Cell:
        """The cell that searches alike and answers nothing."""
        return replace(self, reasoner="none", shown=1).normalised()

    @property
    def method(self) -> str:
        """What the SIAR paper calls the arm: "vanilla retrieval + R3", "SIAR (w/ SI)", "Golden rule"."""
        if self.reasoner in _NAMED:
            return _NAMED[self.reasoner]
        r3 = {"none": "", "listwise": "R3", "pointwise": "R3 pointwise"}[self.reranker]
        if self.form == "input":
            return f"vanilla retrieval + {r3}" if r3 else "vanilla retrieval"
        form = {"si": "SI", "si+input": "SI + input", "fused": "fused"}[self.form]
        return f"SIAR{'-' + r3 if r3 else ''} (w/ {form})"

    @property
    def id(self) -> str:
        """A name for files: what tells cells apart in words, and eight digits that stand for all settings."""
        cell = self.normalised()
        words = [cell.set, cell.surface]
        if cell.library != WHOLE:
            words.append(cell.library)
        if cell.distractors > 1:
            words.append(f"x{cell.distractors}")
        if cell.searches:
            words.append(cell.retriever)
            words += [cell.analyzer] if cell.analyzer not in ("", "rule") else []
            words += [cell.encoder] if cell.encoder not in ("", "local") else []
            words.append(cell.form)
        if cell.reranker != NONE:
            words.append(cell.reranker)
        if cell.reasoner != NONE:
            words.append(cell.reasoner)
        if cell.model:
            words.append(cell.model)
        return cell_id(words, cell.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """All settings as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Cell:
        """The inverse of `to_dict`; absent settings have their defaults.

        Raises:
            UnknownNameError: If a key is not a setting.
            InputError: If a value has the wrong type or is out of range.
        """
        return cls(**typed_settings(cls, data))
