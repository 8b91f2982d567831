"""Two encoders as one, for queries and for documents, as in DPR (Karpukhin et al. 2020, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import EncoderError, InputError
from rulewise.retrieval.base import Encoder
from rulewise.retrieval.encoders.options import EncoderOptions
from rulewise.types import Role

__all__ = ["PairEncoder", "build"]

_EXAMPLE = (
    "pair:st:sentence-transformers/facebook-dpr-question_encoder-single-nq-base,"
    "st:sentence-transformers/facebook-dpr-ctx_encoder-single-nq-base"
)


class PairEncoder:
    """One encoder for queries and another for documents, trained to give vectors of one space.

    Rows have length 1 as everywhere, so that what DPR compares by the inner product is compared by the cosine here.

    Args:
        query: Encodes texts of the role "query".
        document: Encodes texts of the role "document".
    """

    def __init__(self, query: Encoder, document: Encoder) -> None:
        self._sides: dict[Role, Encoder] = {"query": query, "document": document}
        self._dims: dict[Role, int] = {}

    @property
    def name(self) -> str:
        """The names of both, the one for queries first."""
        return f"pair:{self._sides['query'].name},{self._sides['document'].name}"

    def encode(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """An array of shape (len(texts), dim) with rows of length 1; a blank text's row is zero.

        Raises:
            EncoderError: If an encoder fails, or the two give vectors of different lengths.
        """
        rows = self._sides[role].encode(texts, role=role)
        if len(texts):
            self._dims[role] = rows.shape[1]
        if len(set(self._dims.values())) > 1:
            raise EncoderError(
                f"{self.name}: queries have {self._dims['query']} dimensions and documents {self._dims['document']}. "
                "Give two encoders that were trained together."
            )
        return rows


def build(model: str, options: EncoderOptions) -> PairEncoder:
    """The pair that "QUERY_SPEC,DOCUMENT_SPEC" names.

    Raises:
        InputError: If these are not two specifications, or one of them is a pair itself.
    """
    from rulewise.retrieval.encoders import build_encoder

    specs = [spec.strip() for spec in model.split(",")]
    if len(specs) != 2 or not all(specs) or any(spec.partition(":")[0] == "pair" for spec in specs):
        raise InputError(
            f"The encoder 'pair' needs an encoder for queries and one for documents, with one comma between them, got "
            f"{model!r}. For example: {_EXAMPLE}"
        )
    inner = replace(options, cache=None)
    query, document = (build_encoder(spec, options=inner) for spec in specs)
    return PairEncoder(query, document)
