"""Copied or edited runs: no page fails, none is trained, and no file is computed twice."""

import dataclasses
import json
import os
import shutil

import pytest
from pages import opened, text_of

from core import json_store
from core.exceptions import DataError
from core.runs import training_jobs
from core.runs.record import RECORD
from core.runs.store import RunStore
from dashboard import access, state

pytestmark = pytest.mark.slow

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


@pytest.mark.parametrize("page", ["runs", "train", "lambdas"])
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
