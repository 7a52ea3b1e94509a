"""The evaluation of a run on labelled rows: metrics with intervals, and warnings about their reliability."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.data.dataset import VALIDATION, Task, encode_targets
from core.data.mixture import find_learned
from core.evaluation import inference, metrics
from core.evaluation.baseline import YARDSTICKS, load_baseline, read_baseline
from core.evaluation.costs import evaluate_threshold, find_cheapest
from core.evaluation.group_metrics import evaluate_groups, group_rows, read_column
from core.evaluation.intervals import compute_intervals, list_class_intervals
from core.evaluation.metrics import HALF, Array, Thresholds
from core.exceptions import InputError, NotAvailable, SentiscopeError
from core.formatting import count, join_names, plural, whole_percent
from core.interpret.trace_summary import is_mostly_unknown
from core.metrics import METRICS
from core.runs import lineage
from core.runs.evaluation_data import EvaluationData, predict_rows
from core.runs.lineage import compare_run_rows
from core.runs.load import LoadedRun
from core.runs.predictions import list_evaluated_splits, read_answers
from core.runs.record import RunRecord
from core.runs.store import RunStore
from core.text.words import split_passages
from core.training.temperature import LEAST

FEW = 30
OnProgress = Callable[[str, float], None]


def build_report(
    loaded: LoadedRun,
    given: EvaluationData,
    *,
    by: str = "",
    lines: Mapping[str, "CostThreshold"] | None = None,
    on_progress: OnProgress = lambda what, share: None,
) -> dict[str, Any]:
    """Evaluate a run on rows, and by a column `by`, as plain data; `lines` are thresholds by class for error costs."""
    record, rows = loaded.record, given.rows
    column = read_column(rows, by, record.classes) if by else None
    labels = encode_targets(rows, len(record.classes), record.task)
    on_progress("asking the model", 0.05)
    said = predict_rows(loaded, given)
    found = said.probabilities
    on_progress("looking for texts that it was trained on", 0.3)
    trained, reading = _find_learned(loaded), lineage.encode_texts(loaded.tokenizer, rows["text"].tolist())
    known, unknown = _find_seen(loaded, rows["text"].tolist(), reading, trained)
    on_progress("intervals", 0.5)
    measured = {
        "run": record.run,
        "data": given.data,
        "split": given.split,
        "task": record.task,
        "n": len(rows),
        "labels": list(record.classes),
        "dropped": given.dropped,
        "renamed": given.renamed,
        "notes": list(given.notes),
        **measure_predictions(record, labels, found),
    }
    measured["seen_in_training"] = _count_seen(record, known, unknown)
    measured["truncated"] = _count_truncated(loaded, reading, given)
    measured["unknown_words"] = _count_unknown(loaded, rows["text"].tolist())
    measured["calibration"] = _describe_calibration(record, labels, found, measured["metrics"])
    measured["differences"] = _compare_with_train(record, trained, given)
    measured["mix"] = _describe_mix(record, labels, said)
    measured["unseen"] = None
    if not isinstance(known, str) and known.any() and not known.all():
        own = _compute_metrics(record, get_thresholds(record)[0], labels[~known], found[~known])
        measured["unseen"] = {"n": int((~known).sum()), **own}
    if lines:
        measured["costs"] = compute_costs(record, lines, labels, found)
    on_progress("asking TF-IDF, which is fitted once for each data set", 0.6)
    measured["yardsticks"] = _measure_baselines(record, trained, rows["text"].tolist(), labels)
    if column is not None:
        on_progress(f"by {by}", 0.9)
        groups, (thresholds, _) = group_rows(column), get_thresholds(record)
        measured["by"] = {
            "column": by,
            "folded_values": groups.folded,
            "folded_rows": groups.folded_rows,
            "values": evaluate_groups(groups, labels, found, record.task, thresholds, ordered=record.ordered),
        }
    return {**measured, "warnings": list_warnings(measured)}


def measure_predictions(record: RunRecord, labels: Array, probabilities: Array) -> dict[str, Any]:
    """Return the metrics of predictions as `metrics`, `intervals`, `left_out`, `per_class` and `confusion`.

    For a multi-label run also `tuned`: the same at the thresholds tuned on validation, or None. `labels` are (n,) class
    numbers or (n, C) zeros and ones, `probabilities` (n, C).
    """
    classes, task, given = record.classes, record.task, (labels, probabilities)
    found = _measure_at(record, HALF, *given)
    found["left_out"] = metrics.explain_left_out(*given, classes, task, ordered=record.ordered)
    if task == "single":
        return {**found, "confusion": metrics.compute_confusion(labels, probabilities.argmax(1), len(classes))}
    thresholds, names = get_thresholds(record)
    found["confusion"] = metrics.count_confusions(*given, classes)
    if names is None:
        return {**found, "tuned": None}
    tuned = {"thresholds": names, **_measure_at(record, thresholds, *given)}
    return {**found, "tuned": {**tuned, "confusion": metrics.count_confusions(*given, classes, thresholds)}}


def get_thresholds(record: RunRecord) -> tuple[Thresholds, dict[str, float] | None]:
    """Return the tuned thresholds of a multi-label run, in class order and by label; else 0.5 and None."""
    names = record.tuned_thresholds
    return (HALF, None) if names is None else (np.array([names.get(name, HALF) for name in record.classes]), names)


def list_warnings(measured: Mapping[str, Any]) -> list[str]:
    """List warnings about the numbers of an evaluation report, one sentence each."""
    found, cut = [], measured["truncated"]
    if measured["n"] < FEW:
        rows = plural(measured["n"], "row")
        found.append(f"Only {rows}: the figures say little, and bootstrap intervals of so few are too narrow.")
    if measured["task"] == "single" and (absent := metrics.describe_absent(measured["confusion"], measured["labels"])):
        found.append(absent)
    at = measured.get("tuned") or measured
    if alike := [METRICS[name].choose_title(measured["task"]) for name in at["metrics"] if name not in at["intervals"]]:
        found.append(f"No interval of {join_names(alike)}: every resample of these rows gives the same number.")
    found.extend(_warn_of_training(measured))
    found.extend(measured.get("differences", {}).get("warnings", ()))
    if cut["rows"]:
        rows = f"{plural(cut['rows'], 'text')} ({_format_share(cut['share'])})"
        is_longer = "is" if cut["rows"] == 1 else "are"
        if cut["passages"]:
            is_longer = "has a passage" if cut["rows"] == 1 else "have passages"
        way = "A smaller --passage" if cut["passages"] else "--passage WORDS"
        whole = f" {way} reads them whole, part by part." if cut["in_passages"] else ""
        found.append(
            f"{rows} {is_longer} longer than {count(cut['most'])} tokens; the run reads the beginning only.{whole}"
        )
    if unknown := measured["unknown_words"]["rows"]:
        rows = f"{plural(unknown, 'text')} ({_format_share(measured['unknown_words']['share'])})"
        found.append(f"{rows} {'has' if unknown == 1 else 'have'} half of the words or more unknown to the run.")
    if folded := measured.get("by", {}).get("folded_values"):
        rows = plural(measured["by"]["folded_rows"], "row")
        found.append(f"{count(folded)} values of '{measured['by']['column']}' with few rows ({rows}) stand together.")
    return found


def _warn_of_training(measured: Mapping[str, Any]) -> Iterator[str]:
    seen_before = measured["seen_in_training"]
    if seen_before["rows"] is None:
        unknown = "It is not known which rows the run was trained on, and there is no TF-IDF to compare with"
        yield f"{unknown}: {seen_before['left_out']}."
    elif seen_before["rows"]:
        rows = f"{plural(seen_before['rows'], 'row')} ({_format_share(seen_before['share'])})"
        is_read = "is read like a text" if seen_before["rows"] == 1 else "are read like texts"
        who = ", or a run that it started from or learned from," if seen_before["ancestors"] else ""
        yield f"{rows} {is_read} that the run{who} was trained on.{_describe_unseen(measured['unseen'], measured)}"
    if seen_before["rows"] is not None and (why := measured["yardsticks"].get("left_out")):
        yield f"There is no TF-IDF to compare with: {why}."
    if seen_before["unknown"]:
        names = ", ".join(f"'{name}'" for name in seen_before["unknown"])
        yield f"It is not known what {names} learned from: texts of these rows may be among it."


def _describe_calibration(
    record: RunRecord, labels: Array, found: Array, measured: Mapping[str, float]
) -> dict[str, Any]:
    """Describe a run's temperature: probability metrics with and without it, and the number of changed predictions."""
    trained = metrics.evaluate_unscaled(labels, found, record.task, record.scaling)
    known = record.results.get("temperature", {})
    told: dict[str, Any] = {
        "temperature": record.temperature,
        "prior": known.get("prior"),
        "rows": known.get("rows"),
        "calibrated": {name: measured[name] for name in trained},
        "as_trained": trained,
        "changed": metrics.count_changed(found, record.task, record.scaling),
    }
    return {**told, "note": _explain_temperature(told)}


