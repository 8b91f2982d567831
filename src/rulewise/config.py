"""From TOML to built objects: the only place that turns names into language models, rerankers, reasoners and pipelines.

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

Every section and key may be left out. Keys that are not listed are refused.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args

from rulewise.errors import FileFormatError, InputError
from rulewise.registry import unknown_name
from rulewise.settings import Settings
from rulewise.types import SearchForm, Surface

if TYPE_CHECKING:
    from rulewise.induction.base import Inducer
    from rulewise.induction.demos import Demonstration
    from rulewise.llm.base import LLM
    from rulewise.llm.metered import MeteredLLM
    from rulewise.pipelines.siar import Siar
    from rulewise.reasoning.base import Reasoner
    from rulewise.rerank.base import Reranker
    from rulewise.retrieval.base import Retriever
    from rulewise.types import Rule

__all__ = [
    "Config",
    "InductionConfig",
    "LLMConfig",
    "ReasoningConfig",
    "RerankConfig",
    "RetrievalConfig",
    "build_pipeline",
    "load_config",
    "open_llm",
    "parse_toml",
    "read_demos",
]

RerankKind = Literal["listwise", "pointwise", "none"]
ReasoningKind = Literal["rules", "induced", "direct", "cot", "none"]
S = TypeVar("S")


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
class Config:
    """All of a configuration; see the module's docstring for the file that describes it."""

    llm: LLMConfig = field(default_factory=LLMConfig)
    retrieval: RetrievalConfig = field(default_factory=RetrievalConfig)
    induction: InductionConfig = field(default_factory=InductionConfig)
    rerank: RerankConfig = field(default_factory=RerankConfig)
    reasoning: ReasoningConfig = field(default_factory=ReasoningConfig)


_SECTIONS: dict[str, type] = {
    "llm": LLMConfig,
    "retrieval": RetrievalConfig,
    "induction": InductionConfig,
    "rerank": RerankConfig,
    "reasoning": ReasoningConfig,
}
_CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("retrieval", "form"): get_args(SearchForm),
    ("induction", "surface"): get_args(Surface),
    ("rerank", "kind"): get_args(RerankKind),
    ("rerank", "constrain"): ("none", "auto", "grammar", "json_schema"),
    ("reasoning", "kind"): get_args(ReasoningKind),
}
_PATHS = {("llm", "cache"), ("llm", "record"), ("llm", "replay"), ("llm", "batch"), ("induction", "demonstrations")}


def load_config(path: Path) -> Config:
    """Read a TOML configuration; its paths are taken relative to it.

    Raises:
        FileFormatError: If the file is not TOML, or a section, key or value is not one that is known.
    """
    try:
        data = parse_toml(path.read_text(encoding="utf-8-sig"))
    except (UnicodeDecodeError, ValueError) as exc:
        raise FileFormatError(f"{path}: not TOML ({exc}). See the reference of the configuration.") from exc
    sections: dict[str, Any] = {}
    for name, values in data.items():
        if name not in _SECTIONS:
            raise FileFormatError(f"{path}: {unknown_name('section', name, _SECTIONS)}")
        if not isinstance(values, Mapping):
            raise FileFormatError(f"{path}: {name!r} must be a section, [{name}], got {values!r}.")
        sections[name] = _section(path, name, values)
    return Config(**sections)


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        ValueError: If it is no TOML.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return cast("dict[str, Any]", tomllib.loads(text))


def _section(path: Path, name: str, values: Mapping[str, Any]) -> Any:
    kind = _SECTIONS[name]
    defaults = kind()
    known = {f.name for f in fields(kind)}
    given: dict[str, Any] = {}
    for key, value in values.items():
        where = f"{path}: [{name}] {key}"
        if key not in known:
            raise FileFormatError(f"{path}: [{name}]: {unknown_name('key', key, known)}")
        wanted = type(getattr(defaults, key))
        if type(value) is not wanted:
            raise FileFormatError(f"{where}: expected {_NAMES[wanted]}, got {value!r}.")
        choices = _CHOICES.get((name, key))
        if choices and value not in choices:
            raise FileFormatError(f"{where}: {unknown_name('value', value, choices)}")
        if (name, key) in _PATHS and value and (key, value) != ("cache", "auto"):
            value = str(path.parent / Path(value).expanduser())
        given[key] = value
    return replace(defaults, **given)


_NAMES = {str: "a string", int: "a whole number", bool: "true or false"}


