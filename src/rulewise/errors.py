"""Every exception that Rulewise raises on purpose.

    RulewiseError
    |-- InputError (ValueError)           a value, file or argument the user gave is wrong
    |   |-- RuleSyntaxError               a rule text does not follow its notation
    |   |-- FileFormatError               a file cannot be read as what it should be
    |   |-- NotAtHandError                what one part of a run needs is not there; the other parts can go on
    |   |-- StaleIndexError               a saved index does not fit the items or settings it is used with
    |   `-- UnknownNameError (LookupError)   a name that no registry knows
    |-- MissingExtraError (ImportError)   an optional dependency is not installed
    |-- LLMError (RuntimeError)           a language model back end failed
    `-- EncoderError (RuntimeError)       an encoder back end failed

A message says what is wrong, where, what was expected and what to do. The command line prints it without a traceback.
"""

from __future__ import annotations

__all__ = [
    "EncoderError",
    "FileFormatError",
    "InputError",
    "LLMError",
    "MissingExtraError",
    "NotAtHandError",
    "RuleSyntaxError",
    "RulewiseError",
    "StaleIndexError",
    "UnknownNameError",
]


class RulewiseError(Exception):
    """The base of all errors that Rulewise raises on purpose."""


class InputError(RulewiseError, ValueError):
    """A value, file or argument that the user gave is wrong."""


class RuleSyntaxError(InputError):
    """A rule text does not follow its notation.

    Args:
        reason: What was expected and what was found.
        text: The whole text that was read.
        line: Line in the source, counted from 1.
        column: Column of the fault in `text`'s line, counted from 1.
        source: File name or notation, for the head of the message.
    """

    def __init__(self, reason: str, *, text: str = "", line: int = 1, column: int = 1, source: str = "rule") -> None:
        self.reason = reason
        self.text = text
        self.line = line
        self.column = column
        self.source = source
        lines = text.splitlines() or [""]
        shown = lines[0] if len(lines) == 1 else lines[min(max(line - 1, 0), len(lines) - 1)]
        message = f"{source}:{line}:{column}: {reason}"
        if shown.strip():
            start = max(0, column - 80)
            message += f"\n    {shown[start : start + 160]}\n    {' ' * (column - 1 - start)}^"
        super().__init__(message)


class FileFormatError(InputError):
    """A file cannot be read as what it should be."""


class NotAtHandError(InputError):
    """What one part of a run needs is not there, such as formal texts of rules; the other parts can go on."""


class StaleIndexError(InputError):
    """A saved index does not fit the items or settings it is used with; the message names the command that mends it."""


class UnknownNameError(InputError, LookupError):
    """A name that no registry knows; the message lists the known ones and the nearest."""


class MissingExtraError(RulewiseError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""


class LLMError(RulewiseError, RuntimeError):
    """A language model back end failed.

    Args:
        message: One line: what happened and what to do. Never holds a key.
        model: Name of the model that was asked.
        retryable: Whether the same call may succeed later.
    """

    def __init__(self, message: str, *, model: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.model = model
        self.retryable = retryable


class EncoderError(RulewiseError, RuntimeError):
    """An encoder back end failed, or its weights are not the ones that were pinned."""