def _explain_temperature(told: Mapping[str, Any]) -> str:
    if told["rows"] is None:
        return ""
    rows = plural(told["rows"], "validation row")
    if told["rows"] < LEAST:
        there = count(told["rows"])
        return f"Probabilities are as trained: a temperature takes {LEAST} rows of validation, and there are {there}."
    name = "ece" if "ece" in told["as_trained"] else "loss"
    errors = (f"{told[each][name]:.3f}" for each in ("calibrated", "as_trained") if name in told[each])
    now = ", as trained ".join(errors)
    towards, few = "", told["changed"]
    if told["prior"]:
        towards = " towards the class prior"
        now += f"; {plural(few, 'answer')} {'is' if few == 1 else 'are'} another one"
    return f"Temperature {told['temperature']:.2f}{towards}, fitted on {rows}: {METRICS[name].title.lower()} {now}."


def _compare_with_train(
    record: RunRecord, trained: lineage.TrainingTexts | str, given: EvaluationData
) -> dict[str, Any]:
    name = given.split if given.data == record.config.data.name else Path(given.data).name
    try:
        if isinstance(trained, str):
            raise NotAvailable(trained)
        return compare_run_rows(record, lambda: trained.dataset, given.rows, name)
    except NotAvailable as error:
        return {"name": name, "known": "training", "measures": [], "warnings": [], "left_out": str(error)}


