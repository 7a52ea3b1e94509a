"""Confirmation of a user's own data file: a preview, and fields for its encoding, delimiter, header and columns."""

import dataclasses
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.data import uploads
from core.data.columns import SINGLE
from core.data.config import ONE_LABEL, DataConfig
from core.data.dataset import Task
from core.data.decoding import ENCODINGS
from core.data.delimited_text import QUOTINGS
from core.data.findings import ReadingDecision, shorten
from core.data.labeled_files import FileReport
from core.exceptions import SentiscopeError
from core.formatting import count, plural
from dashboard import access, state
from dashboard.data import data
from dashboard.screens.data_rows import show_labels
from dashboard.widgets.figure import show_caption, show_table
from dashboard.widgets.messages import escape_label, show_notes, show_problem

FOUND = "as found"
NO_PAIR = "none: single texts"
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "tab", "bar": "|"}
SEPARATORS = {"one label per cell": ONE_LABEL, "semicolon": ";", "comma": ",", "bar": "|", "space": " "}
HEADERS: dict[str, Literal["yes", "no"]] = {"names of columns": "yes", "data": "no"}
QUOTES = {"no quotes" if kind == "none" else kind: kind for kind in QUOTINGS}
CHOICES: dict[str, dict[str, str]] = {
    "data.delimiter": {value: name for name, value in DELIMITERS.items()},
    "data.header": {value: name for name, value in HEADERS.items()},
    "data.quoting": {value: name for name, value in QUOTES.items()},
    "data.separator": {value: name for name, value in SEPARATORS.items()},
}
"""Setting → label in its list → value; other lists offer the values themselves."""
OF_TEXT = ("encoding", "delimiter", "header", "quoting", "sheet")
"""Settings of how a file is split into cells."""
WITH_FOUND = ("encoding", "delimiter", "header", "quoting", "separator")
"""Settings whose lists begin with `FOUND`."""
MOST_OFFERED = 3  # most alternatives of a decision with a button
SETTINGS = {
    "data.text": "Text column",
    "data.label": "Label column",
    "data.pair": "Second text",
    "data.separator": "Several labels",
    "data.delimiter": "Delimiter",
    "data.encoding": "Encoding",
    "data.header": "First row",
    "data.quoting": "Quotes",
    "data.sheet": "Sheet",
}
DELIMITED, TEXTUAL = ("csv", "tsv", "text"), ("csv", "tsv", "text", "json", "jsonl")
KEPT = "Your file stays on the machine that runs this page."
Look = Callable[[DataConfig], FileReport]


def is_unconfirmed() -> bool:
    """Return whether a user has uploaded a data file and not confirmed its columns yet."""
    return state.get_value(_make_upload_key(), None) is not None


def _make_upload_key() -> str:
    """Return the widget key of the file uploader; the key changes after each confirmed file to empty the uploader."""
    return f"{state.UPLOAD}-{state.get_value(state.UPLOAD, 0)}"


def pick_upload() -> UploadedFile | None:
    """Show a menu with the file uploader; return the file that a user has uploaded."""
    with st.popover("Use your own file", icon=":material/upload:", key="upload-menu"):
        label = "A table with one or two texts and a label in each row"
        about = "CSV, TSV, JSON, Excel or Parquet, also as gzip or zip; or one text per line. At most 50 MB"
        file = st.file_uploader(label, type=access.KINDS, key=_make_upload_key(), help=about)
        show_caption(KEPT)
    return file


def show_upload(file: UploadedFile) -> None:
    """Show a preview of an uploaded file to confirm."""
    content = file.getvalue()

    def store_file(config: DataConfig) -> DataConfig:
        kept = access.keep_upload(file.name, content)
        return dataclasses.replace(config, name=str(kept))

    key = hashlib.sha256(content).hexdigest()[:12]
    look = partial(data.inspect_upload, file.name, content)
    confirm_file(uploads.make_safe_name(file.name), key, look, store_file)


def show_path_file(path: Path) -> None:
    """Show a preview of a data file that is named by its path, to confirm how it is read; the file is not copied."""
    whole = str(path.expanduser().resolve())
    key = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    look = partial(data.inspect_path, Path(whole))
    confirm_file(path.name, key, look, lambda config: dataclasses.replace(config, name=whole))


