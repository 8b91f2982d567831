"""From [rag] to what answers questions: documents, rules, guided search, and the method that puts them together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rulewise.config import open_encoder, open_llm, parse_toml
from rulewise.config_corpus import OnNote, open_documents
from rulewise.config_sections import Config, RagConfig
from rulewise.config_unread import WITH_RULES, refuse_unread
from rulewise.errors import FileFormatError, InputError
from rulewise.files import parse_json
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.pipelines.rulerag import RuleRag
from rulewise.registry import unknown_name
from rulewise.retrieval.base import Where
from rulewise.settings import Settings, read_settings
from rulewise.types import Document, Query

if TYPE_CHECKING:
    from rulewise.llm.base import LLM
    from rulewise.reasoning.base import Reasoner
    from rulewise.retrieval.base import Encoder
    from rulewise.retrieval.corpus_open import Searchable
    from rulewise.retrieval.guided.base import RuleChooser
    from rulewise.retrieval.guided.search import GuidedRetriever
    from rulewise.rules.library import RuleLibrary

__all__ = ["RagPipeline", "build_rag", "build_rag_search", "check_rag", "read_aliases"]

_WITHOUT_DOCUMENTS = ("standard-prompting", "cot")
_IN_STEPS = ("ve", "cok", "rulerag-cok")


class RagPipeline(Protocol):
    """What answers questions: `RuleRag`, `VerifyAndEdit` and `ChainOfKnowledge` do."""

    def run(
        self,
        queries: Sequence[Query],
        *,
        where: Where | None = None,
        on_stage: Callable[[str, int], None] | None = None,
    ) -> list[RagTrace]:
        """One trace a query, in order; `on_stage` is told each stage and its number of queries."""


def build_rag(
    config: Config,
    *,
    llm: LLM | None = None,
    settings: Settings | None = None,
    relations: Collection[str] = (),
    on_note: OnNote | None = None,
) -> RagPipeline:
    """What answers questions as [rag] describes, for every method.

    Args:
        config: The configuration; of its other sections, [llm] alone is looked at.
        llm: The model to ask; None opens the one of [llm], or of the settings.
        settings: Where caches and addresses are; None for the environment's.
        relations: Relations that queries will name; each must be one of the rules'.
        on_note: Told what was read of documents and rules, and what was left out.

    Raises:
        InputError: If no model is named, documents or rules are missing or do not fit the method, or something is set
            that nothing would read.
        UnknownNameError: If a relation is not one of the rules'.
        FileFormatError: If a file cannot be read.
        StaleIndexError: If documents changed since their index was built.
        MissingExtraError: If an encoder or a kind of file needs a package that is not installed.
    """
    own, settings = config.rag, settings or read_settings()
    check_rag(own, relations=relations)
    asked = llm if llm is not None else open_llm(config.llm, settings)
    encoder = _encoder(own, settings)
    rules = _rules(own, relations, on_note) if own.method in WITH_RULES else None
    index = None if own.method in _WITHOUT_DOCUMENTS else open_documents(own, encoder, on_note=on_note)
    chooser = _chooser(own, rules, encoder, index)
    searcher = None if index is None else _searcher(own, encoder, index)
    if own.method in _IN_STEPS:
        assert searcher is not None
        return _in_steps(own, asked, chooser, searcher)
    return RuleRag(
        chooser=chooser,
        retriever=searcher,
        reasoner=_reasoner(own, asked),
        k=own.n_kept,
        shown=own.shown or own.n_kept,
        rules_in_prompt=own.rules_in_prompt,
    )


def build_rag_search(
    config: RagConfig,
    *,
    settings: Settings | None = None,
    relations: Collection[str] = (),
    on_note: OnNote | None = None,
) -> RuleRag:
    """What finds documents as [rag] describes and answers nothing; the method and the prompt's keys are not looked at.

    The arguments and errors are those of `build_rag`. Without rules, or with `rule_choice` "none", the question alone
    is searched with.
    """
    refuse_unread(config, answers=False, relations=relations)
    encoder = _encoder(config, settings or read_settings())
    rules = _rules(config, relations, on_note)
    index = open_documents(config, encoder, on_note=on_note)
    chooser = _chooser(config, rules, encoder, index)
    return RuleRag(chooser=chooser, retriever=_searcher(config, encoder, index), k=config.k or 10)


def check_rag(config: RagConfig, *, relations: Collection[str] = ()) -> None:
    """Stop if the method lacks rules, or something is set that nothing would read, before anything is read or asked.

    Args:
        config: The section.
        relations: Relations that queries will name.

    Raises:
        InputError: If so.
    """
    if config.method in WITH_RULES and not config.rules:
        raise InputError(
            f"The method {config.method} needs --rules, or rules in [rag]. Without rules, use --method standard-rag."
        )
    refuse_unread(config, relations=relations)


def _encoder(config: RagConfig, settings: Settings) -> Encoder | None:
    """The encoder that is asked for, or that the retriever needs; None if neither."""
    spec = config.encoder or ("local" if config.retriever != "bm25" else "")
    return open_encoder(spec, settings) if spec else None


def _searcher(config: RagConfig, encoder: Encoder | None, index: Searchable) -> GuidedRetriever:
    from rulewise.retrieval.guided.search import GuidedRetriever

    return GuidedRetriever(
        index.retriever(config.retriever, encoder=encoder),
        form=config.form,
        merge=config.merge,
        k_per_rule=config.k_per_rule or None,
        with_query=config.with_query,
        repeats=config.repeats,
    )


def _rules(config: RagConfig, relations: Collection[str], on_note: OnNote | None) -> RuleLibrary | None:
    """The rules to choose from, with every relation of `relations` among their heads; None if there are none."""
    from rulewise.retrieval.guided.recognise import relations_of

    if not config.rules or config.rule_choice == "none":
        if config.rule_choice not in ("auto", "none"):
            raise InputError(f"The rule choice {config.rule_choice!r} needs --rules, or rules in [rag].")
        return None
    rules = _read_rules(config, on_note)
    known = relations_of(rules)
    for relation in relations:
        if not known:
            raise InputError(
                f"{config.rules}: no rule is parsed into atoms, so that none has a head relation, and {relation!r} "
                "cannot be asked for. Leave out --relation; rules are chosen by similarity."
            )
        if relation not in known:
            raise unknown_name("relation", relation, known)
    if config.rule_choice == "head" and not known:
        raise InputError(
            f"{config.rules}: no rule is parsed into atoms, so that none has a head relation. Choose rules by "
            "similarity: --rule-choice similarity."
        )
    return rules


def _chooser(
    config: RagConfig, rules: RuleLibrary | None, encoder: Encoder | None, index: Searchable | None
) -> RuleChooser | None:
    """What chooses the rules; None if there are none to choose from."""
    from rulewise.retrieval.bm25 import BM25
    from rulewise.retrieval.guided.choice import ByHead, BySimilarity, FirstOf
    from rulewise.retrieval.guided.recognise import Recogniser, relations_of

    if rules is None:
        return None
    known = relations_of(rules)
    recogniser = Recogniser(
        known,
        aliases=read_aliases(Path(config.aliases)) if config.aliases else None,
        entities=_entities(index),
        encoder=encoder,
        threshold=config.relation_theta,
    )
    n = config.rules_per_query
    by_head = ByHead(rules, recogniser, n=n)
    if config.rule_choice == "head":
        return by_head
    similar = (
        BySimilarity.over(rules, encoder, theta=config.theta, n=n, recogniser=recogniser)
        if encoder is not None
        else BySimilarity(BM25(rules), theta=config.theta or 0.0, n=n, recogniser=recogniser, measure="BM25 score")
    )
    if config.rule_choice == "similarity" or not known:
        return similar
    return FirstOf([by_head, similar])


def _entities(index: Searchable | None) -> list[str]:
    """The entities of documents that are facts; none if the first document is none, or the index lists none."""
    from rulewise.retrieval.guided.phrases import entities_of

    corpus: Sequence[Document] | None = getattr(index, "corpus", None)
    if not corpus or not {"subject", "relation", "object"} <= corpus[0].metadata.keys():
        return []
    return entities_of(corpus)


def _read_rules(config: RagConfig, on_note: OnNote | None) -> RuleLibrary:
    from rulewise.rules.readers import read_library

    report = read_library(
        Path(config.rules),
        notation=config.format or None,
        columns=config.map or None,
        strict=config.strict,
        encoding=config.encoding or None,
        sheet=config.sheet or None,
    )
    if report.problems and on_note is not None:
        for problem in report.problems[:20]:
            on_note(str(problem))
        on_note(report.summary())
    return report.library


def read_aliases(path: Path) -> Mapping[str, Sequence[str]]:
    """Other ways to say relations, from TOML or JSON: relation -> texts.

    Raises:
        FileFormatError: If the file is neither, or holds anything but lists of texts.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = parse_json(text) if path.suffix.lower() == ".json" else parse_toml(text)
    except ValueError as exc:
        raise FileFormatError(f"{path}: neither TOML nor JSON ({exc}).") from exc
    if not isinstance(data, dict) or not all(
        isinstance(values, list) and all(isinstance(value, str) for value in values) for values in data.values()
    ):
        raise FileFormatError(f'{path}: expected lists of texts, as in "born in" = ["where was {{subject}} born?"].')
    return data


