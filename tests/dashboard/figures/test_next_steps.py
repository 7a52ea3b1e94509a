"""What to do next: what survives correction is advised with its numbers, nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from answering import answering, right_where, texts

from core.runs.store import RunStore
from dashboard.figures.analysis import analyse, make_known
from dashboard.figures.error_rates import gathered, next_steps, sliced

pytestmark = pytest.mark.slow


def steps(tmp_path, chance):
    """Of 600 rows that are wrong with this chance, given whether they ask."""
    store, random, rows = RunStore(tmp_path / "runs"), np.random.default_rng(0), np.arange(600)
    asks = rows % 3 == 0
    frame = texts(rows % 2)
    frame["text"] = [f"{text}{'?' * int(ask)}" for text, ask in zip(frame["text"], asks, strict=True)]
    right = random.random(600) > np.where(asks, *chance)
    answering(store, "one", right_where(right, rows % 2, 0.8), frame)
    known = make_known(store, store.read("one"), "test")
    known.find()
    shown = analyse(known, "wrong", store)
    return next_steps(shown, gathered(shown), sliced(shown)), known.table.frame, asks


def test_a_tag_that_survives_is_advised_with_its_rates(tmp_path):
    found, frame, asks = steps(tmp_path, (0.5, 0.1))
    first = found[0]
    assert first.rules == ("wrong", "tag=question") and first.advice.startswith("Add questions")
    rate, rest = frame["wrong"][asks].mean(), frame["wrong"][~asks].mean()
    assert first.evidence == f"question: {100 * rate:.1f} % of 200 are wrong, {100 * rest:.1f} % of the others"


def test_chance_is_no_advice(tmp_path):
    assert steps(tmp_path, (0.2, 0.2))[0] == []
