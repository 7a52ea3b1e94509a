"""Dashboard state that outlives a Streamlit rerun: URL parameters, and session keys that URLs do not contain."""

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.error_analysis.annotation_store import has_name, make_visitor_id
from core.exceptions import SentiscopeError

# URL parameters, with which a link restores a page. Each is the key of a widget with bind="query-params".
RUN = "run"
PROJECTOR = "projector"  # large text
PRESENT = "present"
MORE = "more"  # open sections (`dashboard.widgets.options`)
HIDE = "hide"  # keys of widgets and containers that the page leaves out, with commas between; `menu`: the sidebar
SPLIT = "split"
TEXT = "text"
PRESET = "model"
PAPER = "paper"
TABLE = "table"
AGAINST = "against"
SIZES = "sizes"
LENGTH = "length"
RECIPE = "recipe"
ALONG = "along"  # whether counter-examples join the training rows
DISAGREE = "disagree"
COMPARED = "runs"
COMPARE = "compare"  # the list of runs on Compare; the link or button that opens the page sets it
DATA = "data"
PART, CLASS, PHENOMENON, FIND, PAGE = "part", "class", "phenomenon", "find", "page"
PLACED = "place"
BESIDE = "beside"
SWEEP = "sweep"
CAPABILITY, FAILS = "capability", "fails"
SIDE = "side-"  # prefix of a class name: its polarity
METRIC, BASELINE = "metric", "baseline"
TEMPLATE, INSERT, CURVES, DONOR = "template", "insert", "curves", "donor"

# URL parameters without a widget.
VIEW = "view"  # what Train shows: `RUN_VIEW`, the chosen run, or `FORM_VIEW`
RUN_VIEW, FORM_VIEW = "run", "form"
SET = "set"  # the settings of Train's form that differ from the preset
SUITE = "suite"
STAGE = "stage"
PINNED, PINNED_RUN, PINNED_EDIT = "pinned", "pinned-run", "pinned-edit"
SELECT = "select"  # the selection of every page (`core.error_analysis.selection`)
AT = "at"  # the key of the current sentence of the selection
LAG = 100  # most remembered values of `AT`
ORDER = "order"
BACK = "back"  # the page where the selection was made
QUESTION = "sentence"  # the number of the sentence that Start shows, from 1
SILENT = "silent"  # how a part is ablated (`dashboard.figures.ablation_levers`)
EDIT = "edit"  # edits of the model (`core.interpret.model_edits`)
LESSON = "lesson"
EXPERIMENT = "experiment"
JOIN = "join"  # the code of a class that answers a lesson together (`core.lessons.tally`)

# Session keys of annotation codes.
GREETED = "greeted"  # the name and page that the class knows already
KEY, CLASS_PROBLEM = "teacher-key", "class-problem"
AUTHOR = "author"  # the annotator; not in the link, which may be shared
VISITOR = "visitor"  # id of an annotator without a name
SECRET = "visitor-secret"  # the value of `VISITOR_COOKIE`, kept secret: it identifies the visitor
VISITOR_COOKIE = "sentiscope-visitor"
SESSION = "reader-session"  # session that the reader reports to; a new session has no earlier reports
AUTHOR_FIELD = "author-field"  # a separate field, since the browser may send a known name before the field is drawn
HANDLED = "codes-handled"  # number of the reader's last stored report
UNDONE = "codes-undone"  # number of the last undo report that moved the reader
AGAIN = "codes-again"  # number of failed attempts to store a report
SAID_OF_CODES, NOT_WRITTEN, CODES_REFUSED = "codes-said", "codes-problem", "codes-refused"
REDRAW = "codes-redraw"
"""Whether a code change also requires a redraw of the page above the reader (counted by `CHANGED`)."""
CHANGED = "codes-changed"

