"""What is said of a training run before it begins."""

from __future__ import annotations

import shlex

from core.config import compose
from core.runs.budget import Estimate
from dashboard.figures.train_plan import command_line, leaf, time_text

CONFIG = compose("ndt-01-n3", {"training.epochs": 4})


def test_a_guess_is_called_a_guess():
    assert time_text(Estimate(1000, 52.0, 0), CONFIG).endswith(
        "a guess: nothing similar has been trained on this machine yet"
    )


def test_a_measured_time_says_what_it_rests_on_without_false_digits():
    said = time_text(Estimate(1000, 41.7, 2), CONFIG)
    assert said == "About 40 s at most · 1\u202f000 steps in 4 epochs · measured on 2 earlier runs here"
    assert "· up to 1\u202f000 steps" in time_text(Estimate(1000, 41.7, 2, counted=False), CONFIG)
    assert "About 4 min 0 s at most" in time_text(Estimate(9, 228.0, 1), CONFIG)
    assert "About 2 h 0 min at most" in time_text(Estimate(9, 7100.0, 1), CONFIG)


def test_what_cannot_be_known_is_not_said():
    assert "known after its first steps" in time_text(None, CONFIG)
    assert "in one go" in time_text(None, compose("tfidf-logreg"))


def test_the_command_line_does_the_same():
    said = command_line("my data.csv", "vanilla", {"data.name": "x", "training.lr": "0.001"}, "first")
    parts = ["sentiscope", "train", "--data=my data.csv", "--model=vanilla", "--set=training.lr=0.001", "--name=first"]
    assert shlex.split(said) == parts


def test_a_setting_is_written_as_it_is_typed():
    assert leaf(CONFIG, "model.attention.row_norm") == "false"
    assert leaf(CONFIG, "training.epochs") == "4"
