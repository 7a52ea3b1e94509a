"""Presenter: one figure a screen under the sentence that it shows; a talk is a list of links to such screens."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any
from urllib.parse import urlencode

import plotly.graph_objects as go
import streamlit as st

from core.behavioral_tests.suite import find_polarities
from core.exceptions import InputError, NotAvailable, SentiscopeError
from core.formatting import join_names, plural
from core.interpret.model_edits import UNCHANGED
from core.runs.record import RunRecord
from core.runs.store import make_slug
from core.runs.talks import OF_PRESENTER, add_link, list_talks, read_talk, split_link, write_talk
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure, Source
from dashboard.figures.results import choose_default_run, choose_default_text
from dashboard.screens import ALIASES, PAGES
from dashboard.widgets.figure import show_caption, show_drawing
from dashboard.widgets.messages import as_sentence, show_error, show_finding, show_problem, show_refusal
from dashboard.widgets.progress import offer_analysis
from dashboard.widgets.runs import rank_comparable
from dashboard.widgets.style import add_style, get_look

TALK, EXHIBIT, FIGURE = "talk", "exhibit", "figure"
"""URL parameters: a stored talk, the number of its link, and a figure that is not the usual one of its page."""
DRAFT, FIRST = "talk-name", "talk"  # session key of the talk that *Add to talk* adds to; its usual name begins so
TYPED, LINES, PROBLEM = "talk-typed", "talk-lines-", "talk-problem"  # session keys of the editor
HOW = "Add pages with “Add to talk”, or paste their addresses here."
ASKED, ADDED = "present-asked", "talk-added"  # session keys: what a key of the presenter asks for, what was added
STRIP, BUTTONS = "present", "talk"  # components
POLL_SECONDS, PATIENCE = 2.0, 60.0
OF_SPLIT = "performance", "errors", "compare", "embeddings"  # pages whose exhibit is of one split
OTHER = "Press → for the next, g for a page, Esc to leave."
Values = Mapping[str, str | list[str]]


def show_exhibit(page: str) -> None:
    """Draw the presenter for the page that a link names: strip, finding, and the page's figure on the whole screen."""
    add_style("exhibit.css")
    pairs = [(name, value) for name in st.query_params for value in st.query_params.get_all(name)]
    values = split_link(f"?{urlencode(pairs)}")[1]
    links, problem = _read_links(str(values.get(TALK, "")))
    if asked := state.pop_value(ASKED):
        _follow(page, values, links, asked)
    elif links and TALK in values and EXHIBIT not in values:
        _follow(page, values, links, {"exhibit": 0})
    record = _find_run(str(values.get(state.RUN, "")))
    figure = _find_figure(page, str(values.get(FIGURE, "")))
    asked, split = _show_strip(page, values, links, record), str(values.get(state.SPLIT, ""))
    if problem:
        show_problem("This talk cannot be opened", problem)
    elif asked not in PAGES:
        show_problem(f"There is no page “{asked}”", OTHER)
    elif record is None:
        gone = f"Its run “{values[state.RUN]}” is gone." if state.RUN in values else "There is no run yet."
        show_problem("There is nothing to show here", f"{gone} {OTHER}")
    elif figure is None:
        titles = join_names([PAGES[name].title for name in _find_exhibits()])
        show_problem(
            f"{PAGES[page].title} cannot be presented: it has no figure with a finding", f"{titles} can. {OTHER}"
        )
    elif page == "compare" and (lost := _list_missing(values)):
        many = f"No finished run “{'”, “'.join(lost):.120}” is here. Compare other runs, or remove the link. {OTHER}"
        show_problem("This comparison cannot be shown", many)
    elif page in OF_SPLIT and split and (known := data.list_splits(record.run)) and split not in known:
        has = f"It has {join_names(known)}. Correct the link. {OTHER}"
        show_problem(f"“{split:.60}” is not a split of this run", has)
    elif record.is_live:
        st.fragment(_show_figure, run_every=POLL_SECONDS)(page, record.run, values)
    else:
        _show_figure(page, record.run, values)


def _read_links(talk: str) -> tuple[Sequence[str], str]:
    """Return the links of a talk, without a talk one for each page with an exhibit, and why there are none."""
    if not talk:
        return list(_find_exhibits()), ""
    try:
        return read_talk(data.store().folder, talk), ""
    except InputError as error:
        return [], as_sentence(error)


def _find_run(asked: str) -> RunRecord | None:
    records = [record for record in data.list_runs() if record.status != "damaged"]
    if asked:
        return next((record for record in records if record.run == asked), None)
    return choose_default_run(records)


