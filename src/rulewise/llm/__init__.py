"""Language models: the contract, back ends, and wrappers around any of them."""

from rulewise.llm.build import LLMS, build_llm

__all__ = ["LLMS", "build_llm"]
