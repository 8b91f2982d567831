"""The contracts of retrieval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rulewise.types import Hit, Item, Role

__all__ = ["Encoder", "Retriever", "Where"]

T = TypeVar("T", bound=Item)
ItemT = TypeVar("ItemT")

Where: TypeAlias = Callable[[Any], bool]
"""Whether an item may be a hit; `rulewise.rules.filters.RuleFilter` is one."""


class Retriever(Protocol[ItemT]):
    """Finds items for texts. Built ready: nothing is to be called between the constructor and `search`."""

    def search(self, texts: Sequence[str], *, k: int, where: Where | None = None) -> list[list[Hit[ItemT]]]:
        """At most `k` hits for each text, best first, ties by id; ranks count from 1.

        A text that matches nothing gets an empty list. `k` may exceed the number of items. With `where`, only items for
        which it is true can be hits; scores are those of the whole index.

        Raises:
            InputError: If `k` is less than 1.
        """


class Encoder(Protocol):
    """Maps texts to unit vectors."""

    @property
    def name(self) -> str:
        """What an index records and checks: back end, model and version."""

    def encode(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """An array of shape (len(texts), dim) with rows of length 1, in the texts' order; a blank text's row is zero.

        Raises:
            EncoderError: If the back end fails.
        """
