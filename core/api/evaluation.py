"""Metrics of a run on labelled data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core import evaluation, runs
from core.api import options
from core.api.options import AnyRun, CliArgument, OnProgress, Passage, RunName, Settings, Store, make_map_option
from core.api.printing import say, tabulate, write_p
from core.cache import get_cache_folder
from core.data.findings import plural
from core.exceptions import InputError
from core.fingerprint import get_file_version, hash_value
from core.formatting import count, signed
from core.metrics import METRICS
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.record import WEIGHTS, refuse_passages
from core.runs.store import RunStore
from core.text.words import check_passage
from core.training.history import replace_nonfinite

if TYPE_CHECKING:
    from core.runs.evaluation_data import DataRequest

COST = "--cost: write class=ratio, such as positive=5: a missed one is as bad as 5 false positives"


def parse_ratios(costs: Sequence[str]) -> dict[str, float]:
    """Parse options `class=ratio` to class → how many false positives cost as much as one missed example."""
    try:
        return {name: float(ratio) for name, ratio in options.make_pair_parser(COST)(costs).items()}
    except ValueError:
        raise InputError(COST) from None


@dataclass(frozen=True, eq=False)
class Evaluation(Analysis[dict[str, Any]]):
    """The evaluation of a run on labelled data, as a background job that is computed again at every request."""

    run: str
    wanted: DataRequest
    by: str
    cost: Mapping[str, float]
    against: str

    name = "evaluate"
    offer = Offer(
        "Evaluate",
        "Evaluating",
        "The run could not be evaluated",
        "This trains nothing. It matches labels with classes, and counts rows seen in training.",
    )

    @classmethod
    def from_request(
        cls,
        store: RunStore,
        run: str,
        wanted: DataRequest,
        by: str = "",
        cost: Mapping[str, float] = {},
        against: str = "",
    ) -> Evaluation:
        """Return the evaluation job of a run for a request; RunNotFound: no such run."""
        folders = [store.get_path(store.read(name).run).absolute() for name in (run, against) if name]
        asked = cls(get_cache_folder() / "evaluations", "", store, run, wanted, by, cost, against)
        models = [(folder, get_file_version(folder / WEIGHTS)) for folder in folders]
        return replace(asked, stem=hash_value({"words": asked.words, "models": models}))

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command-line arguments of the evaluation."""
        given = [("--by", self.by), ("--against", self.against)]
        given += [("--cost", f"{name}={ratio:g}") for name, ratio in self.cost.items()]
        more = [word for name, value in given if value for word in (name, value)]
        return *runs.evaluation_data.build_arguments(self.run, self.wanted), *more

    def start(self) -> None:
        """Start the evaluation in a separate process; first delete the old result, as it would hide a failure."""
        self.get_path("json").unlink(missing_ok=True)
        super().start()

    def find(self, tell: Tell) -> dict[str, Any]:
        """Compute the metrics of a run on labelled data; raises the same errors as `evaluate`."""
        if self.store.read(self.run).task == "tokens":
            of_texts: dict[str, Any] = {"--map": self.wanted.rename, "--by": self.by, "--cost": self.cost}
            of_texts |= {"--against": self.against, "--passage": self.wanted.passage}
            return runs.word_tagging.evaluate_tags(self.store, self.run, self.wanted, of_texts)
        loaded = runs.load.load_run(self.store, self.run)
        if self.wanted.passage:
            refuse_passages(loaded.record)
        given = runs.evaluation_data.read_evaluation_data(loaded.record, self.wanted)
        compared: dict[str, Any] = {}
        if self.against:  # compares the default metric on the same rows (accuracy: McNemar's exact test)
            sides = runs.comparison.read_comparison_data(self.store, [self.run, self.against], wanted=self.wanted)
            (pair,) = runs.comparison.compare_models(sides)["pairs"]
            compared = {"against": {**pair, "verdict": evaluation.comparison.describe_pair(pair)}}
        chosen = runs.report.choose_thresholds(self.store, loaded.record, self.cost)
        found = runs.report.build_report(loaded, given, by=self.by, lines=chosen, on_progress=tell)
        return replace_nonfinite(found | compared)


