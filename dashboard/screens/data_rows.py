"""The texts of a data set: search, filters, a table in pages, and the editing of labels."""

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.data.config import DataConfig, join_list
from core.data.dataset import Dataset
from core.data.labels import WITHHELD
from core.error_analysis.selection import Selection
from core.formatting import count
from core.runs.record import RunRecord
from core.text.graphemes import clip_text, detect_direction
from core.text.tokenizer import Tokenizer
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import datasets
from dashboard.figures.decisions import PHENOMENON
from dashboard.widgets.figure import edit_labels, show_caption, show_heading, show_table
from dashboard.widgets.messages import show_finding
from dashboard.widgets.runs import get_chosen_run
from dashboard.widgets.style import get_row_height

HEIGHT_ROWS = 8
STEPS = "Steps that change the text, then the tokens a model reads."
KEY = (
    '<div class="s-key">{unknown}{cut}</div>',
    '<span><i class="s-dash"></i>not in the vocabulary: read as “unknown”</span>',
    '<span><s class="s-lost">word</s> cut off: not read</span>',
)


def show_filters(dataset: Dataset, name: str, bar: DeltaGenerator) -> datasets.Filters:
    """Show the filters of a data set's texts in `bar`, bound to the URL; matching texts are selected on all pages."""
    take = partial(select_matches, name)
    named = datasets.list_phenomena(dataset)
    for key, allowed in ((state.PART, [*dataset.splits]), (state.CLASS, dataset.classes), (state.PHENOMENON, named)):
        state.drop_stale(key, allowed)
    with bar:
        split = _pick_filter("Split", list(dataset.splits), state.PART, take)
        label = _pick_filter("Class", dataset.classes, state.CLASS, take)
        phenomenon = _pick_filter("Kind of sentence", named, state.PHENOMENON, take, 210) if named else ""
        look: dict[str, Any] = {"bind": "query-params", "width": 230, "placeholder": "any text", "max_chars": 200}
        about = "Texts that contain exactly these characters, in upper or lower case"
        words = st.text_input("Contains", key=state.FIND, on_change=take, help=about, **look)
    filters, record = datasets.Filters(split, label, phenomenon, words or ""), get_chosen_run()
    if record is not None and (why := explain_no_match(record, name, filters) or explain_split(record, filters)):
        show_caption(why)
    return filters


def _pick_filter(label: str, names: Sequence[str], key: str, take: Callable[[], None], width: int = 150) -> str:
    words: dict[str, Any] = {"placeholder": "any", "width": width, "on_change": take}
    return st.selectbox(label, list(names), index=None, key=key, bind="query-params", **words) or ""


def show_rows(rows: pd.DataFrame, bar: DeltaGenerator) -> tuple[pd.DataFrame, int] | None:
    """Show one page of a data set's rows, its number in `bar`; return these rows and the position of the chosen one."""
    if rows.empty:
        show_finding("No text matches", "Remove a filter, or search for fewer characters.")
        return None
    pages, number = math.ceil(len(rows) / datasets.PAGE_ROWS), 1
    asked = state.read_link(state.PAGE)
    if not state.get_value(state.PAGE, None) and asked and not (asked.isdecimal() and 1 <= int(asked[:9]) <= pages):
        state.set_value(state.PAGE_REFUSED, (asked, len(rows)))
    if int(state.get_value(state.PAGE, 0) or 0) > pages:
        state.drop_keys(state.PAGE)
    if pages > 1:
        number = bar.number_input("Page", 1, pages, 1, key=state.PAGE, bind="query-params", width=120)
    refused, of = state.get_value(state.PAGE_REFUSED, ("", 0))
    if number > 1 or of != len(rows):
        state.drop_keys(state.PAGE_REFUSED)
    elif refused:
        show_finding(f"There is no page “{refused:.20}” of these texts", f"Page 1 of {count(pages)} is shown instead.")
    first = (number - 1) * datasets.PAGE_ROWS
    shown = rows.iloc[first : first + datasets.PAGE_ROWS].reset_index(drop=True)
    clipped = shown.assign(text=[clip_text(text, datasets.SHOWN_CHARACTERS) for text in shown["text"]])
    columns = {"text": ("Text", 430), "label": ("Class", 90), "split": ("Split", 80)}
    height = (min(len(shown), HEIGHT_ROWS) + 1) * get_row_height() + 2
    look: dict[str, Any] = {"height": height, "key": state.TEXTS, "on_select": "rerun", "selection_mode": "single-row"}
    event = show_table(clipped, "Texts of the data set", columns, **look)
    seen = f"Rows {count(first + 1)} to {count(first + len(shown))} of {count(len(rows))}"
    show_caption(f"{seen}. Choose one to open it.")
    chosen = [row for row in event["selection"]["rows"] if row < len(shown)]
    return (shown, chosen[0]) if chosen else None


