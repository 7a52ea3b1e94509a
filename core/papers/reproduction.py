"""The papers' tables beside our results: recipes are data (`recipes.json`), and nothing is trained here.

A verdict compares the mean of our seeds with a reported number. Its interval counts the test rows of both sides and
our seeds; the papers give no deviation. Differences are in points: hundredths of a share, a silhouette or a λ.
"""

from __future__ import annotations

import copy
import math
import statistics
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from core.config import compose, flatten_config
from core.data.sources import SOURCES
from core.exceptions import InputError
from core.formatting import suggest_name
from core.lazy_imports import numpy as np
from core.lazy_imports import scipy
from core.models.model_description import count_parameters
from core.models.presets import PRESETS
from core.papers import training_cells
from core.papers.reported_results import ReportedNumber, read_speed, read_text_statistics, select_reported
from core.papers.training_cells import LABELS, RESULTS, Line, TrainingCell, list_cells, read_lines, read_recipes

BETTER, DIFFERS, AGREES, INCONCLUSIVE = "better than the paper allows", "differs", "agrees", "inconclusive"
ONE_SEED, NOT_RUN, BASELINE = "one seed", "not run", "baseline"
VERDICTS = (BETTER, DIFFERS, AGREES, INCONCLUSIVE, ONE_SEED, NOT_RUN, BASELINE)
MARGIN = 1.5
"""Points within which a result agrees with a reported number."""
LEVEL = 0.05
LEAST = 6
"""Pairs that a p below 0.05 of Wilcoxon's test needs: with five the smallest is 2 / 2⁵ = 0.0625."""
SCALES = ("small", "paper")
BASELINES = ("tfidf-logreg", "tfidf-logreg-chars")
_NORMAL = statistics.NormalDist()
Recipe = Mapping[str, Any]


def judge_difference(values: Sequence[float], reported: float, rows: float, *, upward: bool = True) -> Line:
    """Return the difference of our `values` by seed (points) to a reported number, its 95 % interval and the verdict.

    `rows`: the variance by the test rows of both sides, whose normal quantile and Student's t of the seeds are weighted
    by variance; `upward`: a higher value is better, so a result may be better than the paper's.
    """
    difference = statistics.fmean(values) - reported
    if len(values) < 2:
        return {"difference": difference, "interval": None, "verdict": ONE_SEED}
    seeds = statistics.variance(values) / len(values)
    error = math.sqrt(rows + seeds)

    def weigh_quantiles(share: float) -> float:
        """Return the quantile of the difference in standard errors."""
        if not error:
            return 0.0
        student = float(scipy.special.stdtrit(len(values) - 1, share))
        return (rows * _NORMAL.inv_cdf(share) + seeds * student) / error**2

    half = weigh_quantiles(1 - LEVEL / 2) * error
    low, high = difference - half, difference + half
    if upward and difference > weigh_quantiles(1 - LEVEL) * error:
        verdict = BETTER
    elif low > 0 or high < 0:
        verdict = DIFFERS
    else:
        verdict = AGREES if max(-low, high) <= MARGIN else INCONCLUSIVE
    return {"difference": difference, "interval": [low, high], "verdict": verdict}


