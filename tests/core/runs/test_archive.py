import contextlib
import io
import json
import os
import re
import stat
import subprocess
import warnings
import zipfile
from random import Random

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from refused import check_raises, denied

from core.config import compose, to_dict
from core.data.load import load_dataset
from core.exceptions import InputError, RunDamaged, RunNotFound
from core.runs import archive, training_jobs
from core.runs.archive import export_file, export_run, import_run, import_zip
from core.runs.record import RECORD, Process
from core.runs.store import RunStore, get_own_process
from core.runs.training_jobs import execute
from core.text.lexicon import read_lexicon
from core.training.history import MOST_LINES

LEADING_OUT = "../evil.json", "first/../../evil", "/etc/evil", "C:/evil", "..\\evil", "first/evaluation/../../x"
PATHS = ["/etc/passwd", "/proc/self/environ", "../../grades.csv", "~/grades.csv", "C:\\grades.csv", "grades.csv"]


@pytest.fixture
def finished(store, created):
    """A run with one file of every kind, and some that are not exported."""
    folder = store.get_path("first")
    store.update("first", status="done", classes=("no", "yes"))
    for name in ("history.jsonl", "tokenizer.json", "weights.safetensors", "log.txt", ".lock"):
        (folder / name).write_text(name)
    for name in ("checkpoint/state.json", "projections/ab12.npy", "belief/ab12.json", "belief/ab12.progress.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "evaluation" / "test").mkdir(parents=True)
    pd.DataFrame({"text": ["a warm film"]}).to_parquet(folder / "evaluation" / "test" / "predictions.parquet")
    return folder


@pytest.fixture
def elsewhere(tmp_path):
    return RunStore(tmp_path / "elsewhere")


def make_zip(entries):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice: that is what a test wants
        for name, content in entries:
            packed.writestr(name, content)
    stream.seek(0)
    return stream


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


KEPT = ["belief/ab12.json", "evaluation/test/predictions.parquet", "history.jsonl", "projections/ab12.npy", "run.json"]
KEPT += ["tokenizer.json", "weights.safetensors"]


@pytest.mark.slow
def test_an_imported_run_equals_the_exported_one_without_local_data(store, finished, elsewhere, tmp_path):
    export_file(store, "first", tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == export_run(store, "first"), "the same run gives the same bytes"
    assert import_run(elsewhere, tmp_path / "a.zip") == "first" and elsewhere.read("first") == store.read("first")
    assert (elsewhere.get_path("first") / "weights.safetensors").read_text() == "weights.safetensors"
    own = compose("vanilla", {"data.name": "/home/me/reviews.csv"})
    store.update("first", process=Process(1, 1.0, "another"), config=own, status="failed")
    before = (elsewhere.get_path("first") / RECORD).read_bytes()
    assert import_run(elsewhere, finished) == "first-2", "a directory is taken in as well"
    assert (elsewhere.get_path("first") / RECORD).read_bytes() == before, "the run of that name stays"
    assert json.loads((elsewhere.get_path("first-2") / RECORD).read_text())["run"] == "first-2"
    for run in ("first", "first-2"):
        assert files(elsewhere.get_path(run)) == [archive.IMPORTED, *KEPT]
    record = elsewhere.read("first-2")
    assert record.process is None and record.config.data.name == "elsewhere:reviews.csv"
    check_raises(RunNotFound, None, export_run, store, "nobody")


@pytest.mark.parametrize("linked", ["weights.safetensors", "evaluation/test"])
def test_a_link_in_a_directory_is_refused(finished, elsewhere, tmp_path, linked):
    (tmp_path / "secret").mkdir()
    target = finished / linked
    target.rename(tmp_path / "secret" / "moved")
    target.symlink_to(tmp_path / "secret" / "moved")
    if target.is_dir():
        assert "evaluation/test/predictions.parquet" not in files(elsewhere.get_path(import_run(elsewhere, finished)))
    else:
        check_raises(InputError, "is a link", import_run, elsewhere, finished)


def test_unknown_files_are_not_imported(finished, elsewhere):
    names = ["run.json", "evil.py", "evaluation/test/x.pkl", "checkpoint/state.json", "__MACOSX/a"]
    packed = make_zip([(name, (finished / RECORD).read_text()) for name in names])
    assert import_zip(elsewhere, packed, "mine & yours.zip") == "mine-yours", "without a folder the name of the zip"
    assert files(elsewhere.get_path("mine-yours")) == [archive.IMPORTED, "run.json"]


def _link():
    link = zipfile.ZipInfo("first/weights.safetensors")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    return make_zip([("first/run.json", "{}"), (link, "/etc/passwd")])


def _unusual():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_LZMA) as packed:
        packed.writestr("a/run.json", "{}")
    return stream


def _lying_about_its_size():
    raw = make_zip([("first/run.json", "{}"), ("first/history.jsonl", "0" * 50_000)]).getvalue()
    return io.BytesIO(raw.replace((50_000).to_bytes(4, "little"), (5).to_bytes(4, "little")))


def _before_its_start():
    content = bytearray(make_foreign_zip().getvalue())
    end = content.rindex(b"PK\x05\x06")
    content[end + 16 : end + 20] = (2**32 - 2).to_bytes(4, "little")  # where the directory of the archive begins
    return io.BytesIO(content)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *(
            (lambda name=name: make_zip([("first/run.json", "{}"), (name, "evil")]), "leads out of the archive")
            for name in LEADING_OUT
        ),
        (lambda: make_zip([("notes.txt", "x")]), "no run.json"),
        (lambda: make_zip([("a/run.json", "{}"), ("b/run.json", "{}")]), "2 runs"),
        (lambda: make_zip([("a/run.json", "{}")]), "schema None"),
        (lambda: make_zip([("a/run.json", "not json")]), "run.json: cannot be read"),
        (lambda: make_zip([("a/run.json", "{}"), ("a/run.json", "{}")]), "there twice"),
        (lambda: make_zip([(f"a/{number}", "") for number in range(501)]), "fewer than 500"),
        (lambda: io.BytesIO(b""), r"x\.zip: is not a zip file"),
        (lambda: io.BytesIO(b"PK\x03\x04 cut off"), r"x\.zip: is not a zip file"),
        (_link, "is a link"),
        (_unusual, "packed in an unusual way"),
        (_lying_about_its_size, "is not a zip file that can be read"),
        (_before_its_start, "is not a zip file that can be read"),
    ],
)
def test_invalid_imports_are_refused_and_nothing_is_written(elsewhere, tmp_path, make, words):
    check_raises(InputError, words, import_zip, elsewhere, make(), "x.zip")
    assert not elsewhere.list() and not list(tmp_path.rglob("*evil*"))


