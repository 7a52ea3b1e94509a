"""Recording of both trainings of the lesson `data`, in ten minutes: `python tests/support/record_training.py`."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.atomic import write_text
from core.data.dataset import TRAIN, VALIDATION, Dataset
from core.data.load import load_dataset
from core.evaluation.inference import compute_probabilities, predict_texts
from core.evaluation.metrics import evaluate
from core.lessons.data import FILE, MEASURED, PRESET, PROBES, SETTINGS
from core.models.builder import Model, build_model
from core.runs.configuration import configure
from core.text.token_table import build_token_table
from core.text.tokenizer import Tokenizer
from core.text.tokenizer_factory import fit_tokenizer
from core.text.word_spans import find_word_spans
from core.training.history import Row
from core.training.loop import Training
from core.training.training_stage import LOGGED_STEPS, Events, Examples

DISTANCE = 1.13  # each recorded step is at least by this factor later than the one before
SEEDS = range(1, 5)  # of the further trainings on few sentences, of which only the end is kept


class Recorder(Events):
    """Keeps loss, accuracies and answers at some steps of a training."""

    def __init__(self, model: Model, tokenizer: Tokenizer, dataset: Dataset) -> None:
        """Choose the sentences whose answers are counted, evenly from training and validation."""
        self.model, self.tokenizer = model, tokenizer
        self.planned = 0  # steps of the whole training
        self.steps: list[dict[str, Any]] = []
        self._losses: list[float] = []
        splits = [dataset.splits[name] for name in (TRAIN, VALIDATION)]
        self._measured = [rows.iloc[np.linspace(0, len(rows) - 1, MEASURED).astype(int)] for rows in splits]

    def on_row(self, row: Row) -> None:
        """Record a logged step if it is late enough after the last one."""
        if row["kind"] != "step":
            return
        self._losses += [] if row["loss"] is None else [row["loss"]]  # there is none before the first step
        last = row["step"] > self.planned - max(1, self.planned // LOGGED_STEPS)
        if self.steps and not last and row["step"] < DISTANCE * self.steps[-1]["step"]:
            return
        self.model.eval()
        known, fresh = (self._measure(rows["text"].tolist(), rows["label"].to_numpy()) for rows in self._measured)
        answers = [round(float(each), 3) for each in self._predict(list(PROBES))[:, 1]]
        self.model.train()
        loss = round(float(np.mean(self._losses)), 3) if self._losses else None
        self.steps.append({"step": row["step"], "loss": loss, "known": known, "fresh": fresh, "answers": answers})
        self._losses = []

    def _measure(self, texts: list[str], labels: np.ndarray) -> float:
        return round(float((self._predict(texts).argmax(1) == labels).mean()), 3)

    def _predict(self, texts: list[str]) -> np.ndarray:
        return predict_texts(self.model, self.tokenizer, texts, task="single").probabilities


def record(name: str, seed: int = 0) -> dict[str, Any]:
    """Train once with the settings of that name, and return what was recorded on the way."""
    config = configure("built-in", PRESET, {**SETTINGS[name], "training.seed": seed, "training.threads": 1})
    dataset = load_dataset(config.data)
    texts = dataset.splits[TRAIN]["text"].tolist()
    tokenizer = fit_tokenizer(texts, config.text, None)
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = build_model(
        config.model, vocabulary=tokenizer.size, classes=len(dataset.classes), max_length=tokenizer.max_length
    )
    recorder = Recorder(model, tokenizer, dataset)

    def build_examples(split: str) -> Examples:
        return Examples(
            build_token_table(tokenizer, dataset.splits[split]["text"].tolist()), dataset.get_targets(split)
        )

    with tempfile.TemporaryDirectory() as folder:
        training = Training(
            model=model,
            training=build_examples(TRAIN),
            validation=build_examples(VALIDATION),
            config=config.training,
            classes=len(dataset.classes),
            max_length=tokenizer.max_length,
            score=lambda labels, logits: evaluate(labels, compute_probabilities(logits, "single").numpy(), "single"),
            history=Path(folder) / "history.jsonl",
            checkpoint=Path(folder) / "checkpoint",
            device=torch.device("cpu"),
            events=recorder,
        )
        recorder.planned = training.steps
        training.run()
    return {
        "rows": len(texts),
        "words": tokenizer.size,
        "unknown": [_list_unknown(tokenizer, text) for text in PROBES],
        "steps": recorder.steps,
    }


def _list_unknown(tokenizer: Tokenizer, text: str) -> list[str]:
    words = [text[start:end] for start, end in find_word_spans(text)]
    return [word for word in words if tokenizer.compute_unknown_share(word)]


def main() -> None:
    """Record both trainings, and the last answers of further ones on few sentences, and write them."""
    found = {name: record(name) for name in SETTINGS}
    found["few"]["seeds"] = [record("few", seed)["steps"][-1]["answers"] for seed in SEEDS]
    made = f"python -m {__spec__.name if __spec__ else __name__}, torch {torch.__version__}, one thread"
    write_text(FILE, json.dumps({"made": made, **found}, separators=(",", ":")).replace('{"step"', '\n{"step"') + "\n")


if __name__ == "__main__":
    main()
