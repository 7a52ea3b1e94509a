"""The terminal shows data literally: no emoji codes, no markup, no control characters."""

import io

import pytest
from rich.console import Console

from core.api import printing
from core.api.printing import PLAIN, TrainingProgress, say, tabulate

TEXTS = ["root:x:0:0", ":smile:", "[red]x[/red]", "[/]", "[bold]", r"\[red]", "a\\", "[link=file:etc]x[/link]"]
RUN = "words-0001-s0-inceptive-16"


@pytest.mark.parametrize("text", TEXTS)
def test_lines_cells_and_columns_are_printed_literally(capsys, text):
    say(f"before {text}", head=f"head {text} ")
    tabulate([{"what": text, text: "x"}], ("what", text))
    line, header, row = capsys.readouterr().out.splitlines()
    assert line == f"head {text} before {text}" and header.split() == ["what", *text.split()]
    assert row.split() == [*text.split(), "x"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [("data", "check"), ("train",)], ids=["of a verb", "of the parser"])
def test_error_quotes_the_typed_value(cli, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "200")
    typed = " ".join(TEXTS)
    cli.refused(typed, *words, typed)


def test_progress_is_printed_literally_and_cannot_control_the_terminal(capsys):
    stream = io.StringIO()
    told = TrainingProgress(Console(file=stream, **PLAIN))
    told.print_event({"kind": "queued", "run": ":x:"})
    told.print_event({"kind": "epoch", "epoch": 0, "validation": {"f1[red]:x:": 0.5}})
    assert stream.getvalue() == "run :x:\nepoch 1: validation f1[red]:x: 0.500\n"
    say("a\x1b[31mb\rc\nd\ud800")
    assert capsys.readouterr().out == "a\\x1b[31mb\\rc\\nd\\ud800\n"


@pytest.fixture
def narrow(monkeypatch):
    """narrow(width, row) → the lines of a table with one row on a terminal with this number of columns."""

    def tabulated(width, row):
        console = Console(width=width, file=io.StringIO(), **PLAIN)
        monkeypatch.setattr(printing, "out", console)
        tabulate([row], tuple(row))
        return [line.rstrip() for line in console.file.getvalue().splitlines()]

    return tabulated


def test_narrow_tables_cut_no_word_or_letter_and_break_none_if_there_is_room(narrow):
    lines = narrow(40, {"run": RUN, "model": "tfidf-logreg-chars", "data": "built-in"})
    assert RUN in "\n".join(lines) and not any("…" in line or len(line) > 40 for line in lines)
    lines = narrow(40, {"run": RUN, "model": "tfidf-logreg-chars", "data": "built-in", "reason": ""})
    assert lines == [RUN, "  model tfidf-logreg-chars · data", "  built-in"]
    row = {"run": "a-name-of-twenty-one-", "model": "bilstm", "reason": "stopped by hand"}
    shown = " ".join(narrow(40, row)).split()
    assert shown == ["run", "model", "reason", row["run"], "bilstm", "stopped", "by", "hand"]
    lines = narrow(30, {"metric": "precision_weighted", "value": "0.912", "tfidf-logreg-chars": "0.875"})
    assert " ".join(lines).split() == ["precision_weighted", "value", "0.912", "·", "tfidf-logreg-chars", "0.875"]
    note = "a sentence that may well go on below"
    lines = narrow(40, {"metric": "accuracy", "interval": "0.712 to 0.833", "note": note})
    assert any("0.712 to 0.833" in line for line in lines)
    row = {"ratio to": "window of 2", "reported": f"{'a' * 24} {'b' * 12}", "long": "c" * 34}
    shown = " ".join(narrow(80, row)).split()
    assert "ratio to" in " ".join(shown) and {*row["reported"].split(), row["long"]} < set(shown)
