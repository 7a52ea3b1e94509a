"""The menu, the start page, and addresses of earlier versions."""

import json
import re
import shutil

import pytest
from pages import opened, words

from dashboard import state
from dashboard.screens import ALIASES, HIDDEN, PAGES, list_entries

pytestmark = pytest.mark.slow


def menu(app) -> str:
    """Return the style sheet of the menu groups."""
    return next(each.proto.body for each in app.get("html") if "stSidebarNavItems] li:has" in each.proto.body)


def test_menu_has_at_most_15_entries_in_three_groups():
    entries = list_entries(tagging=True)
    assert len(list_entries(tagging=False)) <= 15 and next(iter(entries)) == "start"
    groups = [each.group for each in entries.values()]
    assert [each for each, before in zip(groups, ["-", *groups], strict=False) if each != before] == [
        "",
        "Learn",
        "Evaluate",
        "Build",
    ]
    assert {name for name, each in PAGES.items() if each.group == HIDDEN} == {"lesson", "sweeps"}
    assert len({each.title for each in PAGES.values()}) == len(PAGES)
    assert set(ALIASES.values()) <= PAGES.keys() and not ALIASES.keys() & PAGES.keys()


def test_tagging_is_in_the_menu_only_with_a_tagging_run(app, runs):
    assert list_entries(tagging=True).keys() - list_entries(tagging=False) == {"tokens"}


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
