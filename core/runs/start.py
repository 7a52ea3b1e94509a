"""A training that starts from a finished run: which settings come along, and what is copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.config import flat
from core.exceptions import InputError
from core.runs.record import RunRecord, Started
from core.runs.store import RunStore
from core.text.config import READING, TextConfig

if TYPE_CHECKING:
    from core.models.build import Model
    from core.runs.load import LoadedRun
    from core.text.tokenizer import Grown, Tokenizer

START = "training.start"
BODY = (
    *("width", "ngram_buckets", "layers", "ff_width", "feedforward", "norm", "norm_place", "initial"),
    "ngram_buckets",
    *("attention.heads", "attention.qk_width", "attention.rotary", "attention.qk_norm"),
)
"""Settings of the model that what was learned depends on; what a preset stands for is not among them."""


def with_start(settings: Mapping[str, Any], store: RunStore) -> dict[str, Any]:
    """Settings on top of a preset, with those of the run that the training starts from below them.

    How texts are read and the body of the model are that run's, so that all it has learned fits; what sets the preset
    apart (components, terms, positions, pooling, head) is the preset's.

    Raises:
        InputError: no such run, or one that nothing can start from.
    """
    start = settings.get(START)
    if not start:
        return dict(settings)
    known = flat(_checked(store, str(start)).config)
    names = [*(f"text.{name}" for name in READING), *(f"model.{name}" for name in BODY)]
    return {**{name: known[name] for name in names}, **settings}


@dataclass(frozen=True)
class Start:
    """A finished run that a training starts from."""

    source: LoadedRun
    grown: Grown

    @classmethod
    def of(cls, store: RunStore, run: str, texts: Sequence[str], config: TextConfig) -> Start:
        """Its model, and its tokenizer for these training texts.

        Raises:
            InputError: it cannot be started from.
            ConfigError: the settings of how texts are read are not its own.
        """
        from core.runs.load import load_run
        from core.text.tokenizers import adopt_tokenizer

        _checked(store, run)
        source = load_run(store, run)
        return cls(source, adopt_tokenizer(source.tokenizer, texts, config))

    @property
    def tokenizer(self) -> Tokenizer:
        """Of the training."""
        return self.grown.tokenizer

    def into(self, model: Model, classes: Sequence[str]) -> Started:
        """Copy what fits into a fresh model; what became of it, for the record."""
        from core.models.encoder import EncoderClassifier
        from core.models.start import start_from

        known, record = self.source.model, self.source.record
        assert isinstance(model, EncoderClassifier)  # the settings refuse all others
        assert isinstance(known, EncoderClassifier)
        copied = start_from(
            model, known, origins=self.grown.origins, same_classes=tuple(classes) == tuple(record.classes)
        )
        return {
            "run": record.run,
            "numbers": copied.numbers,
            "of": copied.of,
            "fresh": list(copied.fresh),
            "partly": list(copied.partly),
            "words": len(self.grown.origins),
        }


def _checked(store: RunStore, run: str) -> RunRecord:
    record = store.read(run)
    if record.config.model.family != "encoder":
        raise InputError(f"{START}={run}: a {record.preset} has no layers to start from; choose a run of an encoder")
    if record.status != "done":
        raise InputError(f"{START}={run}: this run is {record.status}; choose a finished one")
    return record
