import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refused import check_raises
from shapes_of_tools import zip_of

from core.data import limits, sandbox
from core.data.config import DataConfig
from core.data.labeled_files import read_file
from core.exceptions import DataError, NotAvailable

AS_FOUND = DataConfig().get_read_settings()


def rows(count=40, **more):
    return [{"text": f"text {n}", "label": ("bad", "good")[n % 2], **more} for n in range(count)]


def test_the_sandbox_returns_the_same_rows_as_direct_reading(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows(number=3, share=0.5, tags=["a", {"b": None}], none=None)))
    here, there = read_file(path), sandbox.read_labeled(path, AS_FOUND)
    assert there.report == here.report == sandbox.inspect_file(path, AS_FOUND) and there.classes == here.classes
    pd.testing.assert_frame_equal(there.rows[["text", "label"]], here.rows[["text", "label"]])
    assert there.rows["tags"][0] == "['a', {'b': None}]" and there.rows["none"].isna().all()
    path = tmp_path / "a.jsonl"
    labels = (["calm"], ["calm", "joy"], [], ["joy"])
    path.write_text("\n".join(json.dumps({"text": f"text {n}", "label": labels[n % 4]}) for n in range(40)))
    here, there = read_file(path), sandbox.read_labeled(path, AS_FOUND)
    assert there.rows["label"].tolist() == here.rows["label"].tolist()
    assert there.rows["label"][1] == ("calm", "joy") and there.rows["label"][2] == ()


def test_texts_of_a_table_are_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,text\n1,good\n2,bad\n")
    with sandbox.read_rows(path, {}) as rows:
        assert (rows.text, rows.rows, rows.schema.names) == ("text", 2, ["id", "text"])
        assert [text for batch in rows.batches for text in batch.column("text").to_pylist()] == ["good", "bad"]
    path.write_text("id,text\n1,good\n2,\n")
    with (
        pytest.raises(DataError, match=r"a\.csv, row 2, field 'text': the text is missing"),
        sandbox.read_rows(path, {}),
    ):
        pass


def test_memory_limits_give_a_message_and_the_next_file_is_read(monkeypatch, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "".join(f"text number {n},{n % 2}\n" for n in range(100_000)))
    monkeypatch.setenv(limits.VARIABLE, "memory=8")
    with pytest.raises(DataError, match=r"a\.csv: it takes too much memory to read; at most 8 MB of memory"):
        sandbox.inspect_file(path, AS_FOUND)
    monkeypatch.delenv(limits.VARIABLE)
    path.write_text("text,label\n" + "good,1\nbad,0\n" * 20)
    assert sandbox.inspect_file(path, AS_FOUND).rows == 40


def write_class_folders(path, size):
    text = "a tram came late\n" * (size // 34)
    for label in ("good", "bad"):
        (path / label).mkdir(parents=True)
        (path / label / "1.txt").write_text(text)


def write_zipped_folders(path, size):
    text = "a tram came late\n" * (size // 34)
    path.write_bytes(zip_of({f"{label}/1.txt": text for label in ("good", "bad")}))


@pytest.mark.parametrize(("name", "write"), [("folders", write_class_folders), ("a.zip", write_zipped_folders)])
def test_memory_limits_give_a_message_for_folders_and_archives(monkeypatch, tmp_path, name, write):
    write(tmp_path / name, 3_000_000)
    monkeypatch.setenv(limits.VARIABLE, "memory=3,characters=10000000")
    with pytest.raises(DataError, match=f"^{name}: it takes too much memory to read; at most 3 MB of memory"):
        sandbox.read_labeled(tmp_path / name, AS_FOUND)


@pytest.mark.slow
def test_the_time_limit_gives_a_message(monkeypatch, tmp_path):
    """Three million equal cells: some kilobytes that take far more than a second to read."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({f"c{n}": pa.array(["a b", "c"] * 500_000).dictionary_encode() for n in range(10)}), path)
    monkeypatch.setenv(limits.VARIABLE, "seconds=1")
    with pytest.raises(DataError, match=r"a\.parquet: it takes too long to read; at most 1 seconds"):
        sandbox.inspect_file(path, AS_FOUND)


@pytest.mark.slow
def test_ended_sandbox_processes_are_started_again(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "good,1\nbad,0\n" * 20)
    for _ in range(2):
        assert sandbox.inspect_file(path, AS_FOUND).rows == 40
        with sandbox._READERS.reserve_process(1) as process:
            process.kill()


def test_sandbox_errors_report_failed_starts_and_busy_processes(monkeypatch, tmp_path):
    (tmp_path / "a.csv").touch()
    monkeypatch.setattr(sandbox, "_READERS", sandbox._Readers())
    monkeypatch.setattr(sandbox.sys, "executable", "/bin/false")
    with pytest.raises(NotAvailable, match=r"does not start; see `/bin/false -P -m core\.data\.sandbox_worker`"):
        sandbox.inspect_file(tmp_path / "a.csv", AS_FOUND)
    readers = sandbox._Readers()
    with (
        readers.reserve_process(0),
        readers.reserve_process(0),
        pytest.raises(NotAvailable, match="try again in a minute"),
        readers.reserve_process(0.01),
    ):
        pass
    readers.close()


def test_sandbox_errors_keep_their_message_and_parquet_files_are_checked(tmp_path):
    check_raises(DataError, r"a\.csv: no such file", sandbox.inspect_file, tmp_path / "a.csv", AS_FOUND)
    (tmp_path / "labels.json").write_text("[")
    (tmp_path / "a.csv").write_text("text,label\n" + "good,1\nbad,0\n" * 20)
    assert "labels.json" in sandbox.inspect_file(tmp_path / "a.csv", AS_FOUND).problem
    pd.DataFrame(rows()).to_parquet(tmp_path / "a.parquet")
    sandbox.check_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + bytes(40) + b"PAR1")
    check_raises(DataError, "damaged or incomplete", sandbox.check_parquet, tmp_path / "a.parquet")
