"""The experiments that need no language model, as reports in docs/benchmarks/siar/: `python -m bench.experiments`.

Needs `RULEWISE_DATA`, and for the rows with induced rules a folder `completions` beside it. No text of the sets goes
into the reports: no licence allows it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from bench.measure import environment
from rulewise.evaluation.experiment import load_experiment
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.report import write_report
from rulewise.evaluation.runner import run_experiment
from rulewise.files import write_text
from rulewise.llm.base import LLM
from rulewise.settings import read_settings

OUT = Path(__file__).parent.parent / "docs" / "benchmarks" / "siar"
NAMES = ("vanilla", "recorded", "distractors")


def no_model(spec: object) -> LLM:
    raise AssertionError(f"{spec} is asked by an experiment that needs no model")


def main() -> None:
    settings = read_settings()
    if settings.data is None:
        sys.exit("RULEWISE_DATA is not set: these figures need the RuleBench sets.")
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in NAMES:
            print(name, file=sys.stderr)
            experiment = load_experiment(name)
            materials = Materials(experiment, data=settings.data, settings=settings)
            run = Path(scratch) / name
            summary = run_experiment(experiment, run, materials=materials, open_model=no_model)
            if not summary.is_complete:
                sys.exit(f"{name}: not complete: {[s.reason for s in summary.states.values() if s.reason][:1]}")
            write_report(run, formats=("md", "csv"), texts=False)
            made, out = run / "report", OUT / name
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            shutil.copy(made / "figures.csv", out / "figures.csv")
            # only the vector form of the plots is kept
            write_text(out / "report.md", (made / "report.md").read_text(encoding="utf-8").replace(".png)", ".svg)"))
            if (made / "plots").is_dir():
                shutil.copytree(made / "plots", out / "plots", ignore=shutil.ignore_patterns("*.png"))
            lines.append(f"- [{experiment.title}]({name}/report.md), all figures in [CSV]({name}/figures.csv)")
    text = (
        "# SIAR: what can be measured without a live model\n\n"
        f"Written by `python -m bench.experiments`. {environment()}.\n\n" + "\n".join(lines) + "\n\n"
        "The induced rules of the second report are completions of a large language model that saw the query and the "
        "demonstrations alone, recorded for 233 of the queries (75 of clutrr, 75 of ulogic, 83 of cail2018). The "
        "weights of the form `fused` and of the hybrid were chosen on the same queries (decision 0005), so differences "
        "of a few points between our own arms mean little; the comparisons with searching by the query alone are far "
        "beyond that.\n"
    )
    write_text(OUT / "index.md", text)
    print(OUT, file=sys.stderr)


if __name__ == "__main__":
    main()