# Session keys: drafts and messages shown once.
FOLLOWS = "selection-follows"  # whether the bar has a part that shows the current sentence
CONFIRMED = "confirmed-"  # prefix of a component key: number of its last received change
TURN = "turn-"  # prefix of a component key: its last data and their time
MISSING = "missing-run"
SPLIT_REFUSED = "split-refused"  # page, run, the split shown there, and the one that a link asked for in vain
PAGE_REFUSED = "page-refused"  # the page of texts that a link asked for in vain, and how many texts there were
GONE = "compared-gone"  # runs of a link to Compare that are not here, and those that are
REQUESTED = "requested-run"
NAME = "train-name"
SETTING = "setting-"  # prefix of a setting: key of its field
PROBLEM = "train-problem"
REPLAY = "replay-"  # prefix of a run: the epoch up to which its curves are drawn
CANCELLING = "train-cancelling"  # the run that is being cancelled
NOT_STOPPED = "train-not-stopped"  # the run that was not stopped, and why
ROWS = "runs-table"
SAID = "said"  # values cached for this rerun of the page
UNFOLDED = "runs-unfolded"  # whether all models of the built-in corpus are shown
TICKED = "ticked-"  # prefix of a data set: its models ticked for a comparison
EXAMPLES = "examples-table"
CELL, CELLS, MATRIX = "fig-confusion", "confusion-table", "fig-compare-matrix"
HERE = "here"  # module of the last drawn page
ADDRESS = "address"  # by which it was opened, which may be that of a former page
MAP_FACTS = "map-facts"  # the run of the last map, and what the heading of the page says about it
SELECTOR = "selected-by"  # the figure or table that set the selection
SELECTED = "selected-before"  # the last selection, and how many a button has made
MARKED = "map-marked"  # rows that the map was drawn with as marked
SELECTION_PROBLEM = "selection-problem"
EXAMPLE_PROBLEM = "counter-example-problem"
KEEP_NOTE = "keep-note"
KEPT = "kept"
LESSON_PROBLEM = "lesson-problem"
SLICE_NAME, SLICE_CHANGED, SLICE_SAID = "slice-name", "slice-changed", "slice-said"
START_TYPED = "start-typed"
START_OPENS = "start-opens"  # the page that a button of Start opens
RUN_FILE, RUN_PATH = "run-file", "run-path"
TAKEN, REFUSED, ARRIVED, REMOVED = "runs-taken", "run-refused", "run-arrived", "run-removed"
UPLOAD = "data-upload"
CLASSIFIER, OPENED_NAME, OPENING = "classifier-folder", "classifier-name", "classifier-opening"
ELSEWHERE = "elsewhere"  # the last evaluation of a run on other data
TEXTS, IDS = "data-texts", "data-ids"
PRESETS = "presets-table"
SWEEP_PART = "sweep-form-"  # prefix of a part of a new sweep: key of its field
SWEEP_PROBLEM = "sweep-problem"
BEGUN_AT = "steps-begun-at"
"""The stage with which Steps was drawn; its component then changes stages without the server."""
SUITE_FILE, SUITE_PROBLEM = "suite-file", "suite-problem"
PAST = "sentence-past"
FLIP, FLIP_PROBLEM = "sentence-flip", "flip-problem"
NOT_BEGUN = "not-begun"
REPORT_ASKED = "report-asked"  # the requested report that is not built yet
REPORT = "report-made"  # the last built report, with its contents
ENOUGH = "enough-"  # prefix of a place of attribution methods: its stopped request

_SECRET = re.compile("[0-9a-f]{32}")


def get_author() -> str:
    """Return the annotator whose codes are shown: the typed name, else the visitor's anonymous ID."""
    name = unicodedata.normalize("NFC", " ".join(str(get_value(AUTHOR, "")).split()))  # in the stored form
    return name if has_name(name) else get_visitor()


def get_visitor() -> str:
    """Return the ID of an unnamed visitor, derived from a browser cookie and thus unchanged after a reload."""
    if not get_value(VISITOR, ""):
        kept = str(st.context.cookies.get(VISITOR_COOKIE) or "")
        secret = kept if _SECRET.fullmatch(kept) else secrets.token_hex(16)
        set_value(SECRET, secret)
        set_value(VISITOR, make_visitor(secret))
    return str(get_value(VISITOR, ""))


def make_visitor(secret: str) -> str:
    """Return the ID of the visitor whose browser has this secret in its cookie; empty if it is not of ours."""
    return make_visitor_id(hashlib.sha256(secret.encode()).hexdigest()[:12]) if _SECRET.fullmatch(secret) else ""


def get_secret() -> str:
    """Return the secret in the visitor's browser cookie from which the visitor's anonymous ID is derived."""
    get_visitor()
    return str(get_value(SECRET, ""))


def get_session() -> str:
    """Return a random token that identifies the visitor's current browser session."""
    if not get_value(SESSION, ""):
        set_value(SESSION, secrets.token_hex(6))
    return str(get_value(SESSION, ""))


def get_run() -> str:
    """Return the name of the run that is chosen on all pages; empty if no run is chosen."""
    return str(st.session_state.get(RUN) or "")


