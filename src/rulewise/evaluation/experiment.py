"""An experiment: a grid of cells, described by one TOML file.

    name = "my-library"
    title = "Retrieval with and without induced rules"
    metrics = ["recall@1", "recall@5", "mrr", "match_word"]
    table = ""                          # tables of the SIAR paper whose figures are to be shown beside: "1" or "1, 4"

    [models.small]                      # a label that grids use; it is what reports say
    spec = "ollama:qwen2.5:7b"          # PROVIDER:MODEL
    base_url = ""
    concurrency = 8
    temperature = 0.0
    max_tokens = 0                      # 0 for each stage's own bound

    [sets.mine]                         # sets that are not named here are RuleBench sets in the data folder
    kind = "files"                      # files, rulebench, beir, trec, samples
    rules = "rules.csv"
    queries = "cases.jsonl"

    [induced.recorded]                  # induced rules from files; {set} and {data} are filled in
    path = "{data}/../completions/{set}.induced.jsonl"

    [defaults]                          # settings of all grids; see `rulewise.evaluation.cell.Cell`
    set = "mine"
    model = "small"

    [[grid]]                            # every combination of the listed values is a cell
    retriever = ["bm25", "hybrid"]
    method = ["vanilla", "siar-fused", "siar-r3-fused"]

`method` stands for a form of search text and a reranker. Paths are relative to the file. With `task = "rag"` cells
search documents, see `rulewise.evaluation.rag.cell.RagCell`; `method` then stands for a reasoner and for whether
rules guide the search.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rulewise.config import parse_toml
from rulewise.errors import FileFormatError, InputError
from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.expand import METHODS, TASKS, expand, method_key, settings_of
from rulewise.evaluation.rag.cell import RAG
from rulewise.registry import unknown_name

__all__ = [
    "ANSWER_DEFAULTS",
    "DEFAULT_MODEL",
    "METHODS",
    "OPENQA_KINDS",
    "RAG_DEFAULTS",
    "RANKING_DEFAULTS",
    "Experiment",
    "ModelSpec",
    "SetSpec",
    "grid_names",
    "load_experiment",
    "parse_experiment",
]

RANKING_DEFAULTS = ("recall@1", "recall@5", "recall@10", "mrr")
"""Metrics of retrieval where an experiment names none."""
ANSWER_DEFAULTS = ("match", "match_word", "em", "token_f1", "verdict")
"""Metrics of answers where an experiment names none: `match` is the paper's, the others are stricter."""

RAG_DEFAULTS = (
    "answer_recall@1",
    "answer_recall@2",
    "answer_recall@5",
    "answer_recall@10",
    "em",
    "token_f1",
    "rule_coverage",
    "document_coverage",
)
"""Metrics of experiments with documents that name none."""

DEFAULT_MODEL = "env:RULEWISE_LLM"
"""The specification of the model that the environment or the command line names."""

GRIDS = Path(__file__).with_name("grids")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
OPENQA_KINDS = ("openqa", "nq", "hotpotqa", "popqa", "asqa")
"""Kinds of sets of open questions, which take documents and rules of their own."""

