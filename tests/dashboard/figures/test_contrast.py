"""Two sentences side by side: aligned words and the size of differences."""

import math

import pandas as pd
import pytest

from core import api
from core.exceptions import InputError, NotAvailable
from core.formatting import signed
from core.interpret.model_edits import Edits
from core.runs.store import RunStore
from dashboard.figures.contrast import align_readings, align_words, build_contrast_table, describe_difference
from dashboard.figures.source import Source
from dashboard.reader import Reader


@pytest.mark.parametrize(
    ("now", "other", "pairs"),
    [
        ("a b c", "a b c", [(0, 0), (1, 1), (2, 2)]),
        ("The film was bad", "the film was not bad", [(0, 0), (1, 1), (2, 2), (None, 3), (3, 4)]),
        ("so never dull", "so not bad", [(0, 0), (1, 1), (2, 2)]),
        ("a b c d", "a x d", [(0, 0), (1, 1), (2, None), (3, 2)]),
        ("", "a", [(None, 0)]),
        ("", "", []),
    ],
)
def test_equal_words_and_words_at_the_same_place_are_paired(now, other, pairs):
    assert align_words(now.split(), other.split()) == pairs


def source(trained, text, run="finished", **more) -> Source:
    store = RunStore(trained)
    return Source(store.read(run), Reader(store), text=text, **more)


@pytest.mark.slow
def test_predictions_differ_by_probability_and_log_odds_as_in_explain(trained):
    now, other = source(trained, "good warm film"), source(trained, "bad dull film")
    p, q = (each.view.probabilities["positive"] for each in (now, other))
    odds = [math.log(each / (1 - each)) for each in (p, q)]
    said = describe_difference(now, other, "pinned")
    assert said == (
        f"P(positive) {p:.3f} against {q:.3f} pinned: {signed(p - q, 3)}; "
        f"log-odds {signed(odds[0])} against {signed(odds[1])}: {signed(odds[0] - odds[1])}."
    )
    assert p > q and now.view.label == other.view.label
    assert describe_difference(source(trained, "film", "baseline"), now).count("instead of") == (
        source(trained, "film", "baseline").view.label != now.view.label
    )
    now, other = source(trained, "good film"), source(trained, "good dull film", edits=Edits(heads_off=((0, 0),)))
    table = build_contrast_table(align_readings(now, other))
    assert table["word"].tolist()[0] == "good" and pd.isna(table["word"][1]) and table["other word"][1] == "dull"
    mine = api.explain("finished", "good film", target="positive", store=RunStore(trained))["words"]
    assert table["push"].tolist()[0] == pytest.approx(mine[0]["push"])
    assert table["difference"][0] == pytest.approx(table["push"][0] - table["other push"][0])
    assert pd.isna(table["difference"][1])
    assert build_contrast_table(align_readings(now, now))["difference"].tolist() == [0, 0]
    with pytest.raises(NotAvailable, match="no word"):
        align_readings(source(trained, "good"), source(trained, " "))
    assert "P(positive)" in describe_difference(source(trained, "good"), source(trained, ""))


@pytest.mark.slow
def test_figure_compares_two_runs_on_one_text(trained, tmp_path):
    store = RunStore(trained)
    given = {"only": ["difference"], "csv": True, "store": store}
    _, table = api.figures("finished", tmp_path, against=["baseline"], text="good dull film", **given)["files"]
    rows = pd.read_csv(table["file"])
    for run, column in (("finished", "push"), ("baseline", "other push")):
        words = api.explain(run, "good dull film", target="positive", store=store)["words"]
        assert rows[column].tolist() == pytest.approx([word["push"] for word in words], abs=1e-6)
    for wrong, why in (({"text": "good"}, "--against"), ({"against": ["baseline"]}, "--text")):
        with pytest.raises(InputError, match=why):
            api.figures("finished", tmp_path, **wrong, **given)