def open_llm(config: LLMConfig, settings: Settings) -> MeteredLLM:
    """The language model that a configuration names, else the one of the settings, with a meter around it.

    Raises:
        InputError: If neither names a model.
        UnknownNameError: If the provider is not known.
        MissingExtraError: If the back end needs a package that is not installed.
    """
    from rulewise.llm.build import build_llm, split_spec
    from rulewise.llm.metered import MeteredLLM
    from rulewise.llm.prices import load_prices
    from rulewise.llm.providers import PROVIDERS

    spec = config.model or settings.llm
    if not spec and not config.replay:
        raise InputError(
            "No language model is named. Give --llm PROVIDER:MODEL or set RULEWISE_LLM, for example "
            "openai:gpt-4o-mini, ollama:qwen2.5:7b or gguf:/path/model.gguf. `rulewise search` works without a model."
        )
    options: dict[str, Any] = {}
    if spec and split_spec(spec)[0] in PROVIDERS:
        options["concurrency"] = config.concurrency
    llm = build_llm(
        spec or "recorded:replay",
        base_url=config.base_url or None,
        cache=settings.cache / "replies.sqlite"
        if config.cache == "auto"
        else Path(config.cache)
        if config.cache
        else None,
        record=Path(config.record) if config.record else None,
        replay=Path(config.replay) if config.replay else None,
        batch=Path(config.batch) if config.batch else None,
        options=options,
        settings=settings,
    )
    return MeteredLLM(llm, load_prices(settings.prices))


def read_demos(config: InductionConfig) -> list[Demonstration]:
    """The demonstrations of a configuration, else the bundled ones.

    Raises:
        InputError: If the file holds no demonstration.
        FileFormatError: If the file cannot be read, or one of its rows is not a demonstration.
    """
    from rulewise.induction.demos import demonstration_of, read_demonstrations
    from rulewise.samples import load_demonstrations

    if not config.demonstrations:
        return [demonstration_of(row, surface=config.surface) for row in load_demonstrations()]
    found, problems = read_demonstrations(Path(config.demonstrations), surface=config.surface)
    if problems:
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise FileFormatError(f"{problems[0]}{more}. Every row needs a query and a rule; mend or remove those rows.")
    if not found:
        raise InputError(f"{config.demonstrations}: holds no demonstration. Expected rows with `query` and `rule`.")
    return list(found)


def build_pipeline(config: Config, *, retriever: Retriever[Rule], llm: LLM) -> Siar:
    """The pipeline that a configuration describes, over a retriever and with a language model.

    Raises:
        InputError: If numbers do not fit together, or demonstrations cannot be read.
    """
    from rulewise.pipelines.siar import Siar

    found = config.retrieval
    inducer = _inducer(config, llm)
    return Siar(
        inducer=inducer,
        retriever=retriever,
        reranker=_reranker(config.rerank, llm),
        reasoner=_reasoner(config.reasoning, llm),
        form=found.form if inducer is not None else "input",
        depth=found.depth,
        k=found.k,
        shown=config.reasoning.shown,
        given="induced" if config.reasoning.kind == "induced" else "retrieved",
    )


def _inducer(config: Config, llm: LLM) -> Inducer | None:
    if not config.induction.use:
        return None
    from rulewise.induction.fewshot import FewShotInducer

    demos = read_demos(config.induction)
    return FewShotInducer(llm, demos, surface=config.induction.surface, n=min(config.induction.n, len(demos)))


def _reranker(config: RerankConfig, llm: LLM) -> Reranker | None:
    if config.kind == "none":
        return None
    if config.kind == "pointwise":
        from rulewise.rerank.pointwise import Pointwise

        return Pointwise(llm)
    from rulewise.rerank.listwise import Listwise

    return Listwise(
        llm,
        window=config.window,
        step=config.step,
        max_prompt_tokens=config.max_prompt_tokens or None,
        retry_unreadable=config.retry_unreadable,
        constrain=config.constrain,
    )


def _reasoner(config: ReasoningConfig, llm: LLM) -> Reasoner | None:
    if config.kind == "none":
        return None
    if config.kind == "direct":
        from rulewise.reasoning.direct import Direct

        return Direct(llm)
    if config.kind == "cot":
        from rulewise.reasoning.cot import ChainOfThought

        return ChainOfThought(llm)
    from rulewise.reasoning.with_rules import WithRules

    return WithRules(llm)
