import dataclasses

import pytest

from core.config import compose
from core.exceptions import ConfigError
from core.models import attention
from core.models.model_description import count_parameters
from core.models.presets import PRESETS
from core.runs import queue
from core.runs.cost_estimate import (
    DENSE,
    GUESS_SECONDS,
    LENGTHS,
    MASKED_SHARE,
    START_SECONDS,
    Counts,
    Size,
    check_fits,
    count_uncut_rows,
    describe_shortcuts,
    estimate_memory,
    estimate_size,
    estimate_time,
)
from core.runs.record import RunRecord
from core.runs.store import get_machine_id
from core.training import mlm


def plan_short(preset="ndt-01-n3", **settings):
    """The plan of a short training; settings with `__` for the dot."""
    return compose(preset, {**LENGTHS["short"], **{name.replace("__", "."): each for name, each in settings.items()}})


MEASURED = {
    ("vanilla", 32, 512, 0.0): 535,
    ("vanilla", 32, 1_024, 0.0): 814,
    ("ndt-01-n3", 32, 512, 0.0): 726,
    ("ndt-01-n3", 8, 1_024, 0.0): 416,
    ("ndt-01-n3", 32, 256, 0.1): 824,
    ("differential", 32, 256, 0.0): 382,
    ("sentiformer", 16, 512, 0.0): 1_457,
    ("tweet-v1-p1", 32, 512, 0.0): 479,
    ("bilstm", 32, 256, 0.0): 420,
}
"""Preset, texts, tokens of each, diversity → MiB that one step needs (a process each, `ru_maxrss`)."""


@pytest.mark.parametrize("case", MEASURED)
def test_memory_of_our_own_models_is_near_what_was_measured(case):
    preset, texts, tokens, diversity = case
    given = {"training.batch_size": texts, "training.portions": 1, "training.diversity": diversity}
    none, all_of_it = (
        estimate_memory(compose(preset, {**given, "text.max_length": length}), length) for length in (4, tokens)
    )
    assert 0.75 < (all_of_it - none) / 2**20 / MEASURED[case] < 1.5


def test_a_model_that_does_not_fit_is_refused_with_smaller_settings():
    config = compose("vanilla", {"text.max_length": 8_192, "training.batch_size": 64})
    with pytest.raises(
        ConfigError, match=r"this model: .* GB of memory, and 8.0 are free; .*a smaller training.batch_size"
    ):
        check_fits(config, 8_192, 8 * 10**9)
    check_fits(config, 128, 8 * 10**9)


COUNTS = Counts(2_400, 3, vocabulary=3_100, longest=32)
PLAN = plan_short()


def make_run(config=PLAN, *, steps=1000, seconds=20.0, rows=16_000, **changes):
    progress = {"rows": {"train": rows, "validation": 10}, "machine": get_machine_id()}
    known = {"threads": queue.count_threads(), "max_length": 24, "progress": progress, "results": {"steps": steps}}
    return dataclasses.replace(RunRecord("r", "ndt-01-n3", "done", config, "", seconds=seconds, **known), **changes)


def test_training_lengths_are_valid_settings():
    for settings in LENGTHS.values():
        compose("vanilla", settings)
    assert list(LENGTHS) == ["short", "medium", "full"], "no name promises a time"
    assert mlm.SHARE == MASKED_SHARE and attention.DENSE == DENSE


def test_the_estimate_without_earlier_runs_is_a_guess(monkeypatch):
    monkeypatch.setattr(queue, "count_threads", lambda: 2)
    found = estimate_time(PLAN, [])
    assert (found.steps, found.runs) == (1000, 0)
    assert 0.5 * GUESS_SECONDS < (found.seconds - START_SECONDS) / found.steps < 2 * GUESS_SECONDS
    monkeypatch.setattr(queue, "count_threads", lambda: 1)
    assert estimate_time(PLAN, []).seconds - START_SECONDS == pytest.approx(2 * (found.seconds - START_SECONDS))


def test_the_estimate_is_the_median_of_similar_runs():
    assert (
        estimate_time(PLAN, [make_run()]).seconds == pytest.approx(START_SECONDS + 20)
        and estimate_time(PLAN, [make_run()]).runs == 1
    )
    records = [make_run(seconds=second) for second in (20.0, 30.0, 300.0)]
    assert estimate_time(PLAN, records).seconds == pytest.approx(START_SECONDS + 30)


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
def test_dissimilar_runs_are_ignored(changes):
    assert estimate_time(PLAN, [make_run(**changes)]).runs == 0


