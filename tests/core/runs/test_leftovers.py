"""What nobody needs any more goes when a server starts; what anybody may need stays."""

import json
import os
import time

import pytest
from waiting import hold_ticket

from core.data.config import DataConfig
from core.data.library import keep_choice, keep_file
from core.runs import jobs, queue

HOUR, DAY = 3600.0, 24 * 3600.0


def aged(path, seconds):
    """The path, as if nobody had touched it for so long."""
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


@pytest.fixture
def upload(store):
    """Keep a file and forget it for a time: upload(content, seconds)."""

    def keep(content, seconds):
        kept = keep_file(store.folder / jobs.LIBRARY, "a.csv", content)
        aged(kept.parent, seconds)
        return kept

    return keep


@pytest.mark.parametrize("name", [".import-12-ab/run", ".removed-first-12/evaluation", ".sweeps/.plan.json.1-a.new"])
def test_what_is_half_done_goes_when_nobody_has_touched_it_for_an_hour(store, created, name):
    path = store.folder / name
    path.mkdir(parents=True)
    (path / "file").touch()
    top = path if name.endswith(".new") else path.parent
    aged(top, HOUR - 60)
    jobs.clear(store)
    assert (path / "file").exists()
    aged(top, HOUR + 60)
    jobs.clear(store)
    assert not top.exists()
    assert store.read("first") == created


def test_stale_temporaries_of_a_run_go_and_its_files_stay(store, created):
    folder = store.path("first")
    before = sorted(each.name for each in folder.iterdir())
    (folder / "checkpoint").mkdir()
    for stale in (folder / ".run.json.17.new", folder / "checkpoint" / ".state.safetensors.17-00ff.new"):
        stale.touch()
        aged(stale, HOUR + 60)
    jobs.clear(store)
    assert sorted(each.name for each in folder.iterdir()) == sorted(["checkpoint", *before])
    assert list((folder / "checkpoint").iterdir()) == []


def test_an_upload_goes_after_a_day_if_no_choice_and_no_run_names_it(store, config, upload):
    library = store.folder / jobs.LIBRARY
    chosen, trained, forgotten, fresh = (
        upload(name.encode(), age)
        for name, age in (("chosen", 9 * DAY), ("trained", 9 * DAY), ("forgotten", DAY + HOUR), ("fresh", DAY - HOUR))
    )
    again = upload(b"again", 9 * DAY)
    keep_file(library, "b.csv", b"again")
    keep_choice(library, DataConfig(str(chosen)))
    store.create(config, "ndt-01-n2", "own")
    # A record that cannot be read may still be mended by a person, and names its data.
    (store.path("own") / "run.json").write_text(json.dumps({"config": {"data": {"name": str(trained)}}}) + "{")
    jobs.clear(store)
    assert [path.exists() for path in (chosen, trained, forgotten, fresh, again)] == [True, True, False, True, True]


def test_dead_tickets_go_with_the_next_start_and_held_ones_stay(store, created):
    folder = store.folder / queue.FOLDER
    folder.mkdir()
    (folder / "ticket-1-dead").touch()
    with queue.slot(store.folder, "busy", "2020"), hold_ticket(store.folder, "ticket-2-waits"):
        store.update("first", status="done")
        assert jobs.adopt(store) == []
        assert sorted(each.name for each in folder.iterdir()) == ["slot-0", "ticket-2-waits"]
