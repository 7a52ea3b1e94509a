"""Fine-tuned classifiers of others as runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core import runs
from core.api import options
from core.api.printing import say, tabulate
from core.cache import get_cache_folder
from core.fingerprint import hash_value
from core.formatting import count
from core.paths import resolve_path
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.store import RunStore

if TYPE_CHECKING:
    from core.runs.evaluation_data import DataRequest


@dataclass(frozen=True, eq=False)
class ClassifierOpening(Analysis[dict[str, Any]]):
    """The opening of a classifier as a new run, as a background job that is done again at every request."""

    directory: str
    wanted: DataRequest
    title: str

    name, again = "open", True
    offer = Offer("Open", "Opening the classifier", "The classifier was not opened", "This trains nothing.")

    @classmethod
    def from_request(cls, store: RunStore, folder: str, wanted: DataRequest, title: str = "") -> ClassifierOpening:
        """Return the job that opens a classifier under a name (`title`), evaluated on the data of a request."""
        wanted = replace(wanted, asked=("open", folder, *(("--name", title) if title else ())))
        key = hash_value({"wanted": wanted, "runs": str(store.folder.absolute())})
        return cls(get_cache_folder() / "openings", key, store, folder, wanted, title)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command-line arguments of the opening."""
        return tuple(runs.evaluation_data.build_arguments("", self.wanted))

    def find(self, tell: Tell) -> dict[str, Any]:
        """Open the classifier as a new run; raises the errors of `core.runs.published_classifier`."""
        folder = Path(self.directory)
        return runs.published_classifier.open_classifier(self.store, folder, self.wanted, self.title, tell)


def open_classifier(
    folder: Annotated[Path, options.CliArgument("The folder of the classifier, with config.json.")],
    *,
    data: Annotated[str | Path, options.CliArgument(kind=str)] = "",
    name: str = "",
    split: Annotated[str, options.CliArgument("Default: test, or the whole of a single file.")] = "",
    rename: Annotated[
        Mapping[str, str] | None, options.make_map_option("write old=new, a label of the data and a class")
    ] = None,
    settings: options.Settings = None,
    on_progress: options.OnProgress = None,
    store: options.Store = None,
) -> dict[str, Any]:
    """Open a fine-tuned classifier of the transformers library as a run, without training.

    Of BERT, RoBERTa, XLM-R, DistilBERT and ELECTRA, from config.json, tokenizer.json and safetensors. No code in the
    folder is run. The run refers to the encoder's weights in the folder, which has to stay; longer texts are cut.

    Args:
        data: Labelled data to evaluate it on; the result is its test split. Default: it is not evaluated.
        name: The name of the run; default: that of the folder.
        rename: The class that a label of the data means; OLD= leaves its rows out. Repeat for more.
    """
    where = str(resolve_path(str(folder), folders=True).absolute())
    wanted = runs.evaluation_data.DataRequest(str(data), split, rename or {}, settings=settings or {})
    return ClassifierOpening.from_request(store or RunStore(), where, wanted, name).compute_anyway(on_progress)


def print_open_classifier(result: dict[str, Any]) -> None:
    """Print the name and classes of an opened classifier, and its metrics if it was evaluated."""
    say(f": {result['kind']}, classes {', '.join(result['classes'])}", head=result["run"])
    for note in result["notes"]:
        say(note)
    if result["metrics"]:
        say(f"{result['data']}, {result['split']}, n = {count(result['n'])}")
        tabulate([{"metric": name, "value": value} for name, value in result["metrics"].items()])
