"""Metrics of runs on labelled data, their comparison on the same rows, and behavioural tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core import behavioral_tests, error_analysis, evaluation, runs
from core.api import options
from core.api.printing import say, tabulate, write_ends, write_p, write_rate, write_value
from core.cache import get_cache_folder
from core.exceptions import InputError
from core.fingerprint import get_file_version, hash_value
from core.formatting import count, number, plural, signed
from core.metrics import METRICS, format_title
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.record import WEIGHTS, refuse_passages
from core.runs.store import RunStore
from core.text.words import check_passage
from core.training.history import replace_nonfinite

if TYPE_CHECKING:
    from core.runs.evaluation_data import DataRequest

AnySplit = Annotated[str, options.CliArgument("Default: test, or the whole of a single file.")]
Renamed = Annotated[
    Mapping[str, str] | None,
    options.make_map_option("write old=new, a label of the data and a class of the run; old= leaves its rows out"),
]
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

    name, again = "evaluate", True
    offer = Offer(
        "Evaluate",
        "Evaluating",
        "The run could not be evaluated",
        "Test this model on other labelled data; nothing is trained.",
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

    def find(self, tell: Tell) -> dict[str, Any]:
        """Compute the metrics of a run on labelled data; raises the same errors as `evaluate`."""
        if self.store.read(self.run).task == "tokens":
            of_texts: dict[str, Any] = {"--map": self.wanted.rename, "--by": self.by, "--cost": self.cost}
            of_texts |= {
                "--against": self.against,
                "--passage": self.wanted.passage,
                "--read-as": self.wanted.read_as,
                "--edit": self.wanted.edit,
            }
            return runs.word_tagging.evaluate_tags(self.store, self.run, self.wanted, of_texts)
        loaded = runs.load.load_run(self.store, self.run)
        if self.wanted.read_as:
            if self.against:
                raise InputError("--read-as changes one run, so that --against would compare two ways of reading")
            loaded = loaded.read_as(self.wanted.read_as)
        if self.wanted.passage:
            refuse_passages(loaded.record)
        given = runs.evaluation_data.read_evaluation_data(loaded.record, self.wanted)
        compared: dict[str, Any] = {}
        if self.wanted.edit:
            trained, loaded = loaded, loaded.edit_all(self.wanted.edit)
            compared["edited"] = runs.part_importance.measure_edit(trained, loaded, given)
        if self.against:  # compares the default metric on the same rows (accuracy: McNemar's exact test)
            sides = runs.comparison.read_comparison_data(self.store, [self.run, self.against], wanted=self.wanted)
            (pair,) = runs.comparison.compare_models(sides)["pairs"]
            compared = {"against": {**pair, "verdict": evaluation.comparison.describe_pair(pair)}}
        chosen = runs.report.choose_thresholds(self.store, loaded.record, self.cost)
        found = runs.report.build_report(loaded, given, by=self.by, lines=chosen, on_progress=tell)
        if way := self.wanted.read_as:
            learned = loaded.record.config.text.normaliser
            compared["read_as"] = way
            found["notes"] = [*found["notes"], f"texts are cleaned by '{way}', in training by '{learned}'"]
        return replace_nonfinite(found | compared)


def evaluate(  # noqa: PLR0913 - each is an option that a person types by name
    run: options.RunName,
    *,
    data: Annotated[str | Path, options.CliArgument(kind=str)] = "",
    split: AnySplit = "",
    rename: Renamed = None,
    by: Annotated[str, options.CliArgument(metavar="COLUMN")] = "",
    cost: Annotated[
        Mapping[str, float] | None, options.CliArgument(metavar="CLASS=RATIO", kind=list[str], parse=parse_ratios)
    ] = None,
    against: Annotated[options.AnyRun, options.CliArgument(metavar="RUN", kind=str)] = "",
    limit_test: Annotated[int, options.CliArgument(name="--limit", least=0)] = 0,
    passage: options.Passage = 0,
    edit: options.Edit = "",
    read_as: Annotated[str, options.CliArgument(metavar="NORMALISER")] = "",
    settings: options.Settings = None,
    on_progress: options.OnProgress = None,
    store: options.Store = None,
) -> dict[str, Any]:
    """Measure the metrics of a run with intervals, on its own test split or on any labelled data.

    Args:
        data: Other labelled data; default: what the run was trained on.
        rename: The class of the run that a label of the data means; OLD= leaves its rows out. Repeat for more.
        by: Also show metrics for each value of a column of the data, or of `label`.
        cost: A missed CLASS is as bad as RATIO false positives: show the threshold with the lowest cost on validation,
            and its cost on this split. Repeat for more.
        against: Another run to compare with on the same rows.
        edit: With a part of the model changed, as `s:0` (lexical term off), `l:0` (every further map off), `h1.2`; no
            part may name a word or token. All metrics are those of the changed model.
        read_as: Clean the texts in another way than in training, with the same weights, as in 7ess-Xin's Figure 5.
        limit_test: The maximum number of rows, a seeded stratified sample; 0: all.

    Returns:
        `metrics` with `intervals` (95 %); `calibration`: the `temperature` of the run, the class `prior` towards which
        it moves probabilities (None: none), the validation `rows` it was fitted on (None for old runs without a
        temperature), loss, calibration error and Brier score `calibrated` and `as_trained`, and the number of `changed`
        predictions; `mix`: None, or the `weight` of the network in the mixture with TF-IDF and
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
    wanted = runs.evaluation_data.DataRequest(
        str(data), split, rename or {}, limit_test, settings or {}, words, edit, read_as
    )
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
    (_print_multilabel if result["task"] == "multi" else _print_single)(result)
    for reason in dict.fromkeys(result["left_out"].values()):
        names = ", ".join(name for name, each in result["left_out"].items() if each == reason)
        say(f"Not defined: {names}, since {reason}")
    for about in filter(None, (result["mix"], result["calibration"])):
        if about["note"]:
            say(about["note"])
    if "by" in result:
        metric = "accuracy" if result["task"] == "single" else "f1_macro"
        grouped: dict[str, Any] = {
            result["by"]["column"]: "value",
            "rows": lambda row: count(row["n"]),
            metric: lambda row: row["metrics"].get(metric),
            "95 % interval": lambda row: row["intervals"].get(metric),
        }
        tabulate(result["by"]["values"], grouped)
    if costs := result.get("costs"):
        tabulate([{"class": name, **found} for name, found in costs.items()], COSTS)
    _print_sides(result)
    for sentence in result["warnings"]:
        say(sentence, head="Note: ")