def show_text(rows: pd.DataFrame, place: int, tokenizer: Tokenizer) -> None:
    """Show each step from one text to its tokens, and a button that opens the text on the Sentence page."""
    text = str(rows["text"].iloc[place])
    changes, pieces = datasets.trace_preparation(text, tokenizer)
    with st.container(key="selection", horizontal=True, vertical_alignment="center"):
        show_heading("Tokenization", "steps", note=f"{count(len(pieces))} tokens")
        if st.button("Try it on the Sentence page", icon=":material/notes:", type="tertiary", key="try-sentence"):
            _look_inside(rows, place)
    steps = [("original text", text), *changes]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(after)}</dd>" for name, after in steps)
    st.html(f'<dl class="s-steps">{listed}</dl>')
    ids = st.toggle("Token IDs", key=state.IDS, help="The IDs that the model reads; 1 is “unknown”")
    shown = pieces[: datasets.SHOWN_TOKENS]
    way = detect_direction("".join(piece.token for piece in shown))
    tokens = "".join(_format_token(piece, ids) for piece in shown)
    st.html(f'<ul class="s-toks" dir="{way}" aria-label="tokens">{tokens}</ul>')
    unknown, cut = (any(getattr(piece, name) for piece in pieces) for name in ("unknown", "cut"))
    if unknown or cut:
        st.html(KEY[0].format(unknown=KEY[1] if unknown else "", cut=KEY[2] if cut else ""))
    beyond = f" The first {datasets.SHOWN_TOKENS} of {count(len(pieces))} are drawn."
    show_caption(STEPS + beyond * (len(pieces) > datasets.SHOWN_TOKENS))


def _look_inside(rows: pd.DataFrame, place: int) -> None:
    texts, labels = (list(map(str, rows[name])) for name in ("text", "label"))
    if record := get_chosen_run():
        splits = set(rows["split"])
        split = splits.pop() if len(splits) == 1 else ""
        selection.choose_sentences(record, texts, labels, "texts of the data", split=split, at=place)
    state.open_page(selection.SENTENCE, **{state.TEXT: texts[place]})


def _format_token(piece: datasets.Piece, ids: bool) -> str:
    kinds = " ".join(filter(None, ("s-unknown" * piece.unknown, "s-lost" * piece.cut)))
    about = "; ".join(filter(None, ("not in the vocabulary" * piece.unknown, "cut off" * piece.cut)))
    number = f"<small>{piece.id}</small>" if ids else ""
    return f'<li class="s-plain {kinds}" title="{about}"><b>{escape(piece.token) or "·"}</b>{number}</li>'


def select_matches(name: str) -> None:
    """Select the texts that the Data page's filters match, as filter rules of all pages (widget callback)."""
    record = get_chosen_run()
    if record is None:
        return
    keys = (state.PART, state.CLASS, state.PHENOMENON, state.FIND)
    filters = datasets.Filters(*(str(state.get_value(key, "") or "") for key in keys))
    if (rules := _make_rules(filters)) and not explain_no_match(record, name, filters):
        selection.select_rules(record, Selection(rules, filters.split), by=state.FIND)
    elif state.get_value(state.SELECTOR, "") == state.FIND:
        selection.clear(record)


def explain_no_match(record: RunRecord, name: str, filters: datasets.Filters) -> str:
    """Return why the Data page's filters select nothing in the chosen run; empty text if nothing prevents it."""
    why = ""
    if _make_rules(filters):
        if record.config.data.name != name:
            why = "uses other data"
        elif filters.split and filters.split not in data.list_splits(record.run):
            why = f"has no predictions for {filters.split}"
        elif filters.label and filters.label not in record.classes:
            why = f"has no class {filters.label}"
    return f"{data.label_run(record.run)} {why}, so nothing is selected on other pages." if why else ""


