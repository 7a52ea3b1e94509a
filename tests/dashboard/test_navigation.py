"""The menu, old addresses and the presenter; copied or edited runs break no page; deleting a run."""

import dataclasses
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from pages import charts, named, opened, press, text_of, words

from core import json_store
from core.behavioral_tests.suite import SuiteAnswers
from core.config import compose
from core.exceptions import DataError
from core.runs import talks, training_jobs
from core.runs.predictions import read_predictions
from core.runs.record import RECORD
from core.runs.store import RunStore, get_own_process
from dashboard import access, state
from dashboard.presenter import DRAFT
from dashboard.screens import ALIASES, HIDDEN, PAGES, list_entries

pytestmark = pytest.mark.slow
LINES = "Links, one a line"


def menu(app) -> str:
    """Return the style sheet of the menu groups."""
    return next(each.proto.body for each in app.get("html") if "stSidebarNavItems] li:has" in each.proto.body)


def test_menu_has_at_most_15_entries_in_three_groups_and_more_only_when_needed():
    entries = list_entries(tagging=True)
    assert len(list_entries(tagging=False)) <= 15 and next(iter(entries)) == "start"
    groups = [each.group for each in entries.values()]
    found = [each for each, before in zip(groups, ["-", *groups], strict=False) if each != before]
    assert found == ["", "Learn", "Evaluate", "Build"]
    assert {name for name, each in PAGES.items() if each.group == HIDDEN} == {"lesson", "sweeps", "theory"}
    assert len({each.title for each in PAGES.values()}) == len(PAGES)
    assert set(ALIASES.values()) <= PAGES.keys() and not ALIASES.keys() & PAGES.keys()
    assert list_entries(tagging=True).keys() - list_entries(tagging=False) == {"tokens"}
    assert list_entries(tagging=True, classroom=True).keys() - list_entries(tagging=True) == {"classroom"}


def test_group_names_are_before_their_first_page(app, runs):
    found = re.findall(r'href\$="/(\w+)"\]\)::before\{content:"(\w+)"', menu(opened(app, "models", run="finished")))
    assert sorted(found) == [("data", "Build"), ("lessons", "Learn"), ("runs", "Evaluate")]


def test_default_page_is_start_with_starters_only_and_runs_otherwise(app, runs, tmp_path, monkeypatch):
    starters = tmp_path / "starters"
    shutil.copytree(runs / "finished", starters / "starter-finished")
    own = json.loads((starters / "starter-finished" / "run.json").read_text())
    (starters / "starter-finished" / "run.json").write_text(json.dumps(own | {"run": "starter-finished"}))
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(starters))
    opened(app, "")
    assert app.session_state[state.HERE] == "runs" and "<h1>Runs</h1>" in words(app)
    assert 'href$="/runs"]{background' in menu(app)  # differs from the page's link in the menu
    for run in ("finished", "baseline", "damaged"):
        shutil.rmtree(runs / run)
    app.run()
    assert app.session_state[state.HERE] == "start" and "<h1>Runs</h1>" not in words(app)


POISON = {
    "short": {"results": {"intervals": {"test": {"accuracy": [0.5]}}}},
    "words": {"results": {"intervals": {"test": {"accuracy": ["a", "b"]}}}},
    "rows": {"progress": {"rows": "x"}},
    "digits": {"seconds": 10**400},
    "lambda": {"results": {"lambda": [0.5]}},
}


@pytest.fixture
def poisoned(runs):
    """The runs, and one damaged run of each kind."""
    for name, change in POISON.items():
        shutil.copytree(runs / "finished", runs / name, copy_function=os.link)
        file = runs / name / RECORD
        tree = json.loads(file.read_text())
        for field, value in change.items():
            tree[field] = {**tree[field], **value} if isinstance(value, dict) else value
        file.unlink()
        file.write_text(json.dumps(tree))
    shutil.copytree(runs / "finished", runs / "unread")
    (runs / "unread" / "history.jsonl").unlink()
    (runs / "unread" / "history.jsonl").mkdir()
    return runs


@pytest.mark.parametrize("page", ["runs", "train", "attention"])
def test_malicious_runs_break_no_page_for_others(app, poisoned, page):
    shown = text_of(opened(app, page, run="finished", view="run"))
    if page == "runs":
        for name in POISON:
            assert f"Run “{name}” is damaged" in shown
        assert "results.intervals.test.accuracy is [0.5]: a list of length at least 2" in shown
        assert "Run “unread” is damaged" not in shown


def test_imported_run_with_a_path_can_be_viewed_but_not_trained(app, runs, monkeypatch):
    store = RunStore(runs)
    config = store.read("finished").config
    foreign = dataclasses.replace(config, data=dataclasses.replace(config.data, name="elsewhere:grades.csv"))
    store.update("finished", status="failed", reason="stopped", config=foreign)
    monkeypatch.setattr(training_jobs, "start", lambda *_: pytest.fail("a process was started"))
    shown = text_of(opened(app, "train", run="finished", view="run"))
    assert "go-on" not in [button.key for button in app.button]
    assert "was made with &#x27;grades.csv&#x27; of the machine that it comes from" in shown


