"""A report's tables as LaTeX for a paper, with booktabs and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from rulewise.evaluation.report.figures import Figures
from rulewise.evaluation.report.grouping import Entry, Table, group_tables
from rulewise.evaluation.report.tables import percent
from rulewise.evaluation.run_folder import Plan

__all__ = ["escape", "latex_report"]

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
}
_MARKS = {"†": r"$^{\dagger}$", "‡": r"$^{\ddagger}$", "": ""}


def escape(text: str) -> str:
    """Text with every character that LaTeX would act on made harmless; line breaks become spaces."""
    safe = "".join(_ESCAPES.get(char, char) for char in " ".join(text.split()) if char.isprintable())
    return safe.replace("--", "-{}-")  # two hyphens would become a dash


def _entry(entry: Entry, *, is_published: bool) -> str:
    if entry.value is None:
        return escape(entry.text) if entry.text else "--"
    text = percent(entry.value)
    if is_published:
        return rf"\textit{{{text}}}"
    if entry.is_best:
        text = rf"\textbf{{{text}}}"
    part = rf" ({entry.part[0]} of {entry.part[1]})" if entry.part else ""
    return f"{text}{_MARKS[entry.mark]}{part}"


def _labels(labels: Sequence[str], before: Sequence[str] | None, *, is_published: bool) -> list[str]:
    """Escaped labels; one that repeats the row above is left out."""
    out = []
    same = before is not None
    for at, label in enumerate(labels):
        same = same and before is not None and label == before[at]
        text = "" if same and at < len(labels) - 1 else escape(label)
        out.append(rf"\textit{{{text}}}" if text and is_published else text)
    return out


def _table(table: Table, label: str) -> list[str]:
    n = len(table.index)
    groups = "".join(rf" & \multicolumn{{{span}}}{{c}}{{{escape(head)}}}" for head, span in table.groups)
    rules, at = [], n + 1
    for _, span in table.groups:
        rules.append(rf"\cmidrule(lr){{{at}-{at + span - 1}}}")
        at += span
    caption = (
        f"{escape(table.title)}. Percent, means over queries. Bold: the best of our complete figures in a column. "
        r"$\dagger$ better, $\ddagger$ worse than vanilla retrieval with the same retriever (paired randomisation "
        r"test, Holm-corrected, $p < 0.05$)."
    )
    if any(row.is_published for row in table.rows):
        caption += r" Rows in italics are published figures, copied from the paper; all others are ours."
    else:
        caption += " All figures are ours."
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        r"\small",
        r"\setlength{\tabcolsep}{3pt}",
        rf"\begin{{tabular}}{{{'l' * n}{'r' * len(table.columns)}}}",
        r"\toprule",
        " & " * (n - 1) + groups.removeprefix(" ") + r" \\" if table.groups else r"\\",
        "".join(rules),
        " & ".join(escape(head) for head in (*table.index, *table.columns)) + r" \\",
        r"\midrule",
    ]
    before: Sequence[str] | None = None
    for row in table.rows:
        labels = _labels(row.labels, before, is_published=row.is_published)
        before = row.labels
        entries = [_entry(entry, is_published=row.is_published) for entry in row.entries]
        lines.append(" & ".join([*labels, *entries]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{caption}}}", rf"\label{{{label}}}", r"\end{table*}", ""]
    return lines


def latex_report(plan: Plan, figures: Figures) -> str:
    r"""The tables of a report, one `table*` each, to be `\input` into a document that loads booktabs."""
    lines = [
        "% Written by Rulewise from a run's records. The preamble needs \\usepackage{booktabs}.",
        f"% Experiment: {' '.join(plan.name.split())}",
        "",
    ]
    tables = group_tables(figures) if figures.metrics else []
    if not tables:
        lines.append("% No cell was run, so there are no figures.")
    for number, table in enumerate(tables, start=1):
        lines += _table(table, f"tab:run-{number}")
    return "\n".join(lines).rstrip() + "\n"
