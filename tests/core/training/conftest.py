"""A task that a tiny model can learn: only texts of label 1 contain token 2."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from core.models.builder import build_model
from core.models.config import AttentionConfig, ModelConfig
from core.text.token_table import TokenTable
from core.training.config import TrainingConfig
from core.training.loop import Training
from core.training.training_stage import Events, Examples

ATTENTION = AttentionConfig(heads=2, qk_width="half", components=3, mixing="additive")
MODEL = ModelConfig(width=8, layers=2, ff_width=8, norm="rms", feedforward="swiglu", attention=ATTENTION)
CONFIG = TrainingConfig(epochs=3, batch_size=8, lr=1e-2, patience=0)


def examples(count, seed=0):
    random = np.random.default_rng(seed)
    texts = [random.integers(3, 20, random.integers(0, 9)).tolist() for _ in range(count)]
    labels = random.integers(0, 2, count)
    told = [[*text, 2] if label else text for text, label in zip(texts, labels, strict=True)]
    return Examples(TokenTable.from_ids(told), labels)


def accuracy(labels, logits):
    return {"accuracy": float((logits.numpy().argmax(1) == labels).mean()), "roc_auc": None}


def training(folder: Path, events=None, score=accuracy, model=MODEL, rows=50, **settings) -> Training:
    config = dataclasses.replace(CONFIG, **settings)
    torch.manual_seed(config.seed)
    parts = {"model": build_model(model, vocabulary=20, classes=2), "config": config, "classes": 2, "max_length": 12}
    parts |= {"training": examples(rows), "validation": examples(20, seed=1), "score": score}
    parts |= {"history": folder / "history.jsonl", "checkpoint": folder / "checkpoint"}
    return Training(**parts, device=torch.device("cpu"), events=events or Events())


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A finished training of three epochs; read-only."""
    job = training(tmp_path_factory.mktemp("whole"))
    job.run()
    return job


@pytest.fixture
def make(tmp_path):
    """Build a training run in its own folder: make(name="a", **settings)."""

    def build_one(name="run", **settings):
        (tmp_path / name).mkdir(exist_ok=True)
        return training(tmp_path / name, **settings)

    build_one.model = MODEL
    return build_one
