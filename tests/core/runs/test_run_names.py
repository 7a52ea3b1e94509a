"""Names of runs for people: short, and never equal where two runs could be taken for each other."""

import dataclasses
import datetime

from core.config import compose
from core.runs.record import RunRecord
from core.runs.run_names import RunName, name_runs

NOW = datetime.datetime(2026, 11, 27, 12, 0)


def record(run: str, preset: str = "ndt-01-n3", seed: int = 0, data: str = "/d/my.csv", days: float = 0.0) -> RunRecord:
    """A finished run that was made some days before `NOW`."""
    config = compose(preset)
    config = dataclasses.replace(
        config,
        data=dataclasses.replace(config.data, name=data),
        training=dataclasses.replace(config.training, seed=seed),
    )
    when = (NOW - datetime.timedelta(days=days)).astimezone(datetime.UTC)
    return RunRecord(run, preset, "done", config, when.isoformat(timespec="microseconds"))


def named(*records: RunRecord) -> dict[str, str]:
    return {run: name.full for run, name in name_runs(records, NOW).items()}


def test_a_made_id_becomes_the_model_and_a_name_that_somebody_gave_stays():
    ids = ("my-ndt-01-n3-s0-20261125-222003", "ndt-01-n3-s12-20261125-222003-2", "mine", "my-ndt-01-n3-s0-2026")
    for run in ids:
        assert named(record(run)) == {run: "ndt-01-n3" if run in ids[:2] else run}


def test_a_starter_says_so_only_beside_an_own_run_of_its_name():
    starter = record("starter-ndt-01-n3", data="built-in")
    assert named(starter) == {"starter-ndt-01-n3": "ndt-01-n3"}
    own = record("built-in-ndt-01-n3-s0-20261125-222003", data="built-in")
    assert named(starter, own) == {"starter-ndt-01-n3": "ndt-01-n3, starter", own.run: "ndt-01-n3"}


def test_the_data_set_is_named_where_there_are_several():
    one, other = record("a", data="/d/my.csv"), record("b", data="built-in")
    assert named(one, other) == {"a": "a · my.csv", "b": "b · built-in"}
    assert name_runs([one, other], NOW)["a"] == RunName("a", "", "my.csv")


def test_equal_names_get_seed_then_day_then_time_then_id_and_no_more_than_needed():
    ids = [f"my-ndt-01-n3-s{seed}-20261125-22200{number}" for number, seed in enumerate((0, 2, 2, 2, 2))]
    days = (0, 0, 3, 40, 40.1)
    several = [record(run, seed=int("02"[number > 0]), days=days[number]) for number, run in enumerate(ids)]
    assert set(named(*several[:2]).values()) == {"ndt-01-n3, seed 0", "ndt-01-n3, seed 2"}
    assert set(named(*several[:3]).values()) == {
        "ndt-01-n3, seed 0, Friday",
        "ndt-01-n3, seed 2, Friday",
        "ndt-01-n3, seed 2, Tuesday",
    }
    assert "ndt-01-n3, seed 2, 18 October, 12:00" in named(*several).values()
    assert len(set(named(*several).values())) == 5
    twins = [dataclasses.replace(several[0], run=f"my-ndt-01-n3-s0-20261125-22200{digit}") for digit in "78"]
    assert set(named(*twins).values()) == {f"ndt-01-n3, {each.run}" for each in twins}