def _describe_mix(record: RunRecord, labels: Array, said: inference.Predictions) -> dict[str, Any] | None:
    """Describe the TF-IDF mixture of predictions, with metrics of the network and of TF-IDF alone; None: no mixture."""
    if said.parts is None:
        return None
    weight, parts = record.mix_weight, inference.evaluate_parts(said.parts, labels, record.task, ordered=record.ordered)
    name = "accuracy" if record.task == "single" else "f1_macro"
    numbers = (f"{part} {parts[key][name]:.3f}" for key, part in (("network", "the network"), ("tfidf", "TF-IDF")))
    mixture = f"{record.mixture[:1].upper()}{record.mixture[1:]}"
    note = f"{mixture}: {METRICS[name].title.lower()} alone, {', '.join(numbers)}."
    return {"weight": weight, **parts, "note": note}


def _measure_at(record: RunRecord, thresholds: Thresholds, labels: Array, probabilities: Array) -> dict[str, Any]:
    given = labels, probabilities, record.classes, record.task, thresholds
    ranges = list_class_intervals(*given)
    classes = {name: {**row, "intervals": ranges[name]} for name, row in metrics.evaluate_classes(*given).items()}
    return {**_compute_metrics(record, thresholds, labels, probabilities), "per_class": classes}


def _compute_metrics(
    record: RunRecord, thresholds: Thresholds, labels: Array, probabilities: Array
) -> dict[str, dict[str, Any]]:
    given: tuple[Array, Array, Task, Thresholds] = labels, probabilities, record.task, thresholds
    ranges = compute_intervals(*given, ordered=record.ordered)
    return {"metrics": metrics.evaluate(*given, ordered=record.ordered), "intervals": ranges}


def _find_learned(loaded: LoadedRun) -> lineage.TrainingTexts | str:
    learned = lineage.TrainingTexts(loaded.record, loaded.tokenizer)
    try:
        learned.keys  # noqa: B018 - loads the data if the keys are not cached
    except NotAvailable as error:
        return str(error)
    return learned


def _measure_baselines(
    record: RunRecord, trained: lineage.TrainingTexts | str, texts: list[str], labels: Array
) -> dict[str, Any]:
    """Return the metrics of the TF-IDF baselines on the same rows, by preset, or the reason why there are none."""
    if isinstance(trained, str):
        return {"left_out": trained}
    found = {}
    for model in YARDSTICKS:
        about = record.data_fingerprint, record.classes, lambda: trained.dataset, model
        try:
            given = labels, load_baseline(*about).predict(texts).astype(np.float64)
            thresholds = read_baseline(*about).get("tuned", {}).get("thresholds")
        except NotAvailable as error:  # the texts are missing, and the fitted baseline is no longer cached
            return {"left_out": str(error)}
        found[model] = _compute_metrics(record, HALF, *given)
        if thresholds:
            own = np.array([thresholds[name] for name in record.classes])
            found[model]["tuned"] = _compute_metrics(record, own, *given)
    return found


def _find_seen(
    loaded: LoadedRun, texts: list[str], reading: lineage.EncodedTexts, trained: lineage.TrainingTexts | str
) -> tuple[Array | str, tuple[str, ...]]:
    """Return which rows the run or its ancestors were trained on, and ancestors whose training texts are unknown."""
    record = loaded.record
    known = trained if isinstance(trained, str) else lineage.find_overlap(reading, trained)
    if not record.lineage:
        return known, tuple(lineage.find_parents(record.config))
    try:
        learned = find_learned(texts, lineage.find_files(loaded.folder, record))
    except SentiscopeError as error:
        return (str(error) if isinstance(known, str) else known), (record.run, *lineage.find_parents(record.config))
    return (learned if isinstance(known, str) else known | learned), record.lineage_unknown