def choose_run(name: str) -> None:
    """Choose the run that all pages show; only from a widget callback.

    Train then shows that run. The choice is only requested, and `pick_run` applies it. A value that a callback sets on
    the widget itself is lost if a fragment reruns at the same time: the browser then sends the widget's old value.
    """
    st.session_state[REQUESTED], st.session_state[VIEW] = name, RUN_VIEW


def get_bound(key: str) -> str:
    """Return the value of a URL-bound widget before it is drawn, from the session, else from the URL."""
    return str(st.session_state.get(key) or st.query_params.get(key, ""))


def is_projector() -> bool:
    """Return whether text and lines are large, for a talk."""
    return st.query_params.get(PROJECTOR) == "true" or is_presenting()


def is_presenting() -> bool:
    """Return whether the link opens the presenter: one figure on the whole screen."""
    return st.query_params.get(PRESENT) == "1"


def set_initial(key: str, value: Any) -> None:
    """Set the initial value of a URL-bound widget, and write it to the URL so that a copied link is complete."""
    if key in st.query_params:
        return
    if key not in st.session_state:
        # A change of the URL alone has an effect only at the next rerun.
        st.query_params[key] = st.session_state[key] = value
    elif st.session_state[key] is None:  # as after *Back* to a link without it; then its widget writes the URL
        st.session_state[key] = value


def set_option(key: str, options: Sequence[str], first: str) -> None:
    """Set a URL-bound widget that several pages share to one of its options, before the widget is drawn.

    After a page change, the session has the value of the other page's widget, which this page's widget ignores and the
    link no longer contains, so it must be set again.
    """
    asked = st.session_state.get(key) or st.query_params.get(key)
    value = str(asked) if asked in options else first
    if value != st.session_state.get(key) or st.query_params.get(key) != value:
        st.query_params[key] = st.session_state[key] = value


def get_optional(key: str, options: Sequence[str]) -> str:
    """Return the value of a URL-bound widget that may be empty, before it is drawn; write the value back to the URL."""
    held = st.session_state[key] if key in st.session_state else st.query_params.get(key)
    value = str(held) if held in options else ""
    if held and (value != st.session_state.get(key, "") or key not in st.query_params):
        st.session_state[key] = value or None
    return value


def restore_text(key: str, first: str) -> None:
    """Restore the content that a URL-bound text field, shared by several pages, had on the previous page."""
    if key in st.query_params:
        return
    held = st.session_state.get(key)
    value = first if held is None else str(held)
    st.session_state[key] = value
    if value:
        st.query_params[key] = value


def read_link(key: str) -> str:
    """Return a URL parameter unchecked, even if its value names nothing that exists; empty if it is missing."""
    return str(st.query_params.get(key, ""))


def write_link(values: Mapping[str, str]) -> None:
    """Set parameters of the URL alone, without a session copy; an empty value removes one."""
    for key, value in values.items():
        if value:
            st.query_params[key] = value
        else:
            st.query_params.pop(key, None)


def get_param(key: str) -> str:
    """Return a URL parameter that no widget is bound to, or its session copy after another page was visited."""
    if key in st.query_params and st.query_params[key] not in st.session_state.get(f"{key}-behind", ()):
        st.session_state[key] = st.query_params[key]
    elif st.session_state.get(key):
        st.query_params[key] = st.session_state[key]
    return str(st.session_state.get(key, ""))


def get_latest(key: str) -> str:
    """Return a URL parameter that no widget is bound to, or the newer value that a button has set."""
    before, held, link = st.session_state.get(f"{key}-latest"), st.session_state.get(key), st.query_params.get(key)
    moved = next((each for each in (held, link) if each is not None and each != before), None)
    value = str(next(each for each in (moved, before, held, link, "") if each is not None))
    st.session_state[key] = st.session_state[f"{key}-latest"] = value
    if value and link != value:
        st.query_params[key] = value
    return value


def follow_link(key: str, *, several: bool = False) -> None:
    """Keep an unbound widget and the URL equal, the newer wins; call before the widget is drawn.

    The link of a bound widget would have the labels of its options instead of their values. `several`: its value is a
    list. A widget without a value leaves no parameter.
    """
    link: Any = (st.query_params.get_all if several else st.query_params.get)(key) if key in st.query_params else None
    before = st.session_state.get(f"{key}-latest")
    held = st.session_state.get(key, before)  # without a key: another page came between
    value = held if held != before else before if link is None else link
    if not value and key in st.query_params:
        del st.query_params[key]
    elif value and link != value:
        st.query_params[key] = value
    st.session_state[f"{key}-latest"] = value
    if value is not None:
        st.session_state[key] = value


