"""The earlier runs that a training depends on: the run that it starts from, and its teacher run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.config import RunConfig, flatten_config
from core.data.dataset import Task
from core.exceptions import ConfigError, InputError, SentiscopeError
from core.runs.record import RunRecord, WarmStart
from core.runs.store import RunStore
from core.text.config import READING, TextConfig
from core.training.config import TFIDF

if TYPE_CHECKING:
    from core.models.builder import Model
    from core.runs.load import LoadedRun
    from core.text.tokenizer import GrownTokenizer, Tokenizer

START = "training.start"
BODY = (
    *("width", "ngram_buckets", "layers", "ff_width", "feedforward", "norm", "norm_place", "initial"),
    "ngram_buckets",
    *("attention.heads", "attention.qk_width", "attention.rotary", "attention.qk_norm"),
)
"""Model settings that must be equal for the weights to fit; those that define a preset are not among them."""


def add_start_settings(settings: Mapping[str, Any], store: RunStore) -> dict[str, Any]:
    """Add to the settings the text and model settings of the run that a training starts from, if any.

    Text settings and encoder sizes are taken from that run, so that its weights fit; settings that define the preset
    (components, terms, positions, pooling, head) are not. Raises InputError if no training can start from the run.
    """
    start = settings.get(START)
    if not start:
        return dict(settings)
    known = flatten_config(_read_start_run(store, str(start)).config)
    names = [*(f"text.{name}" for name in READING), *(f"model.{name}" for name in BODY)]
    return {**{name: known[name] for name in names}, **settings}


@dataclass(frozen=True)
class Start:
    """A finished run that a training starts from, with its tokenizer extended for the new texts."""

    source: LoadedRun
    grown: GrownTokenizer

    @classmethod
    def from_run(cls, store: RunStore, run: str, texts: Sequence[str], config: TextConfig) -> Start:
        """Load the run to start from, and extend its tokenizer by words of the new training texts.

        Raises InputError if no training can start from the run, ConfigError if its text settings differ.
        """
        from core.runs.load import load_run
        from core.text.tokenizer_factory import extend_tokenizer

        _read_start_run(store, run)
        source = load_run(store, run)
        return cls(source, extend_tokenizer(source.tokenizer, texts, config))

    @property
    def tokenizer(self) -> Tokenizer:
        """Return the extended tokenizer of a training that starts from another run."""
        return self.grown.tokenizer

    def copy_into(self, model: Model, classes: Sequence[str]) -> WarmStart:
        """Copy the weights of the start run that fit into a new model; return a summary for the run record."""
        from core.models.encoder import EncoderClassifier
        from core.models.warm_start import copy_weights

        known, record = self.source.model, self.source.record
        assert isinstance(model, EncoderClassifier)  # settings allow no other model
        assert isinstance(known, EncoderClassifier)
        same = tuple(classes) == tuple(record.classes)
        copied = copy_weights(model, known, origins=self.grown.origins, same_classes=same)
        found: WarmStart = {"run": record.run, "numbers": copied.numbers, "of": copied.of}
        return {**found, "fresh": [*copied.fresh], "partly": [*copied.partly], "words": len(self.grown.origins)}


def _read_start_run(store: RunStore, run: str) -> RunRecord:
    record = store.read(run)
    if record.config.model.family != "encoder":
        raise InputError(f"{START}={run}: a {record.preset} has no layers to start from; choose a run of an encoder")
    if record.status != "done":
        raise InputError(f"{START}={run}: this run is {record.status}; choose a finished one")
    return record


def find_teacher(config: RunConfig, store: RunStore) -> RunRecord | None:
    """Return the teacher run of a training, or None if it has no teacher run; ConfigError: no such finished run."""
    name = config.training.teacher
    if name in ("", TFIDF):
        return None
    try:
        record = store.read(name)
    except SentiscopeError as error:
        raise ConfigError(f"training.teacher={name}: tfidf, or the name of a finished run; {error}") from error
    if record.status != "done":
        raise ConfigError(f"training.teacher={name}: this run is {record.status}; a teacher has finished its training")
    return record


def check_classes(run: RunRecord, classes: Sequence[str], task: Task) -> None:
    """Raise ConfigError if a teacher run has another task or other classes; the order of classes does not matter."""
    if run.task != task:
        kinds = {"single": "one label per text", "multi": "several labels per text"}
        raise ConfigError(f"training.teacher={run.run}: knows {kinds[run.task]}, and these data have {kinds[task]}")
    if set(run.classes) != set(classes):
        theirs, ours = ", ".join(run.classes), ", ".join(classes)
        raise ConfigError(
            f"training.teacher={run.run}: its classes are {theirs:.200}, those of these data {ours:.200}; "
            "give them the same names with data.rename, or choose training.teacher=tfidf"
        )
