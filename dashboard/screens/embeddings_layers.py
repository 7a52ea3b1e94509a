"""The layers of the model one by one: how clearly the classes lie apart in each, read in a process of its own."""

from __future__ import annotations

import pandas as pd

from core.exceptions import NotAvailable
from dashboard.data import data
from dashboard.figures.class_separation import MAP_LAYERS
from dashboard.figures.source import Source
from dashboard.widgets.errand import offer
from dashboard.widgets.figure import caption, heading, show


def layers_below(source: Source) -> dict[str, pd.DataFrame]:
    """The section: its figure, the offer to read them, or why there are none; gives its numbers."""
    try:
        known = data.layers(source.record, source.split)
    except NotAvailable as reason:
        heading(str(MAP_LAYERS.title), MAP_LAYERS.name)
        caption(f"There is none: {reason}.")
        return {}
    if known is None:
        heading(str(MAP_LAYERS.title), MAP_LAYERS.name, about=str(MAP_LAYERS.how))
        not_read(source)
        return {}
    shown = MAP_LAYERS.shape(source)
    show(MAP_LAYERS, shown, more="The map is of the shaded one; choose another under Vectors.")
    return MAP_LAYERS.numbers(shown)


def not_read(source: Source) -> None:
    """The job, while it runs; else the button that begins it.

    Raises:
        NotAvailable: there are no layers to read.
    """
    offer(data.layer_files(source.record.run, source.split), "read-layers")
