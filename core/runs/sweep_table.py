"""The results table of a sweep: mean and deviation of test metrics for each combination, compared with TF-IDF."""

import dataclasses
import functools
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.data.dataset import TEST
from core.data.load import load_dataset
from core.evaluation.baseline import BETTER, predict_split
from core.evaluation.metrics import evaluate
from core.evaluation.significance import METHOD, Draws, Run, compare_classifiers
from core.exceptions import InputError, SentiscopeError
from core.metrics import TUNED, USUAL, format_title, get_metric, refuse_unknown
from core.runs import sweep
from core.runs.predictions import Answers, align_answers, average_answers, combine_scores, read_answers
from core.runs.record import RunRecord
from core.runs.store import RunStore
from core.runs.sweep import STATES, TOGETHER, Cell, Member, Plan

PARTS = ("difference", "low", "high", "p", "runs")


@dataclass
class SweepRow:
    """One combination of model, data and grid values of a sweep, with its runs and their records."""

    cell: Cell
    members: list[tuple[Member, RunRecord | None]] = field(default_factory=list)

    @property
    def done(self) -> dict[Run, RunRecord]:
        """Return the finished runs of this row of the sweep table, as (seed, fold) → record."""
        return {
            (member.seed, member.fold): record
            for member, record in self.members
            if record is not None and record.status == "done"
        }

    def get_values(self, metric: str, read: Callable[[RunRecord, str], float | None]) -> dict[Run, float]:
        """Return a metric of each finished run in this row of the sweep table, as (seed, fold) → value."""
        found = {pair: read(record, metric) for pair, record in self.done.items()}
        return {pair: value for pair, value in found.items() if value is not None}


def build_table(
    store: RunStore, plan: Plan, *, metrics: Sequence[str] = (), baseline: str = "", tests: bool = True
) -> dict[str, Any]:
    """Return the results of a sweep as plain data; `baseline` names the row that all other rows are compared with.

    Differences, with p and interval, use all runs that both cells have, paired by seed and fold
    (`core.evaluation.significance.compare_classifiers`); folds share training rows, so that p is somewhat too small.
    Without `tests` there is no p or interval.

    `sweep`, `metrics` (`name`, `title`, `better`), `baseline`, `method`, `together` (title of the column for the mean
    over seeds, or None) and `rows`: `label`, `model`, `data`, `grid`, `n` (finished runs) and `of`, `states`, `metrics`
    (name → `mean`, sample `deviation`, null for one run, `n`), `yardstick` (the same for TF-IDF), `versus_yardstick`
    and `versus_baseline` (name → `difference`, `runs`, and if tested `low`, `high`, `p`, `significant` and `n`, the
    test rows, else `untested`, the reason), `together` (as `metrics`, for the mean of the seeds' probabilities, a value
    per fold; empty for one seed, at tuned thresholds or without tests; `apart`: the reason), `parameters`, `seconds`,
    and `members` (`run`, `seed`, `fold`, `state`, `metrics`).

    InputError: unknown metric or baseline.
    """
    rows = _read_rows(store, plan)
    if baseline and all(baseline not in (row.cell.label, row.cell.model) for row in rows):
        raise InputError(f"no cell '{baseline}' in sweep '{plan.name}': {', '.join(row.cell.label for row in rows)}")
    refuse_unknown(metrics)
    tasks = {record.task for row in rows for record in row.done.values()} or {"single"}
    usual = [name for task in ("single", "multi", "tokens") if task in tasks for name in USUAL[task]]
    names = list(dict.fromkeys(metrics or usual))
    compare = _Compare(store, tests)
    shown = []
    for row in rows:
        shown.append(
            _describe_row(row, names)
            | compare.compare_yardstick(row, names)
            | compare.compare_baseline(row, _find_baseline(row, rows, baseline), names)
            | compare.measure_ensemble(row, names)
        )
    shared = next((name for name in names if any(name in row["together"] for row in shown)), None)
    title = TOGETHER if shared in (None, names[0]) else f"{format_title(shared)}, {TOGETHER}"
    return {
        "sweep": plan.name,
        "together": shared and {"name": shared, "title": title},
        "metrics": [{"name": name, "title": format_title(name), "better": get_metric(name).better} for name in names],
        "baseline": baseline,
        "method": METHOD,
        "rows": shown,
    }