class TrainedModel:
    """The results of one model in a group, by seed or fold."""

    def __init__(self, cells: Sequence[TrainingCell], lines: Mapping[str, Line], labels: Mapping[str, Line]) -> None:
        self.cells, self._labels = cells, labels
        self.done = [lines[cell.key] for cell in cells if "failed" not in lines.get(cell.key, {"failed": ""})]
        self.failed = [lines[cell.key] for cell in cells if "failed" in lines.get(cell.key, {})]

    @property
    def hours(self) -> float:
        """Estimated hours of the cells without a result, on two cores."""
        return sum(cell.seconds for cell in self.cells[len(self.done) :]) / 3600

    @property
    def folds(self) -> bool:
        """Whether the results are those of folds, which have different test rows."""
        return "data.fold" in self.cells[0].settings

    @property
    def tests(self) -> int:
        """Test rows: of all folds together, otherwise of each seed."""
        sizes = [self._labels[line["test"]]["n"] for line in self.done]
        return sum(sizes) if self.folds else sizes[0]

    def pair_runs(self, other: TrainedModel) -> list[tuple[Line, Line]]:
        """Return the results of the seeds and folds that both models have."""
        known = {(line["seed"], line["settings"].get("data.fold")): line for line in other.done}
        keys = [(line["seed"], line["settings"].get("data.fold")) for line in self.done]
        return [(line, known[key]) for line, key in zip(self.done, keys, strict=True) if key in known]

    @cached_property
    def answers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """True labels and predictions of each result."""
        found = []
        for line in self.done:
            truth = self._labels[line["test"]]
            unpack = partial(training_cells.unpack_rows, n=truth["n"], several=truth["task"] == "multi")
            found.append((unpack(truth["labels"]), unpack(line["predicted"])))
        return found


class Measured(NamedTuple):
    """One quantity of a model: a value for each result, and the share of test rows that it counts."""

    values: list[float]
    share: float = 1.0
    variance: float | None = None
    """Variance of one test row; None: that of a share."""
    upward: bool = True
    points: bool = True


def _count_row_variance(first: TrainedModel, second: TrainedModel) -> float:
    """Return the share of test rows that only one of two models has right: the variance of a gain, per row."""
    both = zip(first.answers, second.answers, strict=False)
    right = [[np.all(np.atleast_2d((truth == said).T), axis=0) for truth, said in each] for each in both]
    return float(np.mean([np.mean(a != b) for a, b in right]))


def measure_quantity(what: str, model: TrainedModel, main: str, reference: TrainedModel | None, at: Any) -> Measured:
    """Measure a quantity such as `accuracy`, `gain:accuracy` (over `reference`) or `positive:recall` of a model.

    `main` is the metric that replaces `main`, `at` layer and component of a λ.
    """
    kind, _, name = what.rpartition(":")
    name = main if name == "main" else name
    scores = [line["metrics"]["validation" if kind == "validation" else "test"].get(name) for line in model.done]
    if kind in ("", "validation") and name not in ("lambda", "silhouette"):
        return Measured([float(score) for score in scores])
    if name in ("lambda", "silhouette"):
        known = [line[name] for line in model.done]
        values = known if name == "silhouette" else [weights[at[0] - 1][at[1] - 1] for weights in known]
        return Measured(values, variance=0.0, upward=False)
    if kind == "spread":
        spread = statistics.stdev(scores)
        rows = spread**2 / (2 * (len(scores) - 1)) * model.tests
        return Measured([spread] * len(scores), variance=rows, upward=False)
    if kind in ("positive", "rate"):
        return _measure_rate(kind, name, model)
    assert reference is not None, f"{what} needs a reference in recipes.json"
    pairs = [[line["metrics"]["test"][name] for line in pair] for pair in model.pair_runs(reference)]
    gains = [first - second for first, second in pairs]
    if kind == "wilcoxon":
        from core.evaluation.comparison import Wilcoxon

        return Measured([Wilcoxon(tuple(gains)).p], upward=False, points=False)
    base = statistics.fmean(second for _, second in pairs) if kind == "relative" else 1.0
    return Measured([gain / base for gain in gains], variance=_count_row_variance(model, reference) / base**2)


def _measure_rate(kind: str, name: str, model: TrainedModel) -> Measured:
    values, shares = [], []
    for truth, predicted in model.answers:  # of the positive class, the last one, or of two given classes
        actual, answer = map(int, name.split(",")) if kind == "rate" else [truth.max()] * 2
        within, hit = truth == actual, predicted == answer
        if name == "precision":
            within, hit = hit, within
        f1 = name == "f1"
        values.append(float(2 * np.sum(within & hit) / (within.sum() + hit.sum()) if f1 else hit[within].mean()))
        shares.append(float(np.mean(within)))
    return Measured(values, share=statistics.fmean(shares), upward=kind == "positive")


