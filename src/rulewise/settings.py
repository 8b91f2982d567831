"""The only reader of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Settings", "cache_folder", "read_settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says.

    Attributes:
        llm: `RULEWISE_LLM`, a model as "provider:model"; "" if unset.
        base_url: `RULEWISE_BASE_URL`, else `OPENAI_BASE_URL`; "" if unset.
        api_key: `RULEWISE_API_KEY`, else `OPENAI_API_KEY`; "" if unset. Never shown.
        cache: `RULEWISE_CACHE`, else the user's cache folder plus "rulewise".
        data: `RULEWISE_DATA`, the folder with benchmark data, or None.
        prices: `RULEWISE_PRICES`, a TOML price table that overrides the shipped one, or None.
    """

    llm: str = ""
    base_url: str = ""
    api_key: str = ""
    cache: Path
    data: Path | None = None
    prices: Path | None = None

    def __repr__(self) -> str:
        key = "set" if self.api_key else "unset"
        return f"Settings(llm={self.llm!r}, base_url={self.base_url!r}, api_key=<{key}>, cache={str(self.cache)!r})"


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The folder for caches: `RULEWISE_CACHE`, else `XDG_CACHE_HOME`/rulewise, else the platform's usual place."""
    if given := environ.get("RULEWISE_CACHE"):
        return Path(given).expanduser()
    if xdg := environ.get("XDG_CACHE_HOME"):
        return Path(xdg).expanduser() / "rulewise"
    if local := environ.get("LOCALAPPDATA"):
        return Path(local) / "rulewise" / "cache"
    return Path("~/.cache/rulewise").expanduser()


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from the environment, or from a mapping that stands for it."""
    env = os.environ if environ is None else environ
    data, prices = env.get("RULEWISE_DATA"), env.get("RULEWISE_PRICES")
    return Settings(
        llm=env.get("RULEWISE_LLM", ""),
        base_url=env.get("RULEWISE_BASE_URL") or env.get("OPENAI_BASE_URL") or "",
        api_key=env.get("RULEWISE_API_KEY") or env.get("OPENAI_API_KEY") or "",
        cache=cache_folder(env),
        data=Path(data).expanduser() if data else None,
        prices=Path(prices).expanduser() if prices else None,
    )