def follow_switch(key: str) -> None:
    """Keep an unbound switch and the URL equal, the newer wins; call before the switch is drawn, or without it."""
    before, link = bool(st.session_state.get(f"{key}-latest")), st.query_params.get(key)
    held = bool(st.session_state.get(key, before))
    value = held if held != before or link is None else link == "true"
    st.session_state[key] = st.session_state[f"{key}-latest"] = value
    write_link({key: "true" if value else ""})


def set_param(key: str, value: str) -> None:
    """Set a URL parameter and its session copy; an empty value removes it from the URL.

    While keys are pressed, the browser sends outdated links: remembered earlier values of the row are ignored.
    """
    if key == AT:
        before = (*st.session_state.get(f"{key}-behind", ()), st.session_state.get(key, ""))
        st.session_state[f"{key}-behind"] = tuple(each for each in before[-LAG:] if each != value)
    st.session_state[key] = value
    write_link({key: value})


def link_to(page: str, **values: str) -> str:
    """Build the URL of a page that keeps the current parameters but no selection; `values` are set on top."""
    left_out = (SELECT, AT, ORDER, BACK, PROJECTOR)
    return f"{page}?{urlencode({**{k: v for k, v in st.query_params.items() if k not in left_out}, **values})}"


def drop_stale(key: str, options: Sequence[str]) -> None:
    """Reset a URL-bound widget whose value is no longer an option; call before the widget is drawn."""
    if st.session_state.get(key) not in (None, *options):
        drop_keys(key)


def keep_valid(key: str, options: Sequence[str]) -> None:
    """Remove values of a URL-bound multiselect that are no longer options; call before the widget is drawn."""
    value = st.session_state.get(key)
    if value is None:
        return
    kept = [each for each in value if each in options] if isinstance(value, list) else []
    if kept != value:
        st.session_state[key] = kept


def reset_on_change(key: str, of: str, value: Any) -> None:
    """Reset a URL-bound widget to `value` when `of`, on which it depends, changes; keep a value that the URL has."""
    set_initial(key, value)
    if st.session_state.get(f"{key}-of", of) != of:
        st.session_state[key] = value  # a bound widget writes its own URL
    st.session_state[f"{key}-of"] = of


def has_followed(key: str) -> bool:
    """Return whether a URL-bound widget's value depends on another value, by which `reset_on_change` resets it."""
    return bool(st.session_state.get(f"{key}-of"))


def get_value(key: str, default: Any) -> Any:
    """Return a value of the session state, or `default` if the key has not been set."""
    return st.session_state.get(key, default)


def get_typed(prefix: str) -> dict[str, str]:
    """Return the non-empty text fields whose session key has this prefix, as key without prefix → text, sorted."""
    fields = {str(key): str(value or "").strip() for key, value in st.session_state.items()}
    typed = {key.removeprefix(prefix): text for key, text in fields.items() if key.startswith(prefix) and text}
    return dict(sorted(typed.items()))


def get_initial(widget: str, key: str, default: Any) -> Any:
    """Return the value that a session key had before a given widget was first drawn."""
    if widget not in st.session_state:
        st.session_state[f"{key}-begun"] = st.session_state.get(key, default)
    return st.session_state.get(f"{key}-begun", default)


def set_value(key: str, value: Any) -> None:
    """Set a value in the session state; for widgets only from a callback or before they are drawn."""
    st.session_state[key] = value


def pop_value(key: str) -> Any:
    """Remove a key from the session state and return its value, for messages that are shown only once."""
    value = st.session_state.pop(key, None)
    if value is not None:
        st.session_state.setdefault(SAID, {})[key] = value
    return value


def rerun_page() -> None:
    """Rerun the page and keep the one-time messages that it has just shown, so that they stay readable."""
    st.session_state.update(st.session_state.pop(SAID, {}))
    st.rerun()


def drop_keys(*keys: str) -> None:
    """Remove keys from the session state, so that their widgets start with default values."""
    for key in keys:
        st.session_state.pop(key, None)


def open_page(page: str, **values: str | Sequence[str]) -> None:
    """Open another dashboard page and set values of its URL-bound widgets; the chosen run stays the same.

    `st.switch_page` refuses parameters that a widget of this page is bound to: `values` are of widgets that this page
    does not draw. Each widget of the next page that has a value in the session writes its own.
    """
    st.session_state.update(values)
    st.switch_page(f"screens/{page}.py", query_params=values)


