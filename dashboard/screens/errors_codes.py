"""Codes beside the tags: who codes, how often each code stands, the codebook, draws, files."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from core.data.findings import plural
from core.exceptions import SentiscopeError, StorageError
from core.failures.code_rates import draw, draws
from core.failures.coded import Coded
from core.failures.coded_csv import book_written, read_any, written
from core.failures.codes import Codes
from core.failures.names import has_name, known_as
from core.failures.rules import CODED, NOTED, of_codes
from core.failures.selection import Group, Selection, keep, parse
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.analysis import Analysis
from dashboard.figures.codes import ABOUT, CodesShape, codes_marks, codes_shape, note
from dashboard.figures.interval_drawing import component
from dashboard.figures.numbers import count
from dashboard.figures.selecting import WRONG
from dashboard.screens.errors_book import codebook
from dashboard.screens.errors_coding import give_all
from dashboard.screens.errors_history import history, resumed
from dashboard.widgets.figure import caption, heading, place
from dashboard.widgets.style import look

MANY = 75
"""Rows of a draw that is offered."""


def codes_below(shown: Analysis, coded: Coded, everything: Coded) -> None:
    """The panel.

    Args:
        shown: the selection.
        coded: what the author may see.
        everything: what was said by all.
    """
    codes = data.codes(shown.table.record)
    keys = _keys(shown)
    known = draws(codes)
    shape = codes_shape(coded, state.author(), _keys(_whatever_code(shown)), known, by_codes=_by_codes())
    heading("Codes", "codes", note=note(shape), about=ABOUT)
    if coded.book:
        _table(shape)
    with st.container(key="codes-by", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Author",
            str(state.draft(state.AUTHOR, "")),
            key=state.current(state.AUTHOR_FIELD),
            max_chars=60,
            width=180,
            placeholder="your name",
            on_change=_named,
            help="Codes are kept under it, and the last change under it is what u takes back",
        )
        _draw_button(codes, shown, keys)
        _code_all(codes, shown, coded, keys)
        resumed(shown, coded, known)
        history(codes, shown, coded, everything)
        _files(codes, shown, coded)
        _apart(shown, shape)
    codebook(codes, coded, keys)
    if hidden := everything.hidden_from(coded, keys):
        caption(
            f"Others have coded {count(hidden)} of these that you have not: what they say shows when you have coded it."
        )


def _named() -> None:
    """Another author: a callback; what this one may see stands all over the page."""
    state.put(state.AUTHOR, str(state.draft(state.current(state.AUTHOR_FIELD), "")))
    state.put(state.REDRAW, True)


def coded_sessions(shown: Analysis) -> dict[str, Any]:
    """Of which coded sessions there may be a report: `sessions`, name → words, and `now`, that of the selection."""
    codes, author = data.codes(shown.table.record), state.author()
    try:
        coded, known = data.coded(shown.table.record, author), draws(codes)
    except StorageError:  # the reader says so
        return {}
    rows, selected = set(shown.known.keys), set(_keys(shown))
    found = {codes.data: "all that is coded"} if rows & {*coded.given, *coded.notes} else {}
    found |= {
        name: f"what {name} has coded"
        for name in coded.authors
        if has_name(name) and any(name in each for key, each in coded.given.items() if key in rows)
    }
    now = ""
    for each in known:
        if rows & set(each.keys):
            found[each.id] = f"{count(len(each.keys))} drawn from {count(len(each.population))}: {each.said}"
            now = now or (each.id if selected == set(each.keys) else "")
    return {"sessions": found, "now": now}


def _keys(shown: Analysis) -> list[str]:
    return [shown.known.keys[at] for at in shown.places.tolist()]


def _whatever_code(shown: Analysis) -> Analysis:
    """What would be selected without its rules on codes: of the sentences of one code all have it."""
    others = _with_code("")
    return (
        shown if others == _now() else data.analysis(shown.table.record, shown.table.split, str(others), state.author())
    )


def _table(shape: CodesShape) -> None:
    """Shares of the codes; one that is picked is a rule of the selection, picked again it is none."""
    picked = next((rule.removeprefix("code=") for rule in _now().rules if rule.startswith("code=")), "")
    place(
        component(codes_marks(shape), look(), picked=picked, picks=True),
        "codes",
        "codes",
        default={"picked": picked},
        on_picked_change=_picked,
        on_unfolded_change=lambda: None,
    )


def _picked() -> None:
    """A row was picked, or no longer: a callback."""
    name = str(state.draft(state.current("fig-codes"), {}).get("picked") or "")
    state.carry(state.SELECT, str(_with_code(name)))
    state.put(state.REDRAW, True)


def _now() -> Selection:
    return parse(state.carried(state.SELECT) or WRONG)


def _with_code(name: str) -> Selection:
    """What is selected, but of the sentences with this code alone; empty: whatever their code."""
    now = _now()
    rules = [rule for rule in now.rules if not of_codes(rule)] or ["all"]
    return Selection((*rules, *([f"code={name}"] if name else [])), now.split)


def _draw_button(codes: Codes, shown: Analysis, keys: list[str]) -> None:
    n = min(MANY, len(keys))
    st.button(
        f"Code {count(n)} drawn at random",
        key="codes-draw",
        disabled=n == 0,
        on_click=partial(_draw, codes, shown, keys, n),
        help="Coded to its end, a random draw tells how often each code stands in all that is selected now",
    )


def _draw(codes: Codes, shown: Analysis, keys: list[str], n: int) -> None:
    """A callback: the draw becomes the selection."""
    try:
        made = draw(codes, keys, n, 0, shown.said, run=shown.table.record.run, author=state.author())
    except SentiscopeError as error:
        state.put(state.CODES_REFUSED, str(error))
        return
    about = f"{count(n)} drawn at random from {count(len(keys))}, {shown.said}"
    selection.choose_keys(shown.table.record, shown.table.split, made.keys, about, at=0, by_outcome=True)
    state.put(state.REDRAW, True)


def _code_all(codes: Codes, shown: Analysis, coded: Coded, keys: list[str]) -> None:
    """One code for all that are selected."""
    with st.popover(
        f"Code all {count(len(keys))}", type="tertiary", key="codes-all", disabled=not (keys and coded.book)
    ):
        name = st.selectbox("Code", [code.name for code in coded.book], key=state.current("codes-all-which"), width=260)
        if name is None:
            return
        with st.container(horizontal=True):
            for label, off in (("Give it to all", False), ("Take it from all", True)):
                act = partial(give_all, codes, shown, keys, name, off=off)
                hint = f"Of the {count(len(keys))} selected sentences, as one change"
                st.button(label, key=f"codes-all-{off}", on_click=act, help=hint)


def _apart(shown: Analysis, shape: CodesShape) -> None:
    """What two authors coded differently."""
    pair = shape.pair
    if pair and pair["apart"]:
        label = f"The {count(len(pair['apart']))} coded differently"
        st.button(label, key="codes-apart", type="tertiary", on_click=partial(_show_apart, shown, pair))


def _show_apart(shown: Analysis, pair: dict[str, Any]) -> None:
    """A callback: they are the selection, which says that it was made by codes: no shares are told of it."""
    about = f"coded differently by {known_as(pair['first'])} and {known_as(pair['second'])}"
    try:
        rule = keep(data.store(), Group(tuple(row["key"] for row in pair["apart"]), about))
    except SentiscopeError as error:
        state.put(state.CODES_REFUSED, str(error))
        return
    selection.choose(shown.table.record, Selection((rule, "coded"), shown.table.split))
    state.put(state.REDRAW, True)


def _by_codes() -> bool:
    """Whether what was said of sentences chose them: a random draw tells nothing of others then."""
    now = _now()
    return (bool(now.digest) and CODED[0] in now.rules) or any(rule in NOTED for rule in now.rules)


def _files(codes: Codes, shown: Analysis, coded: Coded) -> None:
    """CSV out and in; out goes what the author may see."""
    with st.popover("Files", type="tertiary", key="codes-files"):
        for label, name, make in (
            ("Codes · CSV", "codes", partial(written, shown.table, shown.rows.tolist(), codes, coded)),
            ("Codebook · CSV", "codebook", partial(book_written, codes)),
        ):
            file = f"sentiscope-{name}.csv"
            st.download_button(label, make, file, "text/csv", key=f"codes-{name}", type="tertiary", on_click="ignore")
        key = state.current("codes-taken")
        st.file_uploader(
            "Import codes",
            type="csv",
            key=key,
            max_upload_size=20,
            on_change=partial(_take, codes, shown, key),
            help="As it went out: rows by their key, codes with a semicolon between; or a codebook",
        )


def _take(codes: Codes, shown: Analysis, key: str) -> None:
    """A callback: a file of codings, or of a codebook."""
    file = state.draft(key, None)
    if file is None:
        return
    content = file.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.csv"
        path.write_bytes(content)
        try:
            taken = read_any(codes, shown.table, path, state.author())
            rows, entries = plural(taken["rows"], "row"), plural(taken["codes"], "code")
            new = f", new: {', '.join(taken['added'])}" if taken["added"] else ", no new code"
            state.put(state.SAID_OF_CODES, f"Taken from {file.name}: {rows if taken['rows'] else entries}{new}")
            state.put(state.REDRAW, True)
        except SentiscopeError as error:
            state.put(state.CODES_REFUSED, str(error))