class Results:
    """All results in some folders, by group and name of a model."""

    def __init__(self, folders: Sequence[Path] = (RESULTS,), seeds: int = 0, scale: str = "small") -> None:
        self.groups = {group["group"]: group for group in read_recipes()["groups"]}
        self.folders, self.seeds, self.scale = folders, seeds, scale
        self.labels = training_cells.read_labels(folders)
        self._models: dict[str, dict[str, TrainedModel]] = {}

    def read_group(self, group: str) -> dict[str, TrainedModel]:
        """Return name → model of a group, in the order of the recipe."""
        if group not in self._models:
            lines, by_name = read_lines(self.folders, group), dict[str, list[TrainingCell]]()
            if any("failed" not in line and line["test"] not in self.labels for line in lines.values()):
                raise InputError(f"{self.folders[-1]} has results of {group}, but not its labels in {LABELS}")
            for cell in list_cells(self.groups[group], self.seeds):
                by_name.setdefault(cell.name, []).append(cell)
            self._models[group] = {name: TrainedModel(cells, lines, self.labels) for name, cells in by_name.items()}
        return self._models[group]

    def find_model(self, groups: Sequence[str], names: Sequence[str]) -> tuple[str, str] | None:
        """Return the group and name of a model; with the scale of the paper its own groups come first."""
        order = groups if self.scale == "small" else list(reversed(groups))
        places = [(group, name) for group in order for name in names if name in self.read_group(group)]
        done = [place for place in places if self.read_group(place[0])[place[1]].done]
        return next(iter(done if self.scale == "small" and done else places), None)

    def choose_baseline(self, group: str) -> str:
        """Return the TF-IDF model of a group with the better mean score on validation; empty if none was trained."""
        metric, models = self.groups[group]["metric"], self.read_group(group)
        trained = {name: models[name].done for name in models if name in BASELINES and models[name].done}
        scores = {name: [line["metrics"]["validation"][metric] for line in done] for name, done in trained.items()}
        return max(scores, key=lambda name: statistics.fmean(scores[name]), default="")


def measure_lexicon_effect() -> dict[str, Any]:
    """Measure accuracy (%) with and without the lexical term σ, and count the `answers` `changed` by it in reading."""
    last, none = map(Results().read_group("effect-sst2").__getitem__, ("lexical-last", "lexical-none"))
    edited, ways = copy.copy(last), list[Line]()
    edited.done = [line | {"predicted": line["edited"]} for line in last.done]
    for way, model in (("with σ", last), ("σ off at test time", edited), ("trained without σ", none)):
        values = [100 * float(np.mean(truth == said)) for truth, said in model.answers]
        first = ways[0]["values"] if ways else values
        mean, gains = statistics.fmean(values), [a - b for a, b in zip(values, first, strict=True)]
        interval = judge_difference(values, 0.0, mean * (100 - mean) / model.tests)["interval"]
        effect = judge_difference(gains, 0.0, 1e4 * _count_row_variance(last, model) / model.tests, upward=False)
        ways.append({"way": way, "values": values, "mean": mean, "interval": interval, "effect": effect})
    return {"ways": ways, "answers": last.tests * len(last.done), "changed": sum(each["changed"] for each in last.done)}


def list_tables(paper: str, table: str = "") -> list[dict[str, Any]]:
    """Return the recipes of a paper's tables, or of one; InputError: no such table."""
    tables = read_recipes()["tables"]
    found = [each for each in tables if each["paper"] == paper]
    if not found:
        papers = dict.fromkeys(each["paper"] for each in tables if each["paper"])
        raise InputError(f"{paper} has no tables; there are {', '.join(papers)}")
    names = {each["table"].casefold(): each for each in found}
    if table and table.casefold() not in names:
        known = ", ".join(each["table"] for each in found)
        raise InputError(f"{paper} has no table '{table}'{suggest_name(table, names)}; there are {known}")
    return [names[table.casefold()]] if table else found


