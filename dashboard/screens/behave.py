"""Page Behaviour tests: behavioural tests of a model by capability, and the sentences on which the model fails."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from core.behavioral_tests.report import load_group_suite, summarize_groups
from core.behavioral_tests.suite import NONE, POLARITIES, Suite, SuiteAnswers, infer_polarity
from core.data import uploads
from core.data.yaml_tree import LARGEST
from core.error_analysis.counter_examples import CounterExample, ExamplePrediction, remove_example
from core.exceptions import InputError, NotAvailable, SentiscopeError
from core.fingerprint import hash_value
from core.formatting import count
from core.runs import background_jobs
from core.runs.record import RunRecord
from dashboard import access, selection, state
from dashboard.data import data
from dashboard.figures import behavioral_tests as figures
from dashboard.figures.counterfactuals import COUNTER_EXAMPLES, ClassList, get_page_link
from dashboard.figures.drawing import read_asset
from dashboard.figures.figure import Source
from dashboard.widgets import figure as widgets
from dashboard.widgets.export import Tables, show_export_bar
from dashboard.widgets.messages import explain_refusal, show_header, show_problem, show_refusal, show_summary
from dashboard.widgets.progress import offer_analysis
from dashboard.widgets.runs import choose_runs, get_chosen_run, list_facts, require_run
from dashboard.widgets.selection_bar import show_in_sight, show_inside_button
from dashboard.widgets.style import get_look

MOST = 500
"""Most examples shown and predicted; the file has all."""
LOOK_AGAIN = 5.0  # seconds between two checks for new counter-examples of other users


def show_examples(record: RunRecord, beside: Sequence[str]) -> Tables:
    """Show the user's kept counter-examples with the predictions of runs; return the table for the export."""
    kept = data.list_examples()
    st.fragment(_rerun_on_change, run_every=LOOK_AGAIN)(_describe_list(kept))
    show_refusal(state.EXAMPLE_PROBLEM, "The sentence was not removed")
    if not kept:
        widgets.show_figure_heading(COUNTER_EXAMPLES)
        widgets.show_caption("No sentence is saved yet. Type one that fools the model and press Save.")
        if st.button("Try to fool the model", icon=":material/notes:", key="try-to-break"):
            state.open_page(selection.SENTENCE)
        return {}
    rows = kept[:MOST]
    runs = [record.run, *beside]
    shown = ClassList(rows, _predict_examples(runs, rows), record.run, len(kept), _label_runs(runs))
    # One key for each state of the list, since a selected row number may now mean another sentence.
    name = f"{COUNTER_EXAMPLES.name}-{_describe_list(rows)}"
    key, reading = f"fig-{name}", str(COUNTER_EXAMPLES.reading)
    widgets.show_figure_heading(COUNTER_EXAMPLES, shown)
    event = widgets.show_drawing(
        COUNTER_EXAMPLES.draw(shown, get_look()),
        name,
        COUNTER_EXAMPLES.write_alt_text(shown, COUNTER_EXAMPLES.resolve_text(COUNTER_EXAMPLES.note, shown), reading),
        on_select=lambda: _select_example(record, rows, state.get_clicked_rows(key), key),
        selection_mode="single-row",
    )
    widgets.show_caption(reading)
    if places := [at for at in event["selection"]["rows"] if at < len(rows)]:
        _show_example(record, rows[places[0]])
    return COUNTER_EXAMPLES.build_tables(shown)


def _label_runs(runs: Iterable[str]) -> dict[str, str]:
    return {run: data.label_run(run) for run in runs}


def _predict_examples(runs: Sequence[str], rows: Sequence[CounterExample]) -> dict[str, list[ExamplePrediction]]:
    found = {}
    for run in runs:
        with explain_refusal(f"{data.label_run(run)} cannot be tested"):
            found[run] = data.predict_examples(run, rows)
    return found


def _select_example(record: RunRecord, rows: Sequence[CounterExample], places: Sequence[int], key: str) -> None:
    labels = [each.expected if set(each.labels) <= set(record.classes) else "" for each in rows]
    about, at = "counter-examples from the class", places[0] if places else None
    selection.choose_sentences(record, [each.text for each in rows] if places else [], labels, about, at=at, by=key)


