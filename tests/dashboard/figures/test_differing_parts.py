"""The parts of two readings beside each other: which are pairs, against what the core says of either."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest
from finished import run

from core import api
from core.exceptions import InputError, NotAvailable
from core.interpret.edits import Edits
from core.interpret.parts import Part, Parts
from core.models.trace import Intervention
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard.figures.counterparts import Counterparts
from dashboard.figures.differing_parts import (
    PARTS_DIFFERENCE,
    DifferingParts,
    Side,
    differing_part_table,
    differing_parts,
    pairs,
)
from dashboard.figures.files import Files
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

TEXT, OTHER = "good warm film", "good dull film"


def source(trained, text=TEXT, run="finished", **more) -> Source:
    store = RunStore(trained)
    return Source(store.read(run), Files(store), text=text, **more)


def pushes(trained, text, change=None) -> list[float]:
    found = load_run(RunStore(trained), "finished").parts(text, "positive", change)
    return [part.zero for part in found.parts]


@pytest.mark.slow
def test_every_part_of_one_run_has_its_push_in_both_sentences_and_the_difference(trained):
    table = differing_part_table(differing_parts(source(trained), source(trained, OTHER)))
    mine, theirs = pushes(trained, TEXT), pushes(trained, OTHER)
    assert table["push"].tolist() == pytest.approx(mine) and table["other push"].tolist() == pytest.approx(theirs)
    assert table["difference"].tolist() == pytest.approx([a - b for a, b in zip(mine, theirs, strict=True)])


@pytest.mark.slow
def test_the_parts_are_silenced_besides_what_each_reading_changes(trained):
    edited = source(trained, edits=Edits(heads_off=((0, 0),)))
    table = differing_part_table(differing_parts(edited, source(trained)))
    mine = pushes(trained, TEXT, Intervention(heads_off=frozenset({(0, 0)})))
    assert table["push"].tolist() == pytest.approx(mine) and mine != pytest.approx(pushes(trained, TEXT))


@pytest.mark.slow
def test_the_grids_stand_beside_each_other_on_one_scale(trained):
    shape = differing_parts(source(trained), source(trained, OTHER))
    blocks = PARTS_DIFFERENCE.draw(shape, Look()).data["blocks"]
    assert [each["title"] for each in blocks] == [f"“{TEXT}”", f"“{OTHER}”", "Difference"]
    assert [head["name"] for head in blocks[2]["heads"]] == ["A₀", "λ₁A₁", "λ₂A₂", "whole"]
    heads = source(trained).record.config.model.attention.heads
    names = [*(f"head {head}" for head in range(1, heads + 1)), "all heads"]
    assert [row["name"] for row in blocks[2]["rows"]] == [f"layer {at}, {name}" for at in (1, 2) for name in names]
    whole = blocks[2]["rows"][-1]["cells"][-1]["about"]
    first, second = (load_run(RunStore(trained), "finished").parts(text, "positive").parts for text in (TEXT, OTHER))
    mine, its = (next(p.zero for p in parts if (p.kind, p.layer) == ("layer", 1)) for parts in (first, second))
    assert whole == f"{mine:+.3f} against {its:+.3f}: {mine - its:+.3f}".replace("-", "−")


@pytest.mark.slow
def test_heads_of_another_training_stand_there_without_a_difference(trained, tmp_path, table, tiny):
    store = RunStore(tmp_path / "runs")
    api.train(str(table), "ndt-01-n2", {**tiny, "training.epochs": 1}, name="two", store=store)
    other = Source(store.read("two"), Files(store), text=TEXT)
    shape = differing_parts(source(trained), other)
    assert {(part.kind, part.component) for part in shape.pairs} == {("layer", None), ("component", 0)}
    rows = differing_part_table(shape)
    unpaired = rows[rows["part"].isin(["head", "map"])]
    assert (
        unpaired["difference"].isna().all() and unpaired["push"].notna().any() and unpaired["other push"].notna().any()
    )
    data = PARTS_DIFFERENCE.draw(shape, Look()).data
    assert [row["name"] for row in data["blocks"][2]["rows"]] == ["layer 1, all heads", "layer 2, all heads"]
    assert any("head 1 of one training is not head 1 of another" in line for line in data["lines"])


@pytest.mark.slow
def test_a_model_without_parts_is_said(trained):
    with pytest.raises(NotAvailable, match="has no attention"):
        differing_parts(source(trained), source(trained, run="baseline"))


@pytest.mark.slow
def test_they_are_figures_of_two_sentences_or_two_runs(trained, tmp_path):
    store = RunStore(trained)
    named = {"only": ["difference-parts"], "csv": True, "text": TEXT, "store": store}
    _, table = api.figures("finished", tmp_path, options={"pinned": OTHER}, **named)["files"]
    rows = pd.read_csv(table["file"])
    assert rows["other push"].tolist() == pytest.approx(pushes(trained, OTHER), abs=1e-6)
    with pytest.raises(InputError, match="--with pinned="):
        api.figures("finished", tmp_path, **named)


def test_gates_are_paired_by_their_words_and_stand_below_the_heads():
    def side(words: str) -> Side:
        gates = [Part("gate", 0, token=place, zero=place + len(words) / 10) for place in range(len(words.split()))]
        found = Parts("", "positive", {}, 0.0, tuple(words.split()), (Part("layer", 0, zero=1.0), *gates), "")
        return Side(dataclasses.replace(run("a"), classes=("negative", "positive")), words, found)

    now, other = side("not a film"), side("a film")
    shape = DifferingParts(now, other, pairs(now.parts, other.parts, Counterparts()), Counterparts())
    table = differing_part_table(shape).set_index("word").loc[["a", "film", "not"]]
    assert table["other word"].tolist() == ["a", "film", ""]
    assert table["difference"].tolist()[:2] == pytest.approx([1.4, 1.4]) and pd.isna(table["difference"]["not"])
    blocks = PARTS_DIFFERENCE.draw(shape, Look()).data["blocks"]
    assert [(each["title"], each["below"]) for each in blocks] == [
        *(("not a film", False), ("a film", False), ("Difference", False)),
        *(("not a film, gates", True), ("a film, gates", False), ("Difference, gates", False)),
    ]
    assert [row["name"] for row in blocks[-1]["rows"]] == ["a", "film"]
