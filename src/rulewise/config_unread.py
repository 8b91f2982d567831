"""What [rag] says and nothing would read, so that no key is passed over without a word.

Choice: one configuration serves to compare methods. So a method that has no rules or no documents passes over all that
is said of these, if it is there; refused are keys that a reader would expect to act on what the method does.
"""

from __future__ import annotations

from collections.abc import Collection

from rulewise.config_sections import RagConfig
from rulewise.errors import InputError

__all__ = ["WITH_RULES", "refuse_unread"]

WITH_RULES = ("rulerag", "rulerag-cok")
"""The methods that need rules."""

_ONE_PROMPT = ("rulerag", "standard-rag", "standard-prompting")
_READ_BY = {
    "style": _ONE_PROMPT,
    "max_prompt_tokens": _ONE_PROMPT,
    "shown": ("rulerag", "standard-rag"),
    "rules_in_prompt": ("rulerag",),
}
"""Key -> the methods that read it."""

_OF_RULES = ("aliases", "rules_per_query", "theta", "relation_theta", "form", "merge", "k_per_rule", "with_query",
             "map", "format", "encoding", "sheet")  # fmt: skip
_OPTIONS = {"rules_in_prompt": "--no-rules-in-prompt", "with_query": "--rules-only"}
_INSTEAD = {
    "encoding": " For documents it is --document-encoding.",
    "map": " For documents it is --document-map.",
    "style": " With a file for several methods, --style cited puts the default back.",
    "rules_in_prompt": " With a file for several methods, --rules-in-prompt puts the default back.",
}


def refuse_unread(config: RagConfig, *, answers: bool = True, relations: Collection[str] = ()) -> None:
    """Stop if something is set that nothing would read; what has its default value counts as not set.

    Args:
        config: The section.
        answers: Whether questions are answered, so that the method and the keys of the prompt count.
        relations: Relations that queries name.

    Raises:
        InputError: If so; the message says what to do.
    """
    default = RagConfig()
    is_set = {name for name in (*_READ_BY, *_OF_RULES) if getattr(config, name) != getattr(default, name)}
    if answers:
        for name, methods in _READ_BY.items():
            if name in is_set and config.method not in methods:
                raise InputError(
                    f"{_said(name)}: the method {config.method} does not read it, only {', '.join(methods)} "
                    f"{'do' if len(methods) > 1 else 'does'}. Leave it out, or take another --method."
                    f"{_INSTEAD.get(name, '')}"
                )
        if config.method == "ve" and config.repeats != default.repeats:
            raise InputError(f"{_said('repeats')}: the method ve does not read it. Leave it out, or take --method cok.")
    if not config.rules:
        unread = [_said(name) for name in _OF_RULES if name in is_set]
        if relations or unread:
            more = "".join(_INSTEAD.get(name, "") for name in ("encoding", "map") if name in is_set)
            raise InputError(
                f"{'--relation' if relations else unread[0]}: is about rules, and there are none. Give --rules, or "
                f"rules in [rag], or leave it out.{more}"
            )
    if config.relation_theta is not None and not config.encoder and config.retriever == "bm25":
        raise InputError(f"{_said('relation_theta')}: relations have a cosine with an encoder only. Give --encoder.")
    if config.theta is not None and config.rule_choice == "head":
        raise InputError(
            f"{_said('theta')}: rules that are chosen by the relation that is asked have no similarity. Leave it out, "
            "or take --rule-choice auto or similarity."
        )


def _said(name: str) -> str:
    return f"{_OPTIONS.get(name) or '--' + name.replace('_', '-')}, {name} in [rag]"
