"""What loaded models say of a text: its inside, its words and parts, its λ, and what would change the answer.

torch is imported inside the functions that need it, so that all other pages open without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from core.interpret.edits import UNCHANGED, Edits
from core.interpret.watched import OnProgress, silent
from core.runs.record import RunRecord
from core.runs.store import RunStore
from dashboard.data.stored import hashed, store, weights_fingerprint
from dashboard.figures.files import Files

if TYPE_CHECKING:
    from core.evaluation.passages import ByPassage
    from core.interpret.belief import Own
    from core.interpret.believed import Belief
    from core.interpret.distance import Reach
    from core.interpret.flip import Search
    from core.interpret.lambdas import LambdaCurves
    from core.interpret.parts import Parts
    from core.interpret.patch import Patches
    from core.interpret.sentence import SentenceView
    from core.interpret.stages import Steps
    from core.interpret.templates import Step
    from core.runs.load import LoadedRun
    from dashboard.figures.pushed import Pushed

Found = TypeVar("Found")


@st.cache_resource(max_entries=4, show_spinner="Loading the model")
def loaded(folder: str, run: str, weights: str) -> LoadedRun:
    """One model for all visitors: nobody changes it, interventions are arguments."""
    import torch

    from core.runs.load import load_run

    torch.set_num_threads(1)  # one sentence is too little to share: threads waiting for each other cost far more
    return load_run(RunStore(Path(folder)), run)


def loaded_of(run: str) -> LoadedRun:
    """The model of a run as it is now.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    return loaded(*_model(run))


def _model(run: str) -> tuple[str, str, str]:
    """What a cache knows a model by."""
    return str(store().path(run).parent), run, weights_fingerprint(run)


def _cache(name: str, entries: int) -> Callable[..., Any]:
    """So many answers of models, each by what was asked; read only, arrays of L × L are not worth copying."""

    def answer(folder: str, run: str, weights: str, asked: str, _ask: Callable[[LoadedRun], Any]) -> Any:
        return _ask(loaded(folder, run, weights))

    answer.__qualname__ = name  # Streamlit tells caches apart by it
    return st.cache_resource(max_entries=entries, show_spinner=False)(answer)


ENTRIES = {
    "sentence": 48,
    "passages": 24,
    "steps": 24,
    "pushed": 48,
    "parts": 48,
    "lambdas": 48,
    "patches": 24,
    "own_belief": 48,
    "reach": 128,
}
"""How many answers of each kind are kept, for all visitors."""
_CACHES = {name: _cache(name, entries) for name, entries in ENTRIES.items()}


def _answer(kind: str, run: str, asked: tuple[Any, ...], ask: Callable[[LoadedRun], Found]) -> Found:
    """What `ask` finds with a model, once for each `asked`.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    found: Found = _CACHES[kind](*_model(run), hashed(asked), ask)
    return found


def sentence(run: str, text: str, edits: Edits = UNCHANGED) -> SentenceView:
    """The inside of a run's model for one text, as trained or with changes.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    from dashboard.figures.files import look_inside

    return _answer("sentence", run, (text, edits), lambda model: look_inside(model, text, edits))


def passages(run: str, text: str, words: int) -> ByPassage:
    """What a run says of a text passage by passage.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    return _answer("passages", run, (text, words), lambda model: model.by_passage([text], words))


def steps(
    run: str, text: str, layer: int | None, head: int | None, component: int | None, edits: Edits = UNCHANGED
) -> Steps:
    """The forward pass of a text as stages, as edited; layer and head from 1, component from 0.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
        NotAvailable: the text has no token, or too many.
    """

    def ask(model: LoadedRun) -> Steps:
        return model.steps(text, layer, head, component, edits.intervention(), unmixed=edits.unmixed)

    return _answer("steps", run, (text, layer, head, component, edits), ask)


def pushed(run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = silent) -> Pushed:
    """What each word of a text does to the log-odds of a class, as the run was trained or with changes.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    from dashboard.figures.files import push_words as ask

    return _answer("pushed", run, (text, target, edits), lambda model: ask(model.watched(tell), text, target, edits))


def parts(run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = silent) -> Parts:
    """What each part of the model does to them, as the run was trained or besides changes.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    from dashboard.figures.files import silence_parts as ask

    return _answer("parts", run, (text, target, edits), lambda model: ask(model.watched(tell), text, target, edits))


def lambdas(run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = silent) -> LambdaCurves:
    """What each λ does to them, all else as trained or as changed.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    from dashboard.figures.files import along_lambdas as ask

    return _answer("lambdas", run, (text, target, edits), lambda model: ask(model.watched(tell), text, target, edits))


def patches(run: str, text: str, donor: str, target: str, edits: Edits, tell: OnProgress = silent) -> Patches:
    """What the inside of a donor in the text does to the log-odds of a class, one place at a time.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
        InputError: the two texts have different numbers of tokens.
    """
    from dashboard.figures.files import put_inside

    def ask(model: LoadedRun) -> Patches:
        return put_inside(model.watched(tell), text, donor, target, edits)

    return _answer("patches", run, (text, donor, target, edits), ask)


def own_belief(run: str, text: str, tell: OnProgress = silent) -> tuple[Own, ...]:
    """What one text says of how far the explanations of a run can be believed, by method, as the run was trained.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    from dashboard.figures.files import ask_sentence

    return _answer("own_belief", run, (text,), lambda model: ask_sentence(model.watched(tell), text))


def reach(run: str, steps: Sequence[Step], target: str, tell: OnProgress = silent) -> Reach:
    """What a run says of a template with more and more words put in.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    template = tuple(steps)
    return _answer("reach", run, (template, target), lambda model: model.watched(tell).reach(template, target))


def belief(record: RunRecord) -> Belief | None:
    """How far the explanations of a run can be believed; None: it was not measured, or cannot be read."""
    return Files(store()).belief(record)


def flips(run: str, text: str, target: str, edits: Edits) -> Iterator[Search]:
    """The search for the smallest change of a text that changes its answer, which goes on as it is asked.

    Raises:
        InputError: no such class, or a change inside at single tokens.
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    return loaded_of(run).flips(text, target, intervene=edits.intervention(), unmixed=edits.unmixed)
