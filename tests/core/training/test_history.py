import json
import types

import pytest
from refused import check_raises, denied, full

from core.exceptions import RunDamaged, StorageError
from core.training import history
from core.training.history import LARGEST, MOST_LINES, HistoryWriter, read_history, truncate_history


def row(step, kind="step", **more):
    return {"kind": kind, "step": step, "epoch": 0, "seconds": 0.5, **more}


def write(path, *rows):
    with HistoryWriter(path) as writer:
        for each in rows:
            writer.write(each)


def test_rows_are_read_back_exactly_and_flushed_at_once(tmp_path):
    path = tmp_path / "history.jsonl"
    assert read_history(path).rows == []
    rows = [row(0, loss=None), row(1, **{"loss": 0.1, "lambda": [[0.15312500298023224], [1 / 3]]}), row(1, "epoch")]
    with HistoryWriter(path) as writer:
        for number, each in enumerate(rows, start=1):
            writer.write(each)
            assert read_history(path).rows == rows[:number]
    assert read_history(path).skipped == 0 and read_history(path).select_kind("epoch") == rows[2:]
    write(path, row(2, loss=float("nan"), validation={"roc_auc": float("inf")}))
    assert "NaN" not in path.read_text() and "Infinity" not in path.read_text()
    assert read_history(path).rows[3]["validation"] == {"roc_auc": None}
    path.write_bytes(path.read_bytes() + b'{"kind": "st')
    write(path, row(3))
    assert read_history(path).rows[-1] == row(3), "a line that a kill cut off spoils no later row"


@pytest.mark.parametrize(
    "garbage",
    [
        *(b'{"kind": "step", "st', b"\xff\xfe\x00 not text", b"[1, 2]", b"17", b"[" * 100_000),
        *(b'{"kind": "other", "step": 1}', b'{"kind": "step", "step": "1"}', b'{"kind": "step"}'),
        b'{"kind": "step", "step": 1, "validation": {"accuracy": 1.0, "loss": "x"}}',
        {"lambda": [[0.5]]},  # one component instead of two
        *({"lambda": 0.5}, {"lambda": [[0.5, "x"]]}, {"lambda_heads": [[0.5]]}, {"gates": [["x"]]}),
        *({"loss": "small"}, {"scalars": {"tau": 1.0}}, {"validation": {"accuracy": "good"}}),
        *({"seconds": -1}, {"step": 10**400}),
    ],
)
def test_damaged_lines_and_rows_are_skipped_and_counted(tmp_path, monkeypatch, garbage):
    monkeypatch.setattr("core.json_store._name_keys", lambda *_: pytest.fail("5 million names took 38 s"))
    path = tmp_path / "history.jsonl"
    write(path, row(1, **{"lambda": [[0.1, 0.2]]}))
    damaged = garbage if isinstance(garbage, bytes) else json.dumps({**row(2), **garbage}).encode()
    good = json.dumps(row(3, **{"lambda": [[0.3, 0.4]]})).encode()
    path.write_bytes(path.read_bytes() + damaged + b"\n" + good + b"\n")
    found = read_history(path)
    assert [each["step"] for each in found.rows] == [1, 3] and found.skipped == 1


def test_truncation_keeps_rows_up_to_a_step(tmp_path):
    path = tmp_path / "history.jsonl"
    write(path, row(0, energy={"joules": 5}), row(5), row(5, "epoch"), row(6))
    truncate_history(path, 5)
    assert read_history(path).rows[0] == row(0, energy={"joules": 5}), "fields of a newer version stay"
    assert read_history(path).rows[1:] == [row(5), row(5, "epoch")]
    truncate_history(tmp_path / "none.jsonl", 5)
    assert not (tmp_path / "none.jsonl").exists()


def test_a_full_disk_is_reported_with_file_and_remedy(tmp_path):
    writer = HistoryWriter(tmp_path / "history.jsonl")
    writer._stream.close()
    writer._stream = types.SimpleNamespace(write=full)
    check_raises(StorageError, r"history\.jsonl.*disk is full; free some space", writer.write, row(1))


def test_unreadable_histories_are_empty_with_a_reason_and_are_not_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "history.jsonl"
    path.mkdir()
    found = read_history(path)
    assert (found.rows, found.skipped) == ([], 0)
    assert found.unreadable == f"{path}: cannot be read: this is a folder, not a file"
    check_raises(RunDamaged, "cannot be read", truncate_history, path, 5)
    monkeypatch.setattr(history, "read_regular", denied)
    assert read_history(path).unreadable.endswith("cannot be read: Permission denied")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\n" * (MOST_LINES + 1), "more than 100\u202f000 lines"), (b"x" * (LARGEST + 1), "at most 32 MB are read")],
)
def test_overlong_histories_are_not_parsed(tmp_path, content, said):
    path = tmp_path / "history.jsonl"
    path.write_bytes(content)
    found = read_history(path)
    assert found.rows == [] and said in found.unreadable
