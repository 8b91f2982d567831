"""What a RuleQA set is made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

from rulewise.errors import InputError
from rulewise.evaluation.ruleqa.bank import SameRelation
from rulewise.evaluation.ruleqa.parts import SplitKind
from rulewise.registry import unknown_name
from rulewise.retrieval.guided.base import GuidedForm

__all__ = ["AnswersFrom", "DocumentsFrom", "Repeats", "Require", "RuleQASettings", "Sizes"]

DocumentsFrom: TypeAlias = Literal["train", "train+valid"]
"""Which facts are documents."""

Require: TypeAlias = Literal["none", "rule", "oracle"]
"""What a query must have: nothing, a rule for its relation, or a rule with an oracle document."""

Repeats: TypeAlias = Literal["keep", "drop"]
"""Whether a query may have an answer that a document states of the same subject and relation, at another time."""

AnswersFrom: TypeAlias = Literal["test", "all"]
"""Whether answers are the tails of test links, or those of all parts."""

_KINDS: Mapping[str, tuple[str, ...]] = {
    "split": get_args(SplitKind),
    "documents": get_args(DocumentsFrom),
    "require": get_args(Require),
    "repeats": get_args(Repeats),
    "answers": get_args(AnswersFrom),
    "same_relation": get_args(SameRelation),
    "retrieve_form": get_args(GuidedForm),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many rules, documents, rows of F_R and F_G, and queries; None where no number is meant."""

    rules: int | None = None
    documents: int | None = None
    f_r: int | None = None
    f_g: int | None = None
    queries: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleQASettings:
    """What a set is made with; the same settings and graph give the same bytes.

    Attributes:
        name: What the set is called.
        seed: Of all draws, at least 0.
        split: The graph's own parts, or all facts dealt anew.
        holdout: Training facts moved to validation, in static graphs, before anything is mined.
        lengths: Numbers of body atoms of mined rules.
        min_confidence: Least confidence of a rule, from 0 to 1.
        min_support: Least support of a rule.
        same_relation: Whether a rule may have its head's relation in its body.
        documents: Which parts are documents.
        require: What a query must have.
        repeats: Whether a query's fact may stand in a document of another time. No static set has such queries; without
            them a temporal set, too, holds only what has to be inferred.
        answers: Where acceptable answers come from.
        retrieve: Documents that are retrieved for each row of F_G, see `rulewise.evaluation.ruleqa.retrieved`; 0 leaves
            them to a retriever of later.
        retrieve_form: What they are searched with.
        most: Greatest sizes; None takes what there is. For documents the oracle documents are kept in any case.
        source: Where the graph comes from, for the datasheet.
        licence: Its licence, for the datasheet.

    Raises:
        UnknownNameError: If a choice is not one of those that there are.
        InputError: If a number is out of its range.
    """

    name: str = "ruleqa"
    seed: int = 0
    split: SplitKind = "own"
    holdout: int = 0
    lengths: tuple[int, ...] = (1,)
    min_confidence: float = 0.1
    min_support: int = 10
    same_relation: SameRelation = "drop"
    documents: DocumentsFrom = "train"
    require: Require = "rule"
    repeats: Repeats = "keep"
    answers: AnswersFrom = "test"
    retrieve: int = 0
    retrieve_form: GuidedForm = "both"
    most: Sizes = Sizes()
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("name: a set needs a name.")
        for key, known in _KINDS.items():
            if getattr(self, key) not in known:
                raise unknown_name(key, str(getattr(self, key)), known)
        if self.seed < 0:
            raise InputError(f"seed: expected a whole number of at least 0, got {self.seed}.")
        if not 0 <= self.min_confidence <= 1 or min(self.min_support, self.holdout, self.retrieve) < 0:
            raise InputError(
                "Expected min_confidence from 0 to 1; min_support, holdout and retrieve of at least 0; got "
                f"{self.min_confidence}; {self.min_support}, {self.holdout} and {self.retrieve}."
            )
        for key, size in asdict(self.most).items():
            if size is not None and size < 1:
                raise InputError(f"{key}: expected a size of at least 1, got {size}.")

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON has them."""
        return {**asdict(self), "lengths": list(self.lengths)}