def _print_sides(result: dict[str, Any]) -> None:
    """Print the comparison with another run, and with the run as it was trained, if there are any."""
    if pair := result.get("against"):
        chance = f"p {'' if pair['p'] < 0.001 else '= '}{write_p(pair['p'])}"
        say(f"{pair['verdict']} ({pair['metric']} {signed(pair['difference'], 3)}, {chance})", head="Against: ")
    if edit := result.get("edited"):
        told = f"{count(edit['changed'])} of {count(edit['rows'])} answers change"
        right = f"{number(edit['trained'])} → {number(edit['edited'])} right ({write_ends(edit['interval'])})"
        say(f"{told}, {right}", head=f"With {edit['edit']}: ")


COSTS: dict[str, Any] = {
    "class": "class",
    "a miss costs": lambda found: f"{found['ratio']:g}",
    "threshold": "threshold",
    "misses": lambda found: count(found["false_negatives"]),
    "false positives": lambda found: count(found["false_positives"]),
    "cost": "cost",
    "95 % interval": "interval",
    "at 0.5": "cost_at_half",
}
"""Columns on the decision threshold of a class at a cost ratio, and its cost per row."""


def _print_single(result: dict[str, Any]) -> None:
    """Print metrics next to those of TF-IDF, again without rows seen in training if there are any, and counts."""
    yardsticks = {} if "left_out" in result["yardsticks"] else result["yardsticks"]
    _print_metric_table(result, {model: found["metrics"] for model, found in yardsticks.items()})
    if unseen := result["unseen"]:
        say(f"Without the rows seen in training, n = {count(unseen['n'])}:")
        _print_metric_table(unseen, {})
    columns = [f"predicted {label}" for label in result["labels"]]
    counts = [
        {"true": label, **dict(zip(columns, map(count, row), strict=True))}
        for label, row in zip(result["labels"], result["confusion"], strict=True)
    ]
    tabulate(counts, ("true", *columns))


def _print_metric_table(measured: Mapping[str, Any], beside: Mapping[str, Mapping[str, Any]]) -> None:
    rows = [
        {"metric": name, "value": value, "95 % interval": measured["intervals"].get(name)}
        | {other: metrics.get(name) for other, metrics in beside.items()}
        for name, value in measured["metrics"].items()
    ]
    tabulate(rows, ("metric", "value", "95 % interval", *beside))


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


