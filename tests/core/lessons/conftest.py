from pathlib import Path

import pytest

from core.lessons.catalog import find_lesson
from core.lessons.lesson import LessonContent
from core.runs.store import RunStore

TRAINED = Path(__file__).resolve().parents[3] / "trained"


@pytest.fixture
def starters(monkeypatch) -> RunStore:
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(TRAINED))
    return RunStore()


@pytest.fixture(scope="module")
def content(request) -> LessonContent:
    """The content of the lesson that a test file is named after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_STARTERS", str(TRAINED))
        return find_lesson(request.path.stem.removeprefix("test_")).build(RunStore())
