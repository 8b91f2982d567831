"""The five sets of the RuleRAG paper, as far as they can be built anew from public graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rulewise.errors import InputError
from rulewise.evaluation.ruleqa.settings import RuleQASettings, Sizes
from rulewise.registry import unknown_name

__all__ = ["PRESETS", "Preset", "find_preset", "preset_graph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A set of the paper.

    Attributes:
        key: The paper's letter.
        graph: Name of the graph's folder.
        paper: Sizes in Table 1 of the paper's first version.
        settings: What comes nearest to them, with source and licence of the graph as it is public.
        notes: Why the settings are what they are, and where the set differs from the paper's.
    """

    key: str
    graph: str
    paper: Sizes
    settings: RuleQASettings
    notes: tuple[str, ...]

    def of_another_graph(self) -> Preset:
        """The preset for a graph that a user names, of whose source and licence nothing is known."""
        return replace(self, settings=replace(self.settings, source="", licence=""))


_RECURS = (
    "In this graph facts recur year by year. Rules of one atom with two different relations are few and say little, so "
    "that rules from a relation to itself are kept: without them hardly a query has an oracle document."
)
_CEILING = (
    "Every query has an oracle document: the recall that the paper reports after training leaves no room for queries "
    "without one."
)
_SUBSET = (
    "The paper's documents are a part of the graph, and how it was chosen is not published. Here: oracle documents of "
    "queries and training data, then facts about the queries' subjects and answers, then others, drawn at random."
)


_ORIGINS: Mapping[str, tuple[str, str]] = {
    "icews14": (
        "ICEWS14: events of 2014 from the Integrated Crisis Early Warning System, in the split of TLogic, as "
        "github.com/JHL-HUST/TITer has it",
        "none stated with the split; the events are under ICEWS's own terms (Harvard Dataverse)",
    ),
    "yago": (
        "YAGO with one fact a year, in the split of RE-Net (github.com/INK-USC/RE-Net), as github.com/JHL-HUST/TITer "
        "has it",
        "none stated with the split; YAGO is CC BY",
    ),
    "wiki": (
        "Wikidata12k of ATISE (github.com/soledad921/ATISE) with one fact a year, in the split of RE-Net's WIKI; "
        "labels from github.com/GenetAsefa/LiterallyWikidata and github.com/villmow/datasets_knowledge_embedding",
        "MIT for ATISE's facts and for one of the two lists of labels, none stated for LiterallyWikidata; Wikidata is "
        "CC0",
    ),
    "fb15k-237": (
        "FB15k-237, triples as in github.com/thunlp/OpenKE and github.com/TimDettmers/ConvE, names of "
        "github.com/yao8839836/kg-bert",
        "MIT (ConvE) for the triples, Apache-2.0 (kg-bert) for the names; Freebase is CC BY",
    ),
    "nell-995": (
        "NELL-995 in the split of github.com/thunlp/OpenKE",
        "none stated",
    ),
}
"""Graph -> where it is public, and under which licence; shown in datasheets."""

_RECURRING: Mapping[str, Any] = {
    "lengths": (1, 2),
    "min_confidence": 0.01,
    "min_support": 2,
    "same_relation": "keep",
}
_UNKNOWN = "The paper's numbers fit no version of the graph that is known here; all training facts are documents."


def _preset(key: str, graph: str, paper: Sizes, *notes: str, all_documents: bool = True, **settings: Any) -> Preset:
    """A preset that aims at the paper's sizes; at its number of documents only where not all facts are documents."""
    most = replace(paper, documents=None) if all_documents else paper
    source, licence = _ORIGINS[graph]
    made = RuleQASettings(name=graph, most=most, source=source, licence=licence, **settings)
    return Preset(key=key, graph=graph, paper=paper, settings=made, notes=notes)


_ALL = (
    _preset(
        "I",
        "icews14",
        Sizes(rules=557, documents=77_508, f_r=6_594, f_g=7_440, queries=1_559),
        "Training and validation facts together are the paper's number of documents, so both are documents.",
        "Rules need a support of 50: the most confident of those with a support of 10 have bodies so rare that fewer "
        "queries have an oracle document.",
        "Queries whose fact stands in a document of another time are left out, and the others have an oracle document: "
        "what is asked has to be inferred by a rule, as in the static sets. The paper does not say how its queries "
        "were chosen.",
        "Almost all questions that are left are taken, so that popular and long-tail subjects are not balanced.",
        min_support=50,
        documents="train+valid",
        require="oracle",
        repeats="drop",
    ),
    _preset(
        "Y",
        "yago",
        Sizes(rules=99, documents=243_633, f_r=28_153, f_g=22_765, queries=1_864),
        _RECURS,
        _UNKNOWN,
        **_RECURRING,
    ),
    _preset(
        "W",
        "wiki",
        Sizes(rules=78, documents=584_364, f_r=50_996, f_g=62_375, queries=2_065),
        _RECURS,
        _UNKNOWN,
        **_RECURRING,
    ),
    _preset(
        "F",
        "fb15k-237",
        Sizes(rules=367, documents=49_088, f_r=8_082, f_g=9_645, queries=1_233),
        "The parts are dealt anew: the graph's own split was made so that no two entities of a test fact are linked in "
        "training, and no rule of one body atom can then have an oracle document.",
        _CEILING,
        _SUBSET,
        all_documents=False,
        split="redrawn",
        holdout=20_000,
        require="oracle",
    ),
    _preset(
        "N",
        "nell-995",
        Sizes(rules=234, documents=18_177, f_r=4_351, f_g=4_764, queries=815),
        "Training facts are moved to validation, which has 543 of its own, before rules are mined.",
        _CEILING,
        _SUBSET,
        all_documents=False,
        holdout=20_000,
        require="oracle",
    ),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.key: preset for preset in _ALL})
"""The paper's letter -> the set."""


def find_preset(name: str) -> Preset:
    """The preset of a letter (I, Y, W, F, N; in any case) or of a graph's name.

    Raises:
        UnknownNameError: If there is none.
    """
    for preset in PRESETS.values():
        if name.upper() == preset.key or name.lower() == preset.graph:
            return preset
    raise unknown_name("preset", name, PRESETS)


def preset_graph(preset: Preset, data: Path | None) -> Path:
    """The folder of a preset's graph: `kg/NAME` or NAME in the data folder.

    Raises:
        InputError: If there is no data folder, or no such folder in it.
    """
    if data is None:
        raise InputError(
            f"preset {preset.key}: its graph is looked for in RULEWISE_DATA, which is not set. Give --graph."
        )
    for folder in (data / "kg" / preset.graph, data / preset.graph):
        if folder.is_dir():
            return folder
    raise InputError(f"preset {preset.key}: {data} holds no folder kg/{preset.graph} or {preset.graph}. Give --graph.")
