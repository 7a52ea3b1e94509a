"""Something that takes long: how far it is in words, the button that stops it, and the one that goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.interpret.watched import Watched
from dashboard import state
from dashboard.reader.models import Asking
from dashboard.widgets.messages import finding, progress

PATIENCE, TICK = 0.5, 0.3
"""Seconds after which it is said what is asked, with a way to stop it; and between two looks at how far it is."""
WORDS = {
    "deletion": "Asking by deletion",
    "shapley": "Asking by Shapley",
    "gradient": "Asking by gradient × input",
    "integrated": "Asking by integrated gradients",
    "attention": "Asking by attention",
    "collapse": "Asking by layer-0 collapse",
    "parts": "Silencing one part after the other",
    "lambdas": "Moving one λ after the other",
    "patches": "Putting in one place after the other",
    "reach": "Putting in one piece after the other",
}
AGAIN = "the model reads the text again and again"


def stoppable(
    what: str, detail: str, share: float, key: str, stop: Callable[..., None], args: tuple[Any, ...], kept: str
) -> None:
    """How far something is, and the button that stops it; `kept` says what becomes of what was found so far."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container():
            progress(what, detail, share)
        st.button("Stop", icon=":material/stop:", key=key, on_click=stop, args=args, help=kept)


def waited(asking: Asking, place: str, unfinished: str) -> Watched[Any]:
    """What is known after a moment of patience; where that is not all, how far it is, with a way to stop it.

    Args:
        asking: What is asked.
        place: A name for its buttons, once on the page.
        unfinished: What is missing where it was stopped.

    Raises:
        SentiscopeError: what asking raised.
    """
    if not _enough(asking, place):
        asking.known.go_on()  # somebody else may have stopped it
    known = asking.wait(PATIENCE)
    if not known.whole:
        st.fragment(_watch, run_every=TICK if known.running else None)(asking, place, unfinished)
    return known


def _watch(asking: Asking, place: str, unfinished: str) -> None:
    """Drawn again and again by itself while a thread asks, and the page with it when that is over."""
    known = asking.known
    if known.whole or not (known.running or _enough(asking, place)):
        st.rerun()
    if known.running:
        what = WORDS.get(known.what, AGAIN)
        stop = f"{place}-stop"
        stoppable(what, AGAIN, known.share or 0.0, stop, _stop, (asking, place), "What was found so far stays")
        return
    finding("Stopped", unfinished)
    if st.button("Go on", key=f"{place}-on", on_click=_go_on, args=(asking, place)):
        st.rerun()


def _enough(asking: Asking, place: str) -> bool:
    """Whether this visitor has stopped it: others, who may ask the same, have not."""
    return bool(state.draft(state.ENOUGH + place, None) == asking.wanted)


def _stop(asking: Asking, place: str) -> None:
    state.put(state.ENOUGH + place, asking.wanted)
    asking.known.stop()


def _go_on(asking: Asking, place: str) -> None:
    state.put(state.ENOUGH + place, None)
    asking.known.go_on()
