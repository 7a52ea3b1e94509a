import os

import pytest
from refused import check_raises

from core.api.models import ClassifierOpening
from core.api.papers import MissingResults
from core.config import compose
from core.exceptions import InputError
from core.runs import archive, training_jobs
from core.runs.classroom import NOBODY, Classroom, Person
from core.runs.store import AccessRules, RunStore, name_sweep


class Pupil(AccessRules):
    """A pupil who uses the store."""

    def __init__(self, room, person, busy=()):
        self.room, self.person, self.busy = room, person, busy

    def check_start(self):
        self.room.check_start(self.person, self.busy)

    def check_change(self, run, parent=""):
        self.room.check_change(self.person, run, name_sweep(parent))

    def take_run(self, run):
        self.room.assign_job(self.person, run)

    def drop_run(self, run):
        self.room.drop_job(run)


@pytest.fixture
def room(tmp_path):
    return Classroom(tmp_path, "a key")


@pytest.fixture
def stores(room, tmp_path):
    """The folder of runs as two pupils and the teacher may use it."""
    room.allow_teacher("teacher", " a key ")
    return [RunStore(tmp_path, guard=Pupil(room, each)) for each in ("ada", "bob", "teacher")]


def test_people_are_counted_while_a_tab_is_open_on_a_living_server(room):
    room.record_person("1", "Ada", "sentence")
    assert room.record_person("1", "", "runs") == "Ada", "a reload forgets no name"
    room.allow_teacher("2", "a key")
    with room.hold_tab("1"), room.hold_tab("1"), room.hold_tab("2"):
        assert room.list_people() == [Person(NOBODY, "", 1, True), Person("Ada", "runs", 2, False)]
    assert room.list_people() == []
    with room.hold_tab("1"):
        child = os.fork()
        if not child:
            room.hold_tab("2").__enter__()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert [each.tabs for each in room.list_people()] == [1]


def test_only_the_key_that_is_valid_now_makes_a_teacher(room, tmp_path):
    check_raises(InputError, "not the teacher's key", room.allow_teacher, "1", "a kex")
    room.allow_teacher("1", "a key")
    assert room.is_teacher("1") and not room.is_teacher("2")
    assert not Classroom(tmp_path, "another key").is_teacher("1")


def test_runs_belong_to_who_started_them(room, stores):
    ada, bob, teacher = stores
    run = ada.create(compose("vanilla"), "vanilla", "mine").run
    for change in (RunStore.remove, training_jobs.cancel, training_jobs.start):
        check_raises(InputError, "'mine' is not yours", change, bob, run)
    assert room.name_owners() == {"mine": ""}
    room.record_person("ada", "Ada", "")
    assert room.name_owners() == {"mine": "Ada"}
    assert training_jobs.cancel(ada, run).status == "cancelled"
    teacher.remove(run)
    assert bob.create(compose("vanilla"), "vanilla", "mine").run == "mine"
    bob.remove("mine")
    RunStore(ada.folder).create(compose("vanilla"), "vanilla", "mine")  # in the terminal
    check_raises(InputError, "'mine' is not yours", bob.remove, "mine")


def test_runs_of_a_sweep_belong_to_whoever_started_the_sweep(room, stores, tmp_path):
    ada, bob, _ = stores
    room.assign_job("ada", name_sweep("study"))
    RunStore(tmp_path).create(compose("vanilla"), "vanilla", "study-1", parent="study")
    check_raises(InputError, "not yours", bob.remove, "study-1")
    bob.create(compose("vanilla"), "vanilla", "study")  # a run of the same name gives no right to the sweep
    check_raises(InputError, "not yours", bob.remove, "study-1")
    ada.remove("study-1")


def test_a_read_only_class_lets_the_teacher_alone_start(room, stores, tmp_path):
    ada, _, teacher = stores
    run = ada.create(compose("vanilla"), "vanilla", "mine").run
    room.set_read_only(True)
    assert room.is_read_only()
    check_raises(InputError, "read-only", ada.create, compose("vanilla"), "vanilla")
    check_raises(InputError, "read-only", ada.remove, run)
    check_raises(InputError, "read-only", archive.import_run, ada, tmp_path / run)
    for job in (ClassifierOpening(tmp_path, "", ada, "", None, ""), MissingResults(tmp_path, "", ada, "", "", "")):
        check_raises(InputError, "read-only", job.start)
    teacher.remove(run)
    room.set_read_only(False)
    ada.create(compose("vanilla"), "vanilla")


def test_a_person_has_a_quota_of_unfinished_runs(room, stores, tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_MOST_OWN", "2")
    runs = [stores[0].create(compose("vanilla"), "vanilla", name).run for name in ("one", "two")]
    check_raises(InputError, "2 runs of yours wait or train", room.check_start, "ada", runs)
    for person, busy in (("ada", runs[:1]), ("bob", runs), ("teacher", runs)):
        room.check_start(person, busy)
    room.assign_job("bob", name_sweep("study"))
    check_raises(InputError, "2 runs of yours", room.check_start, "bob", [name_sweep("study")] * 2)
