"""The λ of two readings beside each other: where both were read, against what the core says of either."""

from __future__ import annotations

import dataclasses

import pytest

from core.config import compose
from core.exceptions import NotAvailable
from core.interpret.edits import Edits
from core.models.trace import Intervention
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard.figures.counterparts import counterparts
from dashboard.figures.differing_lambdas import (
    LAMBDA_DIFFERENCE,
    common,
    corresponding,
    differing_curve_table,
    differing_lambdas,
)
from dashboard.figures.source import Source
from dashboard.figures.theme import Look
from dashboard.reader import Reader

TEXT, OTHER = "good warm film", "good dull film"


def source(trained, text=TEXT, run="finished", **more) -> Source:
    store = RunStore(trained)
    return Source(store.read(run), Reader(store), text=text, **more)


@pytest.mark.slow
def test_the_difference_along_a_lambda_is_of_values_at_which_both_were_read(trained):
    shape = differing_lambdas(source(trained), source(trained, OTHER, edits=Edits(lambdas=((0, 1, 0.333),))))
    loaded = load_run(RunStore(trained), "finished")
    mine = loaded.lambdas(TEXT, "positive").curves
    its = loaded.lambdas(OTHER, "positive", Intervention(((0, 1, 0.333),))).curves
    assert [pair[0].layer for pair in shape.pairs] == [0, 0, 1, 1, None]
    first = common(*shape.pairs[0])
    assert 0.333 in its[0].values and 0.333 not in [value for value, _ in first]
    for value, gap in first:
        assert gap == pytest.approx(mine[0].at(value)[0] - its[0].at(value)[0])
    table = differing_curve_table(shape)
    assert len(table) == sum(len(common(*pair)) for pair in shape.pairs) and len(first) >= 21
    assert table["difference"].tolist() == pytest.approx((table["log_odds"] - table["other_log_odds"]).tolist())
    drawn = LAMBDA_DIFFERENCE.draw(shape, Look())
    assert [trace.name for trace in drawn.data if trace.showlegend] == [f"“{TEXT}”", f"“{OTHER}”"]


@pytest.mark.slow
def test_of_another_training_only_the_factor_on_all_is_compared_with_more_components(trained):
    now, first = source(trained), source(trained)
    fewer = compose("ndt-01-n2", {"model.layers": 2})
    other = dataclasses.replace(first.record, run="two", config=fewer)
    matching = counterparts(now.record, other)
    assert matching.components == {0}
    curves = differing_lambdas(now, first)
    assert [(mine.layer, mine.component) for mine, _ in corresponding(curves.now, curves.other, matching)] == [
        (None, None)
    ]


def test_a_model_without_lambda_is_said(trained):
    with pytest.raises(NotAvailable, match="run 'baseline' has one map in each head"):
        differing_lambdas(source(trained), source(trained, run="baseline"))