def confirm_file(file: str, key: str, look: Look, keep: Callable[[DataConfig], DataConfig]) -> None:
    """Show a preview of a data file, let the user correct how the file is read, and offer to use it."""
    choices = st.container(key="data-choices", horizontal=True, vertical_alignment="bottom", gap="small")
    asked = _as_text(choices, key)
    try:
        first = look(asked)
        if sheet := _pick_sheet(choices, key, first):
            asked = dataclasses.replace(asked, sheet=sheet)
            first = look(asked)
        refused = "" if first.columns else first.problem
    except SentiscopeError as error:
        refused = str(error)
    if refused:
        show_problem(f"{file} cannot be read this way", _translate_settings(refused))
        return
    config, report = _pick_columns(choices, key, asked, first, look)
    if report.problem:
        show_problem(f"{file} cannot be used yet", _translate_settings(report.problem))
    else:
        config, classes, lacking = show_labels(config, report.classes, f"{key}-{config.label}-{config.separator}")
        with st.container(key="use-bar", horizontal=True, vertical_alignment="center", gap="medium"):
            use = partial(_use_file, keep, config)
            st.button("Use this file", type="primary", key="use-data", on_click=use, disabled=bool(lacking))
            shares = ", ".join(f"{name} ({count(rows)})" for name, rows in classes.items())
            show_caption(lacking or f"{plural(len(classes), 'class')}: {shares}")

    def choose_value(setting: str, _value: str, word: str) -> None:
        """Set the menu of a file-reading setting to the alternative that a button offers (widget callback)."""
        state.set_value(f"{setting}-{key if setting in OF_TEXT else _make_columns_key(key, asked)}", word)

    show_decisions(
        report.decisions, first.task, key, choose_value, changed={each for each in WITH_FOUND if getattr(config, each)}
    )
    show_caption(_describe_file(report))
    show_table(pd.DataFrame(report.preview), f"The first rows of {file}")
    show_notes([_translate_settings(each.message) for each in report.findings if each.level != "refused"])


def _as_text(place: st.delta_generator.DeltaGenerator, key: str) -> DataConfig:
    def pick_value(setting: str, names: Iterable[str], width: int, about: str, *, new: bool = False) -> str:
        options, label = [FOUND, *names], SETTINGS[f"data.{setting}"]
        key_of = f"{setting}-{key}"
        return place.selectbox(label, options, key=key_of, width=width, help=about, accept_new_options=new) or FOUND

    encoding = pick_value("encoding", ENCODINGS, 150, "Change it if letters look wrong in the preview", new=True)
    delimiter = pick_value("delimiter", DELIMITERS, 150, "The character between two columns of a text file")
    names = "Does the first row contain column names, or a text with its label?"
    header = pick_value("header", HEADERS, 190, names)
    quotes = pick_value("quoting", QUOTES, 150, "How a text file quotes cells that contain the delimiter")
    encoding, delimiter = "" if encoding == FOUND else encoding, DELIMITERS.get(delimiter, "")
    quotes = QUOTES.get(quotes, "")
    return DataConfig(encoding=encoding, delimiter=delimiter, header=HEADERS.get(header, ""), quoting=quotes)


def _pick_sheet(place: st.delta_generator.DeltaGenerator, key: str, first: FileReport) -> str:
    if len(first.sheets) < 2:
        return ""
    about = "The table to read: a sheet of a workbook, a list of a JSON file, a file of an archive"
    at, key = _find_place(list(first.sheets), first.sheet, f"sheet-{key}") or 0, f"sheet-{key}"
    chosen = place.selectbox("Sheet", first.sheets, index=at, key=key, width=150, help=about)
    return "" if chosen in (None, first.sheet) else chosen


def show_decisions(
    decisions: Sequence[ReadingDecision],
    task: Task,
    key: str,
    use: Callable[[str, str, str], None],
    changed: Collection[str] = (),
) -> None:
    """Show how a data file was read, guesses first, each with buttons for the alternatives (such as other delimiters).

    Args:
        decisions: Decisions made when the file was read.
        task: Task of the labels; a separator is offered only for several labels per text.
        key: A key that is unique on the page.
        use: Called with setting, value and label when a button is pressed.
        changed: Settings chosen by the user; their decisions have a button that restores the detected value.
    """
    offered = []
    for number, decision in enumerate(decisions):
        back = {FOUND: ""} if decision.setting.removeprefix("data.") in changed else {}
        if values := {**back, **_list_alternatives(decision, task)}:
            offered.append((decision, values, f"{key}-{number}"))
    for each in offered:
        if each[0].guessed:
            _show_decision(*each, use)
    if certain := [each for each in offered if not each[0].guessed]:
        with st.expander("How it was read"):
            for each in certain:
                _show_decision(*each, use)