def _reasoner(config: RagConfig, llm: LLM) -> Reasoner:
    from rulewise.reasoning.cot import ChainOfThought
    from rulewise.reasoning.shots import read_shots
    from rulewise.reasoning.with_documents import WithDocuments
    from rulewise.reasoning.worked import bundled_cases, read_worked_cases

    shots = Path(config.shots) if config.shots else None
    if config.method == "cot":
        return ChainOfThought(llm, shots=bundled_cases() if shots is None else read_worked_cases(shots))
    return WithDocuments(
        llm,
        with_rules=config.method in WITH_RULES,
        style=config.style,
        shots=() if shots is None else read_shots(shots),
        max_prompt_tokens=config.max_prompt_tokens or None,
    )


def _in_steps(config: RagConfig, llm: LLM, chooser: RuleChooser | None, searcher: GuidedRetriever) -> RagPipeline:
    from rulewise.pipelines.knowledge.chain_of_knowledge import ChainOfKnowledge
    from rulewise.pipelines.knowledge.verify_edit import VerifyAndEdit
    from rulewise.reasoning.worked import read_worked_cases

    cases = read_worked_cases(Path(config.shots)) if config.shots else None
    if config.method == "ve":
        return VerifyAndEdit(llm=llm, retriever=searcher.retriever, shots=cases, k=config.n_kept)
    return ChainOfKnowledge(llm=llm, retriever=searcher, chooser=chooser, shots=cases, k=config.n_kept)
