import pytest

from core.api import public as sentiscope
from core.lessons.catalog import read_content

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("starters")]


def test_a_lesson_is_printed_with_its_question_and_its_answers(cli):
    content, lines = read_content("accuracy"), cli.lines("lesson", "accuracy")
    assert lines[0] == "Can you trust accuracy? A score holds for sentences like the test sentences. 10 minutes."
    assert lines[1] == content["questions"][0]["ask"]
    assert lines[2:6] == [f"{letter} {label}" for letter, label in zip("ABCD", content["options"], strict=True)]
    assert content["answers"][1].split(":")[0] in " ".join(lines)


def test_its_answer_in_python_and_as_json_is_the_same(cli):
    found = sentiscope.lesson("heads")
    assert cli.json("lesson", "heads") == found
    content = read_content("heads")
    right = content["figure"]["names"][content["figure"]["right"]]
    assert [question["right"].lower() for question in found["questions"]] == [right, right]
    assert found["finding"] == f"Without {right} the answer flips." and found["fact"] == content["fact"]
    assert len(found["questions"][0]["choices"]) == 12 and found["file"] is None


def test_the_file_is_written_where_it_is_named_and_replaced(cli, place):
    (place / "heads.html").write_text("an older one")
    assert cli.lines("lesson", "heads", "--html", "heads.html") == ["heads.html: What does one head do?"]
    text = (place / "heads.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and read_content("heads")["figure"]["second"]["text"] in text
    cli.refused("--html no/heads.html: cannot be written", "lesson", "heads", "--html", "no/heads.html")


def test_a_wrong_name_lists_the_lessons_and_a_missing_model_is_a_failure(cli, monkeypatch):
    cli.refused("there is no lesson 'haeds'; choose one of", "lesson", "haeds")
    monkeypatch.setenv("SENTISCOPE_STARTERS", "/none")
    code, out, err = cli("lesson", "heads")
    assert (code, out) == (1, "") and "needs the model starter-ndt-01-n3, and it is not here" in " ".join(err.split())
