import dataclasses
import errno
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from refused import check_raises, refusing
from statsmodels.stats.proportion import proportion_confint
from waiting import dead

from core import json_store
from core.config import RunConfig, compose
from core.exceptions import InputError, RunDamaged, RunNotFound, StorageError
from core.metrics import INTERVAL_VERSION
from core.runs.record import LONGEST, RECORD, Process
from core.runs.store import RunStore, _Memory, get_own_process, is_alive

OLD = {"accuracy": [1.0, 1.0], "ece": [0.03, 0.08], "f1_macro": [1.0, 1.0], "loss": [0.2, 0.4]}
VALUES = {"accuracy": 1.0, "ece": 0.02, "f1_macro": 1.0, "loss": 0.3}


def test_records_round_trip_with_every_field(store, created):
    results = {"metrics": {"test": {"accuracy": 0.1 + 0.2}}, "lambda": [[0.15]]}
    told = {"status": "done", "reason": "ä 🙂", "results": results, "progress": {"step": 3}, "parent": "sweep"}
    read = {"classes": ("negative", "positive"), "data_fingerprint": "f" * 64, "data_notes": ("2 rows left out",)}
    sizes = {"vocabulary": 12, "max_length": 30, "parameters": 5, "seconds": 2, "threads": 1}
    machine = {"process": get_own_process(), "device": "cpu", "versions": {"torch": "2"}}
    full = dataclasses.replace(created, **told, **read, **sizes, **machine)
    store.write(full)
    assert store.read("first") == full and store.list() == [full]
    assert json.loads((store.get_path("first") / RECORD).read_text())["schema"] == 1


@pytest.mark.parametrize(
    ("name", "run"),
    [("My run / ünï", "My-run-n"), ("../../etc", "etc"), ("..", "test"), (".hidden", "hidden"), ("x" * 300, "x" * 100)],
)
def test_any_name_becomes_a_directory_name_inside_the_store(store, config, name, run):
    made = store.create(config, "ndt-01-n2", name)
    assert made.run == run or (run == "test" and made.run.startswith("built-in-ndt-01-n2-s0-"))
    assert [path.name for path in store.folder.iterdir()] == [made.run]


def test_taken_names_are_numbered_unless_exact(store, config):
    assert [store.create(config, "p", "mine").run for _ in range(3)] == ["mine", "mine-2", "mine-3"]
    with pytest.raises(
        InputError, match=r"'mine' already; choose another name or remove it .*runs rm mine.*--resume mine"
    ):
        store.create(config, "p", "mine", exactly=True)
    for name in ("...", "../mine", "a\\b"):
        with pytest.raises(InputError, match="needs a letter or a digit, and no slash"):
            store.create(config, "p", name, exactly=True)
    assert len(store.list()) == 3
    assert store.create(config, "p", exactly=True).run != store.create(config, "p", exactly=True).run
    own = compose("vanilla", {"data.name": "/data/my reviews.csv", "training.seed": 7})
    assert store.create(own, "vanilla").run.startswith("my-reviews-vanilla-s7-20")


