import dataclasses
import datetime

import pytest

from core.config import compose
from core.runs.record import RunRecord
from core.runs.run_names import WHOLE, RunName, group_runs, name_runs

NOW = datetime.datetime(2026, 11, 27, 12, 0)


def record(run: str, preset: str = "ndt-01-n3", seed: int = 0, data: str = "/d/my.csv", days: float = 0.0) -> RunRecord:
    config = compose(preset, {"data.name": data, "training.seed": seed})
    when = (NOW - datetime.timedelta(days=days)).astimezone(datetime.UTC)
    return RunRecord(run, preset, "done", config, when.isoformat(timespec="microseconds"))


def named(*records: RunRecord) -> dict[str, str]:
    return {run: name.full for run, name in name_runs(records, NOW).items()}


def test_names_say_model_starter_and_data_set_only_where_needed():
    ids = ("my-ndt-01-n3-s0-20261125-222003", "ndt-01-n3-s12-20261125-222003-2", "mine", "my-ndt-01-n3-s0-2026")
    for run in ids:
        assert named(record(run)) == {run: "ndt-01-n3" if run in ids[:2] else run}
    starter = record("starter-ndt-01-n3", data="built-in")
    assert named(starter) == {"starter-ndt-01-n3": "ndt-01-n3"}
    own = record("built-in-ndt-01-n3-s0-20261125-222003", data="built-in")
    assert named(starter, own) == {"starter-ndt-01-n3": "ndt-01-n3, starter", own.run: "ndt-01-n3"}
    one, other = record("a", data="/d/my.csv"), record("b", data="built-in")
    assert named(one, other) == {"a": "a · my.csv", "b": "b · built-in"}
    assert name_runs([one, other], NOW)["a"] == RunName("a", "", "my.csv")


def test_equal_names_get_seed_then_day_then_time_then_id_and_no_more_than_needed():
    ids = [f"my-ndt-01-n3-s{seed}-20261125-22200{number}" for number, seed in enumerate((0, 2, 2, 2, 2))]
    days = (0, 0, 3, 40, 40.1)
    several = [record(run, seed=int("02"[number > 0]), days=days[number]) for number, run in enumerate(ids)]
    assert set(named(*several[:2]).values()) == {"ndt-01-n3, seed 0", "ndt-01-n3, seed 2"}
    days = ("0, Friday", "2, Friday", "2, Tuesday")
    assert set(named(*several[:3]).values()) == {f"ndt-01-n3, seed {day}" for day in days}
    assert "ndt-01-n3, seed 2, 18 October, 12:00" in named(*several).values()
    assert len(set(named(*several).values())) == 5
    twins = [dataclasses.replace(several[0], run=f"my-ndt-01-n3-s0-20261125-22200{digit}") for digit in "78"]
    assert set(named(*twins).values()) == {f"ndt-01-n3, {each.run}" for each in twins}


def run(name, preset="vanilla", *, status="done", data="rows", created="2026-01-01T00:00:00+00:00", parent="", **given):
    settings = {each.replace("__", "."): value for each, value in given.items()}
    return RunRecord(name, preset, status, compose(preset, settings), created, data_fingerprint=data, parent=parent)


def name_models(*records):
    return [[record.run for record in model.records] for model in group_runs(records)]


def test_seeds_folds_and_repetitions_are_one_model_and_unfinished_runs_are_none():
    (model,) = group_runs([run("b", training__seed=1), run("a", training__seed=0), run("c", training__seed=2)])
    assert (model.name, model.seeds, model.folds) == ("vanilla", [0, 1, 2], [])
    assert [record.run for record in model.records] == ["a", "b", "c"]
    waiting = [run(name, status=status) for name, status in (("a", "queued"), ("b", "failed"), ("c", "damaged"))]
    assert name_models(*waiting, run("d"), run("e", training__seed=1)) == [["a"], ["b"], ["c"], ["d", "e"]]
    members = [run(f"f{fold}", data=f"cut {fold}", parent="cv", data__folds=3, data__fold=fold) for fold in range(3)]
    first, second = group_runs([*members, run("g", data="cut 0", parent="again", data__folds=3, data__fold=0)])
    assert first.folds == [0, 1, 2] and list(first.runs) == [(0, 0), (0, 1), (0, 2)]
    assert [record.run for record in second.records] == ["g"]
    (model,) = group_runs([run("old"), run("new", created="2026-02-01T00:00:00+00:00")])
    assert [record.run for record in model.records] == ["new", "old"]
    assert {pair: record.run for pair, record in model.runs.items()} == {(0, WHOLE): "new"}


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


def test_models_of_one_preset_are_named_by_differing_settings_even_of_newer_versions():
    seeds = [run(f"{width}-{seed}", model__width=width, training__seed=seed) for width in (64, 128) for seed in (0, 1)]
    assert [model.name for model in group_runs(seeds)] == ["vanilla, width=64", "vanilla, width=128"]
    rows = [run(f"{data}-{seed}", data=data, training__seed=seed) for data in ("before", "after") for seed in (0, 1)]
    assert [model.name for model in group_runs(rows)] == ["before-0", "after-0"], "no setting tells them apart"
    assert [model.name for model in group_runs([run("mine")])] == ["mine"]
    newer = dataclasses.replace(run("b", training__seed=1), newer={"config": {"training": {"unheard": 2}}})
    assert name_models(run("a"), newer) == [["a"], ["b"]]
