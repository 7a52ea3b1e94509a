"""All runs as one table, their intervals and lambdas drawn small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.runs.record import RunRecord
from dashboard.figures import sparkline as marks
from dashboard.figures.results import headline, run_frame
from dashboard.figures.theme import Tokens

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.figures.curves import Curves

AXIS = (0.5, 1.0)


def drawn_runs(records: Sequence[RunRecord], courses: Sequence[Curves | None], tokens: Tokens) -> pd.DataFrame:
    """`run_frame` with two pictures per row: `interval`, and `course` where a lambda moved.

    Args:
        records: The runs.
        courses: Their curves; None for a damaged one.
        tokens: Colours.
    """
    pictures = {
        "interval": [_interval(record, tokens) for record in records],
        "course": [_course(curves, tokens) for curves in courses],
    }
    return run_frame(records).assign(**pictures)


def _interval(record: RunRecord, tokens: Tokens) -> str:
    found = headline(record)
    if found is None or found.low is None or found.high is None or found.value < AXIS[0]:
        return marks.blank()
    return marks.interval(found.value, found.low, found.high, AXIS, found.yardstick, tokens)


def _course(curves: Curves | None, tokens: Tokens) -> str:
    if curves is None:
        return marks.blank()
    return marks.sparkline(list(curves.lambdas.values()), [layer for layer, _ in curves.lambdas], tokens)
