"""Activation patching from another sentence: each position by layer, colours, text, missing values."""

from types import SimpleNamespace

import pytest

from core import api
from core.exceptions import InputError
from core.interpret.ablation import Patch, Patches
from core.runs.store import RunStore
from dashboard.figures.activation_patching import PATCHING, Patching, build_patch_table
from dashboard.figures.theme import LIGHT, Look

RECORD = SimpleNamespace(classes=("negative", "positive"), task="single", ordered=False)


def shown(edited=False):
    moved = {"layer": (-4.0, -4.0), "token": (-3.0, 0.5), "head": (0.001, 2.0)}
    patches = [
        Patch(kind, layer, 0 if kind == "token" else None, 1 if kind == "head" else None, 1.0 + move, move)
        for kind, each in moved.items()
        for layer, move in enumerate(each)
    ]
    found = Patches("good", "bad", "positive", {}, {}, 1.0, -3.0, ("good",), ("bad",), tuple(patches), "")
    return Patching(RECORD, found, edited)


def test_each_place_has_its_change_in_each_layer():
    data = PATCHING.draw(shown(), Look()).data
    assert [head["name"] for head in data["heads"]] == ["layer 1", "layer 2"]
    moves = {row["name"]: [cell["text"] for cell in row["cells"]] for row in data["rows"]}
    everywhere = {"everything": ["−4.00", "−4.00"], "good ← bad": ["−3.00", "+0.50"]}
    assert moves == {**everywhere, "head 2": ["0.00", "+2.00"]}
    first, last = data["rows"][0]["cells"][0], data["rows"][2]["cells"]
    assert first["colour"] == LIGHT.minus_scale[-1] and last[0]["colour"] == LIGHT.paper
    assert last[1]["about"] == "head 2, layer 2: log-odds of positive +2.000"
    assert data["lines"] == ["Log-odds of positive: +1.00 for the first sentence, −3.00 for the second."]
    assert PATCHING.resolve_text(PATCHING.note, shown(edited=True)) == "towards positive, both after your changes"
    table = build_patch_table(shown())  # layers count from 1
    assert table["layer"].tolist() == [1, 2, 1, 2, 1, 2] and table["moved"][2] == -3.0
    assert (table["token"][2], table["here"][2], table["donor"][2], table["head"][4]) == (1, "good", "bad", 2)


@pytest.mark.slow
def test_second_sentence_is_a_figure_option(trained, tmp_path):
    store = RunStore(trained)
    given = {"only": ["patching"], "text": "good film", "store": store}
    written = api.figures("finished", tmp_path, options={"donor": "bad film"}, csv=True, **given)["files"]
    assert len(written) == 2  # the figure and its numbers
    assert "good ← bad" in (tmp_path / "patching.html").read_text()
    with pytest.raises(InputError, match="a second sentence of as many tokens is needed: --with donor=TEXT"):
        api.figures("finished", tmp_path, **given)
    with pytest.raises(InputError, match="differ in their number of tokens"):
        api.figures("finished", tmp_path, options={"donor": "bad"}, **given)
