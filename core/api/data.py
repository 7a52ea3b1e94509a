"""Commands on data sets: list all, describe one, check one."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core import data as data_room
from core import error_analysis, evaluation, runs
from core.api.options import Author, CliArgument, Settings, Store
from core.api.printing import make_printer, say, tabulate, write_ends
from core.atomic import write_named
from core.cache import get_cache_folder
from core.config import compose
from core.data.sources import SOURCES, check_availability
from core.evaluation.baseline_schema import VERSION, BaselineResults
from core.exceptions import InputError
from core.fingerprint import hash_value
from core.formatting import count, format_csv, percent, plural
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.configuration import START, configure
from core.runs.store import RunStore

if TYPE_CHECKING:
    from core.data.dataset import Dataset


def data_list() -> dict[str, Any]:
    """List the named data sets: which can be opened on this machine, and how to get the others."""
    return {
        "data": [
            {
                "name": source.name,
                "title": source.title,
                "task": source.task,
                "classes": list(source.classes),
                "language": source.language,
                "licence": source.licence,
                "state": (state := check_availability(source)).state,
                "lacking": state.lacking,
                "published": layout.where if (layout := source.published) else "",
                "layout": layout.describe_layout() if layout else "",
                "rows": dict(layout.rows) if layout else {},
                "checked": source.checked,
                "note": source.note,
            }
            for source in SOURCES.values()
        ]
    }


@dataclass(frozen=True, eq=False)
class Yardsticks(Analysis[dict[str, Any]]):
    """The scores of two TF-IDF baselines on a data set: one of words, one also of character n-grams (cached job)."""

    data: Dataset = field(repr=False)
    settings: Mapping[str, Any]

    name = "tfidf"
    shape = BaselineResults
    offer = Offer(
        "Measure TF-IDF",
        "Fitting TF-IDF with logistic regression",
        "TF-IDF could not be measured",
        "Takes a few minutes; the result is stored.",
    )

    @classmethod
    def from_dataset(cls, data: Dataset, settings: Mapping[str, Any]) -> Yardsticks:
        """Return the job that scores the TF-IDF baselines of a data set; the cache key depends on data and classes."""
        depends = {"version": VERSION, "data": data.fingerprint, "classes": data.classes}
        return cls(get_cache_folder() / "yardsticks", hash_value(depends), RunStore(), data, settings)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command-line arguments that compute the TF-IDF baselines of a data set."""
        chosen = [f"{name}={value}" for name, value in self.settings.items() if name != "data.name"]
        return "data", "card", *[word for each in chosen for word in ("--set", each)], "--", self.settings["data.name"]

    def find(self, tell: Tell) -> dict[str, Any]:
        """Fit both TF-IDF baselines on a data set and return their scores."""
        tfidf, found = evaluation.baseline, {}
        for name, model in zip(BaselineResults.__annotations__, tfidf.YARDSTICKS, strict=True):
            tell(f"fitting {model}", None)
            found[name] = tfidf.fit_baseline(self.data, model)
        return found


def data_card(
    data: Annotated[str, CliArgument(metavar="NAME|PATH")], settings: Settings = None, *, yardstick: bool = True
) -> dict[str, Any]:
    """Count rows, classes, lengths, vocabulary and duplicates of a data set, with its licence and a TF-IDF baseline.

    Args:
        data: A registered name, a folder or a file.
        yardstick: Also fit TF-IDF with logistic regression, on words and on words with character n-grams; this takes
            seconds to minutes, and is left out for data with a tag per word.
    """
    config = configure(data, "vanilla", settings)
    dataset = data_room.load.load_dataset(config.data)
    asked = {**(settings or {}), "data.name": data}
    fitted = Yardsticks.from_dataset(dataset, asked).compute_anyway() if yardstick and dataset.task != "tokens" else {}
    return data_room.card.build_card(dataset, config.text, **fitted)


def data_check(
    data: Annotated[str, CliArgument(metavar="NAME|PATH")],
    settings: Settings = None,
    *,
    start: Annotated[str, CliArgument(name="--from", metavar="RUN")] = "",
    lexicon: Annotated[str, CliArgument(metavar="NAME|FILE")] = "",
    store: Store = None,
) -> dict[str, Any]:
    """Check a file, folder or data set: encoding, columns, labels, rows left out, and whether it can be used.

    Args:
        data: A registered name, a folder or a file.
        start: Also count the rows that this run has learned from.
        lexicon: Also measure how this lexicon fits: vader, or a file.

    Returns:
        The fields of `core.data.card.check_dataset`; for usable data also the `differences` of validation and test
        from training (`core.evaluation.split_differences`). Texts that `start` or a `training.teacher` learned from are
        removed from every split except train; `notes` has their number. With a lexicon also `lexicon`
        (`core.error_analysis.lexicon_fit.fit_lexicon`).
    """
    begun = {START: start} if start else {}
    config = compose("vanilla", {**(settings or {}), **begun, "data.name": data})
    with runs.lineage.plan_lineage(store or RunStore(), config) as (given, unknown):
        differences, fit = evaluation.split_differences.compare_dataset, error_analysis.lexicon_fit.fit_lexicon

        def describe_splits(dataset: Any) -> dict[str, Any]:
            own = {"lexicon": fit(lexicon, dataset)} if lexicon else {}
            return {"differences": differences(dataset), **own}

        found = data_room.card.check_dataset(given, describe_splits)
    return {**found, "notes": [*found["notes"], *unknown]} if found["ok"] else found


