import re
import sqlite3
import subprocess
import sys

import pytest
from refused import check_raises

from core.exceptions import InputError, StorageError
from core.lessons import tally
from core.lessons.tally import LEAST, TallyStore, is_owner

TEACHER = "0" * 32
ANSWER = """
import sys
from pathlib import Path
from core.lessons.tally import TallyStore
store, code, first = TallyStore(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for number in range(first, first + 30):
    store.record_answer(code, 0, f"visitor {number}", number % 3)
"""


@pytest.fixture
def store(tmp_path) -> TallyStore:
    return TallyStore(tmp_path / "runs")


@pytest.fixture
def code(store) -> str:
    return store.open_class("heads", 4, TEACHER).code


def answer(store, code, options, turn=0):
    for number, option in enumerate(options):
        store.record_answer(code, turn, f"visitor {number}", option)


def test_each_browser_counts_once_for_each_question_and_may_change_its_answer(store, code):
    answer(store, code, [0, 0, 1, 2, 3])
    answer(store, code, [1])
    answer(store, code, [3, 3, 3, 3, 3], turn=1)
    assert store.count_answers(code) == {"answered": [5, 5], "counts": [[1, 2, 1, 1], [0, 0, 0, 5]]}


def test_few_answers_are_counted_and_not_shown(store, code):
    answer(store, code, [0] * (LEAST - 1))
    assert store.count_answers(code) == {"answered": [LEAST - 1, 0], "counts": [None, None]}
    store.record_answer(code, 0, "one more", 2)
    assert store.count_answers(code)["counts"] == [[4, 0, 1, 0], None]


def test_only_the_browser_that_opened_a_class_deletes_its_answers(store, code):
    answer(store, code, [0, 1, 2])
    found = store.find_class(code)
    assert is_owner(found, TEACHER) and not is_owner(found, "1" * 32)
    for change in (lambda: store.reset_class(code, "a pupil"), lambda: store.set_hands(code, "a pupil", [[9, 9]])):
        check_raises(InputError, "only the browser that opened", change)
    assert store.count_answers(code)["answered"] == [3, 0]
    store.set_hands(code, TEACHER, [[9, 9]])
    store.reset_class(code, TEACHER)
    assert store.count_answers(code) == {"answered": [0, 0], "counts": [None, None]} and store.find_class(code) == found


@pytest.mark.parametrize(("turn", "option"), [(0, 4), (0, -1), (2, 0), (-1, 0)])
def test_an_answer_that_the_lesson_does_not_have_is_refused(store, code, turn, option):
    check_raises(InputError, "no such answer", store.record_answer, code, turn, "a pupil", option)
    assert store.count_answers(code)["answered"] == [0, 0]


def test_raised_hands_are_added_or_refused_and_replace_those_before(store, code):
    wrong = {"-1 hands": [[1, 1], [-1, 0]], "1000 hands": [[1, 1], [1000, 0]], "1 hands": [["1", 1]]}
    for why, hands in {**wrong, "option 5": [[1, 1]] * 5, "question 3": [[1, 1, 1]]}.items():
        check_raises(InputError, why, store.set_hands, code, TEACHER, hands)
    assert store.count_answers(code)["answered"] == [0, 0]
    answer(store, code, [0, 1])
    store.set_hands(code, TEACHER, [[9, 0], [0, 0], [0, 0], [0, 0]])
    store.set_hands(code, TEACHER, [[1, 0], [2, 0], [0, 0], [0, 6]])
    assert store.count_answers(code) == {"answered": [5, 6], "counts": [[2, 3, 0, 0], [0, 0, 0, 6]]}


def test_a_code_that_nobody_has_opened_and_a_file_that_is_no_database_are_refused(store):
    assert store.find_class("none") is None and store.find_class("") is None
    assert not store.path.exists(), "looking for one writes nothing"
    for ask in (lambda: store.record_answer("none", 0, "a pupil", 0), lambda: store.count_answers("none")):
        check_raises(InputError, "no class 'none'", ask)
    store.path.parent.mkdir(exist_ok=True)
    store.path.write_bytes(b"no database at all, " * 100)
    check_raises(StorageError, "answers of the class cannot be stored", store.open_class, "heads", 4, TEACHER)


def test_the_file_has_no_token_and_knows_nobody_across_classes(store, code):
    for each in (code, store.open_class("heads", 4, TEACHER).code):
        store.record_answer(each, 0, "secret of a pupil", 1)
    with sqlite3.connect(store.path) as file:
        hashes = [row[0] for row in file.execute("SELECT visitor FROM answers")]
        owners = [row[0] for row in file.execute("SELECT owner FROM classes")]
    assert len({*hashes, *owners}) == 4 and all(re.fullmatch("[0-9a-f]{20}", each) for each in (*hashes, *owners))
    assert b"secret of a pupil" not in store.path.read_bytes()


def test_classes_and_devices_are_limited(store, code, monkeypatch):
    monkeypatch.setattr(tally, "MOST_CLASSES", 3)
    monkeypatch.setattr(tally, "MOST_VISITORS", 2)
    answer(store, code, [0, 1])
    store.record_answer(code, 0, "visitor 1", 3)  # whoever is in may still change the answer
    check_raises(InputError, "class is full", store.record_answer, code, 0, "a third", 0)
    assert store.count_answers(code)["answered"] == [2, 0]
    later = [store.open_class("accuracy", 4, TEACHER).code for _ in range(3)]
    assert store.find_class(code) is None and all(map(store.find_class, later))
    with sqlite3.connect(store.path) as file:
        assert file.execute("SELECT COUNT(*) FROM answers").fetchone() == (0,)


@pytest.mark.slow
def test_two_processes_count_into_one_file(store, code):
    running = [
        subprocess.Popen([sys.executable, "-c", ANSWER, str(store.path.parent), code, str(first)])
        for first in (0, 15)  # half of the visitors are in both
    ]
    assert [each.wait(120) for each in running] == [0, 0]
    assert store.count_answers(code) == {"answered": [45, 0], "counts": [[15, 15, 15, 0], None]}


@pytest.mark.slow
def test_two_processes_may_open_the_first_class_at_once(store):
    script = (
        "import sys; from pathlib import Path; from core.lessons.tally import TallyStore\n"
        "for _ in range(20): TallyStore(Path(sys.argv[1])).open_class('heads', 4, 'me')"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(store.path.parent)]) for _ in range(2)]
    assert [each.wait(120) for each in running] == [0, 0]
    with sqlite3.connect(store.path) as file:
        assert file.execute("SELECT COUNT(DISTINCT code) FROM classes").fetchone() == (40,)
