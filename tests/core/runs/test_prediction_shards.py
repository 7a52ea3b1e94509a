"""A file that is predicted in shards: the same rows as by one process, and only what was lost is done again."""

import os
import random
import signal
import subprocess
import threading
import time

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refused import check_raises

from core.api import predict
from core.exceptions import InputError, SentiscopeError
from core.runs import background_jobs, prediction_shards
from core.runs.store import RunStore

WORDS = [f"word{n}" for n in range(30)] + ["good", "bad"]


def write_rows(path, rows, block=1_000):
    random.seed(0)
    with pq.ParquetWriter(path, pa.schema([("id", pa.int64()), ("text", pa.string())])) as table:
        for first in range(0, rows, block):
            texts = [" ".join(random.choices(WORDS, k=random.randint(1, 6))) for _ in range(block)]
            table.write_table(pa.table({"id": range(first, first + block), "text": texts}))
    return path


def read_shards(folder):
    return pa.concat_tables([pq.read_table(each) for each in sorted(folder.glob("part-*.parquet"))])


@pytest.fixture
def store(finished, monkeypatch):
    """The store of a finished run, in which jobs leave nothing but the queue."""
    monkeypatch.setenv("SENTISCOPE_RUNS", str(finished))
    return RunStore(finished)


def test_shards_have_the_rows_of_one_file_and_are_kept(store, tmp_path):
    rows, out = write_rows(tmp_path / "rows.parquet", 20_000, 5_000), tmp_path / "out"
    predict("mine", file=rows, to=tmp_path / "one.parquet", store=store)
    for number in (3, 1, 2):
        found = predict("mine", file=rows, to=out, shards=3, only=number, store=store)
    assert (found["rows"], found["files"][0], found["to"]) == (20_000, "part-0001-of-0003.parquet", str(out))
    assert read_shards(out).equals(pq.read_table(tmp_path / "one.parquet"))
    times = {each.name: each.stat().st_mtime_ns for each in out.iterdir() if each.is_file()}
    (out / "part-0002-of-0003.parquet").unlink()
    for number in (1, 2, 3):
        predict("mine", file=rows, to=out, shards=3, only=number, store=store)
    changed = {name for name, then in times.items() if (out / name).stat().st_mtime_ns != then}
    assert changed == {"part-0002-of-0003.parquet"} and len(times) == 3
    other = {"file": rows, "to": out, "shards": 4, "store": store}
    check_raises(InputError, "another run, file or setting", predict, "mine", **other)


def test_what_shards_cannot_do_is_refused(store, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "good"}\n')
    check_raises(InputError, "--shards needs --data", predict, "mine", shards=2, store=store)
    check_raises(InputError, "row by row", predict, "mine", file=rows, to=tmp_path / "out", shards=2, store=store)
    rows = write_rows(tmp_path / "rows.parquet", 10, 10)
    for given in ({"shards": 0, "only": 1}, {"shards": 2, "only": 3}, {"shards": 5_000}):
        given = {"file": rows, "to": tmp_path, "store": store, **given}
        check_raises(InputError, "--shards .: 1 to|5000: 1 to", predict, "mine", **given)


@pytest.mark.slow
def test_jobs_predict_shards_and_a_lost_one_is_done_again(store, tmp_path, monkeypatch):
    rows, out = write_rows(tmp_path / "rows.csv.parquet", 20_000, 5_000), tmp_path / "out"
    monkeypatch.setattr(prediction_shards, "POLL_SECONDS", 0.05)
    predict("mine", file=rows, to=tmp_path / "one.parquet", store=store)
    build, broken = background_jobs.build_command, ("-c", "raise SystemExit(1)")
    monkeypatch.setattr(
        background_jobs, "build_command", lambda *words: [build()[0], *broken] if words[-1] == "2" else build(*words)
    )
    given = {"file": rows, "to": out, "shards": 3, "store": store}
    check_raises(SentiscopeError, "shard 2 of 3 was not predicted", predict, "mine", **given)
    assert len(list(out.glob("part-*"))) == 2
    monkeypatch.setattr(background_jobs, "build_command", build)
    told = []
    predict("mine", **given, on_progress=lambda what, share: told.append(share))
    assert read_shards(out).equals(pq.read_table(tmp_path / "one.parquet"))
    assert not (out / ".shards" / "rows.arrow").exists() and told[0] >= 0.6


@pytest.mark.cluster
def test_a_million_rows_in_four_shards_with_constant_memory(store, tmp_path, monkeypatch):
    """Nothing of a cluster is needed, but it takes minutes."""
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    peaks = {}
    for rows in (250_000, 1_000_000):
        file, out = write_rows(tmp_path / f"{rows}.parquet", rows, 50_000), tmp_path / f"out{rows}"
        words = ["predict", "mine", "--data", str(file), "--set", "data.text=text"]
        began = time.monotonic()
        one = ["--to", str(tmp_path / f"one{rows}.parquet")]
        peaks[rows, "one"] = run_measured(background_jobs.build_command(*words, *one))
        print(rows, "one process:", round(time.monotonic() - began), "s")
        command = background_jobs.build_command(*words, "--to", str(out), "--shards", "4")
        if rows == 1_000_000:
            killed = threading.Thread(target=kill_job, args=(out,))
            killed.start()
            assert subprocess.run(command).returncode == 1
            killed.join()
            assert len(list(out.glob("part-*.parquet"))) == 3
        peaks[rows, "shards"] = run_measured(command)
        assert read_shards(out).equals(pq.read_table(tmp_path / f"one{rows}.parquet"))
    print({f"{rows} {how}": round(peak / 1e6) for (rows, how), peak in peaks.items()}, "MB at most, a process")
    for how in ("one", "shards"):
        assert peaks[1_000_000, how] < 1.15 * peaks[250_000, how]


def kill_job(out):
    """Kill the second job of a prediction half-way."""
    files = background_jobs.Files(out / ".shards", "part-0002-of-0004")
    while not ((told := background_jobs._read_progress(files)) and (told.share or 0) > 0.4):
        time.sleep(0.1)
    os.kill(told.process.pid, signal.SIGKILL)


def run_measured(command):
    """Run a command; return the peak of the memory (RSS) of the largest of its processes and their jobs, in bytes."""
    most, process = 0, subprocess.Popen(command)
    while process.poll() is None:
        for each in psutil.process_iter(["cmdline", "memory_info"]):
            if {"core.cli", "predict"} <= set(each.info["cmdline"] or ()) and each.info["memory_info"]:
                most = max(most, each.info["memory_info"].rss)
        time.sleep(0.1)
    assert process.returncode == 0
    return most
