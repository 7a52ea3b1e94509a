"""Lessons as pages: what a link opens, links that are mistyped, a missing starter run, a class, and the file."""

import json
from html import unescape

import pytest
from pages import drawn, opened, words

from core.exceptions import InputError
from core.lessons.catalog import LESSONS, read_content
from core.lessons.tally import TallyStore
from dashboard import lesson_html, state
from dashboard.screens import lesson as screen

pytestmark = pytest.mark.slow

NO_STATE = {"step": 1, "pick": -1, "again": -1, "set": "", "notes": False, "sheet": False}


def shown(app, name, **link):
    """What the component of a lesson is given to draw."""
    (data,) = drawn(opened(app, "lesson", **link), f"lesson_{name}")
    return data


def test_the_list_has_a_row_for_each_lesson_and_computes_none(app, monkeypatch):
    monkeypatch.setattr("core.lessons.catalog.read_content", None)
    (data,) = drawn(opened(app, "lessons"), "lessons")
    assert [row["href"] for row in data["lessons"]] == [f"lesson?lesson={name}" for name in LESSONS]
    assert [row["title"] for row in data["lessons"]] == [each.title for each in LESSONS.values()]
    saved = app.get("download_button")
    assert [button.label for button in saved] == [f"Lesson {number}" for number in range(1, len(LESSONS) + 1)]
    assert [button.proto.help for button in saved] == [each.title for each in LESSONS.values()]


@pytest.mark.parametrize("name", LESSONS)
def test_a_link_opens_a_lesson_at_its_beginning(app, starters, name):
    data = shown(app, name, lesson=name)
    assert data["state"] == NO_STATE and data["room"] is None and data["problem"] == ""
    content = read_content(name, starters)
    assert {key: data["content"][key] for key in content if key != "ways"} == {
        k: v for k, v in content.items() if k != "ways"
    }
    assert all(way["href"].split("?")[0] for way in data["content"]["ways"])


def test_without_a_name_the_first_lesson_opens_and_a_mistyped_one_lists_all(app, starters):
    assert shown(app, next(iter(LESSONS)))["lesson"]["name"] == next(iter(LESSONS))
    said = unescape(words(opened(app, "lesson", lesson="haeds")))
    assert "There is no lesson 'haeds'; choose one of" in said and all(name in said for name in LESSONS)


def test_a_link_restores_stage_answers_and_what_was_moved(app, starters):
    data = shown(app, "accuracy", lesson="accuracy", step="4", pick="1", again="2", set="45", notes="1", sheet="1")
    assert data["state"] == {"step": 4, "pick": 1, "again": 2, "set": "45", "notes": True, "sheet": True}


@pytest.mark.parametrize("wrong", ["0", "5", "-1", "two", "", "9999", "²"])
def test_a_stage_or_an_answer_that_cannot_be_is_the_beginning(app, starters, wrong):
    given = {"step": wrong, "pick": wrong if wrong != "0" else "4", "again": wrong}
    assert {**shown(app, "accuracy", lesson="accuracy", **given, notes="x")["state"], "again": -1} == NO_STATE


def test_a_missing_starter_run_is_named(app):
    opened(app, "lesson", lesson="heads")
    assert "This lesson needs the model starter-ndt-01-n3, and it is not here." in words(app)


def test_a_link_of_a_class_opens_its_lesson_with_its_tally(app, starters):
    found = TallyStore(starters.folder).open_class("accuracy", 4, "somebody else")
    TallyStore(starters.folder).record_answer(found.code, 0, "a pupil", 1)
    data = shown(app, "accuracy", join=found.code.upper())
    assert (data["room"]["code"], data["room"]["own"]) == (found.code, False)
    assert data["room"]["link"].endswith(f"lesson?join={found.code}")
    (tally,) = drawn(app, "lesson_tally")
    assert tally["tally"] == {"room": found.code, "answered": [1, 0], "counts": [None, None]}


def test_a_class_that_is_gone_is_said_and_the_lesson_stays(app, starters):
    assert "There is no class 'gone'; ask for a new link." in unescape(words(opened(app, "lesson", join="gone")))
    data = shown(app, "heads", lesson="heads", join="gone")
    assert data["problem"] == "There is no class 'gone'; ask for a new link." and data["room"] is None
    other = TallyStore(starters.folder).open_class("accuracy", 4, "somebody else")
    assert shown(app, "heads", lesson="heads", join=other.code)["room"] is None


