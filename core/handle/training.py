"""Training runs, started from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core import verbs
from core.handle.named import named
from core.handle.objects import Run
from core.handle.progress import told
from core.runs.store import RunStore
from core.runs.worker import OnEvent

if TYPE_CHECKING:
    pass


def train(  # noqa: PLR0913 - what a training is chosen by, by name
    data: str = "built-in",
    model: str = "ndt-01-n3",
    settings: Mapping[str, Any] | None = None,
    *,
    add: Sequence[str] = (),
    start: str | Run = "",
    recipe: str = "",
    length: str = "",
    epochs: int | None = None,
    seed: int | None = None,
    limit: int | None = None,
    name: str = "",
    on_event: OnEvent | None = None,
) -> Run:
    """Train a model here and now, evaluate it and keep the run; it waits while other runs hold all slots.

    An interrupt (Ctrl-C, the stop button of a notebook) saves a checkpoint and ends training; `resume` continues.

    Args:
        data: A registered name (`data_list` has all), a file or a folder.
        model: A preset; `presets` has all.
        settings: Dotted settings on top of it, e.g. `{"training.lr": 1e-3, "model.width": 64}`.
        add: Short for `data.add`: registered data sets whose training texts join the training split; nothing is judged
            on them. `counter-examples` are those that are kept (`sentiscope.counter_examples_list()`).
        start: Short for `training.start`: a finished run whose tokenizer, words and layers this one starts from.
        recipe: Settings that make small models better, over the preset's and under `settings`: `strong`. What the model
            cannot take is left out, and said.
        length: Epochs and training rows at most: `short`, `medium` or `full`; `settings` override it.
        epochs: Short for `training.epochs`.
        seed: Short for `training.seed`.
        limit: Short for `data.limit`: training rows at most, seeded and stratified; other splits stay whole.
        name: Of the run; empty: data, model, seed and time.
        on_event: Told what happens (`core.runs.worker.OnEvent`); without it a line is printed for each epoch.

    Returns:
        The run: done, or cancelled by the interrupt.

    Raises:
        InputError: Data, preset, recipe, setting or length cannot be used, a run has this name already, or as many runs
            wait as this machine allows.
        SentiscopeError: Training failed; the run says why.
    """
    store = RunStore()
    short: dict[str, Any] = {"start": named(start), "recipe": recipe, "length": length, "epochs": epochs, "seed": seed}
    short |= {"add": add, "limit": limit, "name": name}
    with told(on_event) as tell:
        return Run(verbs.train(data, model, settings, **short, store=store, on_event=tell)["run"], store)


def pretrain(
    data: Sequence[str],
    model: str = "vanilla-swiglu",
    settings: Mapping[str, Any] | None = None,
    *,
    apart: Sequence[str] = (),
    start: str | Run = "",
    seed: int | None = None,
    limit: int | None = None,
    name: str = "",
    on_event: OnEvent | None = None,
) -> Run:
    """Train an encoder that others start from: masked words first, then the labels of several data sets at once.

    The same as `train` with the recipe `pretrain` on a mixture (`"sst2+imdb"`).

    Args:
        data: Registered names; `data.rename` in `settings` makes their classes one.
        model: A preset of an encoder.
        settings: Dotted settings on top of preset and recipe.
        apart: Registered names of further data sets whose texts beyond train are kept out of the training.
        start: A finished run to start from.
        seed: Short for `training.seed`.
        limit: Short for `data.limit`.
        name: Of the run; empty: data, model, seed and time.
        on_event: As of `train`.

    Returns:
        The run: done, or cancelled by the interrupt.

    Raises:
        InputError: As of `train`; or a name that is no registered data set.
        SentiscopeError: Training failed; the run says why.
    """
    store = RunStore()
    short: dict[str, Any] = {"apart": apart, "start": named(start), "seed": seed, "limit": limit, "name": name}
    with told(on_event) as tell:
        return Run(verbs.pretrain(data, model, settings, **short, store=store, on_event=tell)["run"], store)
