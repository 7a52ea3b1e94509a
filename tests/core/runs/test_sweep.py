import json

import pytest
from refused import check_raises

from core.exceptions import ConfigError, InputError, RunDamaged
from core.runs import sweep
from core.runs.sweep import Plan, list_cells, list_members, parse_grid, parse_seeds, split_values


def make_plan(**changes):
    settings = {"models": ("vanilla", "ndt-01-n2"), "grid": {"training.lr": ("1e-3", "0.01")}, "seeds": (0, 3)}
    return Plan(**{"name": "study", **settings, **changes})


def list_labels(**changes):
    return [cell.label for cell in list_cells(make_plan(**changes))]


def test_every_combination_is_a_cell_with_its_own_label_seeds_and_folds():
    both = [f"{model}, lr={rate}" for model in ("vanilla", "ndt-01-n2") for rate in ("1e-3", "0.01")]
    assert list_labels() == both and list_labels(models=("vanilla",)) == ["lr=1e-3", "lr=0.01"]
    assert list_labels(models=("vanilla",), grid={}) == ["vanilla"]
    found = list_labels(models=("vanilla",), grid={}, data=("built-in", "sst2"))
    assert found == ["vanilla, built-in", "vanilla, sst2"]
    values = {"model.width": ("8", "16"), "model.attention.heads": ("2", "4")}
    several = make_plan(data=("a/texts.csv", "b/texts.csv", "built-in"), grid=values)
    assert len({cell.label for cell in list_cells(several)}) == several.cells == 24
    one = {"data.seed": ("0", "1"), "model.attention.support_seed": ("0", "1")}
    assert list_labels(models=("vanilla",), grid=one)[0] == "seed=0, support_seed=0"
    same = {"data.limit": ("8",), "x.limit": ("9",)}
    assert list_labels(models=("vanilla",), grid=same) == ["data.limit=8, x.limit=9"]
    found = list_members(make_plan(folds=3))
    assert len(found) == 4 * 2 * 3 == len({member.run for member in found})
    assert found[0].run == "study-0001-s0-f0-vanilla" and found[-1].run == "study-0024-s3-f2-ndt-01-n2"
    assert [(member.seed, member.fold) for member in found[::4]] == [(0, 0), (0, 1), (0, 2), (3, 0), (3, 1), (3, 2)]
    assert {(each.config.data.folds, each.config.data.fold) for each in found} == {(3, 0), (3, 1), (3, 2)}


def test_members_combine_settings_of_plan_preset_cell_seed_and_data():
    (first, *_, last) = list_members(make_plan(data=("sst2",), settings={"training.epochs": "2", "data.limit": "500"}))
    assert (first.config.training.lr, last.config.training.lr) == (0.001, 0.01)
    assert (first.config.training.seed, last.config.training.seed) == (0, 3)
    for config in (first.config, last.config):
        assert (config.training.epochs, config.data.limit, config.data.name) == (2, 500, "sst2")
        assert (config.text.max_length, config.text.min_freq, config.data.folds) == (64, 5, 0)
    found = list_members(
        make_plan(models=("vanilla",), data=("sst2",), grid={"text.max_length": ("16", "32")}, seeds=(0,))
    )
    assert [member.config.text.max_length for member in found] == [16, 32], "the grid wins over what suits the data"
    tweets = {"models": ("tweet-v2-p2", "vanilla"), "data": ("sentiment140",), "grid": {}, "seeds": (0,)}
    assert [member.config.text.normaliser for member in list_members(make_plan(**tweets))] == ["tweet-clean", "tweet"]
    chosen = list_members(make_plan(**tweets, settings={"text.normaliser": "lower"}))
    assert [member.config.text.normaliser for member in chosen] == ["lower", "lower"]


def test_equal_plans_have_equal_members(store, table, monkeypatch):
    saved = sweep.save(store, make_plan(folds=2))
    assert sweep.read(store, "study") == saved == make_plan(folds=2)
    assert list_members(sweep.read(store, "study")) == list_members(make_plan(folds=2))
    assert sweep.list_names(store) == ["study"] and sweep.is_planned(store, "study") and store.list() == []
    tree = json.loads((store.folder / ".sweeps" / "study.json").read_text())
    assert tree["models"] == ["vanilla", "ndt-01-n2"] and tree["grid"] == {"training.lr": ["1e-3", "0.01"]}
    assert tree["seeds"] == [0, 3] and tree["created"]
    monkeypatch.chdir(table.parent)
    assert sweep.save(store, make_plan(name="other", data=(table.name,))).data == (str(table),), (
        "it holds from everywhere"
    )
    for name in ("", "../study", "none", "a/b", ".hidden"):
        check_raises(InputError, "no sweep", sweep.read, store, name)


