"""What is asked, and who else is: the suite and the runs beside the chosen one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from core.behaviour.polarity import named
from core.behaviour.suite import Suite
from core.data import library
from core.data.yaml_tree import LARGEST
from core.exceptions import InputError, SentiscopeError
from core.runs.record import RunRecord
from dashboard import access, state
from dashboard.data import data
from dashboard.widgets.figure import caption

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
    """The classes of a run that say nothing of negative and positive, by their names or their order."""
    return [] if record.ordered else [name for name in record.classes if named(name) is None]


def can_be_asked(record: RunRecord) -> bool:
    """Whether a run gives one label per text, and its classes say at least two of negative, neutral and positive."""
    several = record.ordered or len(set(map(named, record.classes))) > 1
    return record.task == "single" and not silent(record) and several


def chosen_suite() -> Suite:
    """The suite that the link names, else ours.

    Raises:
        InputError: it is gone, or cannot be read.
    """
    return data.suite(_file(state.carried(state.SUITE)))


def _file(named: str) -> str:
    """The path of an uploaded suite; empty: ours."""
    if not named:
        return ""
    path = access.library_folder() / library.FILES / named
    if not _KEPT.fullmatch(named) or not path.is_file():
        raise InputError("the suite of this link is not here any more; upload it again, or go back to ours")
    return str(path)


def suite_picker(record: RunRecord, others: Sequence[RunRecord]) -> list[str]:
    """The controls; gives the runs that stand beside the chosen one."""
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
            st.file_uploader(
                f"At most {LARGEST // 1024**2} MB of YAML, or a table",
                type=KINDS,
                key=state.SUITE_FILE,
                on_change=_taken,
            )
            st.markdown(FORMAT)
        if state.carried(state.SUITE):
            st.button("Back to Sentiscope's", key="our-suite", on_click=state.carry, args=(state.SUITE, ""))
    if refused := state.take(state.SUITE_PROBLEM):
        caption(refused)
    return beside


def _first(record: RunRecord, others: Sequence[RunRecord]) -> list[str]:
    """Bags of words on the same data; where there are none, nobody."""
    same = [one for one in others if one.config.data.name == record.config.data.name]
    found = (next((one.run for one in same if one.preset == preset), "") for preset in BAGS)
    return [run for run in found if run]


def _taken() -> None:
    """Keep an uploaded suite and name it in the link."""
    file = state.draft(state.SUITE_FILE, None)
    if file is None:
        return
    try:
        kept = library.keep_file(access.library_folder(), file.name, file.getvalue())
    except SentiscopeError as error:
        state.put(state.SUITE_PROBLEM, str(error))
        return
    state.carry(state.SUITE, f"{kept.parent.name}/{kept.name}")