def _find_exhibits() -> dict[str, list[Figure[Any]]]:
    """Return the figures with a finding by their page; the first of a page is its usual exhibit."""
    from dashboard.figures.registry import ALL

    found: dict[str, list[Figure[Any]]] = {name: [] for name in PAGES}
    for each in ALL:
        if each.finding is not None:
            found[each.page].append(each)
    return {name: figures for name, figures in found.items() if figures}


def _find_figure(page: str, asked: str) -> Figure[Any] | None:
    """Return the figure that a link asks for, else the usual exhibit of its page; None: the page has none."""
    figures = _find_exhibits().get(page, [])
    return next((each for each in figures if each.name == asked), figures[0] if figures else None)


def _find_page(link: str) -> str:
    """Return the page of a link, which need not exist; an address without a path is that of the first page."""
    name = split_link(link)[0] or next(iter(PAGES))
    return ALIASES.get(name, name)


def _show_strip(page: str, values: Values, links: Sequence[str], record: RunRecord | None) -> str:
    """Show the strip; return the page of the talk's link that it marks, which need not exist."""
    pages = [_find_page(link) for link in links]
    asked = str(values.get(EXHIBIT, ""))
    at = int(asked) - 1 if asked.isascii() and asked.isdecimal() and len(asked) < 4 else -1
    if not (0 <= at < len(pages) and (pages[at] == page or pages[at] not in PAGES)):
        at = pages.index(page) if page in pages else -1
    named = _get_compared(values) if page == "compare" and not _list_missing(values) else []
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for name, each in PAGES.items():
        if each.letter:
            groups.setdefault(each.group, []).append((each.letter, each.title, name))
    told = {
        "exhibits": [PAGES[name].title if name in PAGES else name for name in pages],
        "at": at,
        "run": ", ".join(map(data.label_run, named or ([] if record is None else [record.run]))),
        "groups": list(groups.items()),
    }
    show_drawing(Component(STRIP, told, get_look()), STRIP, "Presenter", on_changes_change=_store_request)
    return pages[at] if at >= 0 else page


def _store_request() -> None:
    """Store what the last key or button of the strip asks for (widget callback)."""
    for change in state.receive_changes(state.get_figure_key(STRIP)):
        state.set_value(ASKED, change)


def _follow(page: str, values: Values, links: Sequence[str], change: Mapping[str, Any]) -> None:
    """Open what a key of the strip asks for: an exhibit of the talk, a page, or the page without presenter."""
    kept = {name: value for name, value in values.items() if name not in (*OF_PRESENTER, FIGURE)}
    if "exhibit" in change and 0 <= int(change["exhibit"]) < len(links):
        place = int(change["exhibit"])
        to, own = _find_page(links[place]), split_link(links[place])[1]
        shared = {name: values[name] for name in ((TALK,) if TALK in values else (state.RUN,)) if name in values}
        state.open_link(to if to in PAGES else page, {**shared, **own, state.PRESENT: "1", EXHIBIT: str(place + 1)})
    elif change.get("page") in PAGES:
        to = str(change["page"])
        run = {state.RUN: kept[state.RUN]} if state.RUN in kept else {}
        state.open_link(to, {**run, **({state.PRESENT: "1"} if to in _find_exhibits() else {state.PROJECTOR: "true"})})
    elif "leave" in change:
        state.open_link(page, kept)


def _show_figure(page: str, run: str, values: Values) -> None:
    record, figure = _find_run(run), _find_figure(page, str(values.get(FIGURE, "")))
    if record is None or figure is None:
        return
    try:
        if figure.exhibit is not None:
            figure = replace(figure, name=f"{figure.name}-exhibit", draw=figure.exhibit)
        shape, drawing = data.draw_figure(figure, _make_source(page, record, values), get_look())
        reading = figure.resolve_text(figure.reading, shape)
        finding = "" if figure.finding is None else figure.finding(shape)
        st.html(f'<h1 class="s-finding" aria-live="polite">{escape(finding)}</h1>')
        with st.container(key="exhibit", height="stretch"):
            alt = figure.write_alt_text(shape, figure.resolve_text(figure.note, shape), reading)
            whole = {"height": "stretch"} if isinstance(drawing, go.Figure) else {}
            show_drawing(drawing, f"exhibit-{figure.name}", alt, **whole)
        with st.container(key="exhibit-caption"):
            show_caption(reading)
    except NotAvailable as error:
        if page != "behave" or not _offer_tests(record):
            show_problem("There is nothing to show here", f"{as_sentence(error)} {OTHER}")
    except SentiscopeError as error:
        show_error(error)


def _offer_tests(record: RunRecord) -> bool:
    """Show the button that runs the behavioural tests, or their progress; return whether the run can be tested."""
    try:
        find_polarities(record.run, record.classes, order=record.classes if record.ordered else ())
        job = data.make_suite_job(record.run, data.read_suite(""), {})
    except InputError:
        return False
    show_finding(
        f"{data.label_run(record.run)} has not been tested yet", f"Test it, and its failure rates appear here. {OTHER}"
    )
    offer_analysis(job, "exhibit-tests")
    return True


