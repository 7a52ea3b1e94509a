"""A function from texts to probabilities in place of a run's model, in memory: each text is given to it once."""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, cast

import numpy as np

import core
from core.cache import get_cache_folder
from core.config import RunConfig
from core.data.config import DataConfig
from core.evaluation.inference import Predictions
from core.exceptions import InputError, NotAvailable
from core.interpret.attribution_math import TINY
from core.models.builder import Model
from core.models.config import ModelConfig
from core.models.trace import Intervene
from core.paths import ELSEWHERE, UNKNOWN
from core.runs.evaluation_data import DataRequest, read_evaluation_data
from core.runs.load import LoadedRun
from core.runs.published_classifier import check_name, store_run
from core.runs.record import RunRecord
from core.runs.store import RunStore, make_slug, refuse_reserved
from core.text.config import TextConfig
from core.text.subword_tokenizers import ALPHABET, BpeTokenizer

INSIDE = "only the probabilities of a wrapped function are known, and this needs what is inside a model"
Function = Callable[[list[str]], Any]
CLOSE = 1e-3  # how far from 1 the probabilities of a text may sum


class UnknownModel:
    """The inside of a function, of which nothing is known: every attribute but its capabilities is refused."""

    provides = frozenset[str]()

    def __getattr__(self, name: str) -> NoReturn:
        raise NotAvailable(INSIDE)

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Refuse to compute anything from token ids."""
        raise NotAvailable(INSIDE)


@dataclass(frozen=True, eq=False)
class WrappedModel(LoadedRun):
    """A function from a list of n texts to probabilities (n, C), as a run that can be explained and evaluated."""

    function: Function = field(kw_only=True)
    answers: dict[str, np.ndarray] = field(default_factory=dict, kw_only=True)  # text → probabilities (C,), float64

    @classmethod
    def from_function(cls, function: Function, classes: Sequence[object], name: str) -> "WrappedModel":
        """Return a function as a run in memory; InputError for classes or a name that cannot be used."""
        names, slug = tuple(str(each) for each in classes), make_slug(name)
        refuse_reserved(slug)
        if len(names) < 2 or len(set(names)) < len(names) or not all(map(str.strip, names)) or not slug:
            raise InputError("wrap needs two classes or more with different names, and a name with a letter or digit")
        text = TextConfig(tokenizer="bpe")
        config = RunConfig(DataConfig(name=ELSEWHERE + UNKNOWN), text, ModelConfig(family="function"))
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        versions = {"sentiscope": core.__version__}
        record = RunRecord(slug, "function", "done", config, created, classes=names, versions=versions)
        tokenizer = BpeTokenizer(ALPHABET, [], text, 0)  # knows every word and cuts no text
        return cls(record, cast(Model, UnknownModel()), tokenizer, get_cache_folder() / "none", function=function)

    def predict(
        self, texts: Sequence[str], *, intervene: Intervene = None, passage: int = 0, **_: object
    ) -> Predictions:
        """Return the probabilities of texts, asking the function for new ones; InputError: it returns others."""
        if intervene is not None:
            self.model(intervene)
        if passage:
            return self.predict_by_passage(texts, passage).whole
        if new := [text for text in dict.fromkeys(texts) if text not in self.answers]:
            self.answers.update(zip(new, self._ask(new), strict=True))
        found = np.array([self.answers[text] for text in texts]).reshape(len(texts), len(self.record.classes))
        logits = np.log(found.clip(TINY)).astype(np.float32)
        return Predictions(logits, found, logits)

    def _ask(self, texts: list[str]) -> np.ndarray:
        """Return the answers of the function, (n, C) float64; InputError: they are no probabilities."""
        given, shape = self.function(list(texts)), (len(texts), len(self.record.classes))
        wrong = f"the function of '{self.record.run}' returned"
        try:
            found = np.asarray(given, np.float64)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"{wrong} no table of numbers, but {type(given).__name__} ({error!s:.80})") from error
        if found.shape != shape:
            raise InputError(f"{wrong} the shape {found.shape}; {shape[0]} texts and {shape[1]} classes need {shape}")
        for text, row in zip(texts, found, strict=True):
            if not ((row >= 0).all() and abs(row.sum() - 1) <= CLOSE):  # also not for NaN
                said = f"{row.round(3).tolist()} for {text!r:.60}"
                raise InputError(f"{wrong} {said}: probabilities that sum to 1 are needed")
        return found


def save_function(store: RunStore, model: WrappedModel, name: str, wanted: DataRequest) -> RunRecord:
    """Write a function as a new run without weights, evaluated on labelled data; return its record."""
    check_name(store, name)
    given = read_evaluation_data(model.record, wanted)
    notes = ("the model is a function, which is not stored; what it learned from is not known", *given.notes)
    return store_run(store, replace(model, record=replace(model.record, data_notes=notes)), name, given, {})
