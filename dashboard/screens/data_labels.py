"""The labels of a person's own file: renamed, merged, left out and put in an order before it is used."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping

import streamlit as st

from core.data.config import DataConfig, listed
from core.data.labels import WITHHELD
from dashboard.widgets.figure import caption
from dashboard.widgets.style import row_height

SIGNS = {
    **dict.fromkeys(("very negative", "strongly negative"), -2),
    **dict.fromkeys(("negative", "neg", "bearish", "bad"), -1),
    **dict.fromkeys(("neutral", "neu", "mixed"), 0),
    **dict.fromkeys(("positive", "pos", "bullish", "good"), 1),
    **dict.fromkeys(("very positive", "strongly positive"), 2),
}
"""Names of classes that are known to be a scale."""
HOW = (
    "Labels of the same class are merged; the rows of a label without a class are left out. Place puts the classes in "
    "order, 1 being the worst: it decides their colours and, from three classes on, whether a scale is measured."
)


def label_table(config: DataConfig, labels: Mapping[str, int], key: str) -> tuple[DataConfig, dict[str, int], str]:
    """A table to be changed; gives the config with what was said, the rows of each class, and what is lacking.

    Args:
        config: How the file is read.
        labels: Label → rows.
        key: Short and unique for the content and its label column.
    """
    import pandas as pd

    places = usual_places(list(labels))
    asked = WITHHELD in labels
    with st.expander("Rename, merge or order the labels", expanded=asked):
        caption(HOW)
        edited = st.data_editor(
            pd.DataFrame(
                {
                    "label": list(labels),
                    "rows": list(labels.values()),
                    "class": list(labels),
                    "place": pd.array([places.get(name) for name in labels], dtype="Int64"),
                }
            ),
            hide_index=True,
            row_height=row_height(),
            width="content",
            disabled=["label", "rows"],
            column_config={
                "label": st.column_config.TextColumn("Label", width=200),
                "rows": st.column_config.NumberColumn("Rows", width=90),
                "class": st.column_config.TextColumn("Class", width=200, help="Empty: its rows are left out"),
                "place": st.column_config.NumberColumn("Place", width=90, min_value=1, help="1 is the worst"),
            },
            key=f"labels-{key}",
        )
        unlabelled = asked and st.checkbox(
            f"{WITHHELD} is a label like the others", key=f"withheld-{key}", help="It often marks rows without a label"
        )
    names = ["" if pd.isna(name) else str(name).strip() for name in edited["class"]]
    numbers = [None if pd.isna(place) else int(place) for place in edited["place"]]
    said = dict(zip(labels, names, strict=True))
    lacking = ""
    if asked and said[WITHHELD] == WITHHELD and not unlabelled:
        lacking = f"{WITHHELD} often marks rows without a label: empty its class above, or say that it is one."
    changed, classes = renamed(config, labels, said, dict(zip(labels, numbers, strict=True)))
    if len(classes) < 2:
        lacking = "A classifier needs at least two classes."
    return changed, classes, lacking


def usual_places(labels: list[str]) -> dict[str, int]:
    """The places of labels that are all known words of a scale, from 1; empty where one is not."""
    signs = {name: SIGNS.get(name.strip().casefold()) for name in labels}
    known = {name: sign for name, sign in signs.items() if sign is not None}
    if len(known) < len(labels) or len(set(known.values())) < max(2, len(labels)):
        return {}
    return {name: place for place, name in enumerate(sorted(known, key=known.__getitem__), start=1)}


def renamed(
    config: DataConfig, labels: Mapping[str, int], said: Mapping[str, str], places: Mapping[str, int | None]
) -> tuple[DataConfig, dict[str, int]]:
    """The config with `rename` and `order`, and the rows of each class in that order.

    An order counts where every class has a place of its own; of merged labels the lowest is that of their class.
    """
    classes: Counter[str] = Counter()
    lowest: dict[str, int] = {}
    for label, rows in labels.items():
        if name := said[label]:
            classes[name] += rows
            if (place := places[label]) is not None:
                lowest[name] = min(place, lowest.get(name, place))
    ordered = len(lowest) == len(classes) > 1 and len(set(lowest.values())) == len(lowest)
    names = sorted(classes, key=lowest.__getitem__) if ordered else list(classes)
    pairs = [f"{label}={name}" for label, name in said.items() if name != label]
    changed = dataclasses.replace(config, rename=listed(pairs) if pairs else "", order=listed(names) if ordered else "")
    return changed, {name: classes[name] for name in names}