def reproduce_tables(paper: str, table: str = "", results: Results | None = None) -> dict[str, Any]:
    """Return a paper's tables as plain data: reported numbers, our results, differences and verdicts."""
    results = results or Results()
    return {"paper": paper, "tables": [build_table(recipe, results) for recipe in list_tables(paper, table)]}


def build_table(recipe: Recipe, results: Results) -> dict[str, Any]:
    """Return one table: a row for each reported number, then rows of other encoders of ours and of TF-IDF."""
    rows = [_build_reported_row(recipe, row, results) for row in _select_rows(recipe)]
    for data, names in recipe.get("own", {}).items():
        rows += _build_own_rows(recipe, data, names, results)
    rows += _build_baseline_rows(recipe, rows, results)
    used = dict.fromkeys(row["group"] for row in rows if row["group"] and row["ours"] is not None)
    timed = _describe_timing() if "milliseconds" in recipe["metrics"].values() else ""
    differs = [recipe.get("note", ""), timed, *(results.groups[group]["differs"] for group in used)]
    about = {"table": recipe["table"], "title": recipe["title"], "differs": " ".join(filter(None, differs))}
    return {**about, "recipe_version": read_recipes()["version"], "rows": rows}


def _select_rows(recipe: Recipe) -> list[ReportedNumber]:
    table = recipe.get("reported", recipe["table"])
    rows = [row for row in select_reported(paper=recipe["paper"]) if row.table == table]
    return [row for row in rows if row.metric in recipe["metrics"]] if "reported" in recipe else rows


def _find_names(recipe: Recipe, row: ReportedNumber) -> list[str]:
    names = read_recipes()["names"][recipe["names"]] if isinstance(recipe["names"], str) else recipe["names"]
    key = f"{row.model}|{row.variant}"
    found = names.get(f"{row.dataset}|{key}", names.get(key, []))
    return [found] if isinstance(found, str) else found


def _start_row(label: str, data: str, metric: str, reported: float | None, unit: str) -> Line:
    empty = dict.fromkeys(("ours", "sd", "n", "difference", "interval", "baseline"))
    about = {"row": label.replace("inf", "∞"), "dataset": data, "metric": metric, "unit": unit, "reported": reported}
    return {**about, **empty, "verdict": NOT_RUN, "reason": "", "group": "", "model": "", "values": []}


def _build_reported_row(recipe: Recipe, row: ReportedNumber, results: Results) -> Line:
    place = f", λ{row.component} of layer {row.layer}" if row.component else ""
    label = " ".join(filter(None, (row.model, row.variant or recipe.get("label", "")))) or row.dataset
    found = _start_row(label + place, row.dataset, row.metric, row.value, row.unit)
    what = recipe["metrics"].get(row.metric, "")
    if "exact" in recipe:
        return found | _compare_exactly(recipe, row, what)
    if what == "milliseconds":
        return found | _compare_timing(recipe, row)
    names = _find_names(recipe, row)
    model = results.find_model(recipe.get("groups", {}).get(row.dataset, ()), names) if what and names else None
    if model is None:
        return found | {"reason": recipe["elsewhere"]}
    return found | _compare_trained(recipe, what, model, results, row.unit, row)


def _compare_exactly(recipe: Recipe, row: ReportedNumber, what: str) -> Line:
    names = _find_names(recipe, row) if recipe["names"] else [recipe["sets"][row.dataset]]
    value = _compute_exact(what, names[0], row.dataset) if what else None
    if value is None:
        return {"reason": recipe["elsewhere"]}
    difference, digits = round(value - row.value, 6), recipe.get("digits", {}).get(row.metric, recipe["exact"])
    verdict = AGREES if round(value, digits) == row.value else DIFFERS
    return {"ours": value, "difference": difference, "verdict": verdict, "model": names[0] if names else ""}


