"""The sections of a configuration, as records, and how the tables of a file become them: strictly.

    [llm]
    model = "ollama:qwen2.5:7b"         # PROVIDER:MODEL
    base_url = "http://localhost:11434/v1"
    concurrency = 8
    cache = "replies.sqlite"            # "auto", the default, is in the cache folder; "" for none
    record = ""                         # a recording that replies are added to
    replay = ""                         # a recording that answers instead of a model
    batch = ""                          # a folder of a run through a batch service

    [retrieval]
    retriever = "auto"                  # auto, bm25, dense, hybrid
    analyzer = "rule"
    encoder = "local"                   # local, st:MODEL, openai:MODEL
    form = "fused"                      # input, si, si+input, fused
    depth = 20                          # hits given to the reranker
    k = 10                              # hits kept

    [induction]
    use = true
    demonstrations = "demos.jsonl"      # relative to this file; "" for the bundled ones
    n = 5
    surface = "natural"

    [rerank]
    kind = "listwise"                   # listwise, pointwise, none
    window = 20
    step = 10
    retry_unreadable = false
    constrain = "none"                  # none, auto, grammar, json_schema
    max_prompt_tokens = 0               # 0 for no bound

    [reasoning]
    kind = "rules"                      # rules, induced, direct, cot, none
    shown = 1                           # rules put in the prompt

    [rag]
    documents = ["handbook", "more.jsonl"]
    rules = "rules.csv"
    method = "rulerag"

Every section and key may be left out. Keys that are not listed are refused; `RagConfig` lists those of [rag].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from rulewise.errors import FileFormatError, InputError
from rulewise.reasoning.documents_prompt import Style
from rulewise.registry import unknown_name
from rulewise.retrieval.guided.base import GuidedForm
from rulewise.retrieval.guided.search import Merge, Repeats
from rulewise.types import SearchForm, Surface

__all__ = [
    "Config",
    "InductionConfig",
    "LLMConfig",
    "RagConfig",
    "RagMethod",
    "ReasoningConfig",
    "RerankConfig",
    "RetrievalConfig",
    "config_of",
]

RerankKind: TypeAlias = Literal["listwise", "pointwise", "none"]
ReasoningKind: TypeAlias = Literal["rules", "induced", "direct", "cot", "none"]
RagMethod: TypeAlias = Literal["rulerag", "standard-rag", "standard-prompting", "cot", "ve", "cok", "rulerag-cok"]
"""How questions are answered from documents: RuleRAG, its baselines, and RuleRAG on top of Chain-of-Knowledge."""

RuleChoiceKind: TypeAlias = Literal["auto", "head", "similarity", "none"]
DocumentRetriever: TypeAlias = Literal["bm25", "dense", "hybrid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMConfig:
    """Which language model is asked, and how; paths are absolute or relative to the working folder."""

    model: str = ""
    base_url: str = ""
    concurrency: int = 8
    cache: str = "auto"
    record: str = ""
    replay: str = ""
    batch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalConfig:
    """How rules are searched."""

    retriever: str = "auto"
    analyzer: str = ""
    encoder: str = ""
    form: SearchForm = "fused"
    depth: int = 20
    k: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class InductionConfig:
    """Whether and how rules are induced."""

    use: bool = True
    demonstrations: str = ""
    n: int = 5
    surface: Surface = "natural"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankConfig:
    """Whether and how hits are reranked."""

    kind: RerankKind = "listwise"
    window: int = 20
    step: int = 10
    retry_unreadable: bool = False
    constrain: Literal["none", "auto", "grammar", "json_schema"] = "none"
    max_prompt_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningConfig:
    """Whether and how cases are answered."""

    kind: ReasoningKind = "rules"
    shown: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RagConfig:
    """Where documents and rules are, how rules guide the search, and how questions are answered from both.

    Paths are absolute or relative to the working folder. Numbers that are 0 are as if they were not given.

    Attributes:
        documents: Files or folders of documents, or one folder that `rulewise rag build` wrote.
        graph: Whether the documents are facts of a knowledge graph.
        document_map: Field of a document ("id", "text", "title") -> the column or key that holds it.
        document_encoding: Encoding of text files of documents; "" finds it.
        rules: A file of rules; "" for none.
        map: Field of a rule -> the column or key that holds it.
        format: Notation of the rules; "" finds it.
        encoding: Encoding of the file of rules; "" finds it.
        sheet: Sheet of a workbook of rules; "" for the first.
        strict: Whether reading stops at problems, or leaves out what has one.
        rule_choice: How rules are chosen: by the relation that is asked ("head"), by "similarity", "none", or "auto",
            the first of the two that finds a rule.
        rules_per_query: Rules chosen, at most.
        theta: Least similarity of a rule, finite: a cosine with an encoder, else a score of BM25. None asks, with an
            encoder, that it be above that of unrelated texts, and is 0 without.
        relation_theta: Least cosine of a relation with the question, from -1 to 1, where only the encoder finds one;
            None asks that it be above that of unrelated texts.
        aliases: TOML or JSON with other ways to say relations; "" for none.
        retriever: How documents are searched.
        encoder: "local", "st:MODEL" or "openai:MODEL", for documents, relations and rules; "" is "local" where the
            retriever needs one, and none where it does not.
        form: What is searched with for a question and a rule.
        merge: How the documents of several searches are ranked together.
        k: Documents kept; 10 unless given, and 3 for each search of "ve", "cok" and "rulerag-cok".
        k_per_rule: Documents that each rule gives; `k` unless given.
        with_query: Whether the question alone is searched with as well.
        repeats: What becomes of documents that state one fact at several times.
        method: How questions are answered.
        style: Whether the answer is asked for with its rules and documents, or as the missing object alone.
        shots: A file of worked cases for the prompt; "" for none, or for the bundled ones where steps are asked for.
        shown: Documents put in the prompt; `k` unless given.
        max_prompt_tokens: Bound on the prompt, by leaving out the last documents; none unless given.
        rules_in_prompt: Whether the model sees the rules, or they only guide the search.

    Raises:
        InputError: If a number is out of range.
    """

    documents: tuple[str, ...] = ()
    graph: bool = False
    document_map: Mapping[str, str] = field(default_factory=dict)
    document_encoding: str = ""
    rules: str = ""
    map: Mapping[str, str] = field(default_factory=dict)
    format: str = ""
    encoding: str = ""
    sheet: str = ""
    strict: bool = True
    rule_choice: RuleChoiceKind = "auto"
    rules_per_query: int = 3
    theta: float | None = None
    relation_theta: float | None = None
    aliases: str = ""
    retriever: DocumentRetriever = "bm25"
    encoder: str = ""
    form: GuidedForm = "both"
    merge: Merge = "turns"
    k: int = 0
    k_per_rule: int = 0
    with_query: bool = True
    repeats: Repeats = "keep"
    method: RagMethod = "rulerag"
    style: Style = "cited"
    shots: str = ""
    shown: int = 0
    max_prompt_tokens: int = 0
    rules_in_prompt: bool = True

    def __post_init__(self) -> None:
        for name in ("rules_per_query", "k", "k_per_rule", "shown", "max_prompt_tokens"):
            least = 1 if name == "rules_per_query" else 0
            if getattr(self, name) < least:
                raise InputError(f"{name}: expected at least {least}, got {getattr(self, name)}.")
        if self.theta is not None and not math.isfinite(self.theta):
            raise InputError(f"theta: expected a finite number, got {self.theta}.")
        if self.relation_theta is not None and not -1 <= self.relation_theta <= 1:
            raise InputError(f"relation_theta: expected a cosine, from -1 to 1, got {self.relation_theta}.")

    @property
    def n_kept(self) -> int:
        """Documents kept, or found by each search of a method of several steps."""
        return self.k or (3 if self.method in ("ve", "cok", "rulerag-cok") else 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All of a configuration; see the module's docstring for the file that describes it."""

    llm: LLMConfig = field(default_factory=LLMConfig)
    retrieval: RetrievalConfig = field(default_factory=RetrievalConfig)
    induction: InductionConfig = field(default_factory=InductionConfig)
    rerank: RerankConfig = field(default_factory=RerankConfig)
    reasoning: ReasoningConfig = field(default_factory=ReasoningConfig)
    rag: RagConfig = field(default_factory=RagConfig)


