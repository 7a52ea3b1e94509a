"""Two readings beside each other, further in: each part, each λ, each method, and their differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from core.exceptions import NotAvailable
from dashboard.figures.differing import same_class
from dashboard.figures.differing_lambdas import LAMBDA_DIFFERENCE, differing_lambdas
from dashboard.figures.differing_methods import METHODS_DIFFERENCE, differing_methods
from dashboard.figures.differing_parts import PARTS_DIFFERENCE, differing_parts
from dashboard.figures.figure import Figure
from dashboard.figures.methods import EXTENT
from dashboard.figures.source import Source
from dashboard.screens.sentence_methods import UNFINISHED, question
from dashboard.screens.sentence_waiting import inside_asked
from dashboard.widgets.figure import caption, show
from dashboard.widgets.waiting import waited

if TYPE_CHECKING:
    import pandas as pd


def doubled(first: Source, second: Source, place: str) -> dict[str, pd.DataFrame]:
    """What two readings differ in, inside; gives the tables.

    Args:
        first: This one.
        second: What it is compared with.
        place: A name for the figures, as in `two_readings`.
    """
    if not inside_asked(first, second, place):
        return {}
    tables = _shown(PARTS_DIFFERENCE, differing_parts, first, second, place, "Parts are not compared")
    if any(each.record.config.model.attention.components > 1 for each in (first, second) if _attends(each)):
        tables |= _shown(LAMBDA_DIFFERENCE, differing_lambdas, first, second, place, "λ is not compared")
    return tables | _by_method(first, second, place)


def _attends(source: Source) -> bool:
    return source.record.config.model.layered


def _shown(
    figure: Figure[Any],
    read: Callable[[Source, Source], Any],
    first: Source,
    second: Source,
    place: str,
    without: str,
) -> dict[str, pd.DataFrame]:
    try:
        shape = read(first, second)
    except NotAvailable as error:
        caption(f"{without}: {error}.")
        return {}
    show(figure, shape, name=f"{figure.name}-{place}")
    return {f"{name} {place}": table for name, table in figure.numbers(shape).items()}


def _by_method(first: Source, second: Source, place: str) -> dict[str, pd.DataFrame]:
    """The words of both by every method, as soon as every method was asked of both."""
    try:
        same = same_class(first, second).with_choices(**{EXTENT.name: first.chosen(EXTENT)})
    except NotAvailable:
        return {}  # said where the pushes of the words stand
    theirs = waited(question(same), f"methods-{place}", UNFINISHED)
    if not (theirs.whole and question(first).known.whole):
        caption("The methods stand beside each other as soon as both readings were asked by all of them.")
        return {}
    return _shown(METHODS_DIFFERENCE, differing_methods, first, second, place, "Methods are not compared")