_KINDS = ("rulebench", "files", "beir", "trec", "samples", "ruleqa", *OPENQA_KINDS)
_MAX_CELLS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A language model of an experiment.

    Attributes:
        label: What cells and reports call it; the published figures of a model of the same label are comparable.
        spec: PROVIDER:MODEL, or "recorded:FILE".
        base_url: The address, if not the provider's own.
        concurrency: Calls at a time, for back ends over HTTP.
        temperature: At least 0; 0 is greedy.
        max_tokens: Bound on every reply's length; 0 for each stage's own.
    """

    label: str
    spec: str
    base_url: str = ""
    concurrency: int = 8
    temperature: float = 0.0
    max_tokens: int = 0

    @property
    def name(self) -> str:
        """The specification without the folder of a recording: the same on every machine."""
        provider, _, model = self.spec.partition(":")
        return f"{provider}:{Path(model).name}" if provider == "recorded" else self.spec


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSpec:
    """Where a set comes from; paths are absolute or relative to the working folder."""

    name: str
    kind: str = "rulebench"
    path: str = ""
    rules: str = ""
    queries: str = ""
    topics: str = ""
    qrels: str = ""
    split: str = ""
    demonstrations: str = ""
    corpus: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A named list of cells with what they refer to.

    Attributes:
        name: What the experiment is called.
        title: A line for people.
        table: Published tables to compare with, set apart by commas: "1" for one of the SIAR paper, "rulerag:2" for one
            of another; "" for none.
        metrics: Names of metrics; see `rulewise.metrics.names`.
        models: Label -> model.
        sets: Name -> where the set comes from, for those that are no RuleBench sets of the data folder.
        induced: Label -> path of a file of recorded induced rules, in which "{set}" and "{data}" are filled in.
        cells: The cells, normalised, in order, each once.
        source: The text of the file.
    """

    name: str
    title: str = ""
    table: str = ""
    metrics: tuple[str, ...] = (*RANKING_DEFAULTS, *ANSWER_DEFAULTS)
    models: Mapping[str, ModelSpec] = field(default_factory=lambda: MappingProxyType({}))
    sets: Mapping[str, SetSpec] = field(default_factory=lambda: MappingProxyType({}))
    induced: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    cells: tuple[AnyCell, ...] = ()
    source: str = ""

    def with_model(self, label: str, spec: ModelSpec) -> Experiment:
        """The experiment with another model under one of its labels.

        Raises:
            UnknownNameError: If no cell uses that label.
        """
        used = {cell.model for cell in self.cells if cell.model}
        if label not in used:
            raise unknown_name("model label", label, used)
        return replace(self, models={**self.models, label: replace(spec, label=label)})

    def with_only_model(self, spec: ModelSpec) -> Experiment:
        """The experiment with this model in every cell that asks one."""
        cells = [replace(cell, model=spec.label) if cell.model else cell for cell in self.cells]
        return replace(self, models={spec.label: spec}, cells=tuple(dict.fromkeys(cells)))

    def with_set(self, spec: SetSpec) -> Experiment:
        """The experiment with this set under its name."""
        return replace(self, sets={**self.sets, spec.name: spec})

    def resolved(self, default_model: str) -> Experiment:
        """The experiment with the default model in the place of those whose spec is "env:RULEWISE_LLM".

        Args:
            default_model: PROVIDER:MODEL; "" leaves them unresolved, and their cells will not run.
        """
        if not default_model:
            return self
        models = {
            label: replace(spec, spec=default_model) if spec.spec == DEFAULT_MODEL else spec
            for label, spec in self.models.items()
        }
        return replace(self, models=models)

    def only(self, wanted: Mapping[str, Sequence[str]]) -> Experiment:
        """The experiment with the cells alone whose settings have one of the wanted values.

        Args:
            wanted: Setting, or "method" -> values as text.

        Raises:
            UnknownNameError: If a setting is not known.
            InputError: If no cell is left.
        """
        known = settings_of(self.cells)
        for name in wanted:
            if name not in known:
                raise unknown_name("setting", name, known)

        def fits(cell: AnyCell) -> bool:
            return all(
                str(getattr(cell, name)) in values or (name == "method" and method_key(cell) in values)
                for name, values in wanted.items()
            )

        cells = tuple(cell for cell in self.cells if fits(cell))
        if not cells:
            tried = ", ".join(f"{name}={'|'.join(values)}" for name, values in wanted.items())
            raise InputError(f"{self.name}: no cell has {tried}.")
        return replace(self, cells=cells)

    def sampled(self, n: int) -> Experiment:
        """The experiment on a sample of at most `n` queries of each set."""
        cells = dict.fromkeys(replace(cell, sample=n).normalised() for cell in self.cells)
        return replace(self, cells=tuple(cells))


def grid_names() -> list[str]:
    """Names of the experiments that come with Rulewise."""
    return sorted(path.stem for path in GRIDS.glob("*.toml"))


