"""Analyzers by name: how texts become the terms that BM25 counts.

`make_analyzer("rule+bigrams+once")` reads settings from the name; `analyzer_from_spec` restores a saved one exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rulewise.errors import InputError, StaleIndexError
from rulewise.registry import Registry, unknown_name
from rulewise.retrieval.analyzers.base import Analyzer, Kind

__all__ = ["ANALYZERS", "Analyzer", "Kind", "analyzer_from_spec", "make_analyzer"]

ANALYZERS = Registry(
    "analyzer",
    {
        "lucene-cjk1": "rulewise.retrieval.analyzers.lucene:LUCENE_CJK1",
        "lucene-en": "rulewise.retrieval.analyzers.lucene:LUCENE_EN",
        "plain": "rulewise.retrieval.analyzers.lucene:PLAIN",
        "rule": "rulewise.retrieval.analyzers.rule:RULE",
    },
    group="rulewise.analyzers",
)
"""Name -> a `Kind`; other packages add theirs as `rulewise.analyzers`."""


def make_analyzer(name: str, **settings: str) -> Analyzer:
    """The analyzer of a name, which may carry switches: "rule", "rule+bigrams", "rule+bigrams+once".

    Args:
        name: Name in `ANALYZERS`, with switches of its kind after plus signs.
        settings: Settings by their names, which go before those of the switches.

    Raises:
        UnknownNameError: If the name, a switch or a setting is not known.
        InputError: If a setting has a value that it cannot have, or two switches contradict each other.
    """
    base, *switches = (part.strip() for part in name.strip().split("+"))
    kind: Kind = ANALYZERS.load(base)
    chosen: dict[str, str] = {}
    for switch in switches:
        if switch not in kind.switches:
            raise _unknown_setting(base, "switch", switch, kind.switches)
        setting, value = kind.switches[switch]
        if chosen.setdefault(setting, value) != value:
            raise InputError(f"Analyzer {name!r}: '+{switch}' contradicts another switch. Keep one of them.")
    for setting, value in settings.items():
        if setting not in kind.settings:
            raise _unknown_setting(base, "setting", setting, kind.settings)
        if value not in kind.settings[setting]:
            known = ", ".join(kind.settings[setting])
            raise InputError(f"Analyzer {base!r}: {setting} cannot be {value!r}. Expected one of: {known}.")
        chosen[setting] = value
    whole = {setting: chosen.get(setting, values[0]) for setting, values in kind.settings.items()}
    return Analyzer(name=base, version=kind.version, settings=MappingProxyType(whole), terms=kind.build(whole))


def analyzer_from_spec(spec: Mapping[str, object]) -> Analyzer:
    """The analyzer that a spec describes; no default is added to what it says.

    Raises:
        StaleIndexError: If this version of Rulewise has no analyzer that does exactly what the spec says.
        UnknownNameError: If the name is not known.
    """
    name, version, settings = spec.get("name"), spec.get("version"), spec.get("settings")
    if not isinstance(name, str) or not isinstance(settings, Mapping):
        raise StaleIndexError(f"Not the description of an analyzer: {dict(spec)!r}. Build the index anew.")
    kind: Kind = ANALYZERS.load(name)
    fits = settings.keys() == kind.settings.keys() and all(settings[s] in kind.settings[s] for s in settings)
    if version != kind.version or not fits:
        raise StaleIndexError(
            f"Analyzer {name!r} was saved as version {version!r} with {dict(settings)!r}; this Rulewise has version "
            f"{kind.version} with the settings {sorted(kind.settings)}. Build the index anew: rulewise index build."
        )
    return make_analyzer(name, **{str(key): str(value) for key, value in settings.items()})


def _unknown_setting(name: str, what: str, given: str, known: Mapping[str, object]) -> Exception:
    if not known:
        return InputError(f"Analyzer {name!r} has no {what} {given!r}; it has none at all.")
    return unknown_name(f"{what} of analyzer {name!r}:", given, known)