def test_twice_the_layers_cost_more_and_fewer_texts_cost_less():
    assert estimate_time(plan_short(model__layers=4), []).seconds > 1.5 * estimate_time(PLAN, []).seconds
    assert estimate_time(plan_short(data__limit=1_600), []).steps == 100
    assert estimate_time(plan_short(training__nonsense=0.02), []).steps == 1_020
    three = compose("vanilla", {"data.classes": 3, "training.epochs": 1})
    assert estimate_time(three, []).steps == -(-20_000 // 64), "the built-in corpus has more texts of three classes"
    for preset in ("tfidf-logreg", "lexicon"):
        assert estimate_time(compose(preset), []) is None, "solved in one go"


def test_the_texts_of_other_data_are_known_from_earlier_runs_only(tmp_path):
    config = compose("vanilla", {"data.name": "somewhere.csv"})
    assert estimate_time(config, []) is None
    assert estimate_time(config, [make_run(config, rows=6_400)]).steps == 100 * config.training.epochs
    cut = compose("vanilla", {"data.name": "somewhere.csv", "data.limit": 640})
    assert estimate_time(cut, []).steps == 10 * cut.training.epochs
    assert estimate_time(config, [make_run(cut, rows=640)]) is None
    assert count_uncut_rows(PLAN, []) == 16_000 and count_uncut_rows(cut, []) is None
    assert count_uncut_rows(cut, [make_run(config, rows=700)]) == 700


@pytest.mark.parametrize(
    ("cheaper", "dearer"), [("cnn", "bilstm"), ("inceptive-mean", "inceptive-16"), ("inceptive-16", "inceptive-128")]
)
def test_every_part_that_computes_counts(cheaper, dearer):
    first, second = (estimate_time(compose(preset, {"training.epochs": 1}), []) for preset in (cheaper, dearer))
    assert first.steps == second.steps and 1.2 * (first.seconds - START_SECONDS) < second.seconds - START_SECONDS


def estimate_seconds(preset, longest, **settings):
    given = {"training.epochs": 1, "text.max_length": longest, **settings}
    return estimate_time(compose(preset, given), []).seconds - START_SECONDS


def test_attention_windows_limit_the_cost_of_long_texts():
    filled = {"training.batching": "fixed"}
    windowed, full = (
        [estimate_seconds(preset, longest, **filled) for longest in (DENSE, 4_096, 8_192)]
        for preset in ("sentiformer", "sentiformer-full")
    )
    assert windowed[2] == pytest.approx(2 * windowed[1], rel=0.01) and full[2] > 3 * full[1]
    assert windowed[0] == full[0], "where a dense call is taken a window saves nothing"
    assert estimate_seconds("vanilla", 512) == estimate_seconds("vanilla", 0)
    assert estimate_seconds("vanilla", 512, **filled) > 5 * estimate_seconds("vanilla", 0)


def test_the_size_uses_the_vocabulary_of_an_earlier_run_which_n_gram_models_need():
    record = make_run(vocabulary=1_234, classes=("a", "b", "c"))
    found = estimate_size(compose("sentiformer", {"data.limit": 16_000}), [record])
    built = PRESETS["sentiformer"].model
    assert found.vocabulary == 67_000 and found.counted == "bound", "another max_vocab is another vocabulary"
    found = estimate_size(compose("vanilla", {"data.limit": 16_000}), [record])
    assert found == Size(count_parameters(PRESETS["vanilla"].model, vocabulary=1_234, classes=3), 1_234, "run")
    assert estimate_size(compose("vanilla", {"data.limit": 100}), [record]).vocabulary == 30_000
    assert estimate_size(compose("sentiformer"), []).parameters == count_parameters(built, vocabulary=67_000, classes=2)
    assert estimate_size(compose("tfidf-logreg"), [make_run(vocabulary=1_234, classes=("a", "b"))]) is None
    assert estimate_size(compose("lexicon"), []).parameters == 6
    counted = make_run(compose("tfidf-nb"), vocabulary=9_000, classes=("a", "b"))
    assert estimate_size(compose("tfidf-logreg"), [counted]).parameters == 2 * 9_000 + 2


def test_estimates_use_the_counts_of_a_file():
    own = plan_short(data__name="own.csv")
    unread, read = (estimate_time(own, [], counts) for counts in (None, COUNTS))
    assert (unread.steps, unread.counted) == (1_000, False)
    assert (read.steps, read.counted) == (4 * 38, True), "2,400 rows in batches of 64, four times"
    model = PRESETS["ndt-01-n3"].model
    assert estimate_size(own, [], COUNTS) == Size(count_parameters(model, vocabulary=3_100, classes=3), 3_100, "data")
    cut = compose("ndt-01-n3", {"data.name": "own.csv", "data.limit": 100})
    assert estimate_size(cut, [], COUNTS).counted == "bound", "fewer rows may have fewer words"
    assert estimate_size(own, [], dataclasses.replace(COUNTS, vocabulary=0)).vocabulary == 30_000
    assert (
        estimate_size(own, [make_run(own, rows=2_400, vocabulary=9, classes=("a", "b", "c"))], COUNTS).counted == "run"
    )


def test_shortened_trainings_have_a_warning():
    assert list(describe_shortcuts("vanilla", plan_short("vanilla"))) == [
        "4 epochs in place of the 10 of vanilla: learning rate and epochs belong together, and 0.0005 was chosen for "
        "10. Try training.lr=0.001 or 0.002 as well, and choose on validation.",
        "At most 16\u202f000 training rows are used; nobody has counted these yet.",
    ]
    assert next(describe_shortcuts("vanilla", plan_short("vanilla", training__lr=1e-3))).startswith(
        "4 epochs in place of the 10 of vanilla, at a higher learning"
    )
    assert not list(describe_shortcuts("vanilla", compose("vanilla")))
    assert not list(
        describe_shortcuts("vanilla", compose("vanilla", {"training.epochs": 30, "data.limit": 500}), rows=500)
    )
    own = plan_short("vanilla", data__name="own.csv")
    assert not [
        each
        for each in describe_shortcuts("vanilla", own, count_uncut_rows(own, [], COUNTS))
        if "training rows" in each
    ]
    assert not list(describe_shortcuts("tfidf-logreg", compose("tfidf-logreg", {"training.epochs": 1})))


def test_pretraining_with_masked_words_adds_time():
    plan = plan_short(training__masked_epochs=4, text__max_vocab=5_000)
    both = estimate_time(plan, [make_run()])
    assert both.steps == 1000, "of the labels"
    assert both.seconds > START_SECONDS + 40, "as many steps again, each of which costs more"
    known = make_run(plan, seconds=100.0)
    known.results["masked"] = {"seconds": 80.0}
    assert estimate_time(PLAN, [known]).seconds == pytest.approx(START_SECONDS + 20)