def print_data_list(result: dict[str, Any]) -> None:
    """Print a row for each named data set, and how to get those that are not on this machine."""
    tabulate(result["data"], ("name", "title", "classes", "state", "checked"))
    for each in result["data"]:
        if each["published"] and each["lacking"]:
            say(f"{each['name']}: {each['lacking']}")


def print_data_check(result: dict[str, Any]) -> None:
    """Print the facts about a checked data set, one sentence each; a problem is printed separately as an error."""
    for file in result["files"]:
        _print_file(file, result["problem"])
    if not result["ok"]:
        return
    if not result["files"]:
        _print_decisions(result["decisions"])
    splits = ", ".join(f"{name} {count(rows)}" for name, rows in result["splits"].items())
    say(f"{result['data']} can be used: {plural(len(result['classes']), 'class')}; rows: {splits}.")
    known = {found["message"] for file in result["files"] for found in file.get("findings", ())}
    for note in result["notes"]:
        if note not in known:
            say(f"Note: {note}.")
    for each in result["differences"]:
        for warning in each["warnings"]:
            say(warning, head="Warning: ")
    if fit := result.get("lexicon"):
        said = f"{fit['lexicon']} lists {percent(fit['coverage'])} of the words; "
        said += f"{percent(fit['texts_covered'])} of the training texts have one. "
        if fit["agreement"] is None:
            said += f"No agreement: {fit['reason']}."
        else:
            said += f"In {count(fit['decided'])} its sum has a sign; it agrees with the label in "
            said += f"{percent(fit['agreement'])} ({' to '.join(map(percent, fit['interval']))}); "
            said += f"always the larger polarity: {percent(fit['larger'])}."
        say(said, head="Lexicon: ")
        shares = (
            f"{percent(each['value'])} of {each['tokenizer']} tokens ({write_ends(each['interval'], percent)})"
            for each in fit["neutral"]
        )
        say(f"{'; '.join(shares)}.", head="Not in the lexicon: ")


def _print_decisions(decisions: Sequence[Mapping[str, Any]]) -> None:
    for each in decisions:
        if each["alternatives"]:
            others, how = ", ".join(each["alternatives"][:4]), "guessed" if each["guessed"] else "found"
            proof = f" As read: {each['proof']}" if each["guessed"] else ""
            of = f" of {each['file']}" if each["file"] else ""
            chosen = f"{each['what'].capitalize()}{of} {how}: {each['chosen']}"
            say(f"{chosen}; or set {each['setting']} to {others}.{proof}")


def _print_file(file: Mapping[str, Any], problem: str) -> None:
    if file.get("kind"):
        written = ", ".join(
            each for each in (file["encoding"], file["delimiter"] and f"columns divided by {file['delimiter']}") if each
        )
        shape = f"{plural(file['rows'], 'row')} of {plural(len(file['columns']), 'column')}"
        part = f", '{file['sheet']}' of {plural(len(file['sheets']), 'table')}" if len(file["sheets"]) > 1 else ""
        say(f"{file['file']}: {file['kind']}{f' ({written})' if written else ''}{part}, {shape}.")
        names = [each["name"] for each in file["columns"]]
        numbered = " (numbered, since no row names them)" if names == list(map(str, range(len(names)))) else ""
        say(f"Columns{' (named by the first row)' if file['header'] else numbered}: {', '.join(names)}.")
        if file["text"] and file["pair"]:
            say(f"The pairs are in '{file['text']}' and '{file['pair']}', the labels in '{file['label']}'.")
        elif file["text"]:
            say(f"The texts are in '{file['text']}', the labels in '{file['label']}'.")
        if classes := [f"{name} ({plural(rows, 'row')})" for name, rows in file["classes"].items()]:
            say(f"Classes: {', '.join(classes)}.")
        _print_decisions(file["decisions"])
        for found in file["findings"]:
            say(f"{found['level'].capitalize()}: {found['message']}.")
    elif file.get("sheets"):
        say(f"{file['file']}: '{file['sheet']}' of the tables {', '.join(file['sheets'])}; data.sheet names another.")
    if file["problem"] and file["problem"] != problem:  # `problem` is printed as the error
        say(f"{file['problem']}.")