_SECTIONS: dict[str, type] = {
    "llm": LLMConfig,
    "retrieval": RetrievalConfig,
    "induction": InductionConfig,
    "rerank": RerankConfig,
    "reasoning": ReasoningConfig,
    "rag": RagConfig,
}
_PATHS = {
    "llm": ("cache", "record", "replay", "batch"),
    "induction": ("demonstrations",),
    "rag": ("documents", "rules", "aliases", "shots"),
}


def config_of(tables: Mapping[str, Any], *, path: Path) -> Config:
    """The configuration that the tables of a file describe; its paths are taken relative to the file.

    Args:
        tables: Section -> key -> value.
        path: The file, for its folder and for errors.

    Raises:
        FileFormatError: If a section, key or value is not one that is known.
    """
    sections: dict[str, Any] = {}
    for name, values in tables.items():
        if name not in _SECTIONS:
            raise FileFormatError(f"{path}: {unknown_name('section', name, _SECTIONS)}")
        if not isinstance(values, Mapping):
            raise FileFormatError(f"{path}: {name!r} must be a section, [{name}], got {values!r}.")
        sections[name] = _section(path, name, values)
    return Config(**sections)


def _section(path: Path, name: str, values: Mapping[str, Any]) -> Any:
    kind = _SECTIONS[name]
    hints = get_type_hints(kind)
    known = {f.name for f in fields(kind)}
    given: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise FileFormatError(f"{path}: [{name}]: {unknown_name('key', key, known)}")
        given[key] = _value(value, hints[key], f"{path}: [{name}] {key}")
        if key in _PATHS.get(name, ()) and (key, value) != ("cache", "auto"):
            given[key] = _beside(path, given[key])
    try:
        return kind(**given)
    except InputError as exc:
        raise FileFormatError(f"{path}: [{name}] {exc}") from exc


