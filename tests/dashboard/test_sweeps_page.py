"""The page Sweeps: planning, watching, and the empty page."""

import shutil
from functools import partial

import pages
import pytest
from pages import press, words

from core.runs import sweep, sweep_drive
from core.runs.store import RunStore
from core.runs.sweep import Plan, list_members
from dashboard import access, state

pytestmark = pytest.mark.slow


@pytest.fixture
def store(runs) -> RunStore:
    return RunStore(runs)


@pytest.fixture
def planned(store, table, runs) -> Plan:
    """A sweep of two models and two seeds: three runs are finished and one has failed."""
    plan = sweep.save(store, Plan("study", ("ndt-01-n3", "tfidf-logreg"), (str(table),), seeds=(0, 1)))
    for member in list_members(plan):
        shutil.copytree(runs / ("finished" if member.cell.model == "ndt-01-n3" else "baseline"), runs / member.run)
        store.update(member.run, parent="study", status="done")
    store.update(list_members(plan)[2].run, status="failed", reason="<b>no</b> memory")
    return plan


@pytest.fixture
def page(app, monkeypatch, table):
    """page(**parameters): as a link shows it, with all its parts open."""
    monkeypatch.setattr(access, "is_local", lambda: True)
    return partial(pages.opened, app, "sweeps", more="all")


def test_page_without_a_sweep_offers_a_plan_and_an_invalid_grid_is_reported(page, runs):
    app = page()
    assert "No sweep has been planned here yet" in words(app) and "2 settings × 3 seeds = 6 runs" in words(app)
    assert "Start sweep" in [button.label for button in app.button]
    app.text_input(key="sweep-form-grid").set_value("training.lrr=1").run()
    assert "These choices do not fit together" in words(app) and "did you mean" in words(app)


def test_cost_estimate_and_command_follow_the_choices(page, runs, table):
    app = page(data=str(table))
    app.multiselect(key="sweep-form-models").set_value(["vanilla"])
    app.text_input(key="sweep-form-grid").set_value("training.lr=1e-4,5e-4 model.layers=1,2")
    app.number_input(key="sweep-form-folds").set_value(5)
    app.run()
    assert "4 settings × 3 seeds × 5 folds = 60 runs" in words(app)
    (command,) = (code.value for code in app.get("code"))
    assert command.startswith("sentiscope sweep sweep-1 --model=vanilla")
    assert "--grid=training.lr=1e-4,5e-4 --grid=model.layers=1,2" in command
    assert command.endswith("--set=data.limit=4000 --set=training.epochs=4 --seeds=3 --folds=5")


def test_sweep_starts_with_a_recipe_and_a_finished_run(page, store, table, runs, monkeypatch):
    monkeypatch.setattr(sweep_drive, "start_driver", lambda store, name: None)
    app = page(data=str(table))
    app.toggle(key="sweep-form-recipe").set_value(True)
    app.selectbox(key="sweep-form-start").set_value("finished")
    app.run()
    command = app.get("code")[0].value
    assert "--set=training.start=finished" in command and command.endswith("--recipe=strong")
    press(app, "sweep-start")
    plan = sweep.read(store, "sweep-1")
    assert plan.recipe == "strong" and plan.settings["training.start"] == "finished"
    started, known = list_members(plan)[0].config, store.read("finished").config
    assert (started.model.width, started.text.tokenizer) == (known.model.width, known.text.tokenizer)


def test_start_stores_the_plan_and_a_process_runs_it(page, store, table, monkeypatch):
    driven = []
    monkeypatch.setattr(sweep_drive, "start_driver", lambda store, name: driven.append(name))
    app = page(data=str(table))
    app.text_input(key="sweep-form-name").set_value("mine")
    app.number_input(key="sweep-form-seeds").set_value(2)
    app.run()
    press(app, "sweep-start")
    assert driven == ["mine"]
    plan = sweep.read(store, "mine")
    assert (plan.models, plan.seeds, plan.settings["data.limit"]) == (("ndt-01-n3", "vanilla"), (0, 1), "4000")
    assert app.session_state[state.SWEEP] == "mine"
    assert "0 of 4 runs are done" in words(app) and "Nothing to compare yet" in words(app)


def test_link_shows_a_sweep_table_with_its_baseline_and_can_continue_it(page, planned, monkeypatch):
    driven = []
    monkeypatch.setattr(sweep_drive, "start_driver", lambda store, name: driven.append(name))
    app = page(sweep="study")
    shown = words(app)
    assert "3 of 4 runs are done" in shown and "· 1 failed" in shown
    assert "3 done" not in shown and "Example: " not in shown
    assert "&lt;b&gt;no&lt;/b&gt; memory" in shown and "<b>no</b>" not in shown
    table = app.dataframe[0].value
    assert list(table["cell"]) == ["ndt-01-n3", "tfidf-logreg"] and list(table["runs"]) == ["1 of 2", "2 of 2"]
    assert (table["TF-IDF"] != "").all() and app.button(key="sweep-go-on").label == "Resume"
    press(app, "sweep-go-on")
    assert driven == ["study"]


def test_metric_and_baseline_are_read_from_the_link(page, planned):
    table = page(sweep="study", metric="F1, macro", baseline="tfidf-logreg").dataframe[0].value
    assert "F1, macro" in table and "to baseline" in table and table["to baseline"].iloc[1] == ""
    assert table["to baseline"].iloc[0] != ""


def test_missing_or_damaged_sweep_is_reported(page, planned, store):
    assert "There is no sweep “gone” here" in words(page(sweep="gone"))
    sweep.get_path(store, "study").write_text("{")
    assert "Sweep “study” is damaged" in words(page(sweep="study"))


def test_running_sweep_can_be_stopped(page, planned, store, monkeypatch):
    asked = []
    monkeypatch.setattr(sweep_drive, "cancel", lambda store, name: asked.append(name))
    with sweep_drive.hold_sweep(store, "study") as mine:
        assert mine
        page(sweep="study").button(key="sweep-stop").click().run()
    assert asked == ["study"]