def test_other_plans_and_foreign_runs_of_the_name_are_refused(store, config):
    sweep.save(store, make_plan())
    with pytest.raises(InputError, match=r"another plan \(models, seeds\)"):
        sweep.save(store, make_plan(models=("vanilla",), seeds=(0,)))
    assert sweep.read(store, "study") == make_plan()
    store.create(config, "vanilla", list_members(make_plan(name="other"))[1].run)
    check_raises(InputError, "not of this sweep", sweep.save, store, make_plan(name="other"))
    assert not sweep.is_planned(store, "other")


REFUSED = {
    "grid: seeds": ({"grid": {"training.seed": ("1",)}}, "own options"),
    "grid: folds": ({"settings": {"data.folds": "3"}}, "own options"),
    "twice": ({"models": ("vanilla", "vanilla")}, "models: a value is given twice"),
    "nothing": ({"seeds": ()}, "seeds: nothing to try"),
    "both": ({"settings": {"training.lr": "0.1"}}, "not both"),
    "name": ({"name": "../x"}, "not a name for a sweep"),
    "one fold": ({"folds": 1}, "folds=1: 2 or more"),
    "folds": ({"folds": -2}, "folds=-2: 2 or more"),
    "many": ({"seeds": tuple(range(501))}, "2\u202f004 runs are more"),
}


@pytest.mark.parametrize(("changes", "words"), REFUSED.values(), ids=REFUSED)
def test_invalid_plans_are_refused(changes, words):
    check_raises(InputError, words, make_plan, **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grid": {"training.lrr": ("1",)}}, "vanilla, lrr=1: unknown setting.*did you mean 'training.lr'"),
        ({"grid": {"training.lr": ("0.1", "7")}}, "vanilla, lr=7: training.lr=7"),
        ({"models": ("vanila",), "grid": {}}, "vanila: unknown model preset.*did you mean 'vanilla'"),
    ],
)
def test_invalid_cells_are_named(changes, words):
    check_raises(ConfigError, words, list_members, make_plan(**changes))


@pytest.mark.parametrize(
    "damage",
    [
        *("", "[]", "{}", '{"schema": 1}', '{"schema": 9}', "\x00"),
        *({"folds": "3"}, {"seeds": ["0"]}, {"models": "vanilla"}, {"grid": {"training.lr": "1"}}, {"grid": []}),
    ],
)
def test_damaged_plans_are_reported(store, damage):
    sweep.save(store, make_plan())
    file = sweep.get_path(store, "study")
    whole = json.loads(file.read_text())
    file.write_text(damage if isinstance(damage, str) else json.dumps({**whole, **damage}))
    check_raises(RunDamaged, r"study\.json: cannot be read", sweep.read, store, "study")


def test_removing_a_sweep_removes_its_runs_and_no_others(store, config):
    first, second, *_ = list_members(sweep.save(store, make_plan()))
    for member in (first, second):
        store.create(member.config, member.cell.model, member.run, parent="study")
        store.update(member.run, status="done")
    other = store.create(config, "ndt-01-n2", "other").run
    assert sweep.remove(store, "study") == 2
    assert [record.run for record in store.list()] == [other] and sweep.list_names(store) == []


def test_grid_values_with_a_comma_are_quoted_and_seeds_are_a_number_or_a_list():
    assert split_values("1e-4, 5e-4") == ("1e-4", "5e-4") and split_values('"2,3,5","7"') == ("2,3,5", "7")
    assert parse_grid(["a.b=1,2", 'c="x,y"']) == {"a.b": ("1", "2"), "c": ("x,y",)}
    for pair in ("a.b", "=1", ""):
        check_raises(ConfigError, "write name=value", parse_grid, [pair])
    assert parse_seeds("3") == (0, 1, 2) and parse_seeds("4, 7") == (4, 7) and parse_seeds("4,") == (4,)
    for text in ("", "x", "-1", "0", ",", "1.5", "99999999"):
        check_raises(ConfigError, "--seeds", parse_seeds, text)
