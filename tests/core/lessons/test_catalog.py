import json
from pathlib import Path

import pytest

import dashboard
from core.exceptions import InputError
from core.lessons.catalog import LESSONS, find_lesson, find_next, read_content
from core.lessons.lesson import STAGES

ASSETS = Path(dashboard.__file__).parent / "assets"
LONGEST = {"headline": 75, "line": 110, "feedback": 90}
"""Characters that fit: a headline in 28 pixels on one line at 1280, feedback beside the figure."""


def test_each_lesson_leads_to_the_next_and_a_mistyped_name_lists_all():
    names = list(LESSONS)
    assert [find_next(name) for name in names] == [*(LESSONS[name] for name in names[1:]), None]
    with pytest.raises(InputError, match=f"no lesson 'haeds'; choose one of {', '.join(LESSONS)}"):
        find_lesson("haeds")


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_called_as_its_files(name):
    lesson = LESSONS[name]
    assert lesson.name == name and all((ASSETS / f"lesson_{name}.{kind}").is_file() for kind in ("js", "css"))
    minutes = [minute for minute, _ in lesson.plan]
    assert minutes == sorted(minutes) and minutes[0] == 0 and minutes[-1] < lesson.minutes
    assert lesson.small and lesson.belief.endswith(".") and lesson.title.endswith("?")


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_the_content_of_a_lesson_is_complete(name, starters):
    content = read_content(name, starters)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert len(content["stages"]) == len(content["tasks"]) == len(content["answers"]) == len(STAGES)
    for question in content["questions"]:
        assert 0 <= question["right"] < len(question["choices"])
        for choice in question["choices"]:
            assert 0 <= choice["option"] < len(content["options"])
            assert 0 < len(choice["feedback"]) <= LONGEST["feedback"], choice
        assert question["choices"][question["right"]]["option"] in {choice["option"] for choice in question["choices"]}
    first, second = content["questions"]
    assert first["choices"][first["right"]]["option"] == second["choices"][second["right"]]["option"]
    for stage in content["stages"]:
        assert len(stage["headline"]) <= LONGEST["headline"] and len(stage["line"]) <= LONGEST["line"]
    assert content["stages"][1]["reason"] and content["stages"][3]["finding"] and content["stages"][3]["reason"]
    assert all(stage["button"] for stage in content["stages"][:3]) and content["ways"] and content["fact"]
