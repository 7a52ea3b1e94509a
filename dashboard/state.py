"""The names of everything that outlives one rerun: URL parameters, which make links, and session keys, which do not."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.failures.names import has_name, nameless

# URL parameters: a link with these restores what is on screen. Each is the key of a widget with bind="query-params".
RUN = "run"
PROJECTOR = "projector"
SPLIT = "split"
TEXT = "text"
LAYER = "layer"
PRESET = "model"
PAPER = "paper"
AGAINST = "against"
SIZES = "sizes"
LENGTH = "length"
RECIPE = "recipe"
THRESHOLD = "threshold"
RULE = "rule"
LIMITS = "thresholds"
LIMIT = "limit"
DISAGREE = "disagree"
"""The run beside which Errors tags what is said otherwise."""
COMPARED = "runs"
COMPARE = "compare"
"""The runs that stand side by side on the page of that name, a list; whoever leads there gives it to `go`."""
DATA = "data"
PART = "part"
CLASS = "class"
PHENOMENON = "phenomenon"
FIND = "find"
PAGE = "page"
COLOUR = "colour"
PLACED = "place"
FROM = "from"
BESIDE = "beside"
SWEEP = "sweep"
SUITE = "suite"
CAPABILITY = "capability"
FAILS = "fails"
SIDE = "side-"
"""Before the name of a class: what it says of negative and positive."""
METRIC = "metric"
BASELINE = "baseline"
TEMPLATE = "template"
INSERT = "insert"
CURVES = "curves"
"""The other runs whose answers to a template are drawn."""
STAGE = "stage"
"""The stage that is open on Steps; its component chooses it, no widget."""
PINNED = "pinned"
PINNED_RUN = "pinned-run"
PINNED_EDIT = "pinned-edit"
"""A reading that stays beside the next ones; no widget is bound to these."""
SELECT = "select"
"""What is selected (`core.failures.selection`), on every page; no widget is bound to it,"""
LAG = 100
"""Rows that were read before this one."""
AT = "at"
"""nor to the key of the one sentence among them that is looked at,"""
ORDER = "order"
"""nor to the order in which they are read,"""
BACK = "back"
"""nor to the page where it was selected."""
FOLLOWS = "selection-follows"
"""Whether the bar has a part that says which sentence is looked at."""
SILENT = "silent"
"""How a part falls silent (`dashboard.figures.ablation_levers`); the switch beside the levers writes it."""
CONFIRMED = "confirmed-"
"""Before the key of a component: the number of its last change that was received."""
TURN = "turn-"
"""Before the key of a component: what it was given last, and when."""
AUTHOR = "author"
"""Who codes; not in the link, which others open too."""
VISITOR = "visitor"
"""Who codes without a name."""
SECRET = "visitor-secret"
"""What that one's browser keeps under `VISITOR_COOKIE`: whoever knows it is this visitor, so nobody is told."""
VISITOR_COOKIE = "sentiscope-visitor"
SESSION = "reader-session"
"""Which session of a page the reader reports to: another one knows nothing of what was told to the one before."""
AUTHOR_FIELD = "author-field"
"""Its field beside the codes: one of its own, since a browser that knows a name tells it before the field is drawn."""
HANDLED = "codes-handled"
"""The last report of the reader that was written down."""
UNDONE = "codes-undone"
"""The report that took back the change whose row the reader was moved to last."""
AGAIN = "codes-again"
"""How often in a row a report could not be written down, so that it comes again."""
SAID_OF_CODES = "codes-said"
"""What became of the last change."""
NOT_WRITTEN = "codes-problem"
CODES_REFUSED = "codes-refused"
REDRAW = "codes-redraw"
"""What was changed below the reader changes the page above it too,"""
CHANGED = "codes-changed"
"""and this is how often that was."""
SILENT = "silent"
"""How a part falls silent (`dashboard.figures.ablation_levers`); the switch beside the levers writes it."""
EDIT = "edit"
"""What is changed inside the model (`core.interpret.edits`); many widgets write it, none is bound to it."""

