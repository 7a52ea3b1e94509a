"""How long a training will take, said before it starts."""

from __future__ import annotations

import dataclasses

import pytest

from core.config import compose
from core.runs import queue
from core.runs.budget import GUESS_SECONDS, START_SECONDS, TIMES, estimate
from core.runs.record import RunRecord
from core.runs.store import this_machine

PLAN = compose("ndt-01-n3", TIMES["30 seconds"])


def run(config=PLAN, *, steps=1000, seconds=20.0, rows=16_000, **changes):
    """A finished run of this machine."""
    progress = {"rows": {"train": rows, "validation": 10}, "machine": this_machine()}
    known = {"threads": queue.threads(), "max_length": 24, "progress": progress, "results": {"steps": steps}}
    record = RunRecord("r", "ndt-01-n3", "done", config, "", seconds=seconds, **known)
    return dataclasses.replace(record, **changes)


def test_the_aims_are_settings_that_a_run_can_have():
    for settings in TIMES.values():
        compose("vanilla", settings)
    assert list(TIMES) == ["30 seconds", "5 minutes", "full"]


def test_without_earlier_runs_it_is_a_cautious_guess(monkeypatch):
    monkeypatch.setattr(queue, "threads", lambda: 2)
    found = estimate(PLAN, [])
    assert (found.steps, found.runs) == (1000, 0)
    assert 0.5 * GUESS_SECONDS < (found.seconds - START_SECONDS) / found.steps < 2 * GUESS_SECONDS


def test_one_thread_is_guessed_to_take_twice_as_long(monkeypatch):
    monkeypatch.setattr(queue, "threads", lambda: 2)
    two = estimate(PLAN, []).seconds - START_SECONDS
    monkeypatch.setattr(queue, "threads", lambda: 1)
    assert estimate(PLAN, []).seconds - START_SECONDS == pytest.approx(2 * two)


def test_an_earlier_run_of_the_same_model_tells_its_own_speed():
    assert estimate(PLAN, [run()]).seconds == pytest.approx(START_SECONDS + 20)
    assert estimate(PLAN, [run()]).runs == 1


def test_the_median_of_the_nearest_runs_counts():
    records = [run(seconds=second) for second in (20.0, 30.0, 300.0)]
    assert estimate(PLAN, records).seconds == pytest.approx(START_SECONDS + 30)


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "failed"},
        {"threads": 63},
        {"progress": {"rows": {"train": 16_000}, "machine": "another"}},
        {"results": {}},
        {"max_length": 2_000},
    ],
)
def test_runs_that_cannot_be_compared_do_not_count(changes):
    assert estimate(PLAN, [run(**changes)]).runs == 0


def test_twice_the_layers_cost_more_and_fewer_texts_cost_less():
    whole = estimate(PLAN, []).seconds
    assert estimate(compose("ndt-01-n3", {**TIMES["30 seconds"], "model.layers": 4}), []).seconds > 1.5 * whole
    assert estimate(compose("ndt-01-n3", {**TIMES["30 seconds"], "data.limit": 1_600}), []).steps == 100


def test_the_texts_of_other_data_are_known_from_earlier_runs_only(tmp_path):
    config = compose("vanilla", {"data.name": "somewhere.csv"})
    assert estimate(config, []) is None
    assert estimate(config, [run(config, rows=6_400)]).steps == 100 * config.training.epochs
    cut = compose("vanilla", {"data.name": "somewhere.csv", "data.limit": 640})
    assert estimate(cut, []).steps == 10 * cut.training.epochs
    assert estimate(config, [run(cut, rows=640)]) is None


def test_three_classes_of_the_built_in_corpus_have_more_texts():
    config = compose("vanilla", {"data.classes": 3, "training.epochs": 1})
    assert estimate(config, []).steps == -(-20_000 // 64)


@pytest.mark.parametrize("preset", ["tfidf-logreg", "tfidf-nb", "tfidf-svm", "lexicon"])
def test_what_is_solved_in_one_go_has_no_steps(preset):
    assert estimate(compose(preset), []) is None


@pytest.mark.parametrize(
    ("cheaper", "dearer"),
    [("cnn", "bilstm"), ("inceptive-mean", "inceptive-16"), ("inceptive-16", "inceptive-128")],
)
def test_every_part_that_computes_counts(cheaper, dearer):
    first, second = (estimate(compose(preset, {"training.epochs": 1}), []) for preset in (cheaper, dearer))
    assert first.steps == second.steps
    assert 1.2 * (first.seconds - START_SECONDS) < second.seconds - START_SECONDS


def test_a_window_bounds_what_a_long_text_costs():
    times = [
        estimate(compose(preset, {"text.max_length": length, "training.epochs": 1}), []).seconds - START_SECONDS
        for preset in ("sentiformer", "sentiformer-full")
        for length in (4_096, 8_192)
    ]
    assert times[1] == pytest.approx(2 * times[0], rel=0.01)
    assert times[3] > 3 * times[2]
