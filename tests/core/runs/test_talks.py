import pytest
from refused import check_raises

from core.exceptions import InputError
from core.runs import talks


@pytest.mark.parametrize(
    ("link", "stored"),
    [
        ("http://127.0.0.1:8501/performance?run=first&threshold=0.7", "performance?run=first&threshold=0.7"),
        ("/errors?run=a&present=1&talk=t&exhibit=2&projector=true", "errors?run=a"),
        ("/sentence?text=not+bad%3B+really", "sentence?text=not+bad%3B+really"),
        ("lessons", "lessons"),
        ("/compare?compare=a&compare=b", "compare?compare=a&compare=b"),
    ],
)
def test_a_link_is_stored_without_server_and_presenter(link, stored):
    assert talks.clean_link(link) == stored and talks.clean_link(stored) == stored


@pytest.mark.parametrize(
    "link", ["", "http://[", "/a%20b?x=1", "javascript:alert(1)", "x" * 30_001, "/?present=1", "a?b=\ud800"]
)
def test_no_link_to_a_page_is_refused(link):
    check_raises(InputError, None, talks.clean_link, link)


def test_a_long_link_a_bad_line_and_too_many_talks_are_refused_and_nothing_is_lost(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="at most 30000 characters"):
        talks.add_link(tmp_path, "t", "sentence?text=" + "\N{ARABIC LETTER AIN}" * 6_000)
    assert talks.list_talks(tmp_path) == []
    talks.add_link(tmp_path, "t", "errors?run=a")
    check_raises(InputError, "line 2: ", talks.write_talk, tmp_path, "t", ["steps?run=a", "a b c"])
    check_raises(InputError, "at most 100 links", talks.write_talk, tmp_path, "t", ["steps?run=a"] * 101)
    assert talks.read_talk(tmp_path, "t") == ("errors?run=a",)
    monkeypatch.setattr(talks, "MOST_TALKS", 1)
    talks.add_link(tmp_path, "t", "errors?run=a")
    check_raises(InputError, "the maximum", talks.add_link, tmp_path, "two", "errors?run=a")


def test_repeated_parameters_are_a_list():
    assert talks.split_link("compare?compare=a&compare=b&run=c") == ("compare", {"compare": ["a", "b"], "run": "c"})


def test_a_talk_grows_is_replaced_and_removed(tmp_path):
    assert talks.list_talks(tmp_path) == [] and talks.add_link(tmp_path, "monday", "/errors?run=a") == ("errors?run=a",)
    assert talks.add_link(tmp_path, "monday", "/steps?run=b") == ("errors?run=a", "steps?run=b")
    assert talks.write_talk(tmp_path, "monday", ["# a comment", "", "steps?run=b"]) == ("steps?run=b",)
    assert talks.list_talks(tmp_path) == ["monday"] and talks.read_talk(tmp_path, "monday") == ("steps?run=b",)
    talks.remove_talk(tmp_path, "monday")
    check_raises(InputError, "no talk 'monday'; there are none yet", talks.read_talk, tmp_path, "monday")


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b"])
def test_a_name_stays_in_its_folder(tmp_path, name):
    check_raises(InputError, "is not a name for a talk", talks.add_link, tmp_path, name, "errors?run=a")
    assert list(tmp_path.iterdir()) == []