# Session keys: drafts and things to say once.
MISSING = "missing-run"
REQUESTED = "requested-run"
NAME = "train-name"
SETTING = "set-"
"""Before the name of a setting: the key of its field."""
PROBLEM = "train-problem"
CANCELLING = "train-cancelling"
"""The run whose cancelling has been asked for and is not confirmed yet."""
ROWS = "runs-table"
SAID = "said"
"""What `take` gave in this run."""
TICKED = "ticked-"
"""Before the name of a data set: the rows of its models that are ticked, to be compared."""
EXAMPLES = "examples-table"
CELL = "fig-confusion"
CELLS = "confusion-table"
MATRIX = "fig-compare-matrix"
HERE = "here"
"""The page that was drawn last; its file without ending."""
SELECTOR = "selected-by"
"""The figure or table whose own selection set the one of all pages."""
MARKED = "map-marked"
"""Rows that the map was drawn with as selected."""
SELECTION_PROBLEM = "selection-problem"
EXAMPLE_PROBLEM = "counter-example-problem"
ALONG = "train-along"
"""Whether a training takes the counter-examples along."""
KEEP_NOTE = "keep-note"
KEPT = "kept"
"""What became of keeping a counter-example."""
SLICE_NAME = "slice-name"
SLICE_CHANGED = "slice-changed"
"""What became of renaming or removing one."""
SLICE_SAID = "slice-said"
"""What became of saving one."""
RUN_FILE = "run-file"
RUN_PATH = "run-path"
TAKEN = "runs-taken"
REFUSED = "run-refused"
ARRIVED = "run-arrived"
REMOVED = "run-removed"
UPLOAD = "data-upload"
ELSEWHERE = "elsewhere"
"""What a run reached on other data, as it was measured last."""
TEXTS = "data-texts"
IDS = "data-ids"
PRESETS = "presets-table"
SWEEP_PART = "sweep-form-"
"""Before the name of a part of a new sweep: the key of its field."""
SWEEP_PROBLEM = "sweep-problem"
BEGUN_AT = "steps-begun-at"
"""The stage with which Steps was drawn: its component turns to others by itself."""
SUITE_FILE = "suite-file"
SUITE_PROBLEM = "suite-problem"
PAST = "sentence-past"
"""What was tried (`dashboard.past`)."""
FLIP = "sentence-flip"
"""The search for the smallest change, as far as it is."""
FLIP_PROBLEM = "flip-problem"
NOT_BEGUN = "not-begun"
REPORT_ASKED = "report-asked"
"""The report that somebody has asked for and that is not made yet."""
REPORT = "report-made"
"""The last report that was put together, with what it is of."""
ENOUGH = "enough-"
"""Before the place of methods: what was asked there and stopped."""
DONOR = "donor"
"""The sentence whose inside is put into the first."""


_SECRET = re.compile("[0-9a-f]{32}")


def author() -> str:
    """Who codes, and so may see some of the codes: whose name was given, else the visitor of this browser."""
    name = unicodedata.normalize("NFC", " ".join(str(draft(AUTHOR, "")).split()))  # as it is written down
    return name if has_name(name) else visitor()


def visitor() -> str:
    """Whoever uses this browser without giving a name, the same one after a reload (`reader.js` keeps the cookie)."""
    if not draft(VISITOR, ""):
        kept = str(st.context.cookies.get(VISITOR_COOKIE) or "")
        secret = kept if _SECRET.fullmatch(kept) else secrets.token_hex(16)
        put(SECRET, secret)
        put(VISITOR, nameless(hashlib.sha256(secret.encode()).hexdigest()[:12]))
    return str(draft(VISITOR, ""))


def secret() -> str:
    """What this visitor's browser is to keep."""
    visitor()
    return str(draft(SECRET, ""))


def session() -> str:
    """This session of the pages, by a token of its own."""
    if not draft(SESSION, ""):
        put(SESSION, secrets.token_hex(6))
    return str(draft(SESSION, ""))


def run() -> str:
    """The chosen run; empty when there is none."""
    return str(st.session_state.get(RUN) or "")


def choose_run(name: str) -> None:
    """Choose a run on every page; only from a callback.

    A request, which `run_picker` grants: what a callback gives the picker itself is lost whenever the clock of a
    fragment ticks in the same moment, since the browser then sends the picker's old value along.
    """
    st.session_state[REQUESTED] = name


def requested_run() -> str:
    """The run that has been asked for and is not chosen yet; empty when there is none."""
    return str(st.session_state.get(REQUESTED, ""))


def asked_run() -> str:
    """The run named in the link, whether it exists or not."""
    return str(st.query_params.get(RUN, ""))


def asked(key: str) -> str:
    """What a bound widget that is drawn further down holds, or the link says it will."""
    return str(st.session_state.get(key) or st.query_params.get(key, ""))


def projector() -> bool:
    """Is the page meant for a projector?"""
    return bool(st.session_state.get(PROJECTOR) or st.query_params.get(PROJECTOR) == "true")


def initial(key: str, value: Any) -> None:
    """Give a bound widget its first value in a way that shows in the URL, so that a copied link is complete."""
    if key in st.query_params:
        return
    if key not in st.session_state:
        st.query_params[key] = st.session_state[key] = value  # the URL alone would be seen one run later
    elif st.session_state[key] is None:  # as *Back* to a shorter link leaves it; by now its widget writes the URL
        st.session_state[key] = value