def explain_split(record: RunRecord, filters: datasets.Filters) -> str:
    """Return a sentence that other pages select matches of only one split; empty if the user has chosen a split."""
    usual = selection.get_default_split(data.list_splits(record.run))
    if filters.split or not usual or not _make_rules(filters):
        return ""
    return f"Other pages select the {usual} matches. Choose a split to change this."


def _make_rules(filters: datasets.Filters) -> tuple[str, ...]:
    said = {"true=": filters.label, f"{PHENOMENON}=": filters.phenomenon, "text~": filters.contains.strip()}
    return tuple(f"{rule}{value}" for rule, value in said.items() if value)


SIGNS = {
    **dict.fromkeys(("very negative", "strongly negative"), -2),
    **dict.fromkeys(("negative", "neg", "bearish", "bad"), -1),
    **dict.fromkeys(("neutral", "neu", "mixed"), 0),
    **dict.fromkeys(("positive", "pos", "bullish", "good"), 1),
    **dict.fromkeys(("very positive", "strongly positive"), 2),
}
"""Class names that are known to form a scale."""
HOW = "Labels with the same class are merged."
PLACE_HELP = "1 is the worst. The order sets the colours and, from three classes, whether a scale is measured"


def show_labels(config: DataConfig, labels: Mapping[str, int], key: str) -> tuple[DataConfig, dict[str, int], str]:
    """Show a table to rename, merge or order labels; return the data config, class → number of rows, and a problem."""
    places = guess_order(list(labels))
    asked = WITHHELD in labels
    with st.expander("Rename, merge or order the labels", expanded=asked):
        show_caption(HOW)
        order = pd.array([places.get(name) for name in labels], dtype="Int64")
        rows = {"label": [*labels], "rows": [*labels.values()], "class": [*labels], "place": order}
        columns = {
            "label": st.column_config.TextColumn("Label", width=200),
            "class": st.column_config.TextColumn("Class", width=200, help="Empty: its rows are left out"),
            "place": st.column_config.NumberColumn("Place", width=90, min_value=1, help=PLACE_HELP),
        }
        edited = edit_labels(pd.DataFrame(rows), columns, f"labels-{key}")
        unlabeled = asked and st.checkbox(
            f"{WITHHELD} is a label like the others", key=f"withheld-{key}", help="It often marks rows without a label"
        )
    names = ["" if pd.isna(name) else str(name).strip() for name in edited["class"]]
    numbers = [None if pd.isna(place) else int(place) for place in edited["place"]]
    said = dict(zip(labels, names, strict=True))
    lacking = ""
    if asked and said[WITHHELD] == WITHHELD and not unlabeled:
        lacking = f"{WITHHELD} often marks rows without a label. Clear its class above, or tick the box."
    changed, classes = rename_labels(config, labels, said, dict(zip(labels, numbers, strict=True)))
    if len(classes) < 2:
        lacking = "A classifier needs at least two classes."
    return changed, classes, lacking


def guess_order(labels: list[str]) -> dict[str, int]:
    """Return label → rank from 1 if all labels are known words of a scale, such as "bad" and "good"; else empty."""
    signs = {name: SIGNS.get(name.strip().casefold()) for name in labels}
    known = {name: sign for name, sign in signs.items() if sign is not None}
    if len(known) < len(labels) or len(set(known.values())) < max(2, len(labels)):
        return {}
    return {name: place for place, name in enumerate(sorted(known, key=known.__getitem__), start=1)}


def rename_labels(
    config: DataConfig, labels: Mapping[str, int], said: Mapping[str, str], places: Mapping[str, int | None]
) -> tuple[DataConfig, dict[str, int]]:
    """Return a data config with renamed and ordered labels, and class → number of rows in that order.

    An order is used if every class has its own position; a class of merged labels has the lowest of their positions.
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
    changed = dataclasses.replace(
        config, rename=join_list(pairs) if pairs else "", order=join_list(names) if ordered else ""
    )
    return changed, {name: classes[name] for name in names}