def counter_examples_list(*, run: Annotated[str, CliArgument()] = "", store: Store = None) -> dict[str, Any]:
    """List all stored counter-examples (sentences that a model gets wrong), newest first.

    Args:
        run: A run whose current predictions are shown for them.

    Returns:
        `counter_examples`: `id`, `text`, `label` (the true class, or several labels separated by semicolons, or empty),
        `labels` (the same as a list), `note`, `author`, `link`, `time`; with a run also `predicted`, `p_label` (its
        probability of the label; of several labels the lowest), and `breaks`, whether it is wrong; both are None if the
        run has no such class.
    """
    store = store or RunStore()
    found = error_analysis.counter_examples.read_examples(store.folder)
    rows = list(map(_to_dict, found))
    if run:
        said = error_analysis.counter_examples.predict_examples(runs.load.load_run(store, run), found)
        rows = [{**row, **dataclasses.asdict(answer)} for row, answer in zip(rows, said, strict=True)]
    return {"counter_examples": rows, **({"run": run} if run else {})}


def counter_examples_keep(
    text: Annotated[str, CliArgument("The sentence.", pair=True)],
    label: Annotated[
        str | Collection[str],
        CliArgument(kind=list[str], parse=lambda labels: labels[0] if len(labels) == 1 else labels, place=False),
    ],
    *,
    note: str = "",
    author: Author = "",
    link: str = "",
    run: str = "",
    store: Store = None,
) -> dict[str, Any]:
    """Store a counter-example: a sentence with the label that a model should predict.

    Args:
        label: The expected class; repeat for several labels; 'none of them' means no label.
        note: What is wrong.
        link: Where it was found.
        run: A run that has the class.
    """
    store, labels = store or RunStore(), error_analysis.counter_examples.parse_labels(label)
    if run:
        record = store.read(run)
        if strange := [each for each in labels if each not in record.classes]:
            there = ", ".join(record.classes)
            raise InputError(f"--label {strange[0]!r:.60}: run '{run}' has no such class; it has {there}")
        if record.task == "single" and len(labels) != 1:
            raise InputError(f"--label: run '{run}' gives each text one class; name one")
    return _to_dict(error_analysis.counter_examples.keep_example(store.folder, text, labels, note, author, link))


def _to_dict(one: error_analysis.counter_examples.CounterExample) -> dict[str, Any]:
    return {**dataclasses.asdict(one), "labels": list(one.labels)}


def counter_examples_remove(
    id: Annotated[str, CliArgument("As `list` shows it.", metavar="ID")], *, author: Author = "", store: Store = None
) -> dict[str, Any]:
    """Remove a counter-example from the list; training runs that used it keep it."""
    error_analysis.counter_examples.remove_example((store or RunStore()).folder, id, author)
    return {"id": id, "removed": True}


def counter_examples_export(
    file: Annotated[Path | str, CliArgument("CSV.", metavar="FILE")], *, store: Store = None
) -> dict[str, Any]:
    """Write all counter-examples to a CSV file that can be trained on."""
    rows = error_analysis.counter_examples.read_examples((store or RunStore()).folder)
    write_named("FILE", file, format_csv(error_analysis.counter_examples.build_table(rows)))
    return {"file": str(file), "rows": len(rows)}


def print_counter_examples_list(result: dict[str, Any]) -> None:
    """Print a row for each counter-example (a sentence that a model gets wrong), and how many a run gets wrong."""
    rows = result["counter_examples"]
    if not rows:
        say("None are stored yet: `sentiscope counter-examples keep TEXT --label CLASS`.")
        return
    columns: dict[str, Any] = {"id": "id", "label": _join_labels}
    if "run" in result:
        known = [row for row in rows if row["breaks"] is not None]
        wrong = sum(row["breaks"] for row in known)
        say(f"{result['run']} is wrong on {wrong} of the {len(known)} whose class it has.")
        columns |= {"predicted": "predicted", "p": "p_label"}
    tabulate(rows, columns | {name: name for name in ("text", "note", "author")}, "id")
    say(f"{plural(len(rows), 'counter-example')}; `sentiscope train --add counter-examples` trains with them.")


print_counter_examples_keep = make_printer(lambda r: f"{_join_labels(r)}: {r['text']}")
print_counter_examples_remove = make_printer(lambda r: f"{r['id']} is gone.")
print_counter_examples_export = make_printer(lambda r: f"{plural(r['rows'], 'counter-example')} in {r['file']}.")


def _join_labels(row: dict[str, Any]) -> str:
    return ", ".join(row["labels"]) or evaluation.metrics.NOTHING