@pytest.mark.parametrize("name", ["/dev/zero", "a\0b.csv"])
def test_link_to_a_missing_file_shows_a_message(app, runs, name):
    assert "no data set, file or folder here is called" in text_of(opened(app, "data", data=name))


def test_pipe_is_refused_as_a_lexicon(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(access, "is_local", lambda: True)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="this is a pipe"):
        access.refuse_foreign({"text.lexicon": f"vader,{tmp_path / 'pipe'}"})


def test_second_visit_of_a_page_reads_no_record_again(app, runs, monkeypatch):
    for number in range(12):
        shutil.copytree(runs / "finished", runs / f"copy-{number}", copy_function=os.link)
    opened(app, "runs", run="finished")
    read, seen = json_store.read_tree, []
    monkeypatch.setattr(json_store, "read_tree", lambda path, **more: seen.append(path) or read(path, **more))
    app.run()
    assert seen == []
    RunStore(runs).update("copy-3", reason="looked at")
    app.session_state[state.RUN] = "finished"
    app.run()
    assert [path.parent.name for path in seen] == ["copy-3"]


@pytest.fixture
def chosen(app, runs):
    """chosen(run): the page Runs with the row of this run selected."""

    def choose(run: str):
        data = Path(RunStore(runs).read(run).config.data.name).name
        app.session_state[state.get_figure_key(f"{state.ROWS}-{data}")] = {"picked": run}
        return opened(app, "runs", run=run)

    return choose


def test_run_is_removed_after_confirmation_and_no_page_shows_it(chosen, runs):
    app = chosen("baseline")
    assert "Delete “baseline”?" in words(press(app, "remove-baseline")) and (runs / "baseline").is_dir()
    press(app, "remove-no")
    assert (runs / "baseline").is_dir()
    press(app, "remove-baseline")
    press(app, "remove-yes")
    assert not (runs / "baseline").exists()
    assert "“baseline” is deleted" in words(app) and app.session_state[state.RUN] == "finished"
    assert (runs / "finished" / "run.json").is_file()


def test_damaged_run_can_be_deleted_next_to_its_message(app, runs):
    press(opened(app, "performance", run="damaged"), "remove-damaged")
    press(app, "remove-yes")
    assert not (runs / "damaged").exists()


def test_damaged_starter_cannot_be_deleted_and_has_advice(app, runs, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(runs / "starters"))
    shutil.copytree(runs / "damaged", runs / "starters" / "starter-vanilla")
    opened(app, "performance", run="starter-vanilla")
    assert "Run “starter-vanilla” is damaged" in words(app) and "reinstall Sentiscope" in words(app)
    assert "delete" not in words(app) and "remove-starter-vanilla" not in [button.key for button in app.button]


def test_running_training_cannot_be_deleted_and_has_advice(chosen, runs):
    store = RunStore(runs)
    store.create(compose("vanilla"), "vanilla", "live")
    store.update("live", status="running", process=get_own_process())
    app = chosen("live")
    assert "This run cannot be deleted" in words(press(app, "remove-live")) and "cancel it first" in words(app)
    assert "remove-yes" not in [button.key for button in app.button] and (runs / "live").is_dir()


def strip(app) -> dict:
    """Return the text of the strip at the top."""
    sent = [json.loads(each.proto.json) for each in app.get("bidi_component")]
    return next(each for each in sent if "exhibits" in each)


def test_the_finding_of_performance_counts_the_errors_of_split_and_threshold(app, runs):
    opened(app, "performance", run="finished", present="1")
    table = read_predictions(runs / "finished" / "evaluation" / "test" / "predictions.parquet")
    wrong = int((table["label"] != table["predicted"]).sum())
    assert wrong and f"{wrong} of {len(table)} are wrong: " in words(app)
    assert len(charts(app)) == 1 and not app.sidebar.selectbox
    first = words(opened(app, "performance", run="finished", present="1", split="validation"))
    app.query_params["threshold"] = "0.01"
    assert words(app.run()) != first


@pytest.mark.parametrize("page", ["sentence", "embeddings", "train"])
def test_each_page_with_an_exhibit_has_a_headline(app, runs, page):
    found = words(opened(app, page, run="finished", present="1", text="good film, dull and slow"))
    assert 's-finding" aria-live="polite">' in found
    assert strip(app)["exhibits"][strip(app)["at"]] == PAGES[page].title


