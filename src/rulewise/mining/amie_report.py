"""What a run of AMIE did: rules by length and head, what was left out and why, time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rulewise.mining.amie_search import REASONS
from rulewise.mining.amie_table import PATH, RuleTable

__all__ = ["AmieReport", "make_report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmieReport:
    """What a run of AMIE did.

    Attributes:
        n_facts: Distinct facts that were mined.
        n_repeated: Facts left out because an equal one came before, in the graph or under another time.
        n_heads: Relations that may be heads and have enough facts.
        n_done: Heads that are finished; fewer than `n_heads` if the run was interrupted.
        n_small: Relations that may be heads and have too few facts.
        n_by_length: Rules kept, by atoms with the head.
        n_by_head: Rules kept, by head relation, most first.
        n_parallel: Rules kept of three atoms whose body is two links from x to y.
        confidences: Rules kept by PCA confidence, in ten equal classes from 0 to 1; 1 belongs to the last.
        pruned: Rules left out for each reason. A dangling atom with too little support counts once under
            "below head coverage", and the rules that would refine it are never made.
        n_unwritten: Rules left out because a constant's name begins as variables do.
        engine: Name of the engine.
        cpu_s: CPU seconds of the process, all threads, compilation included.
        wall_s: Seconds by the clock.
    """

    n_facts: int
    n_repeated: int
    n_heads: int
    n_done: int
    n_small: int
    n_by_length: Mapping[int, int]
    n_by_head: Mapping[str, int]
    n_parallel: int
    confidences: tuple[int, ...]
    pruned: Mapping[str, int]
    n_unwritten: int
    engine: str
    cpu_s: float
    wall_s: float

    @property
    def n_rules(self) -> int:
        """Rules kept."""
        return sum(self.n_by_length.values())

    @property
    def is_complete(self) -> bool:
        """Whether all heads are finished."""
        return self.n_done == self.n_heads

    def summary(self) -> str:
        """One line on what was found, left out and spent."""
        lengths = ", ".join(f"{n} of {length} atoms" for length, n in self.n_by_length.items())
        dropped = ", ".join(f"{n} {reason}" for reason, n in self.pruned.items() if n)
        state = "" if self.is_complete else f"PARTIAL: {self.n_done} of {self.n_heads} heads; "
        small = f", {self.n_small} heads with too few facts" if self.n_small else ""
        unwritten = f", {self.n_unwritten} with a constant that looks like a variable" if self.n_unwritten else ""
        repeated = f", {self.n_repeated} repeated facts" if self.n_repeated else ""
        return (
            f"{state}{self.n_rules} rules ({lengths or 'none'}) from {self.n_facts} facts; left out: "
            f"{dropped or 'no rule'}{unwritten}{small}{repeated}; {self.cpu_s:.1f} s CPU, {self.wall_s:.1f} s, "
            f"engine {self.engine}"
        )

    def as_dict(self) -> dict[str, object]:
        """The report for JSON."""
        return {
            "rules": self.n_rules,
            "complete": self.is_complete,
            "heads": self.n_heads,
            "heads_done": self.n_done,
            "heads_too_small": self.n_small,
            "by_length": {str(length): n for length, n in self.n_by_length.items()},
            "parallel": self.n_parallel,
            "by_head": dict(self.n_by_head),
            "confidence": list(self.confidences),
            "pruned": dict(self.pruned),
            "unwritten": self.n_unwritten,
            "facts": self.n_facts,
            "repeated_facts": self.n_repeated,
            "engine": self.engine,
            "cpu_s": round(self.cpu_s, 3),
            "wall_s": round(self.wall_s, 3),
        }


def make_report(
    table: RuleTable,
    *,
    relation_names: Sequence[str],
    pruned: Iterable[Mapping[str, int]],
    n_facts: int,
    n_repeated: int,
    n_heads: int,
    n_small: int,
    n_done: int,
    n_unwritten: int,
    engine: str,
    began: tuple[float, float],
) -> AmieReport:
    """The report on a table of kept rules.

    Args:
        table: The rules.
        relation_names: Id -> name.
        pruned: For each finished head what was left out.
        n_facts: See `AmieReport`.
        n_repeated: See `AmieReport`.
        n_heads: See `AmieReport`.
        n_small: See `AmieReport`.
        n_done: See `AmieReport`.
        n_unwritten: See `AmieReport`.
        engine: See `AmieReport`.
        began: CPU seconds and clock when the run began.
    """
    totals: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
    for counts in pruned:
        totals.update(counts)
    n_three = int((table.second >= 0).sum())
    heads = Counter(relation_names[head] for head in table.head.tolist())
    classes = np.minimum(table.support * 10 // np.maximum(table.pca_body_size, 1), 9)
    return AmieReport(
        n_facts=n_facts,
        n_repeated=n_repeated,
        n_heads=n_heads,
        n_done=n_done,
        n_small=n_small,
        n_by_length={length: n for length, n in ((2, table.n_rules - n_three), (3, n_three)) if n},
        n_by_head=dict(sorted(heads.items(), key=lambda item: (-item[1], item[0]))),
        n_parallel=n_three - int((table.shape == PATH).sum()),
        confidences=tuple(np.bincount(classes, minlength=10).tolist()),
        pruned={reason: totals[reason] for reason in REASONS},
        n_unwritten=n_unwritten,
        engine=engine,
        cpu_s=time.process_time() - began[0],
        wall_s=time.perf_counter() - began[1],
    )
