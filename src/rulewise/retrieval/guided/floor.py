"""How similar an encoder finds texts that have nothing to do with each other: thresholds stand above that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rulewise.retrieval.base import Encoder

__all__ = ["MARGIN", "UNRELATED", "Floor"]

MARGIN = 0.1
"""The part of the way from the floor to 1 that a text must be above the floor to count as related.

Choice: measured with the embedded encoder, see docs/reference/guided-retrieval.md.
"""

_NEAREST = 5

UNRELATED: tuple[str, ...] = (
    "The river freezes over in most winters.",
    "Add two eggs and stir until the dough is smooth.",
    "The orchestra tuned its instruments before the concert.",
    "A triangle has three sides.",
    "Bees find their way back to the hive by the sun.",
    "The film was shot in black and white.",
    "Press the button twice to switch the lamp off.",
    "The castle stands on a hill above the village.",
    "Our striker scored in the last minute.",
    "Salt dissolves quickly in warm water.",
    "Blue and yellow paint make green.",
    "The ship left the harbour at dawn.",
    "Der Zug fährt durch einen langen Tunnel.",
    "La lune éclaire le jardin pendant la nuit.",
    "El perro duerme debajo de la mesa.",
    "春天来了，山上的花都开了。",
    "If it is cold, then water turns to ice.",
    "If a number is even, then it can be halved.",
    "如果下雨，那么地面会湿。",
    "Wenn die Sonne scheint, dann ist es warm.",
    "Wool keeps warm even when it is wet.",
    "The second act of the opera is the longest.",
    "Iron is harder than lead.",
    "Tomatoes ripen faster beside an apple.",
    "An old map hung above the fireplace.",
    "Penguins huddle together in the storm.",
    "The printer is out of paper again.",
    "Every prime number above two is odd.",
    "She whistled a tune on her way to the beach.",
    "The lecture was moved to the larger hall.",
    "If a kettle boils, then it whistles.",
    "When the tide is low, the island can be reached on foot.",
    "Whoever draws the highest card begins the game.",
    "If a word ends in a vowel, then it takes an article.",
    "Si le vent tourne, alors le voilier change de cap.",
    "如果水结冰，那么它会膨胀。",
    "Si la masa no sube, entonces falta levadura.",
    "Wer zuletzt lacht, lacht am besten.",
    "小猫在窗台上睡着了。",
    "Das Bild hängt schief an der Wand.",
)
"""Facts and rules of everyday life, of many topics, in English, German, French, Spanish and Chinese."""


class Floor:
    """The cosine that a query has with texts it has nothing to do with, by one encoder.

    Encoders differ in what they give unrelated texts: near 0 for some, above 0.7 for multilingual-e5. The floor of a
    query is the mean of its five highest cosines with the texts of `UNRELATED`: those nearest to it in topic, language
    and form, each of which is still no answer. So a query about what one of them is about has a high floor, which few
    such texts can reach by chance. Only the threshold depends on the floor, never the order of what is found.

    Args:
        encoder: Its vectors of the unrelated texts are made when they are first needed.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors: NDArray[np.float32] | None = None

    def least(self, queries: NDArray[np.float32]) -> NDArray[np.float64]:
        """The least cosine of a related text for each query, shape (n,), at most 1; 1 for a query of zeros.

        That is floor + `MARGIN` * (1 - floor): the threshold has the same place between unrelated and equal texts
        whatever the encoder.

        Args:
            queries: The vectors of the queries, shape (n, dim), rows of length 1, or 0 for blank queries.

        Raises:
            EncoderError: If the encoder fails.
        """
        if self._vectors is None:
            self._vectors = self._encoder.encode(UNRELATED, role="document")
        cosines = np.clip(queries @ self._vectors.T, -1.0, 1.0).astype(np.float64)
        floors = np.sort(cosines, axis=1)[:, -_NEAREST:].mean(axis=1)
        least: NDArray[np.float64] = np.round(floors + MARGIN * (1.0 - floors), 6)
        least[~queries.any(axis=1)] = 1.0
        return least