def settle(key: str, options: Sequence[str], first: str) -> None:
    """Give a bound widget that several pages draw a value that there is; before the widget is drawn.

    Coming from another page, the session still has the value of that page's widget, which this page's does not take
    and the link has lost: it must be said anew.
    """
    asked = st.session_state.get(key) or st.query_params.get(key)
    value = str(asked) if asked in options else first
    if value != st.session_state.get(key) or st.query_params.get(key) != value:
        st.query_params[key] = st.session_state[key] = value


def offer(key: str, options: Sequence[str]) -> str:
    """What a bound widget that is drawn further down, and that need not hold anything, will hold of some options.

    Coming from another page, the session still has its value and the link has lost it: it is said anew.
    """
    held = st.session_state[key] if key in st.session_state else st.query_params.get(key)
    value = str(held) if held in options else ""
    if held and (value != st.session_state.get(key, "") or key not in st.query_params):
        st.session_state[key] = value or None
    return value


def restate(key: str, first: str) -> None:
    """Give a bound text field that several pages have what the page before had in it; before the widget is drawn.

    As with `settle`, this page's field does not take the value that the session still has: it must be said anew.
    """
    if key in st.query_params:
        return
    held = st.session_state.get(key)
    value = first if held is None else str(held)
    st.session_state[key] = value
    if value:
        st.query_params[key] = value


def asked_beside() -> str:
    """The second run named in the link, whether it exists or not."""
    return str(st.query_params.get(BESIDE, ""))


def carried(key: str) -> str:
    """What no widget is bound to: the link decides, and after a visit to another page what it said before."""
    if key in st.query_params and st.query_params[key] not in st.session_state.get(f"{key}-behind", ()):
        st.session_state[key] = st.query_params[key]
    elif st.session_state.get(key):
        st.query_params[key] = st.session_state[key]
    return str(st.session_state.get(key, ""))


def latest(key: str) -> str:
    """What no widget is bound to: what a button has put there since, else what the link says, for the link too."""
    before, held, link = st.session_state.get(f"{key}-latest"), st.session_state.get(key), st.query_params.get(key)
    moved = next((each for each in (held, link) if each is not None and each != before), None)
    value = str(next(each for each in (moved, before, held, link, "") if each is not None))
    st.session_state[key] = st.session_state[f"{key}-latest"] = value
    if value and link != value:
        st.query_params[key] = value
    return value


def carry(key: str, value: str) -> None:
    """Put it into the link; empty takes it out.

    While keys are pressed, a link comes back that lags behind: of the row that is read, what it said before is passed.
    """
    if key == AT:
        before = (*st.session_state.get(f"{key}-behind", ()), st.session_state.get(key, ""))
        st.session_state[f"{key}-behind"] = tuple(each for each in before[-LAG:] if each != value)
    st.session_state[key] = value
    if value:
        st.query_params[key] = value
    else:
        st.query_params.pop(key, None)


def link_to(page: str, **values: str) -> str:
    """The link that restores a page as it stands, with these values, and nothing selected."""
    left_out = (SELECT, AT, ORDER, BACK, PROJECTOR)
    return f"{page}?{urlencode({**{k: v for k, v in st.query_params.items() if k not in left_out}, **values})}"


def keep_to(key: str, options: Sequence[str]) -> None:
    """Drop a bound widget's value that another run or split allowed; before the widget is drawn."""
    if st.session_state.get(key) not in (None, *options):
        forget(key)


def keep_some(key: str, options: Sequence[str]) -> None:
    """Of a bound widget with several values leave those that there are; before the widget is drawn."""
    value = st.session_state.get(key)
    if value is None:
        return
    kept = [each for each in value if each in options] if isinstance(value, list) else []
    if kept != value:
        st.session_state[key] = kept


def follow(key: str, of: str, value: Any) -> None:
    """Give a bound widget `value` again whenever what it depends on (`of`) has changed; a link's own value stands."""
    initial(key, value)
    if st.session_state.get(f"{key}-of", of) != of:
        st.session_state[key] = value  # a bound widget writes its own URL
    st.session_state[f"{key}-of"] = of


def follows(key: str) -> bool:
    """Whether its value once followed something."""
    return bool(st.session_state.get(f"{key}-of"))


def draft(key: str, default: Any) -> Any:
    """The value of a session key, `default` before the person touched it."""
    return st.session_state.get(key, default)


def typed(prefix: str) -> dict[str, str]:
    """The fields with this prefix that a person has filled, by the rest of their key."""
    return {
        str(key).removeprefix(prefix): str(value).strip()
        for key, value in st.session_state.items()
        if str(key).startswith(prefix) and value and str(value).strip()
    }


def begun(widget: str, key: str, default: Any) -> Any:
    """What a session key held when the widget was drawn first; until it is gone, it knows better itself."""
    if widget not in st.session_state:
        st.session_state[f"{key}-begun"] = st.session_state.get(key, default)
    return st.session_state.get(f"{key}-begun", default)


