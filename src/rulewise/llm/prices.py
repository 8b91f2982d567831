"""What models cost: a table in TOML, which the user's own overrides."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulewise.errors import FileFormatError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

__all__ = ["LOCAL", "Price", "PriceTable", "load_prices"]

_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens.

    Attributes:
        input: For tokens of the prompt, at least 0.
        output: For tokens of the reply, thinking included, at least 0.
        as_of: When it was looked up, "" if its source does not say.
        is_local: Whether it is zero because the model runs on the user's own machine.
    """

    input: float
    output: float
    as_of: str = ""
    is_local: bool = False

    def usd(self, tokens_in: int, tokens_out: int) -> float:
        """The price of so many tokens."""
        return (self.input * tokens_in + self.output * tokens_out) / 1e6


LOCAL = Price(input=0.0, output=0.0, is_local=True)
"""The price of a model that the user runs."""


class PriceTable:
    """Model names mapped to prices.

    Args:
        prices: Name -> price; a name may carry its provider ("azure:my-deployment"), which then goes first.
    """

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = dict(prices)

    def __len__(self) -> int:
        return len(self._prices)

    def items(self) -> list[tuple[str, Price]]:
        """Names and prices by name."""
        return sorted(self._prices.items())

    def find(self, *names: str) -> Price | None:
        """The price of the first of these names that is known, or None: unknown, not free.

        Each is looked up as it is, without its provider ("openai:"), and without a date at its end ("-2024-08-06",
        "-latest"). A longer name is another model: gpt-4o-mini is not gpt-4o.
        """
        for name in names:
            bare = name.partition(":")[2] if ":" in name else name
            for candidate in (name, bare, _DATED.sub("", name), _DATED.sub("", bare)):
                if candidate and candidate in self._prices:
                    return self._prices[candidate]
        return None


def load_prices(override: Path | None = None) -> PriceTable:
    """The shipped prices, and the user's over them.

    Args:
        override: A TOML file with a table `models."NAME"` for each model, holding `input` and `output`, US dollars per
            million tokens, and perhaps `as_of` and `local = true`.

    Raises:
        FileFormatError: If the file is not TOML, or a price is not a number of at least 0.
    """
    prices = _read(Path(__file__).with_name("prices.toml"))
    return PriceTable({**prices, **_read(override)} if override is not None else prices)


def _read(path: Path) -> dict[str, Price]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as exc:
        raise FileFormatError(f"{path}: no such price table. Check RULEWISE_PRICES or --prices.") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise FileFormatError(f"{path}: not TOML: {exc}") from exc
    models = data.get("models")
    if not isinstance(models, dict):
        raise FileFormatError(f'{path}: expected a table [models."NAME"] for each model, with input and output.')
    return {str(name): _price(path, str(name), row) for name, row in models.items()}


def _price(path: Path, name: str, row: Any) -> Price:
    where = f'{path}: [models."{name}"]'
    if not isinstance(row, dict):
        raise FileFormatError(f"{where} must be a table with input and output.")
    values = {}
    is_local = row.get("local") is True
    for side in ("input", "output"):
        value = row.get(side, 0.0 if is_local else None)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
            raise FileFormatError(f"{where} {side} must be US dollars per million tokens, at least 0, got {value!r}.")
        values[side] = float(value)
    return Price(input=values["input"], output=values["output"], as_of=str(row.get("as_of", "")), is_local=is_local)
