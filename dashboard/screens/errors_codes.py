"""Panel of codes on Errors: giving and undoing, frequencies, the codebook, history, draws and files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from operator import itemgetter
from pathlib import Path
from typing import Any

import streamlit as st

from core.data.findings import plural
from core.exceptions import SentiscopeError, StorageError
from core.failures.code_rates import Draw, draw, draws
from core.failures.coded import Code, Coded
from core.failures.coded_csv import book_written, read_any, written
from core.failures.codes import KEYS, Codes
from core.failures.names import has_name, known_as
from core.failures.rules import CODED, NOTED, of_codes
from core.failures.selection import Group, Selection, keep, parse
from core.numbers import count
from core.text.clusters import quoted
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.analysis import Analysis
from dashboard.figures.errors import ABOUT_CODES, CodesShape, codes_shape, codes_table, note_codes
from dashboard.figures.filtering import WRONG
from dashboard.figures.interval_drawing import component
from dashboard.widgets.figure import caption, heading, place
from dashboard.widgets.messages import literal, problem
from dashboard.widgets.style import look

MANY = 75  # rows of a draw that is offered


def codes_below(shown: Analysis, coded: Coded, everything: Coded) -> None:
    """Show the panel of codes."""
    codes = data.codes(shown.table.record)
    keys = _keys(shown)
    known = draws(codes)
    shape = codes_shape(coded, state.author(), _keys(_whatever_code(shown)), known, by_codes=_by_codes())
    heading("Codes", "codes", note=note_codes(shape), about=ABOUT_CODES)
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
    """Change the author and run the page again, since the visible codes change; a callback."""
    state.put(state.AUTHOR, str(state.draft(state.current(state.AUTHOR_FIELD), "")))
    state.put(state.REDRAW, True)


def coded_sessions(shown: Analysis) -> dict[str, Any]:
    """Return the coding sessions for a report: `sessions`, name → words, and `now`, that of the selection."""
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
    """Return the selected rows without the rules on codes: all sentences of one code have it."""
    others = _with_code("")
    return (
        shown if others == _now() else data.analysis(shown.table.record, shown.table.split, str(others), state.author())
    )


def _table(shape: CodesShape) -> None:
    """Show the shares of the codes; picking one makes it a rule of the selection, picking it again removes it."""
    picked = next((rule.removeprefix("code=") for rule in _now().rules if rule.startswith("code=")), "")
    place(
        component(codes_table(shape).marks, look(), picked=picked, picks=True),
        "codes",
        "codes",
        default={"picked": picked},
        on_picked_change=_picked,
        on_unfolded_change=lambda: None,
    )


def _picked() -> None:
    """Select by the picked code, or no longer by one; a callback."""
    name = str(state.draft(state.current("fig-codes"), {}).get("picked") or "")
    state.carry(state.SELECT, str(_with_code(name)))
    state.put(state.REDRAW, True)


def _now() -> Selection:
    return parse(state.carried(state.SELECT) or WRONG)


def _with_code(name: str) -> Selection:
    """Return the selection with this code as its only rule on codes; empty: without such a rule."""
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
    """Draw rows at random and select them; a callback."""
    with state.refusals(state.CODES_REFUSED):
        made = draw(codes, keys, n, 0, shown.said, run=shown.table.record.run, author=state.author())
        about = f"{count(n)} drawn at random from {count(len(keys))}, {shown.said}"
        selection.choose_keys(shown.table.record, shown.table.split, made.keys, about, at=0, by_outcome=True)
        state.put(state.REDRAW, True)


def _code_all(codes: Codes, shown: Analysis, coded: Coded, keys: list[str]) -> None:
    """Offer to give one code to all selected sentences, or to take it from them."""
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
    """Offer to select the sentences that two authors coded differently."""
    pair = shape.pair
    if pair and pair["apart"]:
        label = f"The {count(len(pair['apart']))} coded differently"
        st.button(label, key="codes-apart", type="tertiary", on_click=partial(_show_apart, shown, pair))


def _show_apart(shown: Analysis, pair: dict[str, Any]) -> None:
    """Select these sentences, by a rule that they were chosen by codes, so that no shares are shown; a callback."""
    about = f"coded differently by {known_as(pair['first'])} and {known_as(pair['second'])}"
    with state.refusals(state.CODES_REFUSED):
        rule = keep(data.store(), Group(tuple(row["key"] for row in pair["apart"]), about))
        selection.choose(shown.table.record, Selection((rule, "coded"), shown.table.split))
        state.put(state.REDRAW, True)


def _by_codes() -> bool:
    """Return whether codes or notes chose the sentences, in which case a random draw does not represent others."""
    now = _now()
    return (bool(now.digest) and CODED[0] in now.rules) or any(rule in NOTED for rule in now.rules)


def _files(codes: Codes, shown: Analysis, coded: Coded) -> None:
    """Offer the codes that the author may see and the codebook as CSV, and the import of either."""
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
    """Import a file of codings, or of a codebook; a callback."""
    file = state.draft(key, None)
    if file is None:
        return
    content = file.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.csv"
        path.write_bytes(content)
        with state.refusals(state.CODES_REFUSED):
            taken = read_any(codes, shown.table, path, state.author())
            rows, entries = plural(taken["rows"], "row"), plural(taken["codes"], "code")
            new = f", new: {', '.join(taken['added'])}" if taken["added"] else ", no new code"
            state.put(state.SAID_OF_CODES, f"Taken from {file.name}: {rows if taken['rows'] else entries}{new}")
            state.put(state.REDRAW, True)


NEW = "a new code"
NONE = "none"


def codebook(codes: Codes, coded: Coded, keys: Sequence[str]) -> None:
    """Show the codebook, unfolded below the codes, one code at a time.

    On the page and not above it: what opens above hangs from its button, and as codes are added that button moves down
    until the last fields are off the screen.
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
    """Show the form of a code: name, definition, example and digit."""
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
    """Change the codebook; the reason of a refusal is shown above the list."""
    with state.refusals(state.CODES_REFUSED):
        act()
        state.put(state.REDRAW, True)


