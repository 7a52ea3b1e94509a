"""Activation patching: the prediction after one activation of a text is replaced by that of another sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from core.exceptions import NotAvailable
from core.formatting import signed
from core.runs.record import RunRecord
from dashboard.figures.attention_heads import read_attention
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.heatmap_table import Cell, draw_heatmap, find_full_color, make_push_cell
from dashboard.figures.source import FREE, Option, Source
from dashboard.figures.theme import Look
from dashboard.figures.word_attributions import TOWARDS, get_target_class, make_ramps

if TYPE_CHECKING:
    from core.interpret.ablation import Patches

DONOR = Option(
    "donor",
    "Second sentence",
    lambda source: FREE,
    "It must have the same number of tokens.",
    words=lambda source, donor: f"from “{donor}”" if donor else "",
)
EVERYTHING = "everything"


@dataclass(frozen=True, eq=False)
class Patching:
    """Results of activation patching: the effect of replacing each activation by that of another sentence."""

    record: RunRecord
    patches: Patches
    edited: bool  # both sentences are read by an edited model


def patch_text(source: Source) -> Patching:
    """Compute the effects of a donor text's activations; NotAvailable: no attention or donor, InputError: its size."""
    read_attention(source)
    donor = str(source.get_choice(DONOR))
    if not donor.strip():
        raise NotAvailable("a second sentence of as many tokens is needed: --with donor=TEXT")
    found = source.reader.patches(source.record.run, source.text, donor, get_target_class(source), source.edits)
    return Patching(source.record, found, bool(source.edits))


def _list_places(shown: Patching) -> Iterator[tuple[str, int | None, int | None]]:
    found = shown.patches
    yield EVERYTHING, None, None
    tokens = {each.token for each in found.patches if each.kind == "token"}
    for token, (ours, theirs) in enumerate(zip(found.tokens, found.donor_tokens, strict=True)):
        if token in tokens:
            yield ours if ours == theirs else f"{ours} ← {theirs}", token, None
    for head in sorted({each.head for each in found.patches if each.head is not None}):
        yield f"head {head + 1}", None, head


def _draw_patches(shown: Patching, look: Look) -> Component:
    found, t = shown.patches, look.tokens
    moved = {(each.layer, each.token, each.head): each.moved for each in found.patches}
    layers = sorted({each.layer for each in found.patches})
    top, ramps = find_full_color(moved.values()), make_ramps(shown.record, found.target, t)

    def draw_cell(name: str, layer: int, token: int | None, head: int | None) -> Cell:
        """Return the table cell with the change in log-odds from patching one activation (layer, token, head)."""
        push = moved[layer, token, head]
        about = f"{name}, layer {layer + 1}: log-odds of {found.target} {signed(push, 3)}"
        return make_push_cell(push, top, ramps, about, t)

    rows = [
        {"name": name, "cells": [draw_cell(name, layer, token, head) for layer in layers]}
        for name, token, head in _list_places(shown)
    ]
    heads = [{"name": f"layer {layer + 1}", "about": "output of this layer"} for layer in layers]
    lines = [
        f"Log-odds of {found.target}: {signed(found.log_odds)} for the first sentence, "
        f"{signed(found.donor_log_odds)} for the second.",
        *filter(None, [found.note]),
    ]
    return draw_heatmap(heads, rows, "effect of each patched place, by layer", lines, look)


def build_patch_table(shown: Patching) -> pd.DataFrame:
    """Return a table of patched activations: layer, token, head (from 1), log-odds after patching and their change."""
    found = shown.patches
    rows = []
    for each in found.patches:
        at = each.token
        words = ("", "") if at is None else (found.tokens[at], found.donor_tokens[at])
        token, head = (None if place is None else place + 1 for place in (at, each.head))
        rows.append((each.kind, each.layer + 1, token, *words, head, each.log_odds, each.moved))
    names = ["place", "layer", "token", "here", "donor", "head", f"log-odds of {found.target}", "moved"]
    return pd.DataFrame(rows, columns=names)


PATCHING = Figure(
    "patching",
    "sentence",
    "Activation patching",
    patch_text,
    _draw_patches,
    note=lambda shown: f"towards {shown.patches.target}" + (", both after your changes" if shown.edited else ""),
    reading=lambda shown: f"Change in the log-odds of {shown.patches.target} with this value from the second sentence.",
    how="The model reads both sentences, then the first again with one value from the second: the output of a layer at "
    "one token or at all (everything: from there on it is the second sentence), or of a head at every token. If a word "
    "has an effect in one layer and not in the next, it has passed its information on.",
    needs="maps",
    options=(DONOR, TOWARDS),
    tables=lambda shown: {"Patching": build_patch_table(shown)},
)
