"""Page Behave: behavioural tests of a model by capability, and the sentences on which it fails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.behaviour.answers import SuiteAnswers
from core.behaviour.polarity import NONE, named
from core.behaviour.suite import POLARITIES, Suite
from core.data import library
from core.data.yaml_tree import LARGEST
from core.exceptions import InputError, SentiscopeError
from core.failures.counter_examples import Answer, CounterExample, remove_example
from core.fingerprint import fingerprint
from core.numbers import count
from core.runs import errands
from core.runs.record import RunRecord
from dashboard import access, selection, state
from dashboard.data import data
from dashboard.figures import behavioral_tests as figures
from dashboard.figures.counterfactuals import COUNTER_EXAMPLES, ClassList, inner_link
from dashboard.figures.source import Source
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import anchor, caption, heading_of, place, show, show_others
from dashboard.widgets.messages import header, opening, problem
from dashboard.widgets.runs import chosen_record, chosen_run, facts
from dashboard.widgets.selected import inside_button
from dashboard.widgets.style import look
from dashboard.widgets.waiting import offer

if TYPE_CHECKING:
    import pandas as pd


MOST = 500
"""Of the list that are shown and asked about; the file has all."""
LOOK_AGAIN = 5.0  # seconds between two looks for counter-examples that others have kept


def way_to_examples() -> None:
    """Show a link to the list of counter-examples further down, if there are any."""
    if n := len(data.examples()):
        said = "1 counter-example" if n == 1 else f"{count(n)} counter-examples"
        st.html(
            f'<p class="s-cap"><a href="#{anchor(COUNTER_EXAMPLES.name)}" target="_self">{said} of the class</a></p>'
        )


def class_list(record: RunRecord, beside: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Show the list of counter-examples; return its table for the export."""
    kept = data.examples()
    st.fragment(_notice, run_every=LOOK_AGAIN)(_list_state(kept))
    if text := state.take(state.EXAMPLE_PROBLEM):
        problem("It was not taken out", str(text))
    if not kept:
        heading_of(COUNTER_EXAMPLES)
        caption("None are kept yet. Type a sentence that the model gets wrong, and press Keep beside its answer.")
        if st.button("Try to break it", icon=":material/notes:", key="try-to-break"):
            state.go(selection.SENTENCE)
        return {}
    rows = kept[:MOST]
    shown = ClassList(rows, _said([record.run, *beside], rows), record.run, len(kept))
    # A name of its own for each state of the list: a chosen row is a place, where another sentence may stand now.
    name = f"{COUNTER_EXAMPLES.name}-{_list_state(rows)}"
    key, reading = f"fig-{name}", str(COUNTER_EXAMPLES.reading)
    heading_of(COUNTER_EXAMPLES, shown)
    event = place(
        COUNTER_EXAMPLES.draw(shown, look()),
        name,
        COUNTER_EXAMPLES.alternative(shown, COUNTER_EXAMPLES.say(COUNTER_EXAMPLES.note, shown), reading),
        on_select=lambda: _take_example(record, rows, state.rows_of(key), key),
        selection_mode="single-row",
    )
    caption(reading)
    if places := [at for at in event["selection"]["rows"] if at < len(rows)]:
        _opened(record, rows[places[0]])
    return COUNTER_EXAMPLES.numbers(shown)


def _said(runs: Sequence[str], rows: Sequence[CounterExample]) -> dict[str, list[Answer]]:
    found = {}
    for run in runs:
        try:
            found[run] = data.answers(run, rows)
        except SentiscopeError as error:
            problem(f"{run} cannot be asked", str(error))
    return found


def _take_example(record: RunRecord, rows: Sequence[CounterExample], places: Sequence[int], key: str) -> None:
    labels = [each.ought if set(each.labels) <= set(record.classes) else "" for each in rows]
    about, at = "counter-examples of the class", places[0] if places else None
    selection.choose_sentences(record, [each.text for each in rows] if places else [], labels, about, at=at, by=key)


def _opened(record: RunRecord, one: CounterExample) -> None:
    with st.container(key="counter-example"):
        said = " · ".join(filter(None, (f"ought to be {one.ought}", one.note, one.author, one.time[:10])))
        st.html(f'<div class="s-sel"><b>{escape(one.text)}</b> <span>{escape(said)}</span></div>', width="stretch")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if st.button("Look inside with this run", icon=":material/notes:", key="example-inside"):
                state.go(selection.SENTENCE, **{state.TEXT: one.text})
            if link := inner_link(one.link):
                st.html(f'<a href="{escape(link)}" target="_self">As it was found</a>', width="content")
            with st.popover("Remove", type="tertiary", key="example-remove"):
                st.html('<p class="s-cap">It leaves the list of everybody; trainings that took it along keep it.</p>')
                st.button("Take it out", key="example-gone", on_click=_remove_example, args=(one.id,))