def flatten_table(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Convert the results table of a sweep to flat rows with the same columns, for CSV."""
    found = []
    for row in table["rows"]:
        line = {"cell": row["label"], "model": row["model"], "data": row["data"], **row["grid"]}
        line |= {"runs": row["n"], "of": row["of"], "parameters": row["parameters"]}
        line["seconds"] = row["seconds"] and row["seconds"]["mean"]
        for metric in (each["name"] for each in table["metrics"]):
            for what, group in (("", "metrics"), ("together ", "together"), ("tfidf ", "yardstick")):
                summary = row[group].get(metric) or {}
                line |= {f"{what}{metric} {part}": summary.get(part) for part in ("mean", "deviation", "n")}
            for versus in ("yardstick", "baseline"):
                test = row[f"versus_{versus}"].get(metric) or {}
                line |= {f"{metric} versus {versus} {part}": test.get(part) for part in PARTS}
        found.append(line)
    return found


def _read_rows(store: RunStore, plan: Plan) -> list[SweepRow]:
    runs = sweep.list_members(plan)
    rows = {cell.label: SweepRow(cell) for cell in sweep.list_cells(plan)}
    for member, record in zip(runs, sweep.read_records(store, runs), strict=True):
        rows[member.cell.label].members.append((member, record))
    return list(rows.values())


def _read_metric(record: RunRecord, metric: str) -> float | None:
    tree = record.results.get("tuned", {}) if metric.startswith(TUNED) else record.results
    return tree.get("metrics", {}).get(TEST, {}).get(metric.removeprefix(TUNED))


def _read_yardstick(record: RunRecord, metric: str) -> float | None:
    yardstick = record.results.get("yardstick", {})
    tree = yardstick.get("tuned", {}) if metric.startswith(TUNED) else yardstick
    return tree.get("splits", {}).get(TEST, {}).get(metric.removeprefix(TUNED))


def _describe_row(row: SweepRow, names: Sequence[str]) -> dict[str, Any]:
    states = [sweep.get_state(record) for _, record in row.members]
    sizes = [record.parameters for record in row.done.values()]
    own, tfidf = (
        {name: found for name in names if (found := _summarize_values(row.get_values(name, read).values()))}
        for read in (_read_metric, _read_yardstick)
    )
    return {
        "label": row.cell.label,
        "model": row.cell.model,
        "data": row.cell.data,
        "grid": dict(row.cell.grid),
        "n": len(row.done),
        "of": len(row.members),
        "states": {state: states.count(state) for state in STATES if state in states},
        "metrics": own,
        "yardstick": tfidf,
        "parameters": round(statistics.mean(sizes)) if sizes else None,
        "seconds": _summarize_values(record.seconds for record in row.done.values()),
        "members": [
            {
                "run": member.run,
                "seed": member.seed,
                "fold": None if member.fold < 0 else member.fold,
                "state": state,
                "reason": "" if record is None else record.reason,
                "metrics": {} if record is None else {name: _read_metric(record, name) for name in names},
            }
            for (member, record), state in zip(row.members, states, strict=True)
        ],
    }


def _summarize_values(values: Iterable[float]) -> dict[str, Any] | None:
    found = list(values)
    if not found:
        return None
    deviation = statistics.stdev(found) if len(found) > 1 else None
    return {"mean": statistics.fmean(found), "deviation": deviation, "n": len(found)}


def _find_baseline(row: SweepRow, rows: Sequence[SweepRow], named: str) -> SweepRow | None:
    """Return the baseline row for a row of a sweep table: same data and, if possible, same grid values."""
    found = [each for each in rows if named in (each.cell.label, each.cell.model) and each.cell.data == row.cell.data]
    chosen = [each for each in found if each.cell.grid == row.cell.grid] or found
    return chosen[0] if named and len(chosen) == 1 and chosen[0] is not row else None


Sides = Sequence[Answers]  # of the two compared classifiers


class _Compare:
    def __init__(self, store: RunStore, tests: bool) -> None:
        self.store, self.tests = store, tests
        self.answers = functools.cache(lambda run: read_answers(store, store.read(run), TEST))

    def compare_yardstick(self, row: SweepRow, names: Sequence[str]) -> dict[str, Any]:
        """Compare each metric of a row of the sweep table with that of TF-IDF on the same data."""
        other = functools.partial(row.get_values, read=_read_yardstick)
        sides = functools.partial(self._get_yardstick_pair, row)
        return {"versus_yardstick": self._compare_metrics(row, names, other, sides)}

    def compare_baseline(self, row: SweepRow, base: SweepRow | None, names: Sequence[str]) -> dict[str, Any]:
        """Compare each metric of a row of the sweep table with that of the baseline row."""
        if base is None:
            return {"versus_baseline": {}}
        other = functools.partial(base.get_values, read=_read_metric)

        def align_sides(pair: Run) -> Sides:
            return align_answers([self.answers(each.done[pair].run) for each in (row, base)])

        return {"versus_baseline": self._compare_metrics(row, names, other, align_sides)}

    def _compare_metrics(
        self,
        row: SweepRow,
        names: Sequence[str],
        other: Callable[[str], dict[Run, float]],
        sides: Callable[[Run], Sides],
    ) -> dict[str, Any]:
        found = {
            name: self._compute_difference(name, row.get_values(name, _read_metric), other(name), sides)
            for name in names
        }
        return {name: each for name, each in found.items() if each}

    def measure_ensemble(self, row: SweepRow, names: Sequence[str]) -> dict[str, Any]:
        """Compute the metrics of an ensemble that averages probabilities over the seeds in a row of the sweep table."""
        folds: dict[int, list[str]] = {}
        for (_, fold), record in row.done.items():
            if self.tests and record.task != "tokens":
                folds.setdefault(fold, []).append(record.run)
        found, apart = [], ""
        for runs in (each for each in folds.values() if len(each) > 1):
            try:
                said = average_answers(map(self.answers, runs))
                found.append(evaluate(said.labels, said.probabilities, said.record.task, ordered=said.record.ordered))
            except (SentiscopeError, OSError) as error:
                apart = str(error)
        values = {name: _summarize_values(each[name] for each in found if name in each) for name in names}
        return {"together": {name: summary for name, summary in values.items() if summary}, "apart": apart}

    def _compute_difference(
        self, name: str, own: dict[Run, float], other: dict[Run, float], sides: Callable[[Run], Sides]
    ) -> dict[str, Any] | None:
        """Return the mean difference of a metric over runs with common seed and fold; None: no such runs."""
        common = [pair for pair in own if pair in other]
        if not common:
            return None
        mean = statistics.fmean(own[pair] - other[pair] for pair in common)
        shown: dict[str, Any] = {"difference": mean, "runs": len(common)}
        if not self.tests:
            return shown
        try:
            scores = {pair: [answers.to_scores(name) for answers in sides(pair)] for pair in common}
            pairs = {pair: combine_scores(first, second, name) for pair, (first, second) in scores.items()}
            found = compare_classifiers(pairs, Draws(get_metric(name)))
        except (SentiscopeError, OSError) as error:
            return {**shown, "untested": str(error)}
        told = {name: getattr(found, name) for name in ("difference", "low", "high", "p", "significant")}
        return {**shown, **told, "n": found.rows}

    def _get_yardstick_pair(self, row: SweepRow, pair: Run) -> Sides:
        record = row.done[pair]
        own = self.answers(record.run)
        known = record.results.get("yardstick", {})
        about = record.data_fingerprint, record.classes, TEST, lambda: load_dataset(record.config.data)
        given = predict_split(*about, known.get("model", BETTER))
        if len(given) != len(own.labels):
            raise InputError("the data are no longer those that this run was trained on")
        return own, dataclasses.replace(own, probabilities=given, thresholds=known.get("tuned", {}).get("thresholds"))