def load_experiment(path: str | Path) -> Experiment:
    """Read an experiment from a TOML file, or one that comes with Rulewise by its name ("table1").

    Raises:
        FileFormatError: If the file is not TOML, or a key or value is not one that is known.
        InputError: If there is neither a file nor an experiment of this name, or it has no cell.
    """
    file = Path(path)
    if not file.is_file() and file.suffix != ".toml" and len(file.parts) == 1:
        if str(path) not in grid_names():
            raise unknown_name("experiment", str(path), grid_names())
        file = GRIDS / f"{path}.toml"
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as exc:
        raise FileFormatError(f"{file}: not UTF-8 ({exc}). Save it as UTF-8.") from exc
    return parse_experiment(text, folder=file.parent, name=str(file))


def parse_experiment(text: str, *, folder: Path = Path(), name: str = "experiment") -> Experiment:
    """Read an experiment from the text of a TOML file.

    Args:
        text: The text.
        folder: What paths are relative to.
        name: What messages call the file.

    Raises:
        FileFormatError: If it is not TOML, or a key or value is not one that is known.
        InputError: If it has no cell.
    """
    try:
        data = parse_toml(text)
    except ValueError as exc:
        raise FileFormatError(f"{name}: not TOML ({exc}).") from exc
    try:
        return _experiment(data, folder, Path(name).stem, text)
    except FileFormatError:
        raise
    except InputError as exc:
        raise FileFormatError(f"{name}: {exc}") from exc


def _experiment(data: Mapping[str, Any], folder: Path, stem: str, text: str) -> Experiment:
    known = ("name", "title", "task", "table", "metrics", "models", "sets", "induced", "defaults", "grid")
    for key in data:
        if key not in known:
            raise unknown_name("key", key, known)
    models = {label: _model(label, row, folder) for label, row in _tables(data, "models").items()}
    sets = {label: _set(label, row, folder) for label, row in _tables(data, "sets").items()}
    induced = {label: _induced(label, row, folder) for label, row in _tables(data, "induced").items()}
    grids = data.get("grid")
    if not isinstance(grids, list) or not grids or not all(isinstance(grid, Mapping) for grid in grids):
        raise InputError("expected at least one [[grid]] with lists of settings.")
    defaults = data.get("defaults", {})
    if not isinstance(defaults, Mapping):
        raise InputError("[defaults] must be a table of settings.")
    task = _word(data, "task", "rules")
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    cells: dict[AnyCell, None] = {}
    for number, grid in enumerate(grids, start=1):
        try:
            for cell in expand({**defaults, **grid}, task=task):
                cells[cell] = None
                if len(cells) > _MAX_CELLS:
                    raise InputError(f"more than {_MAX_CELLS} cells. Split the experiment.")
        except InputError as exc:
            raise InputError(f"[[grid]] {number}: {exc}") from exc
    for cell in cells:
        if cell.model and cell.model not in models:
            raise InputError(f"model {cell.model!r} has no table [models.{cell.model!r}] with its spec.")
        if cell.induced not in ("", "model") and cell.induced not in induced:
            raise InputError(f"induced {cell.induced!r} has no table [induced.{cell.induced}] with its path.")
    metrics = data.get("metrics", [*RAG_DEFAULTS] if task == RAG else [*RANKING_DEFAULTS, *ANSWER_DEFAULTS])
    if not isinstance(metrics, list) or not all(isinstance(metric, str) for metric in metrics) or not metrics:
        raise InputError(f"metrics: expected a list of names, got {metrics!r}.")
    _check_metrics(metrics, cells, task)
    name = _word(data, "name", stem)
    if not _LABEL.fullmatch(name):
        raise InputError(f"name {name!r}: expected letters, digits and . _ + -, for it names a folder too.")
    _check_tables(_word(data, "table", ""))
    return Experiment(
        name=name,
        title=_word(data, "title", ""),
        table=_word(data, "table", ""),
        metrics=tuple(dict.fromkeys(metrics)),
        models=models,
        sets=sets,
        induced=induced,
        cells=tuple(cells),
        source=text,
    )