def _remove_example(name: str) -> None:
    with state.refusals(state.EXAMPLE_PROBLEM):
        remove_example(data.store().folder, name, str(state.draft(state.AUTHOR, "")))


def _list_state(rows: Sequence[CounterExample]) -> str:
    return fingerprint([(each.id, each.time) for each in rows])[:12]


def _notice(before: str) -> None:
    if _list_state(data.examples()) != before:
        st.rerun()


QUESTION = "Can the model do what everybody expects, one capability at a time?"


def page() -> None:
    """Show the predictions of the chosen run, and of others, on one test suite."""
    record = chosen_run("Behave", QUESTION, purpose="What it can and cannot do stands here")
    if record is None:
        return
    try:
        suite = chosen_suite()
    except SentiscopeError as error:
        header("Behave", QUESTION, facts(record))
        problem("This suite cannot be asked", str(error))
        suite_picker(record, [])
        export_bar("behave", class_list(record, []), figures=False)
        return
    size = f"{len(suite.tests)} tests, {len(suite.capabilities)} capabilities, {count(suite.size)} cases"
    header("Behave", QUESTION, facts(record, (suite.name, size)))
    others = [one for one in data.runs_with_weights() if one.run != record.run and can_be_asked(one)]
    beside = suite_picker(record, others)
    by_name = {one.run: one for one in others}
    way_to_examples()
    tables = _asked(record, suite, [by_name[name] for name in beside])
    tables |= show_others(Source(record, data), "behave", [figures.RATES])
    export_bar("behave", tables | class_list(record, beside), figures=False)


def _asked(record: RunRecord, suite: Suite, others: Sequence[RunRecord]) -> dict[str, pd.DataFrame]:
    sides = _sides(record)
    if sides is None:
        return {}
    judged = {}
    for one in (record, *others):
        asked = one.run, suite, sides if one is record else {}
        try:
            answers = data.suite_answers(*asked)
            if len(suite.texts) > SuiteAnswers.AT_ONCE and errands.job(answers).status != "done":
                offer(answers, f"ask-{one.run}")
            else:
                judged[one.run] = data.judged(*asked)
        except SentiscopeError as error:
            problem(f"{one.run} cannot be asked", str(error))
    return _show(figures.Behaved(judged, record.run)) if record.run in judged else {}


def _show(behaved: figures.Behaved) -> dict[str, pd.DataFrame]:
    opening(*figures.finding(behaved))
    rows = figures.rates_marks(behaved, look().tokens).ids
    asked = state.carried(state.CAPABILITY)
    begun = asked if asked in rows else rows[0]
    found = show(
        figures.RATES,
        replace(behaved, picked=begun),
        default={"picked": begun},
        on_picked_change=partial(_take, behaved),
        on_unfolded_change=lambda: None,  # a component tells only what somebody listens to
    )
    picked = found.get("picked") if found.get("picked") in rows else begun
    state.carry(state.CAPABILITY, picked)
    if sets := figures.consistent(behaved):
        caption(sets)
    return figures.RATES.numbers(behaved) | failing_of(behaved, picked)


def _take(behaved: figures.Behaved) -> None:
    if picked := state.picked(figures.RATES.name):
        take_failing(figures.failing(behaved, picked, _failing_run(behaved)))


def _failing_run(behaved: figures.Behaved) -> str:
    asked = state.asked(state.FAILS)
    return asked if asked in behaved.runs else behaved.run


def _sides(record: RunRecord) -> dict[str, str] | None:
    """Ask for the polarity of classes whose names and order do not show it; None until all are answered."""
    if record.task == "multi" or not (unknown := silent(record)):
        return {}
    caption("These classes say nothing of negative and positive. What does each mean here?")
    with st.container(horizontal=True):
        said = {name: _side(name) for name in unknown}
    return said if all(said.values()) else None


def _side(name: str) -> str:
    key = f"{state.SIDE}{name}"
    return st.selectbox(name, [*POLARITIES, NONE], index=None, key=key, bind="query-params", width=160) or ""


KINDS = ["yaml", "yml", "csv", "tsv", "jsonl", "xlsx", "parquet"]
BESIDE = 3
"""Runs beside the chosen one: more columns of marks leave none of them readable."""
BAGS = ("tfidf-logreg", "lexicon")
"""Presets that stand beside a model to begin with, where there are runs of them on the same data."""
_KEPT = re.compile(r"[0-9a-f]{64}/[\w.-]{1,100}")
FORMAT = """A YAML file, or a table with the columns `text`, `test`, `capability` and `expected` or `group`.

```yaml
name: my suite
tests:
  - name: plain praise
    capability: vocabulary
    kind: minimum             # invariance, direction
    expected: positive
    texts: ["The {thing} was {good}."]
    slots:
      thing: [film, soup]
      good: [excellent, superb]
```"""