def _show_example(record: RunRecord, one: CounterExample) -> None:
    with st.container(key="counter-example"):
        said = " · ".join(filter(None, (f"correct label: {one.expected}", one.note, one.author, one.time[:10])))
        st.html(f'<div class="s-sel"><b>{escape(one.text)}</b> <span>{escape(said)}</span></div>', width="stretch")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if st.button("Look inside with this run", icon=":material/notes:", key="example-inside"):
                state.open_page(selection.SENTENCE, **{state.TEXT: one.text})
            if link := get_page_link(one.link):
                st.html(f'<a href="{escape(link)}" target="_self">Show how it was found</a>', width="content")
            with st.popover("Remove", type="tertiary", key="example-remove"):
                st.html('<p class="s-cap">This removes it for everyone. Runs trained with it keep it.</p>')
                st.button("Remove it", key="example-gone", on_click=_remove_example, args=(one.id,))


def _remove_example(name: str) -> None:
    with state.store_refusal(state.EXAMPLE_PROBLEM):
        remove_example(data.store().folder, name, str(state.get_value(state.AUTHOR, "")))


def _describe_list(rows: Sequence[CounterExample]) -> str:
    return hash_value([(each.id, each.time) for each in rows])[:12]


def _rerun_on_change(before: str) -> None:
    if _describe_list(data.list_examples()) != before:
        st.rerun()


TITLE, QUESTION = "Behaviour tests", "Does it pass tests of basic skills?"


def show_page() -> None:
    """Draw the page Behaviour tests: predictions of the chosen run, and of others, on one test suite."""
    record = require_run(TITLE, QUESTION, purpose="Test results appear here")
    try:
        suite = read_chosen_suite()
    except SentiscopeError as error:
        show_header(TITLE, QUESTION, list_facts(record))
        show_problem("This test suite cannot be used", str(error))
        pick_suite(record, [])
        show_export_bar("behave", show_examples(record, []), figures=False)
        return
    size = f"{len(suite.tests)} tests, {count(suite.size)} cases"
    show_header(TITLE, QUESTION, list_facts(record, (suite.name, size)))
    others = [one for one in data.list_loadable_runs() if one.run != record.run and can_be_asked(one)]
    place, below = st.container(), st.container(horizontal=True, vertical_alignment="center", gap="medium")
    with below:
        beside = pick_suite(record, others)
        widgets.show_how(figures.RATES.name, str(figures.RATES.reading), str(figures.RATES.how))
        if n := len(data.list_examples()):
            said = "1 counter-example" if n == 1 else f"{count(n)} counter-examples"
            link = f'<a href="#{widgets.make_anchor(COUNTER_EXAMPLES.name)}" target="_self">{said} from the class</a>'
            st.html(f'<p class="s-cap">{link}</p>', width="content")
    by_name = {one.run: one for one in others}
    with place:
        shown = _run_suite(record, suite, [by_name[name] for name in beside])
    tables = {} if shown is None else figures.RATES.build_tables(shown) | show_failing(shown, shown.picked)
    if not suite.path and not list_unclear_classes(record) and record.task == "single":
        tables |= _show_groups(Source(record, data))
    tables |= widgets.show_others(Source(record, data), "behave", [figures.RATES, figures.GROUPS])
    show_export_bar("behave", tables | show_examples(record, beside), figures=False)


def _show_groups(source: Source) -> Tables:
    """Show the positive answers for groups of people, or the button that measures them; return the tables."""
    try:
        found = figures.GROUPS.read_data(source)
    except NotAvailable:
        widgets.show_figure_heading(figures.GROUPS, about=False)
        offer_analysis(SuiteAnswers.from_suite(data.store(), source.record.run, load_group_suite()), "groups-of-people")
        widgets.show_caption(figures.STARTERS_APART)
        return {}
    said = summarize_groups(found, data.label_run(source.record.run))
    st.html(f'<p class="s-finding" role="status"><b>{escape(said)}</b></p>')
    widgets.show_figure(source, figures.GROUPS, on_unfolded_change=lambda: None)
    widgets.show_caption(figures.STARTERS_APART)
    return figures.GROUPS.build_tables(found)