def _make_source(page: str, record: RunRecord, values: Values) -> Source:
    """Build the data source of an exhibit from the parameters of its link, as its page does."""
    text, edits = str(values.get(state.TEXT, "")), UNCHANGED
    if page in ("sentence", "steps"):
        text = text or choose_default_text(record, data.read_demos(record))
        if edit := str(values.get(state.EDIT, "")):
            edits = data.load_model(record.run).parse_edits(text, edit)
    splits = data.list_splits(record.run)
    split = (str(values.get(state.SPLIT, "")) or selection.get_default_split(splits)) if splits else ""
    others: Sequence[RunRecord] = ()
    if page == "compare":
        record, *others = _list_compared(record, values)
    choices = {name: value for name, value in values.items() if name != state.COMPARE}
    if page == "errors":
        data.find_tags(record, split, PATIENCE)
    return Source(
        record, data, others=others, split=split, text=text, edits=edits, choices=choices, author=state.get_author()
    )


def _get_compared(values: Values) -> list[str]:
    named = values.get(state.COMPARE, [])
    return [named] if isinstance(named, str) else named


def _list_missing(values: Values) -> list[str]:
    done = {each.run for each in data.list_runs() if each.status == "done"}
    return [name for name in _get_compared(values) if name not in done]


def _list_compared(record: RunRecord, values: Values) -> list[RunRecord]:
    """Return the runs that a link compares, as its page does; a single one is compared with the best on its data."""
    done = {each.run: each for each in data.list_runs() if each.status == "done"}
    if len(named := _get_compared(values)) > 1:
        return [done[name] for name in named]
    others = [done[name] for name in named if name != record.run]
    return [record, *(others or rank_comparable(record, done.values())[:1])]


def show_talk_buttons() -> None:
    """Show the sidebar's buttons that open the presenter and add this page's link to a talk, and the talk's editor."""
    name = str(state.get_value(DRAFT, "")) or _name_first()
    told = {"talk": name, "message": state.pop_value(ADDED) or ""}
    show_drawing(Component(BUTTONS, told, get_look()), BUTTONS, "Present and add to talk", on_changes_change=_add)
    with st.popover("Talk", key="talk-editor", type="tertiary", help="Links that the presenter shows in turn"):
        st.text_input("Name of the talk", name, key=TYPED, on_change=_choose_talk)
        folder = data.store().folder
        links: Sequence[str] = ()
        try:
            links = read_talk(folder, name) if name in list_talks(folder) else ()
        except InputError as error:  # a file that was edited by hand must not take every page with it
            show_problem(f"The talk “{name}” cannot be read", str(error))
        gone = [place for place, link in enumerate(links, start=1) if not _has_run(link)]
        st.text_area("Links, one a line", "\n".join(links), key=f"{LINES}{len(links)}-{name}", placeholder=HOW)
        if gone:
            st.html(f'<p class="s-cap">The run of link {", ".join(map(str, gone))} is gone.</p>')
        show_refusal(PROBLEM, "The talk is not saved")
        with st.container(horizontal=True):
            st.button("Save", key="talk-save", on_click=_save, args=(name, f"{LINES}{len(links)}-{name}"))
            if links:
                st.download_button("Text file", "\n".join(links), f"{name}.txt", key="talk-file", on_click="ignore")
                st.link_button("Open", f"/?{urlencode({TALK: name, state.PRESENT: 1})}")


def _has_run(link: str) -> bool:
    page, values = split_link(link)
    run = values.get(state.RUN, "")
    return (not run or _find_run(str(run)) is not None) and not (page == "compare" and _list_missing(values))


def _choose_talk() -> None:
    state.set_value(DRAFT, make_slug(str(state.get_value(TYPED, ""))) or _name_first())


def _name_first() -> str:
    """Return the name of a visitor's first talk: visitors of one server would change each other's under one name."""
    return f"{FIRST}-{state.get_visitor()[-4:]}"


def _save(name: str, key: str) -> None:
    with state.store_refusal(PROBLEM):
        write_talk(data.store().folder, name, str(state.get_value(key, "")).splitlines())
        state.set_value(DRAFT, name)


def _add() -> None:
    for change in state.receive_changes(state.get_figure_key(BUTTONS)):
        try:
            name = str(change["talk"])
            links = add_link(data.store().folder, name, str(change["link"]))
            state.set_value(DRAFT, name)
            state.set_value(ADDED, f"{plural(len(links), 'link')} in “{name}”")
        except (SentiscopeError, KeyError) as error:
            state.set_value(ADDED, str(error))
