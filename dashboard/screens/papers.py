"""Page Papers: the tables of a paper beside our results, the claims that its numbers allow, and what is missing."""

import contextlib
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from core.api import papers as api
from core.api.papers import MissingResults, count_verdicts
from core.exceptions import InputError, NotAvailable
from core.formatting import count
from core.models.presets import PAPERS
from core.papers.claims import FINDERS
from core.papers.reported_results import read_speed
from core.papers.reproduction import SCALES, measure_lexicon_effect
from core.preset_catalog import find_paper
from core.runs.store import make_slug
from dashboard import state
from dashboard.data import data
from dashboard.figures import papers as figures
from dashboard.figures.papers import PaperTable
from dashboard.widgets.export import Table, show_export_bar
from dashboard.widgets.figure import show, show_caption
from dashboard.widgets.messages import show_header
from dashboard.widgets.options import show_sections
from dashboard.widgets.progress import show_job, show_start_button
from dashboard.widgets.style import split_page

QUESTION = "Do our runs agree with the paper?"
KEY = "run-missing"


def show_page() -> None:
    """Draw the Papers page: findings, the chosen table beside our results, claims, and what is missing."""
    head, bar = st.container(), st.container(key="papers-bar", horizontal=True, gap="small")
    with bar:
        paper = _pick_paper()
        found = api.reproduce(paper, store=data.store())["tables"]
        shown = _pick_table(paper, found)
    said = figures.read_claims(paper)
    rows = [row for table in found for row in table["rows"]]
    with head:
        total = sum(row["reported"] is not None for row in rows)
        show_header("Papers", QUESTION, [(PAPERS[paper], f"{count(total)} reported numbers")])
    lines = figures.summarize_results(rows), figures.summarize_baselines(rows), count_verdicts(said.rows)
    st.html(f'<div class="s-finds" role="status">{"".join(f"<p>{escape(line)}</p>" for line in lines)}</div>')
    left, right = split_page("papers", [2, 1])
    with right:
        show(figures.CLAIMS, said, on_unfolded_change=lambda: None)  # reports only states with a callback
    with left:
        show(figures.DIFFERENCES, shown)
        _offer_missing(shown)
        _show_more(shown)
    tables: dict[str, Table] = {**figures.DIFFERENCES.build_tables(shown), **figures.CLAIMS.build_tables(said)}
    show_export_bar("papers", tables, texts=_write_texts(shown, {"paper": paper, "tables": found, "claims": said.rows}))


def _show_more(shown: PaperTable) -> None:
    sections: dict[str, Callable[[], Any]] = {"Differences in protocol": partial(show_caption, shown.table["differs"])}
    for figure, read in ((figures.RESULTS, figures.list_results), (figures.CONFUSION, figures.check_confusion)):
        with contextlib.suppress(NotAvailable):
            read(shown)
            sections[str(figure.title)] = partial(show, figure, shown)
    if shown.paper == "sentiformer":
        sections[str(figures.GROWTH.title)] = partial(show, figures.GROWTH, read_speed())
        st.page_link("screens/theory.py", label="Experiments on its theory")
    if shown.paper == "lexical":
        sections[str(figures.EFFECT.title)] = lambda: show(figures.EFFECT, measure_lexicon_effect())
    show_sections(sections, plain=True)


def _pick_paper() -> str:
    """Show the papers as buttons, bound to the link by their keys; return the chosen key."""
    state.follow_link(state.PAPER)
    try:
        key = find_paper(str(state.get_value(state.PAPER, "") or "ndt"))
    except InputError:
        key = ""
    state.set_value(state.PAPER, key if key in FINDERS else "ndt")
    state.follow_link(state.PAPER)
    look: dict[str, Any] = {"required": True, "label_visibility": "collapsed"}
    chosen = st.segmented_control("Paper", list(FINDERS), format_func=PAPERS.__getitem__, key=state.PAPER, **look)
    return str(chosen or "ndt")


def _pick_table(paper: str, found: Sequence[Mapping[str, Any]]) -> PaperTable:
    tables = {each["table"]: each for each in found}
    table = tables[_pick("Table", state.TABLE, list(tables), figures.choose_table(found)["table"], paper, 90)]
    metrics = figures.list_metrics(table)
    of, words = f"{paper} {table['table']}", figures.name_metric
    return PaperTable(paper, table, _pick("Metric", state.METRIC, metrics, metrics[0], of, 180, format_func=words))


def _pick(label: str, key: str, options: Sequence[str], usual: str, of: str, width: int, **look: Any) -> str:
    """Show a menu that the link restores, and that has its usual value again when `of` changes."""
    state.follow_link(key)
    state.reset_on_change(key, of, usual)
    if state.get_value(key, usual) not in options:
        state.set_value(key, usual)
    state.follow_link(key)
    return str(st.selectbox(label, options, key=key, label_visibility="collapsed", width=width, **look) or usual)


def _offer_missing(shown: PaperTable) -> None:
    """Show the button that trains what the table lacks, with its hours; or what the trainings need."""
    for scale in SCALES:
        missing = api.reproduce(shown.paper, shown.table["table"], dry_run=True, scale=scale, store=data.store())
        if missing["cells"]:
            break
    else:
        return
    job = MissingResults.from_table(data.store(), shown.paper, shown.table["table"], scale)
    hours = f"{count(len(missing['cells']))} trainings, about {missing['hours']:.1f} hours on two cores"
    if missing["lacks"]:
        needs = dict.fromkeys(name for cell in missing["cells"] for name in cell["needs"].split(" and "))
        how = f"`sentiscope {shlex.join(job.words[:3])} --dry-run --scale {scale}` lists what to download"
        show_caption(f"Not run: {hours}. They need {', '.join(needs)}; {how}.")
    elif not show_job(job, KEY):
        show_start_button(job, KEY, f"Train missing runs (about {max(1, round(missing['hours']))} h)", about=hours)


def _write_texts(shown: PaperTable, whole: Mapping[str, Any]) -> dict[str, tuple[str, Callable[[], str]]]:
    """Return the downloads that are not CSV: label → name of the file, and the function that writes it."""

    def write_table(form: str) -> str:
        rows = list(api.tabulate_rows(shown.table["rows"]))
        return api.format_grid(form, f"{shown.title}, {shown.describe()}", rows, shown.table["differs"])

    stem = f"{shown.paper}-{make_slug(shown.table['table'])}"
    return {
        "Table · Markdown": (f"{stem}.md", partial(write_table, "markdown")),
        "Table · LaTeX": (f"{stem}.tex", partial(write_table, "latex")),
        "All · JSON": (f"{shown.paper}.json", partial(json.dumps, whole)),
    }


show_page()