def _count_seen(record: RunRecord, known: Array | str, unknown: tuple[str, ...]) -> dict[str, Any]:
    about = {"ancestors": lineage.find_parents(record.config), "unknown": list(unknown)}
    if isinstance(known, str):
        return {"rows": None, "share": None, "left_out": known, **about}
    return {"rows": int(known.sum()), "share": float(known.mean()), **about}


def _count_unknown(loaded: LoadedRun, texts: list[str]) -> dict[str, Any]:
    shares = [loaded.tokenizer.compute_unknown_share(text) for text in texts]
    if None in shares:
        return {"rows": None, "share": None, "left_out": "byte pairs read every word from known pieces"}
    rows = sum(map(is_mostly_unknown, shares))
    return {"rows": rows, "share": rows / len(texts)}


def _count_truncated(loaded: LoadedRun, reading: lineage.EncodedTexts, given: EvaluationData) -> dict[str, Any]:
    cut = reading.cut.copy()
    for row in np.flatnonzero(cut) if given.passage else ():
        passages = split_passages(given.rows["text"][row], given.passage)
        cut[row] = lineage.encode_texts(loaded.tokenizer, passages).cut.any()
    whole = loaded.record.pairs or loaded.record.config.training.passages  # --passage is refused
    about = {"passages": bool(given.passage), "in_passages": not whole}
    return {"rows": int(cut.sum()), "share": float(cut.mean()), "most": loaded.tokenizer.max_length, **about}


def _describe_unseen(unseen: Mapping[str, Any] | None, measured: Mapping[str, Any]) -> str:
    if unseen is None:
        return " So these figures say nothing of new texts."
    name = "accuracy" if measured["task"] == "single" else "f1_macro"
    whole = (measured.get("tuned") or measured)["metrics"][name]
    ends = " to ".join(f"{100 * each:.1f}" for each in unseen["intervals"].get(name, ()))
    said = f"{METRICS[name].title} is {100 * unseen['metrics'][name]:.1f} %{ends and f' ({ends})'}"
    return f" {said} on the other {count(unseen['n'])}, and {100 * whole:.1f} % on all."


def _format_share(share: float) -> str:
    return "less than 1 %" if share < 0.005 else whole_percent(share)


@dataclass(frozen=True)
class CostThreshold:
    """The decision threshold of a class when a false negative costs `ratio` times a false positive."""

    ratio: float  # cost of a false negative in false positives
    threshold: float
    validation: dict[str, Any]


def choose_thresholds(store: RunStore, record: RunRecord, ratios: Mapping[str, float]) -> dict[str, CostThreshold]:
    """Choose each class's cheapest threshold on validation by its cost ratio (false negative to false positive)."""
    if strange := [name for name in ratios if name not in record.classes]:
        raise InputError(f"--cost {strange[0]}: no class of run '{record.run}'; it has {', '.join(record.classes)}")
    if not ratios:
        return {}
    if VALIDATION not in list_evaluated_splits(store.get_path(record.run)):
        raise InputError(f"--cost: run '{record.run}' has no predictions of validation, on which a threshold is chosen")
    answers, found = read_answers(store, record, VALIDATION), {}
    for name, ratio in ratios.items():
        given = select_class(record, name, answers.labels, answers.probabilities)
        threshold = find_cheapest(*given, ratio)
        found[name] = CostThreshold(ratio, threshold, evaluate_threshold(*given, ratio, threshold))
    return found


def compute_costs(
    record: RunRecord, chosen: Mapping[str, CostThreshold], labels: Array, probabilities: Array
) -> dict[str, dict[str, Any]]:
    """Return each class's cost ratio, threshold and costs, on labels (n,) or (n, C) and probabilities (n, C)."""
    return {
        name: {
            "ratio": line.ratio,
            "threshold": line.threshold,
            **evaluate_threshold(*select_class(record, name, labels, probabilities), line.ratio, line.threshold),
            "validation": line.validation,
        }
        for name, line in chosen.items()
    }


def select_class(record: RunRecord, name: str, labels: Array, probabilities: Array) -> tuple[Array, Array]:
    """Return for one class whether each row has it, (n,) bool, and its predicted probability in each row, (n,)."""
    number = record.classes.index(name)
    return labels[:, number] > 0 if labels.ndim == 2 else labels == number, probabilities[:, number]
