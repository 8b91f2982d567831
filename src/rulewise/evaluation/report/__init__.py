"""Reports that are rebuilt from the folder of a run, and from nothing else."""

from __future__ import annotations

from rulewise.evaluation.report.write import FORMATS, write_report

__all__ = ["FORMATS", "write_report"]