def test_damaged_or_running_runs_are_neither_exported_nor_imported(store, created, elsewhere, tmp_path, monkeypatch):
    store.update("first", status="done")
    with monkeypatch.context() as patch:
        patch.setattr(archive, "read_regular", denied)
        with pytest.raises(RunDamaged, match=r"cannot be read: Permission denied; the run is not exported"):
            export_run(store, "first")
    (tmp_path / "holiday").mkdir()
    check_raises(InputError, r"no run\.json", import_run, elsewhere, tmp_path / "holiday")
    check_raises(InputError, r"nothing\.zip: no such file", import_run, elsewhere, tmp_path / "nothing.zip")
    monkeypatch.setattr(archive, "LIMIT", 5_000)
    with pytest.raises(InputError, match="unpacks to more than"):
        import_zip(elsewhere, make_zip([("first/run.json", "{}"), ("first/history.jsonl", "0" * 5_000)]), "bomb.zip")
    assert not elsewhere.list()
    monkeypatch.undo()
    store.update("first", status="running", process=get_own_process())
    check_raises(InputError, "is running", export_run, store, "first")
    check_raises(InputError, "is running on another machine", import_run, elsewhere, store.get_path("first"))


@pytest.mark.slow
def test_imported_runs_have_a_total_size_limit(store, finished, elsewhere, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_IMPORTED_MB", "1")
    (finished / "weights.safetensors").write_bytes(os.urandom(600_000))
    packed = export_run(store, "first")
    (store.folder / "own").mkdir()
    (store.folder / "own" / "weights.safetensors").write_bytes(bytes(2_000_000))
    assert import_zip(elsewhere, io.BytesIO(packed), "a.zip") == "first"
    with pytest.raises(InputError, match=r"at most 1 MB of imported runs \(SENTISCOPE_IMPORTED_MB\), and 0 are here"):
        import_zip(elsewhere, io.BytesIO(packed), "a.zip")
    assert sorted(path.name for path in elsewhere.folder.iterdir()) == ["first"]
    elsewhere.remove("first")
    assert import_zip(elsewhere, io.BytesIO(packed), "a.zip") == "first"


def make_foreign_zip(config=(), **changes):
    """Return the zip file of a failed run with changed settings; `config`: {"data.name": …}."""
    tree = json.loads(json.dumps(to_dict(compose("tfidf-nb"))))
    for name, value in dict(config).items():
        room, _, setting = name.partition(".")
        tree[room][setting] = value
    record = {"schema": 1, "run": "x", "preset": "tfidf-nb", "status": "failed", "config": tree, "reason": "stopped"}
    record["created"] = "2026-11-21T00:00:00+00:00"
    return make_zip([("steal/run.json", json.dumps({**record, **changes}))])


@pytest.mark.parametrize("setting", ["data.name", "text.lexicon"])
@pytest.mark.parametrize("path", PATHS)
def test_imported_runs_have_no_paths_and_are_not_trained(store, monkeypatch, setting, path):
    run = import_zip(store, make_foreign_zip({setting: path}), "steal.zip")
    last = re.split(r"[/\\]", path)[-1]
    config = store.read(run).config
    assert {"data.name": config.data.name, "text.lexicon": config.text.lexicon}[setting] == f"elsewhere:{last}"
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    for begin in (training_jobs.start, execute):
        with pytest.raises(InputError, match=f"made with '{last}' of the machine that it comes from.*train it again"):
            begin(store, run)
    assert store.read(run).status == "failed"


def test_imports_never_read_files_that_an_archive_names(store, tmp_path, monkeypatch):
    secret = tmp_path / "grades.csv"
    secret.write_text("text,label\nsecret,a\n")
    monkeypatch.chdir(tmp_path)
    run = import_zip(store, make_foreign_zip({"data.name": str(secret), "text.lexicon": str(secret)}), "steal.zip")
    secret.rename(tmp_path / store.read(run).config.data.name)  # even a file of exactly that name
    config = store.read(run).config
    check_raises(InputError, "was not included in it", load_dataset, config.data)
    check_raises(InputError, "was not included in it", read_lexicon, config.text.lexicon)


def test_names_are_kept_and_paths_lose_their_folder(store, elsewhere):
    record = store.read(import_zip(store, make_foreign_zip({"data.name": "sst2", "text.lexicon": "vader"}), "mine.zip"))
    assert (record.config.data.name, record.config.text.lexicon, record.foreign_reason) == ("sst2", "vader", "")
    record = store.read(import_zip(store, make_foreign_zip({"text.lexicon": "vader,/home/me/trade.csv"}), "mine.zip"))
    assert record.config.text.lexicons == ("vader", "elsewhere:trade.csv") and "'trade.csv'" in record.foreign_reason
    assert "--set text.lexicon=vader,FILE" in record.foreign_reason
    run = import_zip(
        store, make_foreign_zip({"data.name": "/a/b.csv", "text.lexicon": "a/trade.csv,b/trade.csv"}), "two.zip"
    )
    again = elsewhere.read(import_zip(elsewhere, io.BytesIO(export_run(store, run)), "x.zip")).config
    assert again.text.lexicons == ("elsewhere:trade.csv", "elsewhere:trade.csv (2)")
    assert again.data.name == "elsewhere:b.csv", "also when it goes round"


@pytest.mark.parametrize("seed", range(20))
def test_damaged_zip_files_are_refused_and_leave_nothing(store, elsewhere, finished, seed):
    random = Random(seed)
    content = bytearray(export_run(store, "first"))
    for _ in range(random.choice((1, 1, 2, 4))):
        place = random.randrange(len(content) // 2, len(content))  # where the directory of the archive is
        content[place] = random.choice((0, 255, random.randrange(256)))
    with contextlib.suppress(InputError):
        import_zip(elsewhere, io.BytesIO(content), "mutant.zip")
    assert [path for path in elsewhere.folder.glob(".import-*")] == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("history.jsonl", "\n" * (MOST_LINES + 1), r"history\.jsonl: .*it has more than 100\u202f000 lines"),
        (RECORD, None, r"run\.json: cannot be read: reason is 'xxx"),
    ],
)
def test_runs_with_endless_texts_are_refused(finished, elsewhere, name, content, said):
    file = finished / name
    file.write_text(content or file.read_text().replace('"reason": ""', f'"reason": "{"x" * 5_000}"'))
    check_raises(InputError, said, import_run, elsewhere, finished)
    assert elsewhere.list() == []


