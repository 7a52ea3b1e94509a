import csv
import json

import pytest
from trained_runs import write_films

from core.runs import sweep_drive

pytestmark = pytest.mark.slow

SETTINGS = "model.width=8 model.ff_width=8 training.batch_size=16 training.threads=1 text.min_freq=1"
TINY = [f"--set={setting}" for setting in SETTINGS.split()]
PLAN = ("study", "--model", "vanilla,ndt-01-n2", "--data", "reviews.csv", "--seeds", "1", "--epochs", "1", *TINY)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    write_films(folder / "reviews.csv")
    return folder


@pytest.fixture(scope="module", autouse=True)
def _two_at_once_and_looked_after_often():
    with pytest.MonkeyPatch.context() as here:
        here.setenv("SENTISCOPE_JOBS", "2")
        here.setattr(sweep_drive, "POLL_SECONDS", 0.2)
        yield


@pytest.fixture(scope="module")
def done(cli):
    """The JSON and the progress lines of a sweep of two models."""
    code, out, err = cli("sweep", *PLAN, "--baseline", "vanilla", "--csv", "table.csv", "--json")
    assert code == 0, err
    return json.loads(out), [json.loads(line) for line in err.splitlines()]


def test_dry_run_shows_the_planned_runs(cli, place):
    code, out, _ = cli("sweep", "other", *PLAN[1:], "--seeds", "2", "--folds", "3", "--dry-run")
    assert code == 0 and "12 runs: 2 cells x 2 seeds x 3 folds" in out and "time not known yet" in out
    assert not (place / "runs").exists()


def test_sweep_trains_all_runs_and_writes_its_table(done, place):
    result, lines = done
    assert result["progress"]["done"] == result["progress"]["runs"] == 2
    assert [row["label"] for row in result["rows"]] == ["vanilla", "ndt-01-n2"]
    assert lines[-1] == result["progress"] and all(line["kind"] == "sweep" for line in lines)
    record = json.loads((place / "runs" / "study-0001-s0-vanilla" / "run.json").read_text())
    assert record["parent"] == "study" and record["config"]["training"]["seed"] == 0
    lines = list(csv.DictReader((place / "table.csv").open(encoding="utf-8-sig")))
    assert [line["cell"] for line in lines] == ["vanilla", "ndt-01-n2"] and float(lines[0]["accuracy mean"]) > 0


def test_finished_sweep_is_shown_by_sweep_list_and_show(done, cli, place):
    before = (place / "runs" / "study-0001-s0-vanilla" / "run.json").stat().st_mtime_ns
    code, out, err = cli("sweep", "study")
    assert code == 0 and "study: 2 runs, 2 done" in out and "nothing left" in err
    assert (place / "runs" / "study-0001-s0-vanilla" / "run.json").stat().st_mtime_ns == before
    (row,) = cli.json("sweeps", "list")["sweeps"]
    assert (row["sweep"], row["done"], row["driven"]) == ("study", 2, False)
    assert [metric["name"] for metric in cli.json("sweeps", "show", "study", "--metric", "loss")["metrics"]] == ["loss"]
    assert "ndt-01-n2" in cli("sweeps", "show", "study")[1]


REFUSED = {
    "no plan": (("sweep", "nothing"), "no sweep 'nothing'"),
    "seeds": (("sweep", "x", "--seeds", "many"), "a number of seeds"),
    "baseline": (("sweeps", "show", "study", "--baseline", "cnn"), "no cell 'cnn'"),
    "cancel": (("sweeps", "cancel", "study"), "nothing to cancel"),
    "csv": (("sweeps", "show", "study", "--csv", "no/where.csv"), "no/where.csv"),
    "jobs": (("sweep", "study", "--jobs", "0"), "SENTISCOPE_JOBS"),
}


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_impossible_requests_give_an_error_sentence(done, cli, arguments, words):
    cli.refused(words, *arguments)


def test_removed_sweep_removes_its_runs(done, cli, place):
    assert cli.json("sweeps", "rm", "study") == {"sweep": "study", "removed": True, "runs": 2}
    assert cli.json("sweeps", "list") == {"sweeps": []} and cli.json("runs", "list") == {"runs": []}