def test_relative_data_paths_are_stored_as_absolute(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").touch()
    (tmp_path / "built-in").mkdir()
    for given, kept in (("mine.csv", str(tmp_path / "mine.csv")), ("built-in", "built-in"), ("none.csv", "none.csv")):
        assert store.create(compose("vanilla", {"data.name": given}), "vanilla").config.data.name == kept


@pytest.mark.parametrize("run", ["none", "../first", "/etc", "", ".", "..", "a/b", ".queue", "first\n", "x" * 200])
def test_only_valid_run_names_are_looked_up(store, created, run):
    (store.folder / ".queue").mkdir()
    for use in (store.get_path, store.read, store.remove):
        check_raises(RunNotFound, "runs list", use, run)


def rewrite_record(change):
    def damage(file):
        tree = json.loads(file.read_text())
        change(tree)
        file.write_text(json.dumps(tree))

    return damage


def move_to_prior(**prior):
    return {"temperature": {"value": 1.5, "prior": prior}}


DAMAGES = {
    "missing": lambda file: file.unlink(),
    "empty": lambda file: file.write_bytes(b""),
    "cut off": lambda file: file.write_bytes(file.read_bytes()[:200]),
    "not text": lambda file: file.write_bytes(b"\x80\x81\x00"),
    "not an object": lambda file: file.write_text("[]"),
    "deep": lambda file: file.write_text("[" * 100_000),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "later schema": rewrite_record(lambda tree: tree.update(schema=99)),
    "no status": rewrite_record(lambda tree: tree.pop("status")),
    "strange setting": rewrite_record(lambda tree: tree["config"]["model"].update(width="wide")),
    "impossible setting": rewrite_record(lambda tree: tree["config"]["model"].update(width=-3)),
    "config is text": rewrite_record(lambda tree: tree.update(config="none")),
    "a class named twice": rewrite_record(lambda tree: tree.update(classes=["a", "a"])),
    "half a process": rewrite_record(lambda tree: tree.update(process={"pid": 3})),
    "an infinite result": rewrite_record(lambda tree: tree.update(results={"best_epoch": float("inf")})),
    "too large a number": lambda file: file.write_text(file.read_text().replace('"seconds": 0.0', '"seconds": 1e400')),
    "a prior of all": rewrite_record(lambda tree: tree.update(classes=["a", "b"], results=move_to_prior(a=1.0, b=0.5))),
    "a prior without a class": rewrite_record(
        lambda tree: tree.update(classes=["a", "b"], results=move_to_prior(a=0.5))
    ),
    "a reason without end": rewrite_record(lambda tree: tree.update(reason="x" * (LONGEST + 1))),
    "a setting without end": rewrite_record(lambda tree: tree["config"]["text"].update(lexicon="x" * 9_000)),
    "a name without end": rewrite_record(lambda tree: tree.update(versions={"x" * 9_000: "1"})),
    "a text of a newer version without end": rewrite_record(lambda tree: tree.update(later=["x" * 9_000])),
    "more than a record has": rewrite_record(
        lambda tree: tree.update(versions={str(n): "x" * 4_000 for n in range(1_100)})
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_run_is_listed_with_its_reason(store, config, created, damage):
    good = store.create(config, "ndt-01-n2", "second")
    damage(store.get_path("first") / RECORD)
    check_raises(RunDamaged, r"first.run\.json: ", store.read, "first")
    listed = {record.run: record for record in store.list()}
    assert listed["second"] == good and listed["first"].status == "damaged"
    assert RECORD in listed["first"].reason and listed["first"].config == RunConfig()
    store.remove("first")
    assert [record.run for record in store.list()] == ["second"]


@pytest.mark.slow
def test_long_reasons_are_shortened_in_lists(store, created):
    rewrite_record(lambda tree: tree.update(reason="x" * 5_300_000))(store.get_path("first") / RECORD)
    assert store.list()[0].reason.endswith("run.json: cannot be read: it has 5 MB, and at most 4 MB are read")
    rewrite_record(lambda tree: tree.update(reason="x" * 5_000))(store.get_path("first") / RECORD)
    told = f"reason is '{'x' * 56}…: a text of at most 4\u202f000 characters, this has 5\u202f000"
    assert store.list()[0].reason.endswith(told)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "may not be written; .*SENTISCOPE_RUNS"),
    ],
)
def test_failed_writes_keep_the_old_record(store, created, tmp_path, monkeypatch, number, told):
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refusing(number))
        check_raises(StorageError, rf"first.run\.json.*{told}", store.update, "first", status="done")
        check_raises(StorageError, told, store.create, compose("vanilla"), "vanilla", "other")
        patch.setattr(Path, "mkdir", refusing(number))
        check_raises(StorageError, told, RunStore(tmp_path / "others").create, compose("vanilla"), "vanilla")
    with pytest.raises(ValueError, match="Out of range float"):  # a mistake of ours
        store.update("first", results={"metrics": {"test": {"roc_auc": float("nan")}}})
    assert store.read("first") == created


def test_unreadable_records_are_shortened_or_refused_when_written(store, created):
    assert len(store.update("first", status="failed", reason="y" * 9_000, data_notes=("z" * 9_000,)).reason) == 9_000
    assert store.read("first").reason == "y" * (LONGEST - 1) + "…"
    assert store.read("first").data_notes == ("z" * (LONGEST - 1) + "…",)
    with pytest.raises(InputError, match=r"run 'first': classes\[1\] is 'xxx"):
        store.update("first", classes=("good", "x" * (LONGEST + 1)))
    assert store.read("first").status == "failed"


def test_cached_records_are_limited_in_bytes(store, config, monkeypatch, looks):
    memory = _Memory()
    monkeypatch.setattr("core.runs.store._MEMORY", memory)
    monkeypatch.setattr("core.runs.store._KEPT_BYTES", 300_000)
    for name in "abcde":
        store.create(config, "p", name)
        store.update(name, versions={str(number): "x" * 4_000 for number in range(24)})
    for _ in range(2):
        assert len(store.list()) == 5
    assert 200_000 < memory._bytes == sum(each.size for each in memory._records.values()) <= 300_000
    del looks[:]
    store.list()
    assert looks  # records dropped from the cache are read again