def test_a_tally_that_cannot_be_read_does_not_end_the_page(app, starters):
    starters.folder.mkdir(parents=True)
    (starters.folder / "lessons.sqlite").write_bytes(b"no database at all, " * 100)
    assert "answers of the class cannot be stored" in words(opened(app, "lesson", join="abcd"))
    assert shown(app, "heads", lesson="heads", join="")["room"] is None


def test_only_a_server_on_loopback_says_that_nobody_else_reaches_it(app, starters, monkeypatch):
    found = TallyStore(starters.folder).open_class("heads", 4, "somebody else")
    monkeypatch.setattr(screen, "is_local", lambda: True)
    assert "--address 0.0.0.0" in screen._find_address(found.code)[1]
    monkeypatch.setattr(screen, "is_local", lambda: False)
    assert screen._find_address(found.code)[1] == ""


def test_the_state_of_a_link_is_read_as_it_was_written():
    questions = [{"choices": [0] * 12}, {"choices": [0] * 12}]
    begun = {"step": 3, "pick": 11, "again": 0, "set": "3072", "notes": True, "sheet": False}
    written = lesson_html.write_state(begun)
    assert written == {"step": "3", "pick": "11", "again": "0", "set": "3072", "notes": "1", "sheet": ""}
    assert lesson_html.read_state({key: value for key, value in written.items() if value}, questions) == begun
    assert set(lesson_html.write_state(NO_STATE).values()) == {""}
    assert len(lesson_html.read_state({"set": "9" * 500}, questions)["set"]) == lesson_html.LONGEST


@pytest.mark.parametrize("name", LESSONS)
def test_the_file_holds_all_stages_and_names_no_server(name, starters, tmp_path):
    lesson_html.write(name, read_content(name, starters), starters, tmp_path / "lesson.html")
    text = (tmp_path / "lesson.html").read_text(encoding="utf-8")
    assert text.count("<script>") == 1 + bool(LESSONS[name].runs) and len(text.encode()) < 8e6
    assert "http://www.w3.org/2000/svg" in text and '"sets"' not in text, "read live"
    assert not [part for part in text.split("http")[1:] if not part.startswith("://www.w3.org/")], "it loads nothing"
    for stage in read_content(name, starters)["stages"]:
        assert json.dumps(stage["line"], ensure_ascii=False).replace("<", "\\u003c") in text
    with pytest.raises(InputError, match="--html"):
        lesson_html.write(name, read_content(name, starters), starters, tmp_path / "no folder" / "lesson.html")


def test_a_message_of_the_browser_changes_link_and_tally(app, starters, monkeypatch):
    """As the component sends it: a state with an answer, then hands that only the teacher may type."""
    tally = TallyStore(starters.folder)
    found = tally.open_class("accuracy", 4, "the teacher")
    link: dict[str, str] = {"join": found.code}
    sent = [{"state": {**NO_STATE, "step": 2, "pick": 3}}, {"state": {**NO_STATE, "pick": 77}}, {"hands": [[5, 5]]}]
    monkeypatch.setattr(state, "receive_changes", lambda key, after: sent)
    monkeypatch.setattr(state, "get_param", lambda key: link.get(key, ""))
    monkeypatch.setattr(state, "set_param", link.__setitem__)
    monkeypatch.setattr(state, "write_link", link.update)
    monkeypatch.setattr(state, "get_secret", lambda: "a pupil")
    problems: dict[str, str] = {}
    monkeypatch.setattr(state, "set_value", problems.__setitem__)
    screen._receive("key", "accuracy", read_content("accuracy", starters), tally)
    assert (link["lesson"], link["step"], link["pick"]) == ("accuracy", "", "")
    assert tally.count_answers(found.code)["answered"] == [1, 0]
    assert "only the browser that opened" in problems[state.LESSON_PROBLEM]
    monkeypatch.setattr(state, "get_secret", lambda: "the teacher")
    screen._receive("key", "accuracy", read_content("accuracy", starters), tally)
    assert tally.count_answers(found.code)["answered"] == [7, 5]
    sent[:] = [{"reset": True}]
    screen._receive("key", "accuracy", read_content("accuracy", starters), tally)
    assert tally.count_answers(found.code)["answered"] == [0, 0]
    sent[:] = [{"open": True}]
    screen._receive("key", "accuracy", read_content("accuracy", starters), tally)
    assert link["join"] != found.code and tally.find_class(link["join"]).lesson == "accuracy"
