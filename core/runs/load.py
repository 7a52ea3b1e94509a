"""A finished run back in memory: its model, ready to be asked and looked into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.evaluation.predict import Predictions, predict_texts
from core.exceptions import RunDamaged
from core.interpret.sentence import SentenceView, inspect_text
from core.models.build import Model, build
from core.models.trace import Intervention
from core.runs.record import TOKENIZER, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.runs.weights import read_weights
from core.text.tokenizer import Tokenizer
from core.text.tokenizers import load_tokenizer


@dataclass(frozen=True)
class LoadedRun:
    """A run with its model in evaluation mode on the CPU; shared by all readers, so nobody changes it."""

    record: RunRecord
    model: Model
    tokenizer: Tokenizer

    def predict(self, texts: Sequence[str]) -> Predictions:
        """What it says of texts, in their order, empty ones included; probabilities at the temperature of the run."""
        task, temperature = self.record.task, self.record.temperature
        return predict_texts(self.model, self.tokenizer, texts, task=task, temperature=temperature)

    def inspect(self, text: str, intervene: Intervention | None = None) -> SentenceView:
        """One text with everything inside the model; probabilities at the temperature of the run.

        Raises:
            InputError: the intervention names something the model does not have.
        """
        record = self.record
        return inspect_text(
            self.model,
            self.tokenizer,
            record.classes,
            text,
            task=record.task,
            intervene=intervene,
            temperature=record.temperature,
        )


def load_run(store: RunStore, run: str) -> LoadedRun:
    """The model with the best weights so far, and its tokenizer.

    Raises:
        RunNotFound: no such run.
        RunDamaged: a file is missing or cannot be read; the message names it.
    """
    record, folder = store.read(run), store.path(run)
    for name in (TOKENIZER, WEIGHTS):
        if not (folder / name).is_file():
            raise RunDamaged(f"{folder / name}: not there; {_why(record)}")
    tokenizer = load_tokenizer(folder / TOKENIZER)
    size, length = tokenizer.size, tokenizer.max_length
    model = build(record.config.model, vocabulary=size, classes=len(record.classes), max_length=length)
    read_weights(model, folder / WEIGHTS)
    return LoadedRun(record, model.requires_grad_(False).eval(), tokenizer)


def _why(record: RunRecord) -> str:
    """Of a file that is not there: when it comes, or what to do."""
    if record.status in ("queued", "running"):
        return f"run '{record.run}' is {record.status} and writes it after the first epoch"
    if record.status == "done":
        return f"run '{record.run}' had written it, so it was removed later: train or import the run again"
    return f"run '{record.run}' {'was' if record.status == 'cancelled' else 'has'} {record.status}: resume or remove it"