def _long_words(table):
    """Return some kilobytes that a dictionary expands to 4 MB."""
    words = pa.array(["x" * 100_000]).dictionary_encode()
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 40, pa.int32()), words.dictionary)
    parquet.write_table(pa.table({"text": repeated}), table)


def _lying_header(table):
    """Return a header with 61 rows for a table of 5."""
    pd.DataFrame({"text": ["x"] * 5}).to_parquet(table, index=False)
    content = table.read_bytes()
    footer = content.rindex(b"PAR1") - 4 - int.from_bytes(content[-8:-4], "little")
    table.write_bytes(content[:footer] + content[footer:].replace(b"\x16\x0a", b"\x16\x7a"))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_long_words, "its cells unpack to more; at most 2 MB"),
        (_lying_header, "the table has more rows; at most 60"),
        (lambda table: table.write_bytes(b"PAR1" + b"\xff" * 400 + b"PAR1"), "damaged or incomplete"),
    ],
)
def test_invalid_predictions_are_refused_in_a_separate_process(store, finished, elsewhere, monkeypatch, spoil, said):
    table = finished / "evaluation" / "test" / "predictions.parquet"
    assert import_run(elsewhere, finished) == "first"
    spoil(table)
    monkeypatch.setenv("SENTISCOPE_LIMITS", "size=2,rows=60")
    monkeypatch.setattr("core.data.limits.read_bytes", lambda path: pytest.fail("read in this process"))
    check_raises(InputError, rf"first/evaluation/test/predictions\.parquet: .*{said}", import_run, elsewhere, finished)
    assert [each.run for each in elsewhere.list()] == ["first"] and not list(elsewhere.folder.glob(".import-*"))