def test_fields_of_newer_versions_are_reported_and_kept(store, created):
    file = store.get_path("first") / RECORD

    def newer(tree):
        tree.update(colour="red", newer={"a": 1})
        tree["config"]["model"]["attention"]["sinks"] = 4
        tree["results"]["energy"] = {"joules": 5.5}

    rewrite_record(newer)(file)
    record = store.read("first")
    assert record.config == created.config
    unknown = {"colour", "config.model.attention.sinks", "newer.a", "results.energy.joules"}
    assert set(record.unknown_fields) == unknown and len(record.unknown_fields) == 4
    store.update("first", reason="looked at", results={"best_epoch": 3})
    tree = json.loads(file.read_text())
    assert (tree["colour"], tree["newer"], tree["reason"]) == ("red", {"a": 1}, "looked at")
    assert tree["config"]["model"]["attention"]["sinks"] == 4
    assert tree["results"] == {"best_epoch": 3, "energy": {"joules": 5.5}}


def test_runs_are_listed_the_newest_first_by_the_names_of_their_folders(store, config):
    assert store.list() == []
    for name in ("a", "b", "c"):
        made = store.create(config, "p", name)
    (store.folder / "README.md").touch()
    (store.folder / ".queue").mkdir()
    assert [record.run for record in store.list()] == ["c", "b", "a"]
    rewrite_record(lambda tree: (tree.pop("parent"), tree.pop("results")))(store.get_path("c") / RECORD)
    assert store.read("c") == made, "fields that older versions do not know"
    store.get_path("c").rename(store.folder / "renamed")
    assert store.read("renamed").run == "renamed"


def test_a_running_run_with_a_dead_process_is_failed(store, created, monkeypatch):
    store.update("first", status="running", process=get_own_process())
    assert store.read("first").status == "running"
    gone = dead()
    store.update("first", process=gone)
    record = store.read("first")
    assert record.status == "failed" and f"number {gone.pid}" in record.reason
    assert "`sentiscope train --resume first` continues it" in record.reason and store.list() == [record]

    def ends(process):
        store.update("first", status="done")
        return False

    store.update("first", process=get_own_process())
    check_raises(InputError, "cancel it first: `sentiscope runs cancel first`", store.remove, "first")
    monkeypatch.setattr("core.runs.store.is_alive", ends)  # it writes its end and goes between our two looks
    assert store.read("first").status == "done"
    store.remove("first")
    assert list(store.folder.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process starts at a time that no clock moves")
def test_processes_are_identified_despite_clock_changes(monkeypatch):
    me = get_own_process()
    for hours in (-1, 1):
        booted = psutil.boot_time() + 3600 * hours
        with monkeypatch.context() as patch:
            patch.setattr("psutil._pslinux.boot_time", lambda booted=booted: booted)
            assert psutil.Process().create_time() != me.started and is_alive(me)


def test_living_processes_zombies_reused_numbers_and_other_machines():
    me = get_own_process()
    assert is_alive(me) and not is_alive(None)
    assert not is_alive(dataclasses.replace(me, started=me.started - 100, ticks=0))
    assert not is_alive(dataclasses.replace(me, ticks=me.ticks + 1)) or not me.ticks
    assert is_alive(dataclasses.replace(me, host="elsewhere", pid=0))
    process = subprocess.Popen([sys.executable, "-c", ""])
    try:
        zombie = Process(process.pid, psutil.Process(process.pid).create_time(), me.host)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(zombie)
    finally:
        process.wait()


POISONED = {
    "status": ({"status": ["done"]}, "a text"),
    "classes[0]": ({"classes": [1, 2]}, "a text"),
    "created": ({"created": "zzz"}, ""),
    "parameters": ({"parameters": True}, "a whole number"),
    "progress.rows": ({"progress": {"rows": "x"}}, "a group of fields"),
    "progress.rows.train": ({"progress": {"rows": {"train": -1}}}, "at least 0"),
    "seconds": ({"seconds": 1e300}, "at most"),
    "versions.torch": ({"versions": {"torch": 2}}, "a text"),
    "vocabulary": ({"vocabulary": 10**400}, "a number of 401 digits"),
    "results": ({"results": []}, "a group of fields"),
    "results.inference.device": ({"results": {"inference": {"device": "x" * 9_000}}}, "at most 4"),
    "results.metrics.test.accuracy": ({"results": {"metrics": {"test": {"accuracy": None}}}}, "a number"),
    "results.intervals.test.accuracy": ({"results": {"intervals": {"test": {"accuracy": [0.5]}}}}, "length at least 2"),
    "results.yardstick.phenomena": ({"results": {"yardstick": {"phenomena": [1]}}}, "a group of fields"),
    "results.lambda[0][1]": ({"results": {"lambda": [[0.5, "x"]]}}, "a number"),
    "results.gates[0]": ({"results": {"gates": ["x"]}}, "a list"),
    "results.scalars.tau": ({"results": {"scalars": {"tau": 1.0}}}, "a list"),
    "results.tuned.thresholds.joy": ({"results": {"tuned": {"thresholds": {"joy": 7}}}}, "at most 1"),
    "results.silhouette.test.overall": ({"results": {"silhouette": {"test": {"overall": "far"}}}}, "a number"),
    "results.neutral_share.test": ({"results": {"neutral_share": {"test": "half"}}}, "a number"),
}


@pytest.mark.parametrize("field", POISONED)
def test_crafted_records_are_damaged_and_can_be_removed(store, created, field):
    change, reason = POISONED[field]
    rewrite_record(lambda tree: tree.update(change))(store.get_path("first") / RECORD)
    (record,) = store.list()
    assert record.status == "damaged"
    assert f"run.json: cannot be read: {field} is " in record.reason and reason in record.reason
    store.remove("first")
    assert store.list() == []


@pytest.fixture
def looks(monkeypatch):
    """The files of the records that are read, in order."""
    seen = []
    read = json_store.read_tree

    def look(path, **more):
        seen.append(path.parent.name)
        return read(path, **more)

    monkeypatch.setattr(json_store, "read_tree", look)
    return seen


def test_unchanged_records_are_read_once(store, config, looks):
    for name in ("a", "b"):
        store.create(config, "p", name)
    first, file = store.list(), store.get_path("b") / RECORD
    del looks[:]
    assert RunStore(store.folder).list() == first and store.read("a").run == "a" and looks == []
    store.update("a", status="done")
    good = file.read_text()
    file.write_text("{")
    for _ in range(3):
        assert {record.run: record.status for record in store.list()} == {"a": "done", "b": "damaged"}
    assert sorted(looks) == ["a", "b"]
    file.write_text(good)
    assert store.list()[0] == first[0], "it is believed once it is mended"
    store.remove("a")
    assert [record.run for record in store.list()] == ["b"]
    assert store.create(config, "p", "a").status == store.read("a").status == "queued"


@pytest.mark.slow
def test_many_threads_may_list_while_records_change(store, config):
    for name in "abcdef":
        store.create(config, "p", name)

    def work(number):
        for step in range(10):
            store.update("abcdef"[number], parameters=step)
            assert len(RunStore(store.folder).list()) == 6
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))
    assert {record.parameters for record in store.list()} == {9}


