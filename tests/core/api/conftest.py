"""`sentiscope` as a person calls it, in this process."""

import contextlib
import io
import json
import sys
from pathlib import Path

import pytest

from core.api import printing
from core.cli import main


@pytest.fixture(scope="module")
def cli(place):
    """cli(*arguments) → (exit code, stdout, stderr) of `sentiscope`; cli.json(*arguments) → what it answers as JSON."""

    def call(*arguments):
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with pytest.MonkeyPatch.context() as here:
            here.chdir(place)
            here.setenv("SENTISCOPE_RUNS", str(place / "runs"))
            here.setenv("SENTISCOPE_CACHE", str(place / "cache"))
            here.setenv("SENTISCOPE_DATA", "")
            here.setattr(printing.out, "_width", 200)  # read from COLUMNS once, when it was imported
            here.setattr(sys, "argv", ["sentiscope", *map(str, arguments)])
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    main()
                except SystemExit as ended:
                    code = ended.code or 0
        return code, out.getvalue(), err.getvalue()

    def answer(*arguments):
        code, out, err = call(*arguments, "--json")
        assert code == 0, err
        assert out.count("\n") == 1, "one JSON object on stdout"
        return json.loads(out)

    call.json = answer
    return call


@pytest.fixture
def starters(monkeypatch):
    """The starter runs are there; their folder."""
    folder = Path(__file__).resolve().parents[3] / "trained"
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(folder))
    return folder
