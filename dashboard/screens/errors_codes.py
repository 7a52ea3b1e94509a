"""Panel of annotation codes on the Errors page: coding, undo, frequencies, codebook, history, random draws, files."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from operator import itemgetter
from pathlib import Path
from typing import Any

import streamlit as st

from core.error_analysis.annotation_files import format_annotations, format_codebook, import_file
from core.error_analysis.annotation_store import has_name, name_author
from core.error_analysis.codebook import KEYS, Codes, Draw, draw_sample, list_draws
from core.error_analysis.query import CODED, NOTED, is_code_rule
from core.error_analysis.row_annotations import Annotations, Code
from core.error_analysis.selection import PickedRows, Selection, parse_selection, store_picked
from core.exceptions import SentiscopeError, StorageError
from core.formatting import count, plural
from core.text.graphemes import quote_text
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.error_list import ABOUT_CODES, CodesShape, build_codes_table, count_codes, describe_coding
from dashboard.figures.filtering import WRONG
from dashboard.figures.interval_drawing import build_component
from dashboard.figures.row_selection import RowSelection
from dashboard.widgets.export import offer_download
from dashboard.widgets.figure import show_caption, show_drawing, show_heading
from dashboard.widgets.messages import escape_label, show_problem
from dashboard.widgets.style import get_look, split_page

MANY = 75  # default size of a random sample
FORMS = (
    ("CSV", ".csv", "text/csv"),
    ("Label Studio", ".json", "application/json"),
    ("Parquet", ".parquet", "application/vnd.apache.parquet"),
)
"""Formats of annotated sentences: name, ending and media type of a file."""


def show_codes(shown: RowSelection, coded: Annotations, everything: Annotations) -> None:
    """Show the panel of annotation codes (an annotator's marks on sentences) for the Errors page's selection."""
    codes = data.open_codebook(shown.table.record)
    keys = _list_keys(shown)
    known = list_draws(codes)
    shape = count_codes(coded, state.get_author(), _list_keys(_drop_code_rules(shown)), known, by_codes=_is_by_codes())
    show_heading("Codes", "codes", note=describe_coding(shape), about=ABOUT_CODES)
    left, right = split_page("codes", [8, 5], gap="medium")
    with right:
        show_codebook(codes, coded, keys)
    with left:
        if coded.book:
            _show_table(shape)
        _show_actions(codes, shown, coded, everything, shape, known)
        if hidden := everything.count_hidden(coded, keys):
            show_caption(f"Others coded {count(hidden)} sentences that you have not. Code them to see theirs.")


def _show_actions(
    codes: Codes, shown: RowSelection, coded: Annotations, everything: Annotations, shape: CodesShape, known: list[Draw]
) -> None:
    keys = _list_keys(shown)
    with st.container(key="codes-by", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Author",
            str(state.get_value(state.AUTHOR, "")),
            key=state.get_widget_key(state.AUTHOR_FIELD),
            max_chars=60,
            width=180,
            placeholder="your name",
            on_change=_change_author,
            help="Your codes are saved under this name. Key u undoes the last change of this name",
        )
        n = min(MANY, len(keys))
        st.button(
            f"Code {count(n)} at random",
            key="codes-draw",
            disabled=n == 0,
            on_click=partial(_draw_rows, codes, shown, keys, n),
            help="Finish this random sample to estimate how common each code is in the selection",
        )
        _offer_code_all(codes, shown, coded, keys)
        show_draws(shown, coded, known)
        show_history(codes, shown, coded, everything)
        _show_files(codes, shown, coded)
        if (pair := shape.pair) and pair["apart"]:
            label = f"Show {plural(len(pair['apart']), 'disagreement')}"
            st.button(label, key="codes-apart", type="tertiary", on_click=partial(_select_disagreed, shown, pair))


def _change_author() -> None:
    """Set the annotator whose codes are shown, and rerun the page (widget callback)."""
    state.set_value(state.AUTHOR, str(state.get_value(state.get_widget_key(state.AUTHOR_FIELD), "")))
    state.set_value(state.REDRAW, True)


def _list_keys(shown: RowSelection) -> list[str]:
    return [shown.known.keys[at] for at in shown.places.tolist()]


def _drop_code_rules(shown: RowSelection) -> RowSelection:
    """Return the rows selected without filter rules on annotation codes, with which a code's share would be 100 %."""
    if (others := _set_code_rule("")) == _get_selection():
        return shown
    return data.select_tagged_rows(shown.table.record, shown.table.split, str(others), state.get_author())


def _show_table(shape: CodesShape) -> None:
    """Show how frequent each annotation code is; a click on a code adds it to the filter or removes it again."""
    picked = next((rule.removeprefix("code=") for rule in _get_selection().rules if rule.startswith("code=")), "")
    show_drawing(
        build_component(build_codes_table(shape).marks, get_look(), picked=picked, picks=True),
        "codes",
        "codes",
        default={"picked": picked},
        on_picked_change=_toggle_code_rule,
        on_unfolded_change=lambda: None,
    )


def _toggle_code_rule() -> None:
    """Add the clicked annotation code to the filter rules, or remove it if it was unpicked (widget callback)."""
    name = str(state.get_value(state.get_widget_key("fig-codes"), {}).get("picked") or "")
    state.set_param(state.SELECT, str(_set_code_rule(name)))
    state.set_value(state.REDRAW, True)


def _get_selection() -> Selection:
    return parse_selection(state.get_param(state.SELECT) or WRONG)


def _set_code_rule(name: str) -> Selection:
    """Return the current selection with this annotation code as its only code rule; empty: with no code rule."""
    now = _get_selection()
    rules = [rule for rule in now.rules if not is_code_rule(rule)] or ["all"]
    return Selection((*rules, *([f"code={name}"] if name else [])), now.split)


def _draw_rows(codes: Codes, shown: RowSelection, keys: list[str], n: int) -> None:
    """Draw a random sample of the selected rows for coding, and select it (widget callback)."""
    with state.store_refusal(state.CODES_REFUSED):
        made = draw_sample(codes, keys, n, 0, shown.description, run=shown.table.record.run, author=state.get_author())
        selection.choose_draw(shown.table.record, shown.table.split, made, 0)
        state.set_value(state.REDRAW, True)


def _offer_code_all(codes: Codes, shown: RowSelection, coded: Annotations, keys: list[str]) -> None:
    """Show buttons that give an annotation code to all selected sentences or remove it from all."""
    with st.popover(
        f"Code all {count(len(keys))}", type="tertiary", key="codes-all", disabled=not (keys and coded.book)
    ):
        name = st.selectbox(
            "Code", [code.name for code in coded.book], key=state.get_widget_key("codes-all-which"), width=260
        )
        if name is None:
            return
        with st.container(horizontal=True):
            for label, off in (("Add to all", False), ("Remove from all", True)):
                act = partial(code_selected, codes, shown, keys, name, off=off)
                hint = f"All {count(len(keys))} selected sentences, as one change"
                st.button(label, key=f"codes-all-{off}", on_click=act, help=hint)


def _select_disagreed(shown: RowSelection, pair: dict[str, Any]) -> None:
    """Select the sentences that two annotators coded differently, marked as chosen by their codes (widget callback)."""
    about = f"coded differently by {name_author(pair['first'])} and {name_author(pair['second'])}"
    with state.store_refusal(state.CODES_REFUSED):
        rule = store_picked(data.store(), PickedRows(tuple(row["key"] for row in pair["apart"]), about))
        selection.select_rules(shown.table.record, Selection((rule, "coded"), shown.table.split))
        state.set_value(state.REDRAW, True)


def _is_by_codes() -> bool:
    """Return whether sentences were selected by their annotation codes or notes, which biases the shares of codes."""
    now = _get_selection()
    return (bool(now.digest) and CODED[0] in now.rules) or any(rule in NOTED for rule in now.rules)


def _show_files(codes: Codes, shown: RowSelection, coded: Annotations) -> None:
    """Show downloads of the annotation codes and of the codebook, and an upload of either."""
    with st.popover("Files", type="tertiary", key="codes-files"):
        for form, ending, mime in FORMS:
            name = f"sentiscope-codes{ending}"
            make = partial(format_annotations, shown.table, shown.rows.tolist(), codes, coded, name)
            offer_download(f"Codes · {form}", make, name, mime, f"codes-{ending}")
        offer_download(
            "Codebook · CSV", partial(format_codebook, codes), "sentiscope-codebook.csv", "text/csv", "codes-codebook"
        )
        key = state.get_widget_key("codes-taken")
        st.file_uploader(
            "Import codes",
            type=[ending.removeprefix(".") for _, ending, _ in FORMS],
            key=key,
            max_upload_size=20,
            on_change=partial(_import_file, codes, shown, key),
            help="A file in the exported format, with semicolons between codes; or a codebook",
        )


def _import_file(codes: Codes, shown: RowSelection, key: str) -> None:
    """Import an uploaded file of annotation codes or of a codebook (widget callback)."""
    if (file := state.get_value(key, None)) is None:
        return
    content = file.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"codes{Path(file.name).suffix.lower()}"
        path.write_bytes(content)
        with state.store_refusal(state.CODES_REFUSED):
            taken = import_file(codes, shown.table, path, state.get_author())
            rows, entries = plural(taken["rows"], "row"), plural(taken["codes"], "code")
            new = f", new: {', '.join(taken['added'])}" if taken["added"] else ", no new code"
            what = f"{rows if taken['rows'] else entries}{new}"
            state.set_value(state.SAID_OF_CODES, f"Imported from {file.name}: {what}")
            state.set_value(state.REDRAW, True)


NEW = "a new code"
NONE = "none"


def show_codebook(codes: Codes, coded: Annotations, keys: Sequence[str]) -> None:
    """Show the codebook of annotation codes, one code at a time, with fields to edit, merge or split the code.

    The form is on the page, not in a popover: a popover is attached to its button, which moves down as codes are added,
    until the last fields are off the screen.
    """
    with st.expander("Codebook", key="codes-book"):
        names = [code.name for code in coded.book]
        chosen = st.selectbox("Code", [NEW, *names], key=state.get_widget_key("codes-which"), width=320)
        code = next((each for each in coded.book if each.name == chosen), None)
        _show_code_form(codes, coded, code)
        if code is None:
            return
        if others := [name for name in names if name != code.name]:
            with st.container(horizontal=True, vertical_alignment="bottom"):
                into = st.selectbox("Merge into", others, key=state.get_widget_key("codes-into"), width=240)
                _show_button("Merge", partial(codes.merge_codes, [code.name], into, state.get_author()))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            part = st.text_input("Split off as", key=state.get_widget_key("codes-part"), max_chars=60, width=240)
            hint = "Selected sentences with this code get the new code instead"
            split = partial(codes.split_code, code.name, part, keys, state.get_author())
            _show_button("Split", split, hint, off=not part.strip())
        remove = partial(codes.remove_code, code.name, state.get_author())
        _show_button("Remove", remove, "Only for a code that no sentence has")


def _show_code_form(codes: Codes, coded: Annotations, code: Code | None) -> None:
    """Show the form that adds or edits an annotation code: name, definition, example and key."""
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
            _change_codebook(partial(codes.add_code, name, definition, example, digit, state.get_author()))
        else:
            given = partial(codes.edit_code, code.name, definition=definition, example=example)
            _change_codebook(partial(given, to=name, place=digit, author=state.get_author()))
        state.set_value(state.REDRAW, True)
        st.rerun()


def _show_button(label: str, act: Callable[[], object], hint: str | None = None, *, off: bool = False) -> None:
    change = partial(_change_codebook, act)
    st.button(label, key=state.get_widget_key(f"codes-{label}"), on_click=change, help=hint, disabled=off)


def _change_codebook(act: Callable[[], object]) -> None:
    """Apply a change to the codebook of annotation codes; an error message is shown above the code list."""
    with state.store_refusal(state.CODES_REFUSED):
        act()
        state.set_value(state.REDRAW, True)


LAST = 12  # most listed changes and samples


def show_history(codes: Codes, shown: RowSelection, coded: Annotations, everything: Annotations) -> None:
    """List the last changes of annotation codes, without others' changes on sentences that the user has not coded."""
    with st.popover("History", type="tertiary", key="codes-history", on_change="rerun") as folded:
        if not folded.open:
            return
        try:
            found = codes.ledger.read_history(codes.data, LAST)
        except SentiscopeError as error:
            show_problem("The history cannot be read", str(error))
            return
        if not found:
            show_caption("Nothing has changed yet.")
            return
        rows = "".join(
            _format_row(each, describe_change(each, shown, coded, reads=coded is everything)) for each in found
        )
        heads = "".join(f'<th scope="col">{name}</th>' for name in ("When (UTC)", "Who", "What"))
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        st.html(f'<div class="s-history" role="region" tabindex="0" aria-label="Last changes">{table}</div>')


def _format_row(change: dict[str, Any], words: str) -> str:
    who = name_author(change["author"]) + " (you)" * (change["author"] == state.get_author())
    what = f"<s>{escape(words)}</s>, undone" if change["undone"] else escape(words)
    cells = f"<td>{escape(change['time'][:16].replace('T', ' '))}</td><td>{escape(who)}</td><td>{what}</td>"
    return f"<tr>{cells}</tr>"


def describe_change(change: dict[str, Any], shown: RowSelection, coded: Annotations, *, reads: bool) -> str:
    """Describe a change of annotation codes without details that its reader may not see yet."""
    own = change["author"] == state.get_author()
    if own or reads or all(state.get_author() in coded.given.get(key, {}) for key in change["keys"]):
        return describe_undone(shown, change["said"])
    return f"a hidden change to {plural(len(change['keys']), 'sentence')}"


def show_draws(shown: RowSelection, coded: Annotations, known: list[Draw]) -> None:
    """List the random samples drawn for coding, the share of each that is coded, and buttons to continue coding."""
    if not known:
        return
    with st.popover("Random samples", type="tertiary", key="codes-draws", on_change="rerun") as folded:
        if not folded.open:
            return
        for each in known[:LAST]:
            done = sum(state.get_author() in coded.given.get(key, {}) for key in each.keys)
            of = f"{count(len(each.population))}: {each.said}"
            split = selection.find_draw_split(shown.table.record, each, shown.table.split)
            st.button(
                f"{count(done)} of {count(len(each.keys))} coded, sampled from {escape_label(of)}",
                key=f"codes-draw-{each.id}",
                type="tertiary",
                disabled=not split,
                on_click=partial(resume_draw, shown, coded, each, split),
                help=f"Sampled by {escape_label(name_author(each.author))}, {each.time[:10]}"
                if split
                else f"{data.label_run(shown.table.record.run)} was not evaluated on its sentences",
            )


def resume_draw(shown: RowSelection, coded: Annotations, draw: Draw, split: str) -> None:
    """Select a random sample drawn for coding, at its first sentence without a code (widget callback)."""
    first = next((at for at, key in enumerate(draw.keys) if state.get_author() not in coded.given.get(key, {})), 0)
    selection.choose_draw(shown.table.record, split, draw, first)
    state.set_value(state.REDRAW, True)


Step = tuple[int, Callable[[], None]]
"""The number of a change, and the function that stores it."""


def get_last_report() -> int:
    """Return the number of the last message with annotations from the browser that the server has stored."""
    return int(state.get_value(state.HANDLED, 0))


def get_last_undo() -> int:
    """Return the number of the last browser message whose undo moved the user to another sentence, or 0."""
    return int(state.get_value(state.UNDONE, 0))


def set_author(key: str) -> None:
    """Set the annotator's name to the one that the browser remembers (widget callback)."""
    if not has_name(state.get_author()):
        state.set_value(state.AUTHOR, str((state.get_value(key, {}).get("named") or {}).get("name") or "")[:60])
        state.clear_clicks(state.AUTHOR_FIELD)
        state.set_value(state.REDRAW, True)  # the whole page depends on what the author may see


def move_annotations(codes: Codes, everything: Annotations) -> bool:
    """Move annotations made by an unnamed visitor to the visitor's typed name; return whether there were any."""
    name, visitor = state.get_author(), state.get_visitor()
    said = has_name(name) and any(visitor in each for each in (*everything.given.values(), *everything.notes.values()))
    return said and codes.transfer_visitor(visitor, name)


def store_reports(key: str, shown: RowSelection) -> None:
    """Store annotation codes, notes and undo steps from a browser message, in the order of their numbers.

    A report contains all unconfirmed changes, so nothing is lost if one report is lost; confirmed changes are not
    repeated. If a change cannot be stored, later changes wait, and the reader reports again.
    """
    told: Mapping[str, Any] = state.get_value(key, {})
    # Reports to an earlier session were stored, or are sent again to this session.
    reports = (told.get("coded") or {}, told.get("undo") or {})
    said, taken = (each if each.get("session") == state.get_session() else {} for each in reports)
    undo, before = int(taken.get("count") or 0), get_last_report()
    steps: list[Step] = [*_iterate_changes(shown, said.get("rows") or {}), (undo, partial(_undo_last, shown, undo))]
    refused = ""
    if any(number > before for number, _ in steps):
        state.set_value(state.SAID_OF_CODES, "")
    for number, write in sorted(steps, key=itemgetter(0)):
        if number <= before:
            continue
        try:
            write()
        except StorageError as error:
            state.set_value(state.NOT_WRITTEN, f"{error}. This browser keeps it and tries again.")
            state.set_value(state.AGAIN, int(state.get_value(state.AGAIN, 0)) + 1)
            return
        except SentiscopeError as error:  # such as a code that another user renamed
            refused = refused or str(error)
        state.set_value(state.HANDLED, number)
    state.set_value(state.HANDLED, max(before, undo, int(said.get("count") or 0)))
    state.set_value(state.AGAIN, 0)
    if refused:
        state.set_value(state.NOT_WRITTEN, refused)


def add_code(key: str, shown: RowSelection) -> None:
    """Add the code that the reader reports under the next free digit, and give it to the open sentence."""
    added, codes = state.get_value(key, {}).get("added") or {}, data.open_codebook(shown.table.record)
    if added.get("session") != state.get_session():  # an earlier session added it
        return
    author = state.get_author()
    with state.store_refusal(state.NOT_WRITTEN):
        code = codes.add_code(str(added["name"]), author=author)
        state.set_value(state.REDRAW, True)
        if added["key"] in shown.known.keys:
            codes.give_codes([added["key"]], [code.name], author=author, run=shown.table.record.run)


def _iterate_changes(shown: RowSelection, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Step]:
    """Yield each change in a browser message (a code or a note) as its number and a function that stores it."""
    codes, run, known = data.open_codebook(shown.table.record), shown.table.record.run, set(shown.known.keys)
    for key, each in rows.items():
        if key not in known:
            continue
        for name, (given, number) in (each.get("codes") or {}).items():
            give = partial(codes.give_codes, [key], [name], off=not given, author=state.get_author(), run=run)
            yield int(number), give
        if note := each.get("note"):
            text, number, goes_on = note
            about: dict[str, Any] = {"author": state.get_author(), "run": run, "goes_on": bool(goes_on)}
            yield int(number), partial(codes.write_note, key, str(text), **about)


def _undo_last(shown: RowSelection, number: int) -> None:
    """Undo the author's last annotation change and make its sentence current; `number` is that of the undo request."""
    found = data.open_codebook(shown.table.record).undo_last(state.get_author())
    state.set_value(state.SAID_OF_CODES, f"Undone: {describe_undone(shown, found['said'])}")
    known = set(shown.known.keys)
    if key := next((row["key"] for row in found["rows"] if row.get("key") in known), ""):
        state.set_param(state.AT, key)
        state.set_value(state.UNDONE, number)


def describe_undone(shown: RowSelection, said: str) -> str:
    """Return the description of an annotation change with the beginning of the sentence instead of its key."""
    what, row, key = said.rpartition("row ")
    if not row or key not in shown.known.keys:
        return said
    text = str(shown.table.frame["text"].iloc[shown.known.keys.index(key)])
    return f"{what}{quote_text(text, 40)}"


def code_selected(codes: Codes, shown: RowSelection, keys: list[str], name: str, *, off: bool) -> None:
    """Give an annotation code to all selected sentences, or remove it from all, as one change (widget callback)."""
    with state.store_refusal(state.NOT_WRITTEN):
        codes.give_codes(keys, [name], off=off, author=state.get_author(), run=shown.table.record.run)
        word = "removed from" if off else "added to"
        state.set_value(state.SAID_OF_CODES, f"{name} {word} {plural(len(keys), 'sentence')}; key u undoes it")
        state.set_value(state.REDRAW, True)
