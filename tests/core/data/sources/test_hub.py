"""Downloads from our own hub on the loopback interface, never from the real one."""

import hashlib
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest

from core.config import compose
from core.data.sources import SOURCES
from core.data.sources.source import fetch_splits
from core.exceptions import NotAvailable

LOAD = """
import sys
from core.data.config import DataConfig
from core.data.load import load_dataset
from core.exceptions import SentiscopeError
for source in sys.argv[1:]:
    try:
        dataset = load_dataset(DataConfig(name=source))
        print({name: list(rows["text"])[:1] + [len(rows)] for name, rows in dataset.splits.items()}, dataset.classes)
        print(*dataset.notes, sep="\\n")
    except SentiscopeError as error:
        print(type(error).__name__, error)
"""


class FakeHub(ThreadingHTTPServer):
    """Serves /datasets/REPO/resolve/REVISION/FILE with the headers that the client library asks for."""

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.requests = files, []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if "/resolve/" in self.path:
            self.server.requests.append((self.command, self.path))
        body = self.server.files.get(self.path)
        self.send_response(200 if body else 404)
        self.send_header("X-Repo-Commit", "a" * 40)
        if not body:
            self.send_header("X-Error-Code", "EntryNotFound")
        else:
            self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if self.command == "GET" and body:
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def log_message(self, *_):
        pass


def parquet(**columns):
    return pd.DataFrame(columns).to_parquet()


@pytest.fixture
def hub():
    sentences = {"idx": list(range(60)), "sentence": [f"train {n}" for n in range(60)], "label": [0, 1] * 30}
    dev = {"idx": [0, 1], "sentence": ["dev 0", "dev 1"], "label": [1, 0]}
    test = {"idx": [0, 1, 2], "sentence": ["a", "b", "c"], "label": [-1, -1, -1]}
    tweets = {"text": [f"tweet {n}" for n in range(60)], "sentiment": [0, 4] * 30}
    judged = {"text": [f"judged {n}" for n in range(6)], "sentiment": [0, 2, 4] * 2}
    sst2 = "/datasets/stanfordnlp/sst2/resolve/main/data/{}-00000-of-00001.parquet"
    converted = "/datasets/stanfordnlp/sentiment140/resolve/refs%2Fconvert%2Fparquet/sentiment140/{}/0000.parquet"
    server = FakeHub(
        {
            sst2.format("train"): parquet(**sentences),
            sst2.format("validation"): parquet(**dev),
            sst2.format("test"): parquet(**test),
            converted.format("train"): parquet(**tweets),
            converted.format("test"): parquet(**judged),
            "/datasets/stanfordnlp/imdb/resolve/main/plain_text/train-00000-of-00001.parquet": b"PAR1 cut short",
        }
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def run(names, url, home):
    """Return the output of a process that loads these data sets; a new process, as variables are read on import."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "SENTISCOPE_"))}
    environment |= {"HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "no_proxy": "*"}
    root = Path(__file__).parents[4]
    command = [sys.executable, "-c", LOAD, *names.split()]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=root, timeout=60)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_data_set_is_downloaded_once_and_then_comes_from_the_cache(hub, tmp_path):
    first = run("sst2 sentiment140 yelp-5 imdb", hub.url, tmp_path)
    assert "{'train': ['train " in first and "'test': ['dev 0', 2]} ('negative', 'positive')" in first
    assert "3 rows with the label -1 (withheld) left out" in first
    assert len([path for command, path in hub.requests if command == "GET" and "/sst2/" in path]) == 3
    assert "'test': ['judged 0', 4]" in first  # of the Parquet branch, with other columns and label values
    assert "test: 2 rows of class 'neutral' left out, train has none" in first
    assert "the hub has no file 'yelp_review_full/train-00000-of-00001.parquet' in Yelp/yelp_review_full" in first
    assert "not checked against the hub" in first
    assert "\nDataError train-00000-of-00001.parquet: this Parquet file is damaged" in first
    assert first.startswith(run("sst2", "http://127.0.0.1:9", tmp_path))


@pytest.mark.slow
def test_offline_errors_suggest_remedies(tmp_path):
    said = run("sst2", "http://127.0.0.1:9", tmp_path)
    assert said.startswith("NotAvailable 'sst2': the Hugging Face hub cannot be reached from here")
    assert "--data PATH" in said and "SENTISCOPE_DATA" in said


def test_missing_packages_are_named_with_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(NotAvailable, match=r"pip install 'sentiscope\[hub\]'; or give a local copy with --data PATH"):
        fetch_splits(SOURCES["sst2"])
    with pytest.raises(NotAvailable, match="no hub repository is known for 'ohsumed'"):
        fetch_splits(SOURCES["ohsumed"])


def test_every_source_has_facts_ordered_classes_and_valid_settings():
    for source in SOURCES.values():
        assert source.title and source.licence and source.citation and source.language and source.checked
        compose("vanilla", source.settings)
        if source.hub:
            assert source.labels and "train" in source.hub.files
            assert all(file.endswith(".parquet") for files in source.hub.files.values() for file in files)
    assert SOURCES["sst5"].classes == ("very negative", "negative", "neutral", "positive", "very positive")
    assert SOURCES["sentiment140"].classes == ("negative", "neutral", "positive")
    assert len(SOURCES["tweeteval_emoji"].classes) == 20