LAST = 12  # changes, and draws, that are listed


def history(codes: Codes, shown: Analysis, coded: Coded, everything: Coded) -> None:
    """List the last changes with their authors; codes by others stay hidden on sentences one has not coded."""
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
    """Describe a change as far as the person who reads it may know."""
    own = change["author"] == state.author()
    if own or reads or all(state.author() in coded.given.get(key, {}) for key in change["keys"]):
        return in_words(shown, change["said"])
    return f"something of {plural(len(change['keys']), 'sentence')}"


def resumed(shown: Analysis, coded: Coded, known: list[Draw]) -> None:
    """List the draws with how much of each is coded, and buttons that continue them."""
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
    """Return the split whose rows were drawn; empty: this run has them nowhere."""
    record, here = shown.table.record, shown.table.split
    others = [split for split in data.evaluated_splits(record.run) if split != here]
    return next((split for split in (here, *others) if set(data.known(record, split).keys).issuperset(draw.keys)), "")


def go_on(shown: Analysis, coded: Coded, draw: Draw, split: str) -> None:
    """Select a draw, at its first sentence that is not coded; a callback."""
    about = f"{count(len(draw.keys))} drawn at random from {count(len(draw.population))}, {draw.said}"
    first = next((at for at, key in enumerate(draw.keys) if state.author() not in coded.given.get(key, {})), 0)
    selection.choose_keys(shown.table.record, split, draw.keys, about, at=first, by_outcome=True)
    state.put(state.REDRAW, True)


Step = tuple[int, Callable[[], None]]
"""The number of a change, and what writes it down."""


def handled() -> int:
    """Return the number of the last report that was stored."""
    return int(state.draft(state.HANDLED, 0))


def undone() -> int:
    """Return the number of the report that last moved the reader by taking a change back; 0: none has."""
    return int(state.draft(state.UNDONE, 0))


def named(key: str) -> None:
    """Take over the author's name that the browser knows; a callback."""
    if not has_name(state.author()):
        state.put(state.AUTHOR, str((state.draft(key, {}).get("named") or {}).get("name") or "")[:60])
        state.clear(state.AUTHOR_FIELD)
        state.put(state.REDRAW, True)  # what this one may see stands all over the page


