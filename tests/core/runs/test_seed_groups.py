"""Which runs are one model."""

import dataclasses

import pytest

from core.config import compose
from core.runs.record import RunRecord
from core.runs.run_names import WHOLE, group_runs


def run(name, preset="vanilla", *, status="done", data="rows", created="2026-01-01T00:00:00+00:00", parent="", **given):
    settings = {each.replace("__", "."): value for each, value in given.items()}
    return RunRecord(name, preset, status, compose(preset, settings), created, data_fingerprint=data, parent=parent)


def name_models(*records):
    return [[record.run for record in model.records] for model in group_runs(records)]


def test_runs_that_differ_in_the_seed_are_one_model():
    (model,) = group_runs([run("b", training__seed=1), run("a", training__seed=0), run("c", training__seed=2)])
    assert (model.name, model.seeds, model.folds) == ("vanilla", [0, 1, 2], [])
    assert [record.run for record in model.records] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "other",
    [
        {"training__lr": 1e-3},
        {"model__width": 64},
        {"text__min_freq": 1},
        {"data__limit": 100},
        {"data__seed": 5},
        {"training__threads": 1},
        {"data": "other rows under the same name"},
        {"preset": "differential"},
    ],
)
def test_any_other_difference_makes_another_model(other):
    assert name_models(run("a"), run("b", training__seed=1, **other)) == [["a"], ["b"]]


def test_unfinished_runs_are_not_grouped():
    waiting = [run(name, status=status) for name, status in (("a", "queued"), ("b", "failed"), ("c", "damaged"))]
    assert name_models(*waiting, run("d"), run("e", training__seed=1)) == [["a"], ["b"], ["c"], ["d", "e"]]


def test_folds_of_one_sweep_are_one_model_and_those_of_another_are_not():
    members = [run(f"f{fold}", data=f"cut {fold}", parent="cv", data__folds=3, data__fold=fold) for fold in range(3)]
    other = run("g", data="cut 0", parent="again", data__folds=3, data__fold=0)
    first, second = group_runs([*members, other])
    assert first.folds == [0, 1, 2] and list(first.runs) == [(0, 0), (0, 1), (0, 2)]
    assert [record.run for record in second.records] == ["g"]


def test_repeated_trainings_count_once_with_the_newest():
    (model,) = group_runs([run("old"), run("new", created="2026-02-01T00:00:00+00:00")])
    assert [record.run for record in model.records] == ["new", "old"]
    assert {pair: record.run for pair, record in model.runs.items()} == {(0, WHOLE): "new"}


def test_models_of_one_preset_are_named_by_differing_settings():
    seeds = [run(f"{width}-{seed}", model__width=width, training__seed=seed) for width in (64, 128) for seed in (0, 1)]
    assert [model.name for model in group_runs(seeds)] == ["vanilla, width=64", "vanilla, width=128"]
    rows = [run(f"{data}-{seed}", data=data, training__seed=seed) for data in ("before", "after") for seed in (0, 1)]
    assert [model.name for model in group_runs(rows)] == ["before-0", "after-0"], "no setting tells them apart"
    assert [model.name for model in group_runs([run("mine")])] == ["mine"]


def test_a_setting_of_a_newer_version_keeps_runs_apart():
    newer = dataclasses.replace(run("b", training__seed=1), newer={"config": {"training": {"unheard": 2}}})
    assert name_models(run("a"), newer) == [["a"], ["b"]]
