"""The numbers in the tables of five papers (`reported.csv`, as printed), and those that correspond to a run.

Also example sentences: short phrases as printed, and sentences of our own where theirs are longer.
"""

import csv
import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from core.config import RunConfig
from core.models.attention_config import LAMBDA_RANGES
from core.models.config import ModelConfig
from core.models.presets import PAPERS, PRESETS

LAMBDA = "lambda"
SPEEDS = ("inference_time_per_batch", "throughput")


@dataclass(frozen=True)
class ReportedNumber:
    """A number that a paper reports; `layer` and `component` (both from 1) are set only for a map weight λ."""

    paper: str
    table: str
    dataset: str
    model: str
    variant: str
    metric: str
    value: float
    unit: str
    layer: int | None
    component: int | None


@dataclass(frozen=True)
class Counterpart:
    """The results that a paper reports for a preset on a data set; a note names differences from the data of a run."""

    dataset: str
    tables: tuple[str, ...]  # of the metrics, then of the lambdas if there are any
    metrics: dict[str, float]
    """Our name → value, as shares. The average of F1 and precision is not stated; Table VII of NDT implies weighted."""
    lambdas: tuple[tuple[float, ...], ...]  # by layer and added component; empty if none is reported
    note: str  # how the paper's split or data differ from the run's; empty if they do not


@cache
def _read_rows() -> tuple[ReportedNumber, ...]:
    text = (files("core.papers") / "reported.csv").read_text(encoding="utf-8")
    found = []
    for row in csv.DictReader(text.splitlines()):
        layer, component = (int(row.pop(name) or 0) or None for name in ("layer", "component"))
        found.append(ReportedNumber(value=float(row.pop("value")), layer=layer, component=component, **row))
    return tuple(found)


def select_reported(
    *, paper: str = "", dataset: str = "", metric: str = "", model: str = "", variant: str = ""
) -> tuple[ReportedNumber, ...]:
    """Return the reported numbers that match all arguments, in the order of the tables; an empty argument matches any.

    `paper` is a key of `PAPERS`; data set, model and variant (a row of the table) are named as in the paper; `metric`
    is accuracy, f1, auc, lambda, params …
    """
    wanted = {"paper": paper, "dataset": dataset, "metric": metric, "model": model, "variant": variant}
    asked = {name: value for name, value in wanted.items() if value}
    return tuple(row for row in _read_rows() if all(getattr(row, name) == value for name, value in asked.items()))


_MODELS = {
    "vanilla": ("Vanilla", ""),
    "differential": ("DT", "N=2"),
    **{
        f"ndt-{key}-n{n}": ("NDT", f"{between.plain.replace('∞', 'inf')} N={n}")
        for key, between in LAMBDA_RANGES.items()
        for n in (2, 3, 4)
    },
}
"""Preset → model and variant in the NDT paper."""
_DATA = {"imdb": "IMDB", "sst2": "SST-2", "yelp-5": "YELP-5", "twitter_financial": "TFN"}
_METRICS = {"accuracy": "accuracy", "precision": "precision_weighted", "f1": "f1_weighted", "auc": "roc_auc"}
_RESPLIT = {"SST-2": "0.7/0.15/0.15", "YELP-5": "0.7/0.15/0.15"}


def find_counterpart(preset: str, config: RunConfig) -> Counterpart | None:
    """Return the NDT paper's results for the preset and data set of a run; None if no results correspond to the run."""
    if explain_unmatched(preset, config):
        return None
    model, variant = _MODELS[preset]
    dataset = _DATA[config.data.name]
    rows = [row for row in select_reported(paper="ndt", dataset=dataset, model=model) if row.variant == variant]
    tables = tuple(dict.fromkeys(row.table for row in rows if row.metric in (*_METRICS, LAMBDA)))
    shares = {row.metric: row.value * (0.01 if row.unit == "%" else 1.0) for row in rows}
    metrics = {_METRICS[name]: round(share, 6) for name, share in shares.items() if name in _METRICS}
    return Counterpart(dataset, tables, metrics, _build_lambda_table(rows), _describe_difference(dataset, config))


def explain_unmatched(preset: str, config: RunConfig) -> str:
    """Explain why no numbers of a paper correspond to a run; return an empty string if some do."""
    if preset not in _MODELS:
        paper = PRESETS[preset].paper if preset in PRESETS else ""
        numbers = select_reported(paper=paper) if paper else ()
        if not numbers or paper == "ndt":  # all models of this paper with numbers are in `_MODELS`
            return f"No paper reports results of {preset}."
        return f"The {PAPERS[paper]} paper reports {len(numbers)} numbers; they are not matched with runs."
    if config.data.name not in _DATA:
        return f"The NDT paper reports {', '.join(_DATA.values())}, not {config.data.name.rsplit('/', 1)[-1]}."
    if _reset_unstated(config.model) != _reset_unstated(PRESETS[preset].model):
        return f"The model's settings differ from the preset {preset}, so the paper's numbers are not about it."
    return ""