def _value(value: Any, hint: Any, where: str) -> Any:
    """A value of a key, if it is of the kind that the key's field has."""
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        if not isinstance(value, str):
            raise FileFormatError(f"{where}: expected one of {', '.join(choices)}, got {value!r}.")
        if value not in choices:
            raise FileFormatError(f"{where}: {unknown_name('value', value, choices)}")
        return value
    wanted, fits, made = _KINDS[hint]
    if not fits(value):
        raise FileFormatError(f"{where}: expected {wanted}, got {value!r}.")
    return made(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_KINDS: dict[Any, tuple[str, Any, Any]] = {
    str: ("a string", _is_text, str),
    int: ("a whole number", lambda value: type(value) is int, int),
    bool: ("true or false", lambda value: type(value) is bool, bool),
    float | None: ("a number", lambda value: type(value) in (int, float), float),
    tuple[str, ...]: ("a list of strings", lambda value: isinstance(value, list) and all(map(_is_text, value)), tuple),
    Mapping[str, str]: (
        "a table of strings",
        lambda value: isinstance(value, Mapping) and all(map(_is_text, value.values())),
        dict,
    ),
}
"""Type of a field -> what it is called, whether a value fits, and what is made of it."""


def _beside(path: Path, value: str | tuple[str, ...]) -> Any:
    if isinstance(value, tuple):
        return tuple(_beside(path, one) for one in value)
    return str(path.parent / Path(value).expanduser()) if value else value