def adopted(codes: Codes, everything: Coded) -> bool:
    """Move what this visitor wrote without a name to the name; return whether there was anything."""
    name, visitor = state.author(), state.visitor()
    said = has_name(name) and any(visitor in each for each in (*everything.given.values(), *everything.notes.values()))
    return said and codes.adopt(visitor, name)


def hear(key: str, shown: Analysis) -> None:
    """Store the changes that the reader reports, given, taken off, noted and undone, in the order of their numbers.

    A report has all that the page has not confirmed yet, so one that is lost on the way loses nothing; what was
    confirmed is not done twice. What cannot be stored stops all that came after it, and the reader reports again.
    """
    told: Mapping[str, Any] = state.draft(key, {})
    # What was told to a session before this one is done, or is told to this one again.
    said, taken = (each if each.get("session") == state.session() else {} for each in _reports(told))
    undo, before = int(taken.get("count") or 0), handled()
    steps: list[Step] = [*_steps(shown, said.get("rows") or {}), (undo, partial(_undo, shown, undo))]
    refused = ""
    if any(number > before for number, _ in steps):
        state.put(state.SAID_OF_CODES, "")
    for number, write in sorted(steps, key=itemgetter(0)):
        if number <= before:
            continue
        try:
            write()
        except StorageError as error:
            state.put(state.NOT_WRITTEN, f"{error}. It is kept in this browser and tried again.")
            state.put(state.AGAIN, int(state.draft(state.AGAIN, 0)) + 1)
            return
        except SentiscopeError as error:  # such as a code that somebody has renamed meanwhile
            refused = refused or str(error)
        state.put(state.HANDLED, number)
    state.put(state.HANDLED, max(before, undo, int(said.get("count") or 0)))
    state.put(state.AGAIN, 0)
    if refused:
        state.put(state.NOT_WRITTEN, refused)


def _reports(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the reports of what was coded and of what was undone."""
    for name in ("coded", "undo"):
        yield told.get(name) or {}


def _steps(shown: Analysis, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Step]:
    """Yield each code that was given or taken off, and each note."""
    codes, run, known = data.codes(shown.table.record), shown.table.record.run, set(shown.known.keys)
    for key, each in rows.items():
        if key not in known:
            continue
        for name, (given, number) in (each.get("codes") or {}).items():
            yield int(number), partial(codes.give, [key], [name], off=not given, author=state.author(), run=run)
        if note := each.get("note"):
            text, number, goes_on = note
            yield (
                int(number),
                partial(codes.note, key, str(text), author=state.author(), run=run, goes_on=bool(goes_on)),
            )


def _undo(shown: Analysis, number: int) -> None:
    """Take back the last change of the author, and move the reader to its row; `number` is of the report."""
    found = data.codes(shown.table.record).undo(state.author())
    state.put(state.SAID_OF_CODES, f"Taken back: {in_words(shown, found['said'])}")
    known = set(shown.known.keys)
    if key := next((row["key"] for row in found["rows"] if row.get("key") in known), ""):
        state.carry(state.AT, key)
        state.put(state.UNDONE, number)


def in_words(shown: Analysis, said: str) -> str:
    """Describe a change as the history does, with the beginning of the sentence instead of its key."""
    what, row, key = said.rpartition("row ")
    if not row or key not in shown.known.keys:
        return said
    text = str(shown.table.frame["text"].iloc[shown.known.keys.index(key)])
    return f"{what}{quoted(text, 40)}"


def give_all(codes: Codes, shown: Analysis, keys: list[str], name: str, *, off: bool) -> None:
    """Give all selected sentences one code, or take it from them, as one change; a callback."""
    with state.refusals(state.NOT_WRITTEN):
        codes.give(keys, [name], off=off, author=state.author(), run=shown.table.record.run)
        word = "taken from" if off else "given to"
        state.put(state.SAID_OF_CODES, f"{name} {word} {plural(len(keys), 'sentence')}; u takes that back")
        state.put(state.REDRAW, True)