def _reset_unstated(model: ModelConfig) -> ModelConfig:
    """Reset the model settings that a paper leaves open: learned beta (bias of a map weight λ), initial λ, dropout."""
    return replace(model, dropout=0.0, attention=replace(model.attention, learn_beta=False, lambda_start="paper"))


def _build_lambda_table(rows: list[ReportedNumber]) -> tuple[tuple[float, ...], ...]:
    found = {(row.layer or 0, row.component or 0): row.value for row in rows if row.metric == LAMBDA}
    layers = sorted({layer for layer, _ in found})
    components = sorted({component for _, component in found})
    return tuple(tuple(found[layer, component] for component in components) for layer in layers)


def _describe_difference(dataset: str, config: RunConfig) -> str:
    """Describe how the data splits of a run differ from those in the paper."""
    cut = f" Training was limited to {config.data.limit} rows." if config.data.limit else ""
    if dataset in _RESPLIT:
        if config.data.split == _RESPLIT[dataset]:
            leak = " (phrases of one sentence fall on both sides)" if dataset == "SST-2" else ""
            return f"Both split all labelled rows anew, 70/15/15{leak}, with other seeds.{cut}"
        own = f"splits them {config.data.split}" if config.data.split else "keeps the official splits"
        leak = "; there, phrases of test sentences stand in training, so its accuracy is higher" * (dataset == "SST-2")
        return f"The paper splits all labelled rows anew, 70/15/15; this run {own}{leak}.{cut}"
    if config.data.split:
        return f"The paper keeps the official test rows; this run splits all rows {config.data.split}.{cut}"
    return cut.strip()


@cache
def read_speed() -> dict[str, Any]:
    """Return the committed measurement of speed and memory, as `core.papers.speed.measure_efficiency` returns it."""
    return _read_result("speed.json")


@cache
def read_text_statistics() -> dict[str, Any]:
    """Return the committed counts of `tests/benchmarks/text_lengths.py`: texts, tokens and labels of data sets."""
    return _read_result("text_lengths.json")


def read_theory(name: str) -> dict[str, Any]:
    """Return the committed results of an experiment, as its function in `core.papers.theory.COMPUTED` returns them."""
    return _read_result("theory.json")[name]


def _read_result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files("core.papers") / "results" / name).read_text(encoding="utf-8"))
    return found


def select_efficiency(preset: str) -> list[dict[str, Any]]:
    """Return a preset's reported time and throughput, with a ratio unless all times are 0 or equal (timer ticks)."""
    model, variant = {**_MODELS, "sentiformer": ("SentiFormer", "")}.get(preset, ("", ""))
    found = []
    for row in select_reported(model=model) if model else ():
        same = select_reported(paper=row.paper, dataset=row.dataset, metric=row.metric)
        if row.metric in SPEEDS and row.variant.endswith(variant.split(" ")[-1]):  # Table XI: N alone
            told = len({each.value for each in same}) > 1 and row.metric != "throughput"
            about = {name: getattr(row, name) for name in ("table", "dataset", "value", "unit")}
            found.append(about | {"ratio": round(row.value / same[0].value, 3) if told else None})
    return found


class PaperSentence(NamedTuple):
    """A sentence that shows what a paper discusses."""

    paper: str  # its key
    place: str  # its section
    shows: str
    text: str
    ours: bool = True  # Written for Sentiscope in place of a longer one


PAPER_SENTENCES = (
    PaperSentence("sentiformer", "I", "praise, then a refusal", "Lovely songs, fine voices, but I would not go again."),
    PaperSentence("sentiformer", "V.E", "sarcasm", "Perfect, the lift is out of order once more."),
    PaperSentence("sentiformer", "VI.A", "a far negation", "I do not, whatever my neighbours say, like this phone."),
    PaperSentence("sentiformer", "VI.C", "knowledge decides", "He finally arrived", ours=False),
    PaperSentence("sentiformer", "VI.C", "sarcasm without a sign", "I love getting spam emails", ours=False),
    PaperSentence("7ess-xin", "Fig. 6", "two feelings", "I dread exams, yet chocolate cheers me up."),
    PaperSentence("7ess-xin", "Fig. 7", "taken back at the end", "Ironing is pure joy, just joking."),
)
"""In the order of the papers."""