def _run_suite(record: RunRecord, suite: Suite, others: Sequence[RunRecord]) -> figures.BehaviorResults | None:
    """Show the results of runs on a suite, and return them; None if the chosen run has none yet."""
    sides = _ask_polarities(record)
    if sides is None:
        return None
    judged = {}
    for one in (record, *others):
        asked = one.run, suite, sides if one is record else {}
        with explain_refusal(f"{data.label_run(one.run)} cannot be tested"):
            answers = data.make_suite_job(*asked)
            if len(suite.texts) > SuiteAnswers.AT_ONCE and background_jobs.read_job(answers).status != "done":
                offer_analysis(answers, f"ask-{one.run}")
            else:
                judged[one.run] = data.judge_suite(*asked)
    if record.run not in judged:
        return None
    return _show_results(figures.BehaviorResults(judged, record.run, names=_label_runs(judged)))


def _show_results(behaved: figures.BehaviorResults) -> figures.BehaviorResults:
    """Show the finding and the table of failure rates; return the results with the selected row."""
    show_summary(*figures.summarize_rates(behaved))
    rows = figures.build_rates_marks(behaved, get_look().tokens).ids
    asked = state.get_param(state.CAPABILITY)
    shown = replace(behaved, picked=asked if asked in rows else "")
    words = figures.RATES.resolve_text(figures.RATES.note, behaved), str(figures.RATES.reading)
    widgets.show_drawing(
        figures.RATES.draw(shown, get_look()),
        figures.RATES.name,
        figures.RATES.write_alt_text(shown, *words),
        default={"picked": shown.picked},
        on_picked_change=partial(_select_picked, behaved),
        on_unfolded_change=lambda: None,  # a component reports only states with a callback
    )
    widgets.show_caption(f"{words[1]} {figures.count_contrast_sets(behaved)}".rstrip())
    return shown


def _select_picked(behaved: figures.BehaviorResults) -> None:
    picked = state.get_picked(figures.RATES.name)
    state.set_param(state.CAPABILITY, picked)
    if picked:
        select_failing(figures.collect_failures(behaved, picked, _get_failing_run(behaved)))


def _get_failing_run(behaved: figures.BehaviorResults) -> str:
    asked = state.get_bound(state.FAILS)
    return asked if asked in behaved.runs else behaved.run


def _ask_polarities(record: RunRecord) -> dict[str, str] | None:
    """Ask for the polarity of classes (such as negative); return class → answer, None until all are given."""
    if record.task == "multi" or not (unknown := list_unclear_classes(record)):
        return {}
    widgets.show_caption("Is each class negative or positive? The names do not show it.")
    with st.container(horizontal=True):
        look: dict[str, Any] = {"bind": "query-params", "width": 160}
        answers = [*POLARITIES, NONE]
        said = {name: st.selectbox(name, answers, None, key=f"{state.SIDE}{name}", **look) or "" for name in unknown}
    return said if all(said.values()) else None


KINDS = ["yaml", "yml", "csv", "tsv", "jsonl", "xlsx", "parquet"]
BESIDE = 3
"""Most runs compared with the chosen one; more columns would be unreadable."""
BAGS = ("tfidf-logreg", "lexicon")
"""Presets that are compared by default, if they have runs on the same data."""
_KEPT = re.compile(r"[0-9a-f]{64}/[\w.-]{1,100}")


def list_unclear_classes(record: RunRecord) -> list[str]:
    """Return the classes of a run for which no name or order shows a polarity, such as negative or positive."""
    return [] if record.ordered else [name for name in record.classes if infer_polarity(name) is None]


def can_be_asked(record: RunRecord) -> bool:
    """Return whether behavioural tests fit a run: one label per text, and classes of at least two polarities."""
    several = record.ordered or len(set(map(infer_polarity, record.classes))) > 1
    return record.task == "single" and not list_unclear_classes(record) and several


def read_chosen_suite() -> Suite:
    """Read the test suite that the URL names, else the built-in suite; InputError if it is gone or cannot be read."""
    named = state.get_param(state.SUITE)
    if not named:
        return data.read_suite("")
    path = access.get_library_folder() / uploads.FILES / named
    if not _KEPT.fullmatch(named) or not path.is_file():
        raise InputError("the suite of this link is gone; upload it again, or use the built-in suite")
    return data.read_suite(str(path))