def silent(record: RunRecord) -> list[str]:
    """Return the classes of a run whose names and order show no polarity."""
    return [] if record.ordered else [name for name in record.classes if named(name) is None]


def can_be_asked(record: RunRecord) -> bool:
    """Return whether a run gives one label per text, and its classes have at least two polarities."""
    several = record.ordered or len(set(map(named, record.classes))) > 1
    return record.task == "single" and not silent(record) and several


def chosen_suite() -> Suite:
    """Return the suite that the link names, else ours; InputError: it is gone, or cannot be read."""
    named = state.carried(state.SUITE)
    if not named:
        return data.suite("")
    path = access.library_folder() / library.FILES / named
    if not _KEPT.fullmatch(named) or not path.is_file():
        raise InputError("the suite of this link is not here any more; upload it again, or go back to ours")
    return data.suite(str(path))


def suite_picker(record: RunRecord, others: Sequence[RunRecord]) -> list[str]:
    """Show the controls of the suite; return the runs to compare with the chosen one."""
    names = [one.run for one in others]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        beside: list[str] = []
        if names:
            state.keep_some(state.AGAINST, names)
            state.follow(state.AGAINST, record.run, _first(record, others))
            beside = st.multiselect(
                "Compared with",
                names,
                key=state.AGAINST,
                bind="query-params",
                max_selections=BESIDE,
                placeholder="Other runs",
            )
        with st.popover("Your own suite", icon=":material/upload_file:"):
            most = f"At most {LARGEST // 1024**2} MB of YAML, or a table"
            st.file_uploader(most, type=KINDS, key=state.SUITE_FILE, on_change=_taken)
            st.markdown(FORMAT)
        if state.carried(state.SUITE):
            st.button("Back to Sentiscope's", key="our-suite", on_click=state.carry, args=(state.SUITE, ""))
    if refused := state.take(state.SUITE_PROBLEM):
        caption(refused)
    return beside


def _first(record: RunRecord, others: Sequence[RunRecord]) -> list[str]:
    """Return the bag-of-words runs on the same data."""
    same = [one for one in others if one.config.data.name == record.config.data.name]
    found = (next((one.run for one in same if one.preset == preset), "") for preset in BAGS)
    return [run for run in found if run]


def _taken() -> None:
    if (file := state.draft(state.SUITE_FILE, None)) is None:
        return
    with state.refusals(state.SUITE_PROBLEM):
        kept = library.keep_file(access.library_folder(), file.name, file.getvalue())
        state.carry(state.SUITE, f"{kept.parent.name}/{kept.name}")


def failing_of(behaved: figures.Behaved, picked: str) -> dict[str, pd.DataFrame]:
    """Show the failing cases of a picked row; return the table for the export."""
    state.keep_to(state.FAILS, behaved.runs)
    run = _failing_run(behaved)
    found = figures.failing(behaved, picked, run)
    heading_of(figures.FAILING, found, about=False)
    if len(behaved.runs) > 1:
        options: dict[str, Any] = {"bind": "query-params", "required": True, "label_visibility": "collapsed"}
        st.segmented_control("Fails for", behaved.runs, default=behaved.run, key=state.FAILS, **options)
    if not found.cases:
        caption(f"{run} passes all of it." if found.asked else f"{run} has no class that could be right.")
        return {}
    name = f"{figures.FAILING.name}-{picked}-{run}"
    key = f"fig-{name}"
    taken: dict[str, Any] = {"selection_mode": "single-row"}
    taken["on_select"] = lambda: take_failing(found, state.rows_of(key), key)
    event = place(figures.FAILING.draw(found, look()), name, f"Failing: {found.name}", **taken)
    caption(figures.FAILING.say(figures.FAILING.reading, found))
    rows = event["selection"]["rows"]
    record = chosen_record()
    if rows and record is not None and inside_button(record):
        state.choose_run(run)
        selection.look_inside()
    return figures.FAILING.numbers(found)


def take_failing(found: figures.Failing, rows: Sequence[int] = (), by: str = "") -> None:
    """Select all failing cases on all pages, and open the chosen one."""
    record = chosen_record()
    if not found.cases or record is None:
        return
    texts = [case.texts[-1] for _, case in found.cases]
    labels = [case.expected[0] if len(case.expected) == 1 else "" for _, case in found.cases]
    known = [label if label in record.classes else "" for label in labels]
    about = f"fails {found.name}"
    selection.choose_sentences(record, texts, known, about, at=rows[0] if rows else None, by=by)


page()
