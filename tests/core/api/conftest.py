"""Call `sentiscope` as a user does, in this process."""

import contextlib
import io
import json
import sys

import pytest

from core.api import printing
from core.cli import main


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder in which the commands of a test file run, with its runs; test files override it."""
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def cli(place):
    """cli(*arguments) → (exit code, stdout, stderr) of `sentiscope`.

    cli.json(*arguments) → what it answers as JSON; cli.lines(*arguments) → the lines it prints, without padding;
    cli.refused(words, *arguments): it ends with code 2 and these words.
    """

    def call(*arguments):
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with pytest.MonkeyPatch.context() as here:
            here.chdir(place)
            here.setenv("SENTISCOPE_RUNS", str(place / "runs"))
            here.setenv("SENTISCOPE_CACHE", str(place / "cache"))
            here.setenv("SENTISCOPE_DATA", "")
            here.setattr(printing.out, "_width", 200)  # COLUMNS is read only once, at import
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

    def read_lines(*arguments):
        code, out, err = call(*arguments)
        assert code == 0, err
        return [" ".join(line.split()) for line in out.splitlines()]

    def assert_refused(words, *arguments):
        code, out, err = call(*arguments)
        assert (code, out) == (2, "") and words in " ".join(err.split()) and "Traceback" not in err, err

    call.json, call.lines, call.refused = answer, read_lines, assert_refused
    return call
