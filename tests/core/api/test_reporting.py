"""`sentiscope report`: the file, the message, and errors with exit code 2."""

import json

import numpy as np
import pytest
from answering import answering, right_where, texts

from core.runs.store import RunStore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reporting")
    labels = np.arange(40) % 2
    answering(RunStore(folder / "runs"), "one", right_where(np.arange(40) > 4, labels), texts(labels))
    return folder


def test_report_is_one_json_object_and_a_file(cli, tmp_path):
    file = tmp_path / "one.html"
    code, out, err = cli("report", "one", "--to", str(file), "--json")
    assert code == 0, err
    said = json.loads(out)
    assert said["file"] == str(file) and said["bytes"] == file.stat().st_size
    assert (said["kind"], said["runs"], said["split"], said["n"], said["texts"]) == ("run", ["one"], "test", 40, True)
    assert said["command"] == "sentiscope report one" and said["command"] in file.read_text()
    assert "drawing" in err and "roc" in said["figures"] and "labels" in said["left_out"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gone",), "gone"),
        (("one", "--split", "dev"), "no predictions of a split 'dev'"),
        (("one", "--codes", "nobody"), "--codes 'nobody'"),
        (("one", "--to", "/no/such/folder/one.html"), "no such folder"),
    ],
)
def test_wrong_input_gives_an_error_sentence(cli, words, said):
    cli.refused(said, "report", *words)
