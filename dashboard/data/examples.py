"""The class's counter-examples, and what runs say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from dashboard.data.inside import loaded_of
from dashboard.data.stored import store, weights_fingerprint

if TYPE_CHECKING:
    from core.failures.counter_examples import Answer, CounterExample


def examples() -> list[CounterExample]:
    """The class's counter-examples, the last first; every look at them is a look at the disk."""
    from core.failures.counter_examples import counter_examples

    return counter_examples(store().folder)


def answers(run: str, rows: Sequence[CounterExample]) -> list[Answer]:
    """What a run says of counter-examples today; read only.

    Raises:
        NotAvailable: it has no weights.
        RunDamaged: its model cannot be read.
    """
    weights = weights_fingerprint(run)
    if not weights:
        raise NotAvailable("it has no weights, so no sentence can be read")
    return _answered(str(store().folder), run, weights, tuple(each.id for each in rows), rows)


@st.cache_resource(max_entries=16, show_spinner="Asking the model")
def _answered(
    folder: str, run: str, weights: str, ids: tuple[str, ...], _rows: Sequence[CounterExample]
) -> list[Answer]:
    from core.failures.counter_examples import answers

    return answers(loaded_of(run), _rows)
