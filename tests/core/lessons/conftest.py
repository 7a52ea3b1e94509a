"""The starter runs, from which lessons are computed."""

from pathlib import Path

import pytest

from core.lessons.lesson import LessonContent
from core.runs.store import RunStore

TRAINED = Path(__file__).resolve().parents[3] / "trained"


@pytest.fixture
def starters(monkeypatch) -> RunStore:
    """A store of the user's own runs, empty, with the starter runs beside it."""
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(TRAINED))
    return RunStore()


@pytest.fixture(scope="module")
def content(request) -> LessonContent:
    """The content of the lesson whose `build_content` a test file imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_STARTERS", str(TRAINED))
        return request.module.build_content(RunStore())