def compare(
    run: Annotated[options.AnyRun, options.CliArgument(metavar="RUN")],
    *others: options.AnyRun,
    data: str = "",
    split: AnySplit = "",
    by: Annotated[Sequence[str], options.CliArgument(metavar="COLUMN")] = (),
    metrics: Annotated[Sequence[str], options.CliArgument(name="--metric", metavar="NAME")] = (),
    rename: Renamed = None,
    store: options.Store = None,
) -> dict[str, Any]:
    """Test which of several runs is better, with paired tests that are corrected for the number of pairs.

    Runs that differ only in seed and fold are one model. Accuracy is tested by McNemar's exact test, other metrics
    by a paired bootstrap (the calibration error by paired swaps), several seeds paired by example and seed, six
    folds or more by Wilcoxon's signed ranks. p is corrected by Holm over all pairs. Each interval has the level of
    its Holm step, so that it excludes 0 exactly if `p_holm` is below 0.05.

    Args:
        run: Two runs or more; seeds of one model are joined.
        others: Runs that are compared with it, and with one another.
        data: Other labelled data; default: the splits that all were tested on.
        by: Also compare on each value of a column, or of `label`, as a separate family; `slice`: each saved slice.
        metrics: Metrics to test; default: accuracy, with several labels per text tuned.f1_macro.
        rename: The class of the runs that a label of the data means.

    Returns:
        As `core.runs.comparison.compare_models`.
    """
    if runs.comparison.SLICE in by and data:
        raise InputError("--by slice: slices are of the data that runs were tested on; leave --data out")
    if rename and not data:
        raise InputError("--map belongs to --data: on their own data runs have the labels that they were trained with")
    names, store = options.get_names((run, *others)), options.get_store((run, *others), store)
    wanted = runs.evaluation_data.DataRequest(data, split, rename or {}, asked=("compare", *names)) if data else None
    sides = runs.comparison.read_comparison_data(store, names, split=split, wanted=wanted)
    if runs.comparison.SLICE in by and runs.comparison.SLICE not in sides.columns:
        kept, read = error_analysis.slices.read_slices(store, store.read(names[0])), error_analysis.predictions_table
        sides = error_analysis.slices.add_slices(store, sides, kept, lambda of, at: read.read_table(store, of.run, at))
    return runs.comparison.compare_models(sides, metrics=metrics, by=by)


def print_compare(result: dict[str, Any]) -> None:
    """Print the comparison of runs: a finding for each metric, the models, and the tests."""
    say(f"{result['data']}, {result['split']}, n = {count(result['n'])}")
    metrics = list(result["runs"][0]["metrics"])
    for metric in metrics:
        own = [pair for pair in result["pairs"] if pair["metric"] == metric]
        say(f" {evaluation.comparison.summarize_pairs(own)}", head=f"{format_title(metric)}:")
    letters = evaluation.comparison.assign_letters([run["name"] for run in result["runs"]])
    rows = [
        {
            "": letters[run["name"]],
            "model": ", ".join(filter(None, (run["name"], run["mixture"]))),
            "runs": len(run["runs"]),
            **{format_title(m): write_value(run["metrics"][m]["mean"], run["metrics"][m]["interval"]) for m in metrics},
        }
        for run in result["runs"]
    ]
    tabulate(rows, ("", "model", "runs", *map(format_title, metrics)), whole="model")
    _print_tests(result["pairs"], letters, ("metric",) if len(metrics) > 1 else ())
    for column in dict.fromkeys(row["column"] for row in result["by"]):
        say("")
        say(f"by {column}")
        own = [row for row in result["by"] if row["column"] == column]
        for metric in dict.fromkeys(row["metric"] for row in own):
            _print_values([row for row in own if row["metric"] == metric], letters, format_title(metric))
        _print_tests(own, letters, (*(("metric",) if len(metrics) > 1 else ()), "value", "n"))
    say("")
    for note in result["notes"]:
        say(f"Note: {note}")
    say(evaluation.comparison.METHOD)


def _print_values(tests: Sequence[Mapping[str, Any]], letters: Mapping[str, str], metric: str) -> None:
    """Print a metric of each model and of TF-IDF separately for each value of a data column."""
    rows: dict[str, dict[str, Any]] = {}
    for each in tests:
        row = rows.setdefault(each["value"], {metric: each["value"], "n": each["n"]})
        row |= {letters[each[side]]: each[f"{side}_value"] for side in ("first", "second")}
        row["TF-IDF"] = each["baseline_value"]
    shown = [letter for letter in letters.values() if any(letter in row for row in rows.values())]
    tabulate(list(rows.values()), (metric, "n", *shown, "TF-IDF"))


def _print_tests(tests: Sequence[Mapping[str, Any]], letters: Mapping[str, str], more: Sequence[str]) -> None:
    columns: dict[str, Any] = {
        "pair": lambda each: f"{letters[each['first']]} − {letters[each['second']]}",
        **{name: name for name in more},
        "difference": lambda each: signed(each["difference"], 3),
        "interval": lambda each: write_ends(each["interval"], lambda end: signed(end, 3)),
        "p, Holm": lambda each: write_p(each["p_holm"]),
        "verdict": lambda each: evaluation.comparison.describe_pair(each, letters),
    }
    tabulate(tests, columns)


