"""Commands on data sets: list all, describe one, check one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from core import data as data_room
from core import evaluation, runs
from core.api.options import CliArgument, Settings, Store
from core.api.printing import say, tabulate
from core.cache import get_cache_folder
from core.config import compose
from core.data.findings import plural
from core.data.sources import SOURCES, check_availability
from core.evaluation.baseline_schema import VERSION, BaselineResults
from core.fingerprint import hash_value
from core.formatting import count
from core.runs.background_jobs import Tell
from core.runs.cached_analysis import Analysis, Offer
from core.runs.configuration import configure
from core.runs.store import RunStore
from core.runs.warm_start import START

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
        "Takes up to some minutes; the result is stored.",
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
        words = [word for each in chosen for word in ("--set", each)]
        return "data", "card", *words, "--", self.settings["data.name"]

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
    fitted = Yardsticks.from_dataset(dataset, {}).compute_anyway() if yardstick and dataset.task != "tokens" else {}
    return data_room.card.build_card(dataset, config.text, **fitted)


def data_check(
    data: Annotated[str, CliArgument(metavar="NAME|PATH")],
    settings: Settings = None,
    *,
    start: Annotated[str, CliArgument(name="--from", metavar="RUN")] = "",
    store: Store = None,
) -> dict[str, Any]:
    """Check a file, folder or data set: encoding, columns, labels, rows left out, and whether it can be used.

    Args:
        data: A registered name, a folder or a file.
        start: Also count the rows that this run has learned from.

    Returns:
        The fields of `core.data.card.check_dataset`; for usable data also the `differences` of validation and test
        from training (`core.evaluation.split_differences`). Texts that `start` or a `training.teacher` learned from are
        removed from every split except train; `notes` has their number.
    """
    begun = {START: start} if start else {}
    config = compose("vanilla", {**(settings or {}), **begun, "data.name": data})
    with runs.lineage.plan_lineage(store or RunStore(), config) as (given, unknown):
        differences = evaluation.split_differences.compare_dataset
        found = data_room.card.check_dataset(given, lambda dataset: {"differences": differences(dataset)})
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
