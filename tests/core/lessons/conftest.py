import pytest
from starters import STARTERS

from core.lessons.catalog import find_lesson
from core.lessons.lesson import LessonContent
from core.runs.store import RunStore


@pytest.fixture(scope="module")
def content(request) -> LessonContent:
    """The content of the lesson that a test file is named after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_STARTERS", str(STARTERS))
        return find_lesson(request.path.stem.removeprefix("test_")).build(RunStore())