def behave(
    run: Annotated[options.AnyRun, options.CliArgument(metavar="RUN")],
    *others: options.AnyRun,
    suite: str | Path = "",
    rename: Annotated[
        Mapping[str, str] | None,
        options.make_map_option(
            "write CLASS=POLARITY, a class of a run and negative, neutral, positive or none", metavar="CLASS=POLARITY"
        ),
    ] = None,
    store: options.Store = None,
) -> dict[str, Any]:
    """Measure how often runs fail behavioural tests of each capability (negation, vocabulary …).

    With the built-in suite, also how often a run calls sentences about people of different groups positive. Answers are
    stored in the cache of the machine, so that no model answers the same tests twice.

    Args:
        run: Finished runs with one label per text.
        others: Runs that are compared with it.
        suite: Tests in YAML or as a table; default: those that come with Sentiscope.
        rename: The polarity of a class of the runs.

    Returns:
        `suite`: `name`, `about`, `file`, `digest`, numbers of `tests`, `capabilities`, `cases` and `texts`.
        `runs`: for each `run`, `polarities` (by class), `agreement` (of failures within a template,
        `core.behavioral_tests.report`) and its rate over all cases.
        `capabilities`: `capability`, `must` (the expectation), `rates` by run, and `tests`: `test`, `kind`, `must`,
        `about`, `tolerance`, `cases`, `rates` by run, and `failing` by run: the `texts` of a case, the `expected`
        answers, and `answers`, each with `label`, `polarity` and `probabilities` by polarity.
        A rate: `n` cases, of which `failed`; `rate` and its 95 % `interval` (None without tested cases); `verdict`
        (`passes` if the whole interval is below 0.3, `fails` if above, else `open`); `not_asked`, the cases that need a
        class that the run lacks; `consistency` of contrast sets (`groups`, `right`, `rate`, `interval`) or None.
        `differences`, for each `capability` and pair of runs: `difference` (failure rate of `first` minus `second`),
        `p`, `p_holm` (Holm over all tests), `interval` (at the level of its Holm step) and `differ`: whether `p_holm`
        is below 0.05, exactly if the interval excludes 0.
        `groups`: for each run with a positive class, as `core.behavioral_tests.report.measure_groups`; empty with a
        suite of your own.
    """
    store, names = options.get_store((run, *others), store), list(dict.fromkeys(options.get_names((run, *others))))
    chosen = behavioral_tests.suite_reader.read_suite(str(suite))
    classes = [name for each in names for name in store.read(each).classes]
    behavioral_tests.suite.refuse_unknown_class(rename or {}, classes)
    asked = [behavioral_tests.suite.SuiteAnswers.from_suite(store, each, chosen, rename) for each in names]
    found = behavioral_tests.report.build_report([each.judge() for each in asked])
    groups = [] if suite else [behavioral_tests.report.find_groups(store, each, rename) for each in names]
    return {**found, "suite": {"file": str(suite), **found["suite"]}, "groups": [each for each in groups if each]}


def print_behave(result: dict[str, Any]) -> None:
    """Print the failure rate of each capability in behavioural tests, and on which capabilities the runs differ."""
    suite, names = result["suite"], [each["run"] for each in result["runs"]]
    of = "1 capability" if suite["capabilities"] == 1 else f"{suite['capabilities']} capabilities"
    said = f"{plural(suite['tests'], 'test')} of {of}, {plural(suite['cases'], 'case')}"
    say(f"{suite['name']}: {said}. Failure rate and 95 % interval:")
    rows = [
        {"capability": each["capability"], "the answer": " · ".join(each["must"])}
        | {name: _format_rate(each["rates"][name]) for name in names}
        for each in result["capabilities"]
    ]
    rows.append({"capability": "all", **{each["run"]: _format_rate(each) for each in result["runs"]}})
    tabulate(rows, ("capability", "the answer", *names))
    apart: dict[tuple[str, str], list[str]] = {}
    for each in result["differences"]:
        apart.setdefault((each["first"], each["second"]), []).extend([each["capability"]] * each["differ"])
    for (first, second), where in apart.items():
        say(f"{first} and {second} differ on {', '.join(where) or 'nothing beyond chance'}.")
    for each in result["groups"]:
        say(behavioral_tests.report.summarize_groups(each), head="Groups of people: ")
    if result["groups"]:
        tabulate(behavioral_tests.report.list_gap_rows(result["groups"]), ("kind", *names))
    say("--json has every test and every failing sentence.")


def _format_rate(rate: dict[str, Any]) -> str:
    return "not asked" if rate["rate"] is None else write_rate(rate["rate"], rate["interval"])
