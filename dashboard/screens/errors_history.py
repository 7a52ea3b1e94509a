"""Who did what, when, and the draws that can be gone on with: below the reader, behind a button each."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import streamlit as st

from core.data.findings import plural
from core.exceptions import SentiscopeError
from core.failures.code_rates import Draw
from core.failures.coded import Coded
from core.failures.codes import Codes
from core.failures.names import known_as
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.analysis import Analysis
from dashboard.figures.numbers import count
from dashboard.screens.errors_coding import in_words
from dashboard.widgets.figure import caption
from dashboard.widgets.messages import problem
from dashboard.widgets.tokens import literal

LAST = 12
"""Changes, and draws, that are listed."""


def history(codes: Codes, shown: Analysis, coded: Coded, everything: Coded) -> None:
    """The last changes with their authors; of a sentence that one has not coded, not what others gave it."""
    with st.popover("History", type="tertiary", key="codes-history", on_change="rerun") as folded:
        if not folded.open:
            return
        try:
            found = codes.ledger.history(codes.data, LAST)
        except SentiscopeError as error:
            problem("There is no history", str(error))
            return
        if not found:
            caption("Nothing has been changed yet.")
            return
        rows = "".join(_row(each, said(each, shown, coded, reads=coded is everything)) for each in found)
        heads = "".join(f'<th scope="col">{name}</th>' for name in ("When (UTC)", "Who", "What"))
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        st.html(f'<div class="s-history" role="region" tabindex="0" aria-label="Last changes">{table}</div>')


def _row(change: dict[str, Any], words: str) -> str:
    who = known_as(change["author"]) + " (you)" * (change["author"] == state.author())
    what = f"<s>{escape(words)}</s>, taken back" if change["undone"] else escape(words)
    cells = f"<td>{escape(change['time'][:16].replace('T', ' '))}</td><td>{escape(who)}</td><td>{what}</td>"
    return f"<tr>{cells}</tr>"


def said(change: dict[str, Any], shown: Analysis, coded: Coded, *, reads: bool) -> str:
    """What a change was, as far as its reader may know."""
    own = change["author"] == state.author()
    if own or reads or all(state.author() in coded.given.get(key, {}) for key in change["keys"]):
        return in_words(shown, change["said"])
    return f"something of {plural(len(change['keys']), 'sentence')}"


def resumed(shown: Analysis, coded: Coded, known: list[Draw]) -> None:
    """The draws with how far one has coded them, each to be gone on with."""
    if not known:
        return
    with st.popover("Draws", type="tertiary", key="codes-draws", on_change="rerun") as folded:
        if not folded.open:
            return
        for each in known[:LAST]:
            done = sum(state.author() in coded.given.get(key, {}) for key in each.keys)
            of, split = f"{count(len(each.population))}: {each.said}", _split(shown, each)
            st.button(
                f"{count(done)} of {count(len(each.keys))} coded, drawn from {literal(of)}",
                key=f"codes-draw-{each.id}",
                type="tertiary",
                disabled=not split,
                on_click=partial(go_on, shown, coded, each, split),
                help=f"Drawn by {literal(known_as(each.author))}, {each.time[:10]}"
                if split
                else f"Its sentences are not among those that {shown.table.record.run} was evaluated on",
            )


def _split(shown: Analysis, draw: Draw) -> str:
    """Whose rows were drawn; empty: this run has them nowhere."""
    record, here = shown.table.record, shown.table.split
    others = [split for split in data.evaluated_splits(record.run) if split != here]
    return next(
        (split for split in (here, *others) if set(data.known(record, split).keys).issuperset(draw.keys)),
        "",
    )


def go_on(shown: Analysis, coded: Coded, draw: Draw, split: str) -> None:
    """A callback: the draw is the selection, at the first sentence that is not coded."""
    about = f"{count(len(draw.keys))} drawn at random from {count(len(draw.population))}, {draw.said}"
    first = next((at for at, key in enumerate(draw.keys) if state.author() not in coded.given.get(key, {})), 0)
    selection.choose_keys(shown.table.record, split, draw.keys, about, at=first, by_outcome=True)
    state.put(state.REDRAW, True)