def put(key: str, value: Any) -> None:
    """Set a session key; for widgets only from a callback or before they are drawn."""
    st.session_state[key] = value


def take(key: str) -> Any:
    """Read a session key once."""
    value = st.session_state.pop(key, None)
    if value is not None:
        st.session_state.setdefault(SAID, {})[key] = value
    return value


def again() -> None:
    """Draw the page anew, with what it has said once: a person has not had the time to read it."""
    st.session_state.update(st.session_state.pop(SAID, {}))
    st.rerun()


def forget(*keys: str) -> None:
    """Drop session keys, so that their widgets start afresh."""
    for key in keys:
        st.session_state.pop(key, None)


def go(page: str, **values: str | Sequence[str]) -> None:
    """Open another page of `screens`, with these values in its bound widgets; the chosen run goes along.

    `st.switch_page` refuses parameters that a widget of this page is bound to, and to leave them all out; with a set
    of others, be it empty, each widget of the next page that has a value in the session writes its own.

    Args:
        page: Its file without ending.
        values: By key, of widgets that this page does not draw.
    """
    for key, value in values.items():
        st.session_state[key] = value
    st.switch_page(f"screens/{page}.py", query_params=values)


def current(key: str) -> str:
    """The key that a figure or table with a selection has now; see `clear`."""
    times = st.session_state.get(f"{key}-cleared", 0)
    return f"{key}-{times}" if times else key


def clear(*keys: str) -> None:
    """Undo selections, in a callback: under another key each starts afresh, with what was drawn around its points.

    Dropping the old key is not enough: the browser still knows the selection and sends it with the next click.
    """
    for key in keys:
        st.session_state[f"{key}-cleared"] = st.session_state.get(f"{key}-cleared", 0) + 1


def selected_cell(classes: Sequence[str]) -> tuple[int, int] | None:
    """The chosen cell of the confusion matrix as (true, predicted) positions: clicked in the figure or in its table.

    A click in one clears the other, so that at most one of them has a selection.
    """
    cells = (st.session_state.get(current(CELLS)) or {}).get("selection", {}).get("cells", [])
    names = [f"predicted {name}" for name in classes]
    if bar := selected_bar(CELL, len(classes)):
        return bar
    if cells and cells[0][1] in names:
        cell = (int(cells[0][0]), names.index(cells[0][1]))
    else:
        return None
    return cell if max(cell) < len(classes) else None


def points_of(key: str) -> list[Mapping[str, Any]]:
    """The points that are selected in a figure."""
    found: list[Mapping[str, Any]] = (st.session_state.get(current(key)) or {}).get("selection", {}).get("points", [])
    return found


def selected_bar(key: str, most: int) -> tuple[int, int] | None:
    """The clicked bar of a matrix, as its `customdata` says: row and column, each below `most`."""
    points = points_of(key)
    if not points:
        return None
    cell = (int(points[0]["customdata"][0]), int(points[0]["customdata"][1]))
    return cell if max(cell) < most else None


_PLAIN = re.compile("[A-Za-z0-9-]+")


def figure_key(name: str) -> str:
    """Return the key that the figure of this name has now.

    Streamlit refuses some names as keys of a component, such as any with two underscores: a name that may hold what a
    person wrote (of a data set, say) is told by its digest.
    """
    plain = name if _PLAIN.fullmatch(name) else hashlib.sha256(name.encode()).hexdigest()[:16]
    return current(f"fig-{plain}")


def confirmed(key: str) -> int:
    """Return the number of the last change of a component that was received."""
    return int(draft(f"{CONFIRMED}{key}", 0))


def receive_changes(key: str, after: int = 0) -> list[Any]:
    """Return the changes that a component sends, oldest first, and confirm them; only from a callback.

    Args:
        key: Of the component. Each message has all its changes that no drawing has confirmed (`assets/component.js`),
            so that one that a busy page lost, or one that came with an older link, loses nothing.
        after: The number of the last change that whatever these are applied to has already.
    """
    sent = [(int(number), change) for number, change in (st.session_state.get(key) or {}).get("changes") or ()]
    put(f"{CONFIRMED}{key}", max([confirmed(key), *(number for number, _ in sent)]))
    return [change for number, change in sent if number > after]


def picked(figure: str) -> str:
    """The row that was picked last in a table of marks; empty when there is none."""
    return str((st.session_state.get(figure_key(figure)) or {}).get("picked") or "")


def selected_rows(key: str, rows: int) -> list[int]:
    """Rows of the points selected in a figure, rising; a typed sentence and rows beyond `rows` are left out."""
    points = points_of(key)
    chosen = {point["customdata"] for point in points if isinstance(point.get("customdata"), int)}
    return sorted(row for row in chosen if 0 <= row < rows)
