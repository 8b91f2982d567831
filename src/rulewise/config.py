"""From TOML to built objects: the only place that turns names into language models, rerankers, reasoners and pipelines.

`rulewise.config_sections` describes the file and holds its records; `rulewise.config_rag` builds what [rag] describes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rulewise.config_sections import (
    Config,
    InductionConfig,
    LLMConfig,
    RagConfig,
    ReasoningConfig,
    RerankConfig,
    RetrievalConfig,
    config_of,
)
from rulewise.errors import FileFormatError, InputError
from rulewise.settings import Settings

if TYPE_CHECKING:
    from rulewise.induction.base import Inducer
    from rulewise.induction.demos import Demonstration
    from rulewise.llm.base import LLM
    from rulewise.llm.metered import MeteredLLM
    from rulewise.pipelines.siar import Siar
    from rulewise.reasoning.base import Reasoner
    from rulewise.rerank.base import Reranker
    from rulewise.retrieval.base import Encoder, Retriever
    from rulewise.types import Rule

__all__ = [
    "Config",
    "InductionConfig",
    "LLMConfig",
    "RagConfig",
    "ReasoningConfig",
    "RerankConfig",
    "RetrievalConfig",
    "build_pipeline",
    "load_config",
    "open_encoder",
    "open_llm",
    "parse_toml",
    "read_demos",
]


def load_config(path: Path) -> Config:
    """Read a TOML configuration; its paths are taken relative to it.

    Raises:
        FileFormatError: If the file is not TOML, or a section, key or value is not one that is known.
    """
    try:
        data = parse_toml(path.read_text(encoding="utf-8-sig"))
    except (UnicodeDecodeError, ValueError) as exc:
        raise FileFormatError(f"{path}: not TOML ({exc}). See the reference of the configuration.") from exc
    return config_of(data, path=path)


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


def open_encoder(spec: str, settings: Settings) -> Encoder:
    """The encoder that a specification names, behind the cache of the settings.

    Raises:
        InputError: If `local` cannot run here, or no model is named.
        UnknownNameError: If there is no such encoder.
        MissingExtraError: If its library is not installed.
    """
    from rulewise.retrieval.encoders import EncoderOptions, build_encoder, is_local_available

    if spec == "local":
        available, reason = is_local_available()
        if not available:
            raise InputError(f"{reason} Or search with bm25 and without an encoder.")
    options = EncoderOptions(base_url=settings.base_url, api_key=settings.api_key, cache=settings.cache)
    return build_encoder(spec, options=options)


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