def evaluate(  # noqa: PLR0913 - each is an option that a person types by name
    run: RunName,
    *,
    data: Annotated[str | Path, CliArgument(kind=str)] = "",
    split: Annotated[str, CliArgument("Default: test, or the whole of a single file.")] = "",
    rename: Annotated[
        Mapping[str, str] | None,
        make_map_option("write old=new, a label of the data and a class of the run; old= leaves its rows out"),
    ] = None,
    by: Annotated[str, CliArgument(metavar="COLUMN")] = "",
    cost: Annotated[
        Mapping[str, float] | None, CliArgument(metavar="CLASS=RATIO", kind=list[str], parse=parse_ratios)
    ] = None,
    against: Annotated[AnyRun, CliArgument(metavar="RUN", kind=str)] = "",
    limit_test: Annotated[int, CliArgument(name="--limit", least=0)] = 0,
    passage: Passage = 0,
    settings: Settings = None,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Measure the metrics of a run with intervals, on its own test split or on any labelled data.

    Args:
        data: Other labelled data; default: what the run was trained on.
        rename: The class of the run that a label of the data means; OLD= leaves its rows out. Repeat for more.
        by: Also show metrics for each value of a column of the data, or of `label`.
        cost: A missed CLASS is as bad as RATIO false positives: show the threshold with the lowest cost on validation,
            and its cost on this split. Repeat for more.
        against: Another run to compare with on the same rows.
        limit_test: The maximum number of rows, a seeded stratified sample; 0: all.

    Returns:
        `metrics` with `intervals` (95 %); `calibration`: the `temperature` of the run, the class `prior` towards which
        it moves probabilities (None: none), the validation `rows` it was fitted on (None for old runs without a
        temperature), loss, calibration error and Brier score `calibrated` and `as_trained`, and the number of `changed`
        predictions; `doubt`: the number of `rows` of made-up unknown words, and the share predicted `near` the class
        `prior` (within 0.10), or `left_out`; `mix`: None, or the `weight` of the network in the mixture with TF-IDF and
        the metrics of each alone, `network` and `tfidf`; `left_out` (undefined metric → reason), `per_class`,
        `confusion`; `seen_in_training`: `rows` and `share` that the tokenizer reads exactly like a training text, or
        that an `ancestor` (a run it started from or was taught by, and so on) learned from, ignoring case and blanks;
        `unknown`: runs whose training data are unknown; `unseen`: the metrics without these rows; `truncated`: `rows`
        and `share` longer than the model reads, or with such `passages`; `unknown_words`: `rows` and `share` with at
        least half of the words unknown; `differences` of these rows from training
        (`core.evaluation.split_differences`); `yardsticks`: both TF-IDF baselines, fitted on the run's training data;
        `against`: a pair as in `compare`, with a `verdict` in words; `dropped` and `renamed` labels; `by`; `costs`;
        `warnings`, a sentence each.

        With several labels per text, metrics are at threshold 0.5, `tuned` has the same at the thresholds chosen on
        validation, and `confusion` is 2 × 2 for each label; `unseen` and `by` use tuned thresholds if there are any.

        For a run that tags words: `metrics` (span F1 …) with `intervals`, `per_type`, and `outcomes`: the numbers of
        spans that are right, missed, spurious, or of a wrong type or border; `words`, and the number of `unread` ones.
    """
    store, words = store or RunStore(), check_passage(passage)
    wanted = runs.evaluation_data.DataRequest(str(data), split, rename or {}, limit_test, settings or {}, words)
    return Evaluation.from_request(store, run, wanted, by, cost or {}, options.get_name(against)).compute_anyway(
        on_progress
    )


def print_evaluate(result: dict[str, Any]) -> None:
    """Print the metrics of a run, its confusion matrix, and notes."""
    if result["task"] == "tokens":
        _print_spans(result)
        return
    say(f"{result['run']} on {result['data']}, {result['split']}, n = {count(result['n'])}")
    for note in result["notes"]:
        say(note)
    if result["task"] == "multi":
        _print_multilabel(result)
    else:
        _print_metrics(result)
        columns = [f"predicted {label}" for label in result["labels"]]
        counts = [
            {"true": label, **dict(zip(columns, map(count, row), strict=True))}
            for label, row in zip(result["labels"], result["confusion"], strict=True)
        ]
        tabulate(counts, ("true", *columns))
    _print_reasons(result["left_out"])
    for about in filter(None, (result["mix"], result["calibration"], result["doubt"])):
        if about["note"]:
            say(about["note"])
    if "by" in result:
        _print_groups(result["by"], "accuracy" if result["task"] == "single" else "f1_macro")
    _print_costs(result.get("costs", {}))
    if pair := result.get("against"):
        chance = f"p {'' if pair['p'] < 0.001 else '= '}{write_p(pair['p'])}"
        say(f"{pair['verdict']} ({pair['metric']} {signed(pair['difference'], 3)}, {chance})", head="Against: ")
    for sentence in result["warnings"]:
        say(sentence, head="Note: ")


def _print_costs(costs: Mapping[str, Any]) -> None:
    """Print the decision threshold of a class at each cost ratio, and its cost per row."""
    columns: dict[str, Any] = {
        "class": "class",
        "a miss costs": lambda found: f"{found['ratio']:g}",
        "threshold": "threshold",
        "misses": lambda found: count(found["false_negatives"]),
        "false positives": lambda found: count(found["false_positives"]),
        "cost": "cost",
        "95 % interval": "interval",
        "at 0.5": "cost_at_half",
    }
    if costs:
        tabulate([{"class": name, **found} for name, found in costs.items()], columns)


def _print_metrics(result: dict[str, Any]) -> None:
    """Print a run's metrics next to those of TF-IDF, and again without rows seen in training if there are any."""
    yardsticks = {} if "left_out" in result["yardsticks"] else result["yardsticks"]
    _print_metric_table(result, {model: found["metrics"] for model, found in yardsticks.items()})
    if unseen := result["unseen"]:
        say(f"Without the rows seen in training, n = {count(unseen['n'])}:")
        _print_metric_table(unseen, {})


def _print_metric_table(measured: Mapping[str, Any], beside: Mapping[str, Mapping[str, Any]]) -> None:
    """Print metrics with their intervals, next to the same metrics of other models."""
    rows = [
        {"metric": name, "value": value, "95 % interval": measured["intervals"].get(name)}
        | {other: metrics.get(name) for other, metrics in beside.items()}
        for name, value in measured["metrics"].items()
    ]
    tabulate(rows, ("metric", "value", "95 % interval", *beside))


def _print_reasons(left_out: dict[str, str]) -> None:
    """Print the metrics that are not defined on the evaluated rows, grouped by reason."""
    for reason in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name, each in left_out.items() if each == reason)
        say(f"Not defined: {names}, since {reason}")