def _compare_timing(recipe: Recipe, row: ReportedNumber) -> Line:
    """Return the committed time of a batch; other processors give other times, so only ratios are compared."""
    speed, [name] = read_speed(), _find_names(recipe, row)
    [own] = [each for each in speed["models"] if each["model"] == name]
    [told] = [each["ratio"] for each in own["reported"] if each["dataset"] == row.dataset]
    reported = f"the paper's {told:.2f}" if told else "the paper's timer is too coarse for one"
    reason = f"ratio to Vanilla {own['ratio']:.2f}, {reported}"
    return {"ours": own["milliseconds"], "verdict": INCONCLUSIVE, "model": name, "reason": reason}


def _describe_timing() -> str:
    speed = read_speed()
    texts = f"{speed['batch']} texts of {speed['length']} tokens"
    return f"Ours is one timing of {texts}, on {speed['processor']} with {speed['threads']} threads."


def _compute_exact(what: str, name: str, data: str) -> float | None:
    """Compute a quantity that needs no training: of a preset, or of a data set in our catalogue."""
    kind, _, setting = what.partition(":")
    if kind in ("classes", "texts", "tokens", "labels"):
        source = SOURCES[name]
        known = {"classes": len(set(source.classes) - {"none"}), "texts": 0} | read_text_statistics().get(name, {})
        if source.published:
            known["texts"] = sum(source.published.rows.values())
        return float(known[kind]) if known.get(kind) else None
    if kind in ("parameters", "added_parameters"):
        sizes = {row.metric: int(row.value) for row in select_reported(paper="ndt", dataset=data)}
        about = {"vocabulary": sizes.get("vocab_size", 0), "classes": sizes.get("n_classes", 2)}
        without = count_parameters(PRESETS["vanilla"].model, **about) if kind == "added_parameters" else 0
        return (count_parameters(PRESETS[name].model, **about) - without) / 1e6
    config = flatten_config(compose(name))
    if kind == "expansion":
        return config["model.ff_width"] / config["model.width"]
    if kind == "tweets":  # eight tenths are the training rows
        published = SOURCES["sentiment140"].published
        assert published is not None
        return config["data.limit"] / 0.8 or float(published.rows["train"])
    return float(config[setting])


def _compare_trained(
    recipe: Recipe, what: str, place: tuple[str, str], results: Results, unit: str, row: ReportedNumber | None = None
) -> Line:
    group, name = place
    at = (row.layer, row.component) if row else None
    model, main = results.read_group(group)[name], results.groups[group]["metric"]
    found: Line = {"group": group, "model": name}
    other = recipe.get("references", {}).get(name, "")
    if what.startswith("gain") and not other:
        return found | {"reason": "the reference of the other gains"}
    reference = results.read_group(group)[other] if other else None
    raw = 1.0 if unit in ("", "count") else 100.0
    baseline = results.choose_baseline(group)
    if baseline and what.split(":")[0] not in ("gain", "relative", "wilcoxon", "spread", "lambda"):
        tfidf = measure_quantity(what, results.read_group(group)[baseline], main, None, at)
        found["baseline"] = raw * statistics.fmean(tfidf.values)
    if not model.done or (reference and not reference.done):
        hours = model.hours + (reference.hours if reference else 0)
        failed = f"; {len(model.failed)} failed: {model.failed[0]['failed']}" if model.failed else ""
        return found | {"reason": f"needs {model.cells[0].needs}, about {format_hours(hours)}{failed}"}
    measured = measure_quantity(what, model, main, reference, at)
    values, n = [100 * value for value in measured.values], len(model.pair_runs(reference or model))
    mean = statistics.fmean(measured.values)
    deviation = raw * statistics.stdev(measured.values) if len(values) > 1 and what[:6] != "spread" else None
    found |= {"ours": raw * mean, "sd": deviation, "n": n, "values": [raw * value for value in measured.values]}
    found["reason"] = "; ".join(_describe_seeds(model, measured, what))
    if row is None:
        return found | {"verdict": BASELINE}
    if not measured.points:
        alike = (mean < LEVEL) == (row.value < LEVEL)  # both or neither significant; fewer than six pairs can never be
        verdict = INCONCLUSIVE if n < LEAST else AGREES if alike else DIFFERS
        return found | {"difference": mean - row.value, "verdict": verdict}
    share = row.value * (100 if raw == 1 else 1)
    sampling = _add_rows(measured, share / 100, mean, recipe["tests"][row.dataset], model)
    return found | judge_difference(values, share, sampling, upward=measured.upward)