def test_a_page_without_a_finding_and_a_run_that_is_gone_say_so(app, runs):
    app = opened(app, "data", run="finished", present="1")
    assert strip(app)["at"] == -1 and 's-finding" aria-live' not in words(app)
    assert "Data cannot be presented" in words(app) and "Papers and Train can. Press →" in words(app)
    assert "Its run “gone” is gone." in text_of(opened(app, "errors", run="gone", present="1"))
    shown = text_of(opened(app, "performance", run="finished", split="nope", present="1"))
    assert "“nope” is not a split of this run" in shown and "It has validation and test." in shown


def test_a_split_of_a_link_that_is_not_there_is_named_until_another_page_opens(app, runs):
    opened(app, "performance", run="finished", split="nope")
    told = "There is no split “nope” of this run</b><p>The split test is shown instead."
    assert told in words(app)
    app.query_params["split"] = "test"  # as the page has written it
    assert told in words(app.run()) and "There is no split" not in words(opened(app, "embeddings"))


def test_an_address_or_a_page_of_texts_that_is_not_there_is_named(app, runs):
    found = words(opened(app, "", **{"no-page": "<b>nope"}))
    assert "There is no page “&lt;b&gt;nope”</b><p>Runs is shown instead." in found
    assert "There is no page" not in words(opened(app, "performance", run="finished"))
    app.query_params["page"] = "99999"
    told = "There is no page “99999” of these texts</b><p>Page 1 of "
    assert told in words(opened(app, "data", run="finished")) and told in words(app.run())


def test_a_comparison_names_its_runs_and_the_one_that_is_gone(app, runs):
    shutil.copytree(runs / "finished", runs / "again")
    own = json.loads((runs / "again" / RECORD).read_text())
    (runs / "again" / RECORD).write_text(json.dumps(own | {"run": "again"}))
    opened(app, "compare", run="finished", compare=["again", "finished"], present="1")
    assert strip(app)["run"] == "again, finished"
    assert "again and finished are right on the same sentences." in words(app)
    app.query_params["compare"] = ["finished", "gone"]
    assert "No finished run “gone” is here." in words(app.run()) and not charts(app)
    talks.write_talk(runs, "talk", ["compare?compare=finished&compare=gone", "compare?compare=finished&compare=again"])
    app.session_state[DRAFT] = "talk"
    app.query_params.clear()
    assert "The run of link 1 is gone." in words(opened(app, "performance", run="finished"))


def test_behavior_tests_that_have_not_run_can_be_started_in_the_presenter(app, runs, monkeypatch):
    started = []
    monkeypatch.setattr(SuiteAnswers, "start", lambda asked: started.append(asked.run))
    opened(app, "behave", run="finished", present="1")
    assert "finished has not been tested yet" in words(app) and "Test it, and its failure rates appear" in words(app)
    press(app, "exhibit-tests")
    assert started == ["finished"]


def test_a_talk_begins_with_its_first_link_and_goes_past_links_to_no_page(app, runs):
    talks.write_talk(runs, "monday", ["performance?run=finished&split=validation", "errors?run=gone"])
    opened(app, "runs", talk="monday", present="1")
    assert strip(app)["exhibits"] == ["Performance", "Errors"] and strip(app)["at"] == 0
    app.query_params.clear()
    assert "there are monday.<" in text_of(opened(app, "runs", talk="tuesday", present="1"))
    talks.write_talk(runs, "monday", ["performance?run=finished", "nowhere?run=finished", "?run=finished", "overview"])
    opened(app, "performance", talk="monday", present="1", exhibit="2")
    assert "There is no page “nowhere”" in text_of(app)
    assert strip(app)["at"] == 1 and strip(app)["exhibits"] == ["Performance", "nowhere", "Start", "Runs"]


def test_the_editor_saves_links_and_names_a_bad_line_or_talk(app, runs):
    talks.write_talk(runs, "talk", ["errors?run=gone"])
    app.session_state[DRAFT] = "talk"
    opened(app, "performance", run="finished")
    assert "The run of link 1 is gone." in words(app)
    named(app.text_area, LINES).set_value("performance?run=finished\na b c").run()
    assert "line 2: " in text_of(press(app, "talk-save"))
    named(app.text_area, LINES).set_value("performance?run=finished").run()
    press(app, "talk-save")
    assert talks.read_talk(runs, "talk") == ("performance?run=finished",) and app.session_state[DRAFT] == "talk"
    (runs / talks.FOLDER / "talk.txt").write_text("a b c", encoding="utf-8")
    opened(app, "performance", run="finished")
    assert "The talk “talk” cannot be read" in text_of(app) and charts(app)


def test_a_link_with_large_text_hides_the_export_bar(app, runs):
    assert opened(app, "performance", run="finished").get("download_button")
    app.query_params["projector"] = "true"
    labels = [each.proto.label for each in app.run().get("download_button")]
    assert not [each for each in labels if each.endswith("CSV")]