def _print_groups(by: dict[str, Any], metric: str) -> None:
    columns: dict[str, Any] = {
        by["column"]: "value",
        "rows": lambda row: count(row["n"]),
        metric: lambda row: row["metrics"].get(metric),
        "95 % interval": lambda row: row["intervals"].get(metric),
    }
    tabulate(by["values"], columns)


def _print_multilabel(result: dict[str, Any]) -> None:
    """Print the metrics of all labels and of each label at threshold 0.5, and at tuned thresholds if there are any."""
    tuned = result["tuned"] or {"metrics": {}, "per_class": {}, "thresholds": {}}
    metrics = [
        {"metric": key, "at 0.5": value, "tuned": tuned["metrics"].get(key)} for key, value in result["metrics"].items()
    ]
    tabulate(metrics, ("metric", "at 0.5", "tuned"))
    columns: dict[str, Any] = {
        "label": "label",
        "rows": lambda row: f"{row['support']:.0f}",
        **{name: name for name in ("precision", "recall", "f1")},
        "AUPR": lambda row: row.get("average_precision"),
        "threshold": lambda row: row["own"].get("threshold"),
        "f1 tuned": lambda row: row["own"].get("f1"),
    }
    each = result["per_class"].items()
    tabulate([{"label": label, "own": tuned["per_class"].get(label, {}), **row} for label, row in each], columns)


def _print_spans(result: dict[str, Any]) -> None:
    """Print the metrics of a run that tags words, and for each span type how many spans are right, missed or wrong."""
    about = f"n = {count(result['n'])}, {plural(result['words'], 'word')}"
    say(f"{result['run']} on {result['data']}, {result['split']}, {about}")
    for note in result["notes"]:
        say(note)
    titled = {
        kind: {METRICS[name].title: each for name, each in result[kind].items()} for kind in ("metrics", "intervals")
    }
    _print_metric_table(titled, {})
    counted = ("right", "wrong type", "wrong border", "missed", "spurious")
    types = [
        {"type": kind, "spans": count(int(row["support"]))}
        | {part: row[part] for part in ("precision", "recall", "f1")}
        | {name: count(int(row[name])) for name in counted}
        for kind, row in result["per_type"].items()
    ]
    tabulate(types, ("type", "spans", "precision", "recall", "f1", *counted))
    if result["unread"]:
        say(f"{plural(result['unread'], 'word')} beyond text.max_length, or without a token, taken for O")