def _check_metrics(metrics: Iterable[str], cells: Iterable[AnyCell], task: str) -> None:
    from rulewise.metrics.names import ANSWER_METRICS, document_metric, ranking_metric

    least = min((cell.k for cell in cells if cell.searches), default=None)
    for metric in metrics:
        if metric in ANSWER_METRICS:
            continue
        if task == RAG:
            document_metric(metric)
        else:
            ranking_metric(metric)
        cut = metric.partition("@")[2]
        if cut and least is not None and int(cut) > least:
            raise InputError(
                f"{metric} looks at {cut} hits, and some cells keep {least}: it would be the same as at {least}. Set k "
                f"to at least {cut} (and depth, where hits are reranked)."
            )


def _check_tables(table: str) -> None:
    from rulewise.evaluation.published import load_published

    if table:
        rows = load_published().rows
        known = {f"{row.paper}:{row.table}" for row in rows} | {row.table for row in rows if row.paper == "siar"}
        for one in table.split(","):
            if one.strip() not in known:
                raise unknown_name("published table", one.strip(), known)


def _word(data: Mapping[str, Any], key: str, default: str) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise InputError(f"{key}: expected a text, got {value!r}.")
    return value


def _tables(data: Mapping[str, Any], key: str) -> Mapping[str, Mapping[str, Any]]:
    tables = data.get(key, {})
    if not isinstance(tables, Mapping) or not all(isinstance(row, Mapping) for row in tables.values()):
        raise InputError(f"[{key}] must hold a table for each name, as in [{key}.NAME].")
    for name in tables:
        if not _LABEL.fullmatch(name):
            raise InputError(f"[{key}.{name}]: names are letters, digits and . _ + -, for they name files too.")
    return tables


def _fields(kind: type, label: str, row: Mapping[str, Any], where: str) -> dict[str, Any]:
    kinds = {f.name: f.type for f in fields(kind) if f.name not in ("label", "name")}
    names = {"str": (str,), "int": (int,), "float": (float, int)}
    for key, value in row.items():
        if key not in kinds:
            raise InputError(f"[{where}.{label}]: {unknown_name('key', key, kinds)}")
        if type(value) not in names[str(kinds[key])]:
            raise InputError(f"[{where}.{label}] {key}: expected {kinds[key]}, got {value!r}.")
    return dict(row)


def _model(label: str, row: Mapping[str, Any], folder: Path) -> ModelSpec:
    from rulewise.llm.build import split_spec

    values = _fields(ModelSpec, label, row, "models")
    if "spec" not in values:
        raise InputError(f'[models.{label}] needs spec = "PROVIDER:MODEL".')
    provider, model = split_spec(values["spec"])
    if provider == "recorded":
        values["spec"] = f"recorded:{os.path.normpath(folder / Path(model).expanduser())}"
    if values.get("concurrency", 1) < 1 or values.get("temperature", 0) < 0 or values.get("max_tokens", 0) < 0:
        raise InputError(f"[models.{label}]: concurrency must be at least 1, temperature and max_tokens at least 0.")
    return ModelSpec(label=label, **values)


def _set(name: str, row: Mapping[str, Any], folder: Path) -> SetSpec:
    values = _fields(SetSpec, name, row, "sets")
    if values.get("kind", "rulebench") not in _KINDS:
        raise InputError(f"[sets.{name}]: {unknown_name('kind', values['kind'], _KINDS)}")
    for key in ("path", "rules", "queries", "topics", "qrels", "demonstrations", "corpus"):
        if values.get(key) and not values[key].startswith("{data}"):
            values[key] = str(folder / Path(values[key]).expanduser())
    return SetSpec(name=name, **values)


def _induced(label: str, row: Mapping[str, Any], folder: Path) -> str:
    if set(row) != {"path"} or not isinstance(row["path"], str) or not row["path"].strip():
        raise InputError(f'[induced.{label}] needs path = "FILE" and nothing else.')
    if label == "model":
        raise InputError("[induced.model]: 'model' stands for the language model. Choose another label.")
    path: str = row["path"]
    return path if path.startswith("{data}") else str(folder / Path(path).expanduser())