def format_hours(hours: float) -> str:
    """Format an estimated duration in hours, or below one in minutes."""
    return f"{hours:.0f} hours" if hours > 10 else f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.0f} minutes"


def _add_rows(measured: Measured, reported: float, ours: float, tests: int, model: TrainedModel) -> float:
    """Return the variance that the test rows of both sides give a difference, in points; folds vary by theirs."""
    varied = model.folds and len(set(measured.values)) > 1
    sides = [(reported, tests), *([] if varied else [(ours, model.tests)])]
    of_row = [measured.variance if measured.variance is not None else value * (1 - value) for value, _ in sides]
    return sum(1e4 * each / (rows * measured.share) for each, (_, rows) in zip(of_row, sides, strict=True))


def _describe_seeds(model: TrainedModel, measured: Measured, what: str) -> list[str]:
    words = "folds" if model.folds else "seeds"
    said = [f"{len(model.done)} of {len(model.cells)} {words}"] if len(model.done) < len(model.cells) else []
    said += [f"seed {line['seed']} failed: {line['failed']}" for line in model.failed]
    if not measured.points and len(model.done) < LEAST:
        said.append(f"{len(model.done)} pairs cannot give p < {LEVEL}")
    if measured.variance == 0:
        said.append("the interval counts seeds only")
    return said


def _build_own_rows(recipe: Recipe, data: str, names: Mapping[str, str] | str, results: Results) -> list[Line]:
    rows = []
    units = {row.metric: row.unit for row in _select_rows(recipe) if row.dataset == data} or recipe.get("units", {})
    if isinstance(names, str):  # all models of a group
        names = {name: name for name in results.read_group(names)}
    for name, label in names.items():
        place = results.find_model(recipe["groups"][data], [name])
        for metric, what in recipe["metrics"].items():
            if place and (not what.startswith("gain") or name in recipe["references"]) and metric in units:
                found = _compare_trained(recipe, what, place, results, units[metric])
                rows.append(_start_row(label, data, metric, None, units[metric]) | found)
    return rows


def _build_baseline_rows(recipe: Recipe, rows: Sequence[Line], results: Results) -> list[Line]:
    found: dict[tuple[str, str], Line] = {}
    for row in rows:
        key = row["group"], row["metric"]
        if row["baseline"] is not None and key not in found:
            name, what = results.choose_baseline(row["group"]), recipe["metrics"][row["metric"]]
            told = _compare_trained(recipe, what, (row["group"], name), results, row["unit"])
            start = _start_row(f"TF-IDF ({name})", row["dataset"], row["metric"], None, row["unit"])
            found[key] = start | told | {"baseline": None}
    return list(found.values())


def reproduce_overview(results: Results) -> dict[str, Any]:
    """Return all tables, with the rows of the main metric of each that have a result of ours."""
    tables = []
    main = {name: ("main", group["metric"], f"gain:{group['metric']}") for name, group in results.groups.items()}
    for recipe in read_recipes()["tables"]:
        table = build_table(recipe, results)
        known = [row for row in table["rows"] if row["ours"] is not None and row["group"]]
        rows = [row for row in known if recipe["metrics"][row["metric"]] in main[row["group"]]]
        tables += [{"paper": recipe["paper"], **table, "rows": rows}] if rows else []
    return {"paper": "", "tables": tables}
