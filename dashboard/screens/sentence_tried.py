"""What was tried in this visit: undo and redo beside the text field, and every sentence with the way back to it."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import streamlit as st

from core.interpret.edits import Edits
from core.runs.record import RunRecord
from core.text.clusters import clipped
from core.text.direction import isolated
from dashboard import state
from dashboard.figures.numbers import number
from dashboard.past import Past, Tried
from dashboard.widgets.figure import caption, heading
from dashboard.widgets.tokens import literal

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.sentence import SentenceView

NOTE = "Of this visit only: no link and no file has them. A click brings back the sentence, the run and the levers."
QUOTED = 90
"""Characters of a sentence that are shown."""


def remember(record: RunRecord, text: str, edits: Edits, view: SentenceView) -> None:
    """Keep what is on screen."""
    now = Tried(record.run, text, edits.encode(), view.label, view.probabilities[view.label], edits.words())
    state.put(state.PAST, _past().then(now, monotonic()))


def undo_and_redo() -> None:
    """The two buttons; Ctrl Alt Z and Ctrl Alt Y press them."""
    past = _past()
    with st.container(key="undo", horizontal=True, gap="xxsmall", wrap=False, width="content"):
        for key, icon, about, by, there in (
            ("Z", "undo", "Undo the last change of sentence, levers or run", -1, past.back),
            ("Y", "redo", "Do it again", 1, past.forth),
        ):
            if st.button(
                icon.capitalize(),
                icon=f":material/{icon}:",
                key=f"tried-{icon}",
                help=f"{about} (Ctrl Alt {key})",
                shortcut=f"Mod+Alt+{key}",
                on_click=_move,
                args=(by,),
                disabled=not there,
            ):
                st.rerun()


def tried_sentences() -> dict[str, pd.DataFrame]:
    """The section; gives its table."""
    tried = _past().tried
    if not tried:
        return {}
    heading("Tried sentences", "tried", note="newest first")
    with st.container(key="tried", gap="xxsmall", height=320 if len(tried) > 6 else "content"):
        for place, each in enumerate(tried):
            if st.button(
                literal(_line(each)), key=f"tried-{place}", type="tertiary", on_click=_bring_back, args=(each,)
            ):
                st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Clear", key="tried-clear", on_click=_clear)
        caption(NOTE)
    return {"Tried sentences": _table(tried)}


def _past() -> Past:
    past: Past = state.draft(state.PAST, Past())
    return past


def _move(by: int) -> None:
    past = _past().moved(by)
    state.put(state.PAST, past)
    _show(past.steps[past.at])


def _bring_back(tried: Tried) -> None:
    _show(tried)


def _show(tried: Tried) -> None:
    state.put(state.TEXT, tried.text)
    state.carry(state.EDIT, tried.edit)
    if tried.run != state.run():
        state.choose_run(tried.run)


def _clear() -> None:
    state.put(state.PAST, _past().cleared())


def _line(tried: Tried) -> str:
    text = isolated(clipped(tried.text, QUOTED))
    about = "; ".join(filter(None, (tried.run, tried.changed)))
    return f"{text} — {tried.answer} {number(tried.chance)} ({about})"


def _table(tried: tuple[Tried, ...]) -> pd.DataFrame:
    import pandas as pd

    rows = [
        {"run": each.run, "text": each.text, "changed": each.changed, "answer": each.answer, "probability": each.chance}
        for each in tried
    ]
    return pd.DataFrame(rows)