def open_link(page: str, values: Mapping[str, str | Sequence[str]]) -> None:
    """Open a page with these URL parameters, and forget the session values of the same names."""
    drop_keys(*values)
    st.switch_page(f"screens/{page}.py", query_params=values)


def get_widget_key(key: str) -> str:
    """Return the current widget key of a clickable figure or table; the key changes after each `clear_clicks`."""
    times = st.session_state.get(f"{key}-cleared", 0)
    return f"{key}-{times}" if times else key


def clear_clicks(*keys: str) -> None:
    """Clear clicked points or rows of figures and tables by changing their widget keys (in a widget callback).

    Deleting the old key is not enough, since the browser sends its selection with the next click.
    """
    for key in keys:
        st.session_state[f"{key}-cleared"] = st.session_state.get(f"{key}-cleared", 0) + 1


def get_clicked_cell(classes: Sequence[str]) -> tuple[int, int] | None:
    """Return the (true, predicted) cell of the confusion matrix that was clicked in the figure or in its table."""
    names = [f"predicted {name}" for name in classes]
    if bar := get_clicked_bar(CELL, len(classes)):
        return bar
    cells = _get_clicked(CELLS, "cells")
    if not cells or cells[0][1] not in names or int(cells[0][0]) >= len(classes):
        return None
    return int(cells[0][0]), names.index(cells[0][1])


def _get_clicked(key: str, kind: str) -> list[Any]:
    found: list[Any] = (st.session_state.get(get_widget_key(key)) or {}).get("selection", {}).get(kind, [])
    return found


def get_clicked_points(key: str) -> list[Mapping[str, Any]]:
    """Return the points that a user has selected in a Plotly figure."""
    return _get_clicked(key, "points")


def get_clicked_rows(key: str) -> list[int]:
    """Return the positions of the rows that a user has selected in a table."""
    return _get_clicked(key, "rows")


def get_clicked_bar(key: str, most: int) -> tuple[int, int] | None:
    """Return the clicked cell of a matrix figure as (row, column), both below `most`; None without a valid click."""
    points = get_clicked_points(key)
    if not points:
        return None
    cell = (int(points[0]["customdata"][0]), int(points[0]["customdata"][1]))
    return cell if max(cell) < most else None


@contextmanager
def store_refusal(key: str, words: str = "{}") -> Iterator[None]:
    """Store the error message of a refused action, put into `words`, for the page to show (context manager)."""
    try:
        yield
    except SentiscopeError as error:
        set_value(key, words.format(error))


_PLAIN = re.compile("[A-Za-z0-9-]+")


def get_figure_key(name: str) -> str:
    """Return the current Streamlit widget key of the figure with this name.

    Streamlit refuses some component keys, such as those with two underscores, so a user's name (as of a data set) is
    replaced by its digest.
    """
    plain = name if _PLAIN.fullmatch(name) else hashlib.sha256(name.encode()).hexdigest()[:16]
    return get_widget_key(f"fig-{plain}")


def get_confirmed(key: str) -> int:
    """Return the number of the last user change that the page has received from a custom component."""
    return int(get_value(f"{CONFIRMED}{key}", 0))


def receive_changes(key: str, after: int = 0) -> list[Any]:
    """Return new user changes from a custom component, oldest first, and confirm them; only in a widget callback.

    Args:
        key: Of the component. Each message has all its changes that no drawing has confirmed (`assets/component.js`),
            so that one that a busy page lost, or one that came with an older link, loses nothing.
        after: The number of the last change that whatever these are applied to has already.
    """
    sent = [(int(number), change) for number, change in (st.session_state.get(key) or {}).get("changes") or ()]
    set_value(f"{CONFIRMED}{key}", max([get_confirmed(key), *(number for number, _ in sent)]))
    return [change for number, change in sent if number > after]


def get_picked(figure: str) -> str:
    """Return the row that a user picked last in a clickable table; empty if none was picked."""
    return str((st.session_state.get(get_figure_key(figure)) or {}).get("picked") or "")


def get_point_rows(key: str, rows: int) -> list[int]:
    """Return the sorted row numbers below `rows` of points selected in a map, without points of typed sentences."""
    chosen = {point["customdata"] for point in get_clicked_points(key) if isinstance(point.get("customdata"), int)}
    return sorted(row for row in chosen if 0 <= row < rows)
