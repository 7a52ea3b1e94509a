"""Commands on the errors of a run, and on saved slices of its data."""

import functools
from collections.abc import Callable
from typing import Annotated, Any

from core import error_analysis, runs
from core.api.options import Against, Clauses, CliArgument, File, OnProgress, RunName, Split, Store, as_list, get_names
from core.api.printing import say, tabulate, write_ends, write_p, write_points, write_value
from core.atomic import write_named
from core.exceptions import InputError, NotAvailable
from core.formatting import count, format_csv, plural, signed, whole_percent
from core.metrics import format_title, get_metric
from core.runs.store import RunStore

SHOWN, MARKS, WORDS = 20, 8, 15  # printed rows, distinguishing columns and tags, and words


def errors(  # noqa: PLR0913 - each is an option that a person types by name
    run: RunName,
    *,
    split: Split = "",
    where: Clauses = (),
    tags: bool = False,
    against: Against = (),
    label_errors: bool = False,
    unsure: bool = False,
    slice: Annotated[str, CliArgument(metavar="NAME")] = "",
    replace: Annotated[str, CliArgument(metavar="OLD=NEW")] = "",
    order: str = "file",
    label_csv: File = None,
    csv: File = None,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """List the errors of a run, or other predictions that rules select, row by row.

    Args:
        where: wrong (default), right, all; true=, predicted=, margin<0.2, p_predicted=0.5..0.9, word=not good, text~not
            (a piece), COLUMN=VALUE, date>=2026-03, tag=, code=, coded, uncoded, noted, unnoted. Repeat: all must hold.
        tags: Show tags of the texts, with the error risk of each. Slow results are stored in the cache of the machine.
        against: Another run, for the tag of texts that it predicts differently; repeat. Other seeds are found anyway.
        label_errors: Show labels that are likely wrong, in training and in the split. The first time takes minutes.
        unsure: First read the texts 20 times with dropout left on, for its tag. The first time takes minutes.
        slice: A slice, see sentiscope slices; with where, those of its rows that match both.
        replace: Also predict the rows with a word replaced, such as great=terrible; then where is by default all.
        order: Order of the rows: file, sure, wrong (surest wrong first), margin (lowest first), unsure.
        label_csv: Also write the rows with doubtful labels to this file.
        csv: Also write the selected rows to this file, with every own column, and with tags a 0/1 column for each.

    Returns:
        `run`, `data`, `split`, `task`, `classes`; `n` rows, of which `wrong`, with `rate` and its 95 % `interval`
        (Wilson); `where`, `selected` (the same numbers of the selection, and its `share` of all rows) and `said`, the
        selection as a sentence; `own`, the names of the data's own columns; `rows`, for each selected row: `key`
        (stable over runs and splits), `row`, `text`, `true`, `predicted`, `p_true`, `p_predicted`, `margin`, `wrong`,
        with several labels per text `missed` and `invented` (defined in `core.error_analysis.predictions_table`), and
        the data's own columns.

        With `tags`, sorted by excess errors: each `tag` with its description (`about`); `n`, `wrong`, `rate` and
        `interval`; the `rest` of the rows; the number of `selected` rows with the tag; `excess`, the errors beyond
        those expected at the rate of the rest; the risk `ratio`, its `p`, `p_holm` (Holm over tags and values),
        `ratio_interval` at the level of its Holm step, and whether it `differs` from 1 (exactly if the interval
        excludes 1). These are None if fewer than 30 rows have the tag or lack it, and for tags that only errors have;
        an upper end of None means no bound. `values`: the same for each value of the data's own columns, with the
        `rule` that selects its rows. `slices`: properties, and pairs of properties, with significantly more errors
        (`core.error_analysis.report`): `select`, `said` and the same numbers. `absent`: tag → why it is missing;
        each row has its `tags`. `marks`: columns and tags outside the rules, by how much they distinguish the selection
        (`core.error_analysis.facets`). `words`: words and phrases more frequent than in the rest, by z
        (`core.error_analysis.keywords`): `words`, the numbers of texts with them in the selection (`selected`, as with
        `word=WORDS`) and in the `rest`, `log_odds` and `z` (4 or more).

        With `label_errors`, under this name: `n` rows and the number of `likely` wrong ones, by split; `rows`: rows
        with a likelier other label, sorted by the probability of their label (`p_true`), lowest first: `split`, `row`,
        `key`, `text`, `likely`, `true` and the `likelier` label, `p_true`, `p_likelier`, `margin`; `conflicts`: each
        `text` with several `labels` in the data (label → rows), and its `rows`; `left_out`: why there are none
        (`core.error_analysis.label_errors`). With `replace`, `replacement`
        (`core.error_analysis.word_replacement.replace_word`).
    """
    error_analysis.selection.check_order(order)
    words = error_analysis.word_replacement.parse_replacement(replace) if replace else ("", "")
    store, others = store or RunStore(), get_names(against)
    for other in others:
        store.read(other)  # a wrong name fails now, not when the tags are computed
    named = error_analysis.selection.Selection(())
    if slice:
        named = error_analysis.slices.find_slice(store, store.read(run), slice)
    table = error_analysis.predictions_table.read_table(store, run, split or named.split)
    if unsure:
        try:
            error_analysis.mc_dropout.find_tagged(store, table, on_progress)
        except NotAvailable as error:
            raise InputError(f"--unsure: run '{run}' cannot be read with dropout on: {error}") from error
    heard = {"tell": on_progress} if on_progress else {}
    tagged = error_analysis.tags.TableTags(store, table, others, **heard)
    asked = error_analysis.selection.Selection(
        (*named.rules, *as_list(where)) or ("all" if replace else "wrong",), split
    )
    clauses, chosen = error_analysis.selection.match_selection(asked, table, tagged, store)
    places = error_analysis.selection.sort_rows(table, chosen.nonzero()[0], order or "file")
    if csv is not None:
        more = {f"tag:{name}": has[places].astype(int) for name, has in tagged.available.items()} if tags else {}
        write_named("--csv", csv, format_csv(table.frame.iloc[places].assign(**more)))
    found = error_analysis.report.report_errors(table, clauses, chosen, tagged if tags else None)
    at = {int(place): rank for rank, place in enumerate(places)}
    found["rows"] = sorted(found["rows"], key=lambda row: at[row["row"]])
    if replace:
        found["replacement"] = error_analysis.word_replacement.replace_word(
            runs.load.load_run(store, run), table, chosen.nonzero()[0].tolist(), *words
        )
    if not label_errors and label_csv is None:
        return found
    labels = error_analysis.label_errors.load_label_errors(store, table, on_progress)
    if label_csv is not None:
        write_named("--label-csv", label_csv, format_csv(error_analysis.label_errors.list_suspect_rows(labels)))
    return {**found, "label_errors": labels}


def slices(
    run: RunName,
    *,
    save: Annotated[str, CliArgument(metavar="NAME")] = "",
    where: Clauses = (),
    rename: Annotated[tuple[str, str], CliArgument(metavar="NAME NEW")] = ("", ""),
    remove: Annotated[str, CliArgument(name="--rm", metavar="NAME")] = "",
    split: Split = "",
    store: Store = None,
) -> dict[str, Any]:
    """List a data set's saved selections of rows (slices), shared by all its runs, with the metrics of a run on each.

    Args:
        save: Save the selection of --where under this name.
        where: Rules, as in errors; default: wrong. Repeat: all must hold.
        rename: Rename a slice.
        remove: Delete the slice of this name.

    Returns:
        `run`, `data`, `split`; `slices`, by name: `name`, `select` as in links, `where` (its rules) and `said` in
        words, `created`; `split`, `n` rows, their `share` of all, the number of `wrong` ones, `rate` and its 95 %
        `interval` (Wilson); the rate of the `others`, the `difference` to it and its `difference_interval` (Newcombe
        1998); `metrics` of these rows (accuracy and macro F1; with several labels per text all labels right, macro and
        micro F1 and the Hamming loss, with the prefix `tuned.` at tuned thresholds), with `intervals`; `per_class`:
        `support`, `precision`, `recall` and `f1` of each class, with `per_class_intervals`. Undefined values are None,
        with the reason in `lacks`. `problem`: why this run has no such rows; then all these numbers are None or empty.
    """
    store = store or RunStore()
    if where and not save:
        raise InputError("--where says what is to be saved; name it with --save NAME")
    table, kept = error_analysis.predictions_table.read_table(store, run, split), error_analysis.slices
    tagged = error_analysis.tags.TableTags(store, table)
    if save:
        asked = error_analysis.selection.Selection(tuple(as_list(where)) or ("wrong",), split)
        error_analysis.selection.select_rows(asked, table, tagged, store)  # refuses a wrong rule before it is saved
        kept.save_slice(store, table.record, save, asked)
    if any(rename):
        kept.rename_slice(store, table.record, *rename)
    if remove:
        kept.remove_slice(store, table.record, remove)
    found = [kept.report_slice(store, table, tagged, each) for each in kept.read_slices(store, table.record)]
    return {"run": run, "data": table.record.config.data.name, "split": table.split, "slices": found}


def print_errors(result: dict[str, Any]) -> None:
    """Print the selected predictions of a run, after error tags and distinguishing features where requested."""
    ends, rate = write_ends(result["interval"], write_points), write_points(result["rate"])
    wrong = f"{plural(result['wrong'], 'error')}, {rate} % ({ends} %)"
    say(f"{result['run']} on {result['data']}, {result['split']}: {wrong}.")
    say(result["said"])
    if replaced := result.get("replacement"):
        say(error_analysis.word_replacement.describe_replacement(replaced))
        tabulate(replaced["rows"][:SHOWN], ("row", "before", "after", "text"), "row")
        return
    if "tags" in result:
        _print_tags(result)
    if rows := result["rows"][:SHOWN]:
        tabulate(rows, _name_columns("key", "true", "predicted", "p_predicted", "margin", "text"), "key")
    if len(result["rows"]) > SHOWN:
        say(f"The first {SHOWN} of {plural(len(result['rows']), 'row')}; --csv FILE and --json have all.")
    if "label_errors" in result:
        _print_labels(result["label_errors"])


def _name_columns(*keys: str) -> dict[str, str]:
    return {key.replace("_", " "): key for key in keys}


def _print_labels(result: dict[str, Any]) -> None:
    """Print the labels of a data set that are most likely wrong, and texts with several labels."""
    if result["left_out"]:
        say(f"{result['left_out']}.", head="No label is doubted: ")
    else:
        of = ", ".join(f"{count(result['likely'][split])} of {count(n)} in {split}" for split, n in result["n"].items())
        say(f"{of}.", head="Labels that are likely wrong: ")
    if rows := result["rows"][:SHOWN]:
        tabulate(rows, _name_columns("split", "key", "true", "likelier", "p_true", "text"), "key")
    if len(result["rows"]) > SHOWN:
        say(f"The first {SHOWN} of {count(len(result['rows']))} of which another label is likelier; --json has all.")
    for each in result["conflicts"][:MARKS]:
        labels = ", ".join(f"{name} {number}" for name, number in each["labels"].items())
        say(f"{each['text']} ({labels})", head="One text, several labels: ")
    if len(result["conflicts"]) > MARKS:
        say(f"The first {MARKS} of {plural(len(result['conflicts']), 'such text')}; --json has all.")


def _print_tags(result: dict[str, Any]) -> None:
    """Print error tags, most excess errors first, and the properties and words that distinguish the selected rows."""
    if rows := [each for each in result["tags"] if each["n"]]:
        tabulate(rows, {"tag": "tag", **RISK}, "tag")
    if values := result["values"][:MARKS]:
        tabulate(values, {"value": "rule", **RISK}, "value")
    for each in result["slices"][:MARKS]:
        more = "" if each["ratio"] is None else f", {each['ratio']:.1f} times as often as the rest"
        say(f"{each['said']}: {count(each['wrong'])} of {count(each['n'])}{more}.", head="Goes wrong more often: ")
    if nowhere := [each["tag"] for each in result["tags"] if not each["n"]]:
        say(f"No text has: {', '.join(nowhere)}.")
    for why in dict.fromkeys(result["absent"].values()):
        names = ", ".join(name for name, each in result["absent"].items() if each == why)
        say(f"{why}.", head=f"No {names}: ")
    if rows := result["marks"][:MARKS]:
        tabulate(rows, FEATURES, "marks the selection")
    words = [f"{each['words']} ({each['selected']} : {each['rest']})" for each in result["words"][:WORDS]]
    if words:
        say(f"{', '.join(words)}.", head="More often than in the rest (sentences here : elsewhere): ")


FEATURES: dict[str, Any] = {
    "marks the selection": "name",
    "V": lambda each: f"{each['v']:.2f}",
    "value": "value",
    "selected": lambda each: whole_percent(each["share"]),
    "the rest": lambda each: whole_percent(each["rest_share"]),
    "p (Holm)": lambda each: write_p(each["p_holm"]),
}
"""Columns on properties that are more frequent in the selected rows than in all others."""
RISK: dict[str, Any] = {
    "rows": lambda row: count(row["n"]),
    "selected": lambda row: count(row["selected"]),
    "errors": lambda row: f"{write_points(row['rate'])} %",
    "excess": lambda row: "" if row["excess"] is None else signed(row["excess"], 1),
    "risk ratio": lambda row: "" if row["ratio"] is None else f"{row['ratio']:.2f}",
    "interval": lambda row: _write_ratios(row["ratio_interval"]),
    "p (Holm)": lambda row: write_p(row["p_holm"]),
}
"""Columns on the risk of an error."""


def _write_ratios(interval: list[float | None] | None) -> str:
    if interval is None:
        return ""
    low, high = interval
    return f"{low:.2f} and more" if high is None else f"{low:.2f} to {high:.2f}"


def print_slices(result: dict[str, Any]) -> None:
    """Print a row for each saved slice of a data set."""
    if not result["slices"]:
        say(f"No slice of {result['data']} yet; --save NAME --where CLAUSE keeps one.")
        return
    columns: dict[str, Any] = {
        "slice": "name",
        "split": "split",
        "rows": lambda each: "" if each["n"] is None else count(each["n"]),
        "errors": lambda each: "" if each["rate"] is None else f"{write_points(each['rate'])} %",
        "interval": lambda each: "" if each["rate"] is None else write_ends(each["interval"], write_points),
        "− others": lambda each: "" if each["difference"] is None else f"{100 * each['difference']:+.1f}",
    }
    f1 = (key for each in result["slices"] for key, value in each["metrics"].items() if value is not None)
    for key in (each for each in f1 if get_metric(each).name == "f1_macro"):
        columns[format_title(key)] = lambda row, key=key: write_value(
            row["metrics"].get(key), row["intervals"].get(key)
        )
    tabulate(result["slices"], {**columns, "selects": "said"}, "slice")
    for each in result["slices"]:
        if each["problem"]:
            say(f"{each['problem']}.", head=f"{each['name']}: ")
        elif each["lacks"]:
            say(each["lacks"], head=f"{each['name']}: ")
    say("--json has precision, recall and F1 of each class.")


SHIFTED = 15  # words listed for each side of a shift


@functools.cache
def make_verb(name: str) -> Callable[..., dict[str, Any]]:
    """Return the API function that runs an analysis; its help is the docstring of the analysis class."""
    analysis = error_analysis.analyses.load(name)

    def run_analysis(
        run: RunName, *, split: Split = "", on_progress: OnProgress = None, store: Store = None
    ) -> dict[str, Any]:
        """Run an analysis on a split of a run (template; the help text comes from the analysis class)."""
        store = store or RunStore()
        table = error_analysis.predictions_table.read_table(store, run, split)
        about = {"run": run, "data": table.record.config.data.name, "split": table.split}
        return {**about, **analysis.from_run(store, table.record, table.split).read_or_compute(on_progress)[0]}

    run_analysis.__name__, run_analysis.__doc__ = name, analysis.__doc__
    return run_analysis


def __getattr__(name: str) -> Callable[..., dict[str, Any]]:
    if name not in error_analysis.analyses.NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_verb(name)


def print_placement(result: dict[str, Any]) -> None:
    """Print a row for each third of the texts, and for each part of speech: how much its words matter."""
    say(f"{result['run']}, {result['split']}: {count(result['texts'])} texts; 1 is the effect of an average word")
    columns: dict[str, Any] = {"": "kind", "group": "group", "effect": "effect"}
    columns |= {"interval": lambda row: write_ends((row["low"], row["high"])), "texts": "texts", "words": "words"}
    tabulate(result["rows"], columns, "group")
    if result["left_out"]:
        say(f"{result['left_out']}.", head="No parts of speech: ")


def print_shift(result: dict[str, Any]) -> None:
    """Print how well a classifier tells a split from the training data, with measures and over-represented words."""
    split, n = result["split"], result["n"]
    beside = f"{count(n['split'])} texts of {split} beside {count(n['training'])} of training"
    say(f"{result['run']} on {result['data']}: {beside}.")
    if result["left_out"]:
        say(f"{result['left_out']}.")
        return
    auc = result["auc"]
    tells = "tells them apart" if auc["interval"][0] > 0.5 else "cannot tell them apart"
    say(f"TF-IDF {tells}: AUC {auc['value']:.3f} ({write_ends(auc['interval'])}), p {write_p(auc['p'])}.")
    columns: dict[str, Any] = {
        "measure": error_analysis.dataset_shift.name_measure,
        "training": "training",
        split: "other",
        "difference": lambda row: signed(row["difference"], 3),
        "interval": lambda row: write_ends(row["interval"], lambda end: signed(end, 3)),
        "p": lambda row: write_p(row["p_holm"]),
    }
    tabulate(result["measures"], columns, "measure")
    for where, more in ((split, True), ("training", False)):
        found = [row for row in result["words"] if (row["log_odds"] > 0) is more][:SHIFTED]
        said = ", ".join(f"{row['words']} ({row['split']} : {row['training']})" for row in found)
        say(f"{said or 'none'}.", head=f"More often in {where}, of {count(result['tried'])} tried: ")
