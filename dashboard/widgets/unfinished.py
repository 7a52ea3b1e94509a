"""The line “Continue: …” of Start and Runs: the one thing that was in progress, as the disk and this visit know it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

import streamlit as st

from core.error_analysis.codebook import Draw, get_data_name, list_draws
from core.exceptions import SentiscopeError
from core.formatting import count
from core.runs.record import RunRecord
from core.text.graphemes import clip_text
from dashboard import access, selection, state
from dashboard.data import data
from dashboard.screens import PAGES

LIVE = {"running": "{} is learning", "queued": "{} waits for a free place"}
QUOTED = 60  # characters of a sentence in the line, at most


@dataclass(frozen=True)
class UnfinishedTask:
    """Unfinished work: its description, the page where it continues, and the parameters of its link."""

    words: str
    page: str
    prepare: Callable[[], None]  # called before the page opens


def find_unfinished(records: Sequence[RunRecord]) -> UnfinishedTask | None:
    """Return the first unfinished work: a training run, a random sample to code, a paused run, the last sentence."""
    for look in (_find_live, _find_sample, _find_paused, _find_sentence):
        if found := look(records):
            return found
    return None


def show_continue(records: Sequence[RunRecord]) -> None:
    """Show the line “Continue: …” with a button that leads there; nothing if nothing was in progress."""
    found = find_unfinished(records)
    if found is None:
        return
    with st.container(key="continue", horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.html(f'<p class="s-sel"><b>Continue:</b> {escape(found.words)}.</p>', width="content")
        if st.button(f"Open {PAGES[found.page].title}", type="tertiary", key="continue-open", on_click=found.prepare):
            state.open_page(found.page)


def _label(run: str) -> str:
    name = data.name_runs().get(run)
    return run if name is None else " on ".join(filter(None, (name.text, name.data)))


def _find_live(records: Sequence[RunRecord]) -> UnfinishedTask | None:
    for status, words in LIVE.items():
        if live := next((record for record in records if record.status == status), None):
            return UnfinishedTask(words.format(_label(live.run)), "train", partial(state.choose_run, live.run))
    return None


def _find_paused(records: Sequence[RunRecord]) -> UnfinishedTask | None:
    for record in records:
        steps = record.progress.get("steps")
        if record.status == "cancelled" and steps and data.has_checkpoint(record.run):
            at = f"step {count(int(record.progress['step']))} of {count(int(steps))}"
            words = f"{_label(record.run)} is paused at {at}"
            return UnfinishedTask(words, "train", partial(state.choose_run, record.run))
    return None


def _find_sample(records: Sequence[RunRecord]) -> UnfinishedTask | None:
    """Return the newest random sample of this visitor, at this machine of anybody, that is not coded to its end."""
    known = {record.run: record for record in records if record.status == "done"}
    books = {get_data_name(record): record for record in known.values()}
    samples = [(draw, record) for record in books.values() for draw in list_draws(data.open_codebook(record))]
    for draw, record in sorted(samples, key=lambda each: each[0].time, reverse=True):
        if draw.run not in known or not (access.is_local() or draw.author == state.get_author()):
            continue
        given = data.open_codebook(record).read_annotations(draw.author).given
        left = [at for at, key in enumerate(draw.keys) if key not in given]
        if left:
            done = f"{count(len(draw.keys) - len(left))} of {count(len(draw.keys))} sampled sentences coded"
            prepare = partial(_resume_sample, known[draw.run], draw, left[0])
            return UnfinishedTask(f"{done}, {_label(draw.run)}", "errors", prepare)
    return None


def _resume_sample(record: RunRecord, draw: Draw, at: int) -> None:
    state.choose_run(record.run)
    with state.store_refusal(state.SELECTION_PROBLEM):
        if not (split := selection.find_draw_split(record, draw)):
            raise SentiscopeError(f"{_label(record.run)} has no predictions of the sampled sentences any more")
        selection.choose_draw(record, split, draw, at)


def _find_sentence(records: Sequence[RunRecord]) -> UnfinishedTask | None:
    past = state.get_value(state.PAST, None)
    if past is None or not past.tried or past.tried[0].run not in {record.run for record in records}:
        return None
    last = past.tried[0]
    words = f"“{clip_text(last.text, QUOTED)}”, read by {_label(last.run)}"

    def prepare() -> None:
        state.choose_run(last.run)
        state.set_value(state.TEXT, last.text)

    return UnfinishedTask(words, "sentence", prepare)