def pick_suite(record: RunRecord, others: Sequence[RunRecord]) -> list[str]:
    """Show the widgets that choose a test suite and other runs; return the runs to compare with the chosen one."""
    names = [one.run for one in others]
    with st.container(horizontal=True, gap="small", width="content"):
        beside: list[str] = []
        if names:
            state.follow_link(state.AGAINST, several=True)
            state.keep_valid(state.AGAINST, names)
            same = [one for one in others if one.config.data.name == record.config.data.name]
            bags = (next((one.run for one in same if one.preset == preset), "") for preset in BAGS)
            state.reset_on_change(state.AGAINST, record.run, list(filter(None, bags)))
            state.follow_link(state.AGAINST, several=True)
            with st.popover("Compare with …", key="beside"):
                look: dict[str, Any] = {"several": True, "max_selections": BESIDE}
                beside = choose_runs("Compare with", names, state.AGAINST, "Other runs", "", **look)
        with st.popover("Your own suite", icon=":material/upload_file:"):
            most = f"YAML or a table, at most {LARGEST // 1024**2} MB"
            st.file_uploader(most, type=KINDS, max_upload_size=2, key=state.SUITE_FILE, on_change=_store_suite)
            st.markdown(read_asset("suite_format.md"))
        if state.get_param(state.SUITE):
            st.button("Use the built-in suite", key="our-suite", on_click=state.set_param, args=(state.SUITE, ""))
    if refused := state.pop_value(state.SUITE_PROBLEM):
        widgets.show_caption(refused)
    return beside


def _store_suite() -> None:
    if (file := state.get_value(state.SUITE_FILE, None)) is None:
        return
    with state.store_refusal(state.SUITE_PROBLEM):
        kept = access.keep_upload(file.name, file.getvalue())
        state.set_param(state.SUITE, f"{kept.parent.name}/{kept.name}")


def show_failing(behaved: figures.BehaviorResults, picked: str) -> Tables:
    """Show the failing test cases of the picked row of the results table; return their table for the export."""
    state.drop_stale(state.FAILS, behaved.runs)
    state.follow_link(state.FAILS)
    if not picked:
        return {}
    run = _get_failing_run(behaved)
    found = figures.collect_failures(behaved, picked, run)
    show_in_sight(picked)
    widgets.show_figure_heading(figures.FAILING, found, about=False)
    if len(behaved.runs) > 1:
        state.set_initial(state.FAILS, behaved.run)
        options: dict[str, Any] = {"format_func": behaved.label_run, "required": True, "label_visibility": "collapsed"}
        st.segmented_control("Failures of", behaved.runs, key=state.FAILS, **options)
    if not found.cases:
        name = behaved.label_run(run)
        widgets.show_caption(
            f"{name} passes all these tests." if found.asked else f"{name} has no class for the correct answer."
        )
        return {}
    name = f"{figures.FAILING.name}-{picked}-{run}"
    key = f"fig-{name}"
    taken: dict[str, Any] = {"selection_mode": "single-row"}
    taken["on_select"] = lambda: select_failing(found, state.get_clicked_rows(key), key)
    event = widgets.show_drawing(figures.FAILING.draw(found, get_look()), name, f"Failed tests: {found.name}", **taken)
    widgets.show_caption(figures.FAILING.resolve_text(figures.FAILING.reading, found))
    rows = event["selection"]["rows"]
    record = get_chosen_run()
    if rows and record is not None and show_inside_button(record):
        state.choose_run(run)
        selection.look_inside()
    return figures.FAILING.build_tables(found)


def select_failing(found: figures.FailingCases, rows: Sequence[int] = (), by: str = "") -> None:
    """Select all failing test cases on all pages, and make the clicked one the current sentence."""
    record = get_chosen_run()
    if not found.cases or record is None:
        return
    texts = [case.texts[-1] for _, case in found.cases]
    labels = [case.expected[0] if len(case.expected) == 1 else "" for _, case in found.cases]
    known = [label if label in record.classes else "" for label in labels]
    about = f"fails {found.name}"
    selection.choose_sentences(record, texts, known, about, at=rows[0] if rows else None, by=by)


show_page()
