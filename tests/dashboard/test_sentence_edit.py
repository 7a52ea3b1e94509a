"""One line of changes inside the model gives the same numbers in a link, on the command line and in Python."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from core import api
from core.api.public_classes import Run
from core.cli import main
from dashboard.data import data
from dashboard.widgets.options import parse_edits

pytestmark = pytest.mark.slow

TEXT = "Not bad at all, but the ending never works"
LINES = {
    "starter-ndt-01-n3": "l2c1:0.5,l:0.75,h1.2,c2.1:mean,m1.1.0",
    "starter-sentiformer": "h1.1,g1.3:0,g2.5:0.5",
    "starter-lexical-last": "h1.1,s:0.25",
}


@pytest.fixture(autouse=True)
def starters(monkeypatch):
    monkeypatch.setenv("SENTISCOPE_RUNS", str(Path(__file__).resolve().parents[2] / "trained"))


@pytest.fixture
def cli(monkeypatch, capsys):
    """cli(*arguments) → (exit code, stdout, stderr)."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["sentiscope", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return call


@pytest.mark.parametrize("run", LINES)
def test_link_command_line_and_python_give_the_same_numbers(run, cli):
    line, record = LINES[run], data.store().read(run)
    edits, _, left_out = parse_edits(record, data.inspect_text(run, TEXT), line)
    assert left_out == 0 and edits.encode_line() == line
    view, trained = data.inspect_text(run, TEXT, edits), data.inspect_text(run, TEXT)
    assert abs(view.probabilities["positive"] - trained.probabilities["positive"]) > 1e-4

    def told(verb, *more):
        code, out, err = cli(verb, run, TEXT, *more, "--edit", line, "--json")
        assert code == 0, err
        return json.loads(out)

    predicted = told("predict")
    assert predicted["edit"] == line
    assert predicted["predictions"][0]["probabilities"] == pytest.approx(view.probabilities, abs=1e-6)
    assert told("inspect")["prediction"]["probabilities"] == pytest.approx(view.probabilities, abs=1e-6)
    pushes = [word["push"] for word in told("explain", "--target", "positive")["words"]]
    np.testing.assert_allclose(pushes, data.pushed(run, TEXT, "positive", edits).found.pushes, atol=1e-5)
    silenced = told("explain", "--parts", "--target", "positive")["parts"]
    shown = data.parts(run, TEXT, "positive", edits).parts
    for name in ("zero", "mean"):
        found = [part[name] for part in silenced]
        np.testing.assert_allclose(found, [getattr(part, name) for part in shown], atol=1e-5)
    last = told("steps")["stages"][-1]["matrices"][-1]
    assert last["values"][0] == pytest.approx([view.probabilities[name] for name in last["columns"]], abs=1e-4)
    mine = Run(run).explain(TEXT, target="positive", edit=line)
    assert [word["push"] for word in mine["words"]] == pushes and mine["edit"] == line
    assert Run(run).sentence(TEXT, edit=line).view.probabilities == pytest.approx(view.probabilities, abs=1e-6)


def test_several_texts_are_edited_at_their_own_positions_and_a_file_without_any(tmp_path, cli):
    run, texts = "starter-sentiformer", ["Not bad at all", "never dull"]
    for text, each in zip(texts, api.predict(run, texts, edit="g1.3:0")["predictions"], strict=True):
        alone = api.inspect(run, text, edit="g1.3:0")["prediction"]["probabilities"]
        assert each["probabilities"] == pytest.approx(alone, abs=1e-6)
    file = tmp_path / "texts.txt"
    file.write_text("never dull\n")
    code, _, err = cli("predict", run, "--data", file, "--edit", "g1.3:0")
    assert code == 2 and "--edit g1.3:0: this names a word of one text" in err


@pytest.mark.parametrize("verb", ["predict", "inspect", "explain", "flip"])
def test_edits_of_missing_parts_are_refused_with_the_existing_ones(verb, cli):
    code, out, err = cli(verb, "starter-vanilla", TEXT, "--edit", "h1.1,h9.1")
    assert (code, out) == (2, "")
    has = "layers 1 to 3 with heads 1 to 4 (h1.1), the temperature of attention (t:0.1 to t:4), positions"
    assert " ".join(err.split()) == f"sentiscope: --edit h9.1: this run has {has} (pos:off, pos:shuffled)"


def test_token_edit_does_not_follow_a_replaced_word(cli):
    code, _, err = cli("flip", "starter-sentiformer", TEXT, "--edit", "g1.3:0")
    assert code == 2 and "cannot follow words that are replaced" in err


def test_counterfactual_is_searched_in_the_edited_model(cli):
    line = "h1.1,h1.2,h2.1:mean"
    code, out, _ = cli("flip", "starter-vanilla", "not a good film", "--edit", line, "--json")
    found = json.loads(out)
    assert code == 0 and found["edit"] == line and found["flip"]
    for text, said in (("not a good film", found), (found["flip"]["text"], found["flip"])):
        told = api.predict("starter-vanilla", [text], edit=line)["predictions"][0]
        assert said["probabilities"] == pytest.approx(told["probabilities"], abs=1e-6)
