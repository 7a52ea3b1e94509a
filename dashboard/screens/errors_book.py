"""The codebook: new codes, definitions and examples, merge and split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from core.exceptions import SentiscopeError
from core.failures.coded import Code, Coded
from core.failures.codes import KEYS, Codes
from dashboard import state

NEW = "a new code"
NONE = "none"


def codebook(codes: Codes, coded: Coded, keys: Sequence[str]) -> None:
    """Unfolds below what it changes, one code at a time.

    On the page and not above it: what opens above hangs from its button, and as codes are added that button moves down
    until the last fields are off the screen.

    Args:
        codes: of the data set.
        coded: what may be seen.
        keys: of the selected rows, of which a code can be split.
    """
    with st.expander("Codebook", key="codes-book"):
        names = [code.name for code in coded.book]
        chosen = st.selectbox("Code", [NEW, *names], key=state.current("codes-which"), width=320)
        code = next((each for each in coded.book if each.name == chosen), None)
        _entry(codes, coded, code)
        if code is None:
            return
        if others := [name for name in names if name != code.name]:
            with st.container(horizontal=True, vertical_alignment="bottom"):
                into = st.selectbox("Merge into", others, key=state.current("codes-into"), width=240)
                _button("Merge", partial(codes.merge, [code.name], into, state.author()))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            part = st.text_input("Split off as", key=state.current("codes-part"), max_chars=60, width=240)
            hint = "The selected sentences that have the code get the new one in its place"
            _button("Split", partial(codes.split, code.name, part, keys, state.author()), hint, off=not part.strip())
        _button("Remove", partial(codes.remove, code.name, state.author()), "Of a code that no sentence has")


def _entry(codes: Codes, coded: Coded, code: Code | None) -> None:
    """Name, definition, example and digit."""
    with st.form(f"codes-entry-{code.name if code else ''}", border=False, clear_on_submit=code is None):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.text_input("Name", code.name if code else "", max_chars=60, width=240)
            free = [digit for digit in KEYS if all(each.place != digit or each is code for each in coded.book)]
            place = code.place if code else next(iter(free), 0)
            key = st.selectbox(
                "Key", [*map(str, free), NONE], index=free.index(place) if place in free else len(free), width=100
            )
        definition = st.text_area("Definition", code.definition if code else "", height=68)
        example = st.text_area("Example", code.example if code else "", height=68)
        digit = 0 if key == NONE else int(key)
        if not st.form_submit_button("Save" if code else "Add", type="primary"):
            return
        if code is None:
            _do(partial(codes.add, name, definition, example, digit, state.author()))
        else:
            given = partial(codes.edit, code.name, definition=definition, example=example)
            _do(partial(given, to=name, place=digit, author=state.author()))
        state.put(state.REDRAW, True)
        st.rerun()


def _button(label: str, act: Callable[[], object], hint: str | None = None, *, off: bool = False) -> None:
    st.button(label, key=state.current(f"codes-{label}"), on_click=partial(_do, act), help=hint, disabled=off)


def _do(act: Callable[[], object]) -> None:
    """Change the codebook; what is refused is said above the list."""
    try:
        act()
        state.put(state.REDRAW, True)
    except SentiscopeError as error:
        state.put(state.CODES_REFUSED, str(error))
