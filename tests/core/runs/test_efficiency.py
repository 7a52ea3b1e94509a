import dataclasses
import json
import shutil

import pytest

from core import api
from core.exceptions import InputError
from core.runs import efficiency
from core.runs.configuration import write_train_command
from core.runs.efficiency import Efficiency, measure_costs
from core.runs.record import RECORD, TOKENIZER, WEIGHTS
from core.runs.store import RunStore, get_machine_id


@pytest.fixture
def store(finished, tmp_path, monkeypatch):
    """`mine`, and `old`, with only a batch measured as in older versions."""
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    shutil.copytree(finished, tmp_path / "runs")
    shutil.copytree(finished / "mine", tmp_path / "runs" / "old")
    store = RunStore(tmp_path / "runs")
    record = json.loads((store.get_path("old") / RECORD).read_text())
    kept = ("milliseconds", "low", "high", "rows", "tokens", "device")
    record["results"]["inference"] = {name: record["results"]["inference"][name] for name in kept}
    (store.get_path("old") / RECORD).write_text(json.dumps(record))
    return store


def find_files(store, run) -> Efficiency:
    return efficiency.read_efficiency(store, store.read(run))


def test_a_finished_training_measures_its_speed(store):
    record, own = store.read("mine"), find_files(store, "mine")
    kept = record.results["inference"]
    assert kept["machine"] == get_machine_id()
    assert own.one == kept["one"]["milliseconds"] > 0 and own.batch == kept["milliseconds"] / kept["rows"]
    assert own.memory == kept["memory"] > 4 * record.parameters
    assert own.parameters == record.parameters and own.seconds == record.seconds
    assert own.disk == sum((store.get_path("mine") / name).stat().st_size for name in (WEIGHTS, TOKENIZER))
    assert own.where.endswith(", one thread")


@pytest.mark.slow
def test_measurements_of_older_versions_are_repeated_once(store, monkeypatch, tmp_path):
    assert find_files(store, "old").one is None
    before = (store.get_path("old") / RECORD).read_bytes()
    made = measure_costs(store, "old")
    assert made.one > 0 and made.memory == find_files(store, "mine").memory
    with monkeypatch.context() as patch:
        patch.setattr(efficiency.Speed, "find", lambda *_: pytest.fail("measured twice"))
        assert measure_costs(store, "old") == find_files(store, "old") == made
    assert (store.get_path("old") / RECORD).read_bytes() == before, "a record of another version stays as it is"
    (kept,) = (tmp_path / "cache" / "efficiency").iterdir()
    kept.write_text('{"milliseconds": "fast"}')
    assert find_files(store, "old").one is None, "a damaged measurement is made again"
    assert measure_costs(store, "old").one > 0
    path = store.get_path("old") / WEIGHTS
    path.write_bytes(path.read_bytes())
    assert find_files(store, "old").one is None, "other weights are measured anew"
    shutil.rmtree(store.get_path("old") / "evaluation")
    with pytest.raises(InputError, match="no predictions"):
        measure_costs(store, "old")
    monkeypatch.setattr(efficiency, "get_machine_id", lambda: "another")
    assert find_files(store, "mine").one is None, "what another machine measured does not count"


def test_show_and_measure_give_the_same_on_the_command_line(store):
    whole = api.runs_show("mine", store)
    shown = whole["efficiency"]
    assert (whole["command"], whole["note"]) == write_train_command(store.read("mine"), store)
    assert shown == dataclasses.asdict(find_files(store, "mine"))
    assert api.runs_measure(["mine"], store) == {"efficiency": {"mine": shown}}