def read_again(store, **results):
    store.write(dataclasses.replace(store.create(compose("vanilla"), "vanilla", "old"), status="done", results=results))
    found = store.read("old").results
    store.remove("old")
    return found


def test_old_intervals_of_shares_become_wilson_intervals(store):
    known = {"silhouette": {"test": {"rows": 12, "of": 12}}}
    found = read_again(store, metrics={"test": VALUES}, intervals={"test": OLD}, **known)
    assert set(found["intervals"]["test"]) == {"accuracy", "loss"} and found["interval_version"] == INTERVAL_VERSION
    assert found["intervals"]["test"]["accuracy"] == pytest.approx(proportion_confint(12, 12, method="wilson"))
    assert found["intervals"]["test"]["loss"] == OLD["loss"]
    found = read_again(store, metrics={"test": VALUES}, intervals={"test": OLD})
    assert found["intervals"] == {"test": {"loss": [0.2, 0.4]}}, "a share of unknown rows has none"
    given = {"intervals": {"test": OLD}, "interval_version": INTERVAL_VERSION}
    assert read_again(store, metrics={"test": VALUES}, **given)["intervals"] == {"test": OLD}
    tuned = {"metrics": {"test": {"subset_accuracy": 0.5, "f1_macro": 0.6}}}
    tuned["intervals"] = {"test": {"subset_accuracy": [0.4, 0.6], "f1_macro": [0.5, 0.7]}}
    known = {"silhouette": {"test": {"rows": 0, "of": 20}}}
    found = read_again(store, metrics={"test": {}}, intervals={"test": {}}, tuned=tuned, **known)["tuned"]["intervals"]
    assert found["test"]["subset_accuracy"] == pytest.approx(proportion_confint(10, 20, method="wilson"))
    assert found["test"]["f1_macro"] == [0.5, 0.7]


def test_intervals_of_starters_are_current_and_contain_their_values():
    records = RunStore(Path(__file__).parents[3] / "trained").list()
    assert len(records) >= 8
    for results in (record.results for record in records):
        for split, ranges in results["intervals"].items():
            assert set(ranges) <= set(results["metrics"][split])
            for name, (low, high) in ranges.items():
                assert low <= results["metrics"][split][name] <= high, (split, name)
            n = results["silhouette"][split]["of"]
            right = round(results["metrics"][split]["accuracy"] * n)
            assert ranges["accuracy"] == pytest.approx(proportion_confint(right, n, method="wilson"))