def _list_alternatives(decision: ReadingDecision, task: Task) -> dict[str, str]:
    """Return the other values of a file-reading setting that the page can offer, as menu word → setting value."""
    if decision.setting not in SETTINGS or (decision.what == "labels" and task == "single"):
        return {}
    known = CHOICES.get(decision.setting)
    words = {known.get(value, "") if known else value: value for value in decision.alternatives}
    return dict(islice(((word, value) for word, value in words.items() if word), MOST_OFFERED))


def _show_decision(
    decision: ReadingDecision, values: Mapping[str, str], place: str, use: Callable[[str, str, str], None]
) -> None:
    setting, known = decision.setting.removeprefix("data."), CHOICES.get(decision.setting, {})
    key = f"decision-{decision.what}-{place}"
    with st.container(key=key, horizontal=True, vertical_alignment="center", gap="small"):
        what = f"{SETTINGS[decision.setting]}: {known.get(decision.chosen, decision.chosen)}"
        where = f" in {decision.file}" if decision.file else ""
        show_caption(f"{what}{where}{' (a guess)' if decision.guessed else ''}. As read: {decision.proof}")
        for word, value in values.items():
            act = partial(use, setting, value, word)
            st.button(f"Use {escape_label(shorten(word))}", key=f"use-{setting}-{word}-{place}", on_click=act)


def _make_columns_key(key: str, asked: DataConfig) -> str:
    return f"{key}-{asked.encoding}-{asked.delimiter}-{asked.header}-{asked.quoting}-{asked.sheet}"


def _pick_columns(
    place: st.delta_generator.DeltaGenerator, key: str, asked: DataConfig, first: FileReport, look: Look
) -> tuple[DataConfig, FileReport]:
    names = [column.name for column in first.columns]
    key = _make_columns_key(key, asked)

    def pick_column(part: str, options: list[str], found: str, about: str, **look: Any) -> str | None:
        widget = f"{part}-{key}"
        at = _find_place(options, found, widget)
        return place.selectbox(SETTINGS[f"data.{part}"], options, at, key=widget, help=about, width=165, **look)

    text = pick_column("text", names, first.text, "The text that the model reads", placeholder="Choose a column")
    about = "The label to predict. For several 0/1 columns, type their names with commas, or y_*"
    example = "0/1 columns" if first.label else "Choose a column"
    label = pick_column("label", names, first.label, about, placeholder=example, accept_new_options=True)
    about = "For pairs: the second text that the model reads"
    pair = pick_column("pair", [NO_PAIR, *names], first.pair if first.pair in names else NO_PAIR, about)
    second = SINGLE if pair in (None, NO_PAIR) else str(pair)
    second = "" if second == (first.pair or SINGLE) else second
    separator = _pick_separator(place, key, first)
    config = dataclasses.replace(asked, text=text or "", label=label or "", pair=second, separator=separator)
    found = not (config.separator or config.pair) and (config.text, config.label) == (first.text, first.label)
    return config, first if found else look(config)


def _find_place(names: list[str], found: str, widget: str) -> int | None:
    """Return the menu position of the column that was detected; 0 if a button has already set the menu's value."""
    if state.get_value(widget, None) is not None:
        return 0
    return names.index(found) if found in names else None


def _pick_separator(place: st.delta_generator.DeltaGenerator, key: str, first: FileReport) -> str:
    if first.task == "single":
        return ""
    about, key = "The character between the labels of one cell; or each cell is one label", f"separator-{key}"
    chosen = place.selectbox("Several labels", [FOUND, *SEPARATORS], key=key, width=190, help=about)
    return SEPARATORS.get(chosen or FOUND, "")


def _describe_file(report: FileReport) -> str:
    parts = [plural(report.rows, "row"), report.kind]
    if report.kind in TEXTUAL:
        parts.append(report.encoding)
    if report.kind in DELIMITED and report.delimiter:
        parts.append(f"separated by {report.delimiter}{', quoted' if report.quoted else ''}")
    if report.header:
        parts.append("the first row names the columns")
    elif report.columns and report.columns[0].name == "0":
        parts.append("no column names, so columns are numbered")
    return f"{' · '.join(parts)}. The first rows, as they will be read:"


def _translate_settings(message: str) -> str:
    """Replace names of settings in an error message by the labels of the menus on the page."""
    for setting, label in SETTINGS.items():
        message = message.replace(f"{setting}=", f"“{label}” above: ").replace(setting, f"“{label}” above")
    return message


def _use_file(keep: Callable[[DataConfig], DataConfig], config: DataConfig) -> None:
    with state.store_refusal(state.PROBLEM):
        state.set_value(state.DATA, uploads.keep_choice(access.get_library_folder(), keep(config)).id)
        state.set_value(state.UPLOAD, state.get_value(state.UPLOAD, 0) + 1)
