"""Runs and sentences as objects for notebooks and scripts, with the commands of Sentiscope as methods.

`import sentiscope` exports these. Their HTML is made of plain data, needs no script or request, and escapes every text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from core import interpret
from core import runs as core_runs
from core.api import (
    attention,
    attribution,
    codes,
    embeddings,
    error_analysis,
    evaluation,
    exhibits,
    faithfulness,
    prediction,
    training,
)
from core.api import runs as runs_api
from core.api.evaluation import Renamed
from core.api.options import NamedRun, Settings
from core.api.printing import listen_in_python
from core.config import RunConfig
from core.error_analysis.analyses import NAMES
from core.exceptions import NotAvailable, RunNotFound
from core.formatting import count, format_cell
from core.runs.record import RunRecord, Status
from core.runs.store import RunStore
from core.runs.text_predictions import build_answer, format_answer
from core.runs.training_jobs import OnEvent

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from core.interpret.sentence_inspection import MixView, SentenceView
    from core.models.trace import Intervention

Given = ParamSpec("Given")
Found = TypeVar("Found")
_BAR = '<div style="background:#5C636B;height:.8em;width:{width:.2f}em;min-width:1px"></div>'


def bind_verb(verb: Callable[Concatenate[str, Given], Found]) -> Callable[Concatenate[NamedRun, Given], Found]:
    """Return an API function as a method of a run object, which fills in the run's name and store."""

    @functools.wraps(verb)
    def call_verb(run: NamedRun, *given: Given.args, **named: Given.kwargs) -> Found:
        return verb(run.name, *given, **cast(Any, {"store": run.store, **named}))

    return cast(Any, call_verb)


def wrap_training(verb: Callable[Given, dict[str, Any]]) -> Callable[Given, Run]:
    """Return a training function that returns the run as an object, and prints progress unless `on_event` is given."""

    @functools.wraps(verb)
    def call_verb(*given: Given.args, **named: Given.kwargs) -> Run:
        store = cast("RunStore | None", named.get("store")) or RunStore()
        with listen_in_python(cast("OnEvent | None", named.get("on_event"))) as tell:
            said = verb(*given, **cast(Any, {**named, "store": store, "on_event": tell}))
        return Run(said["run"], store)

    return call_verb


def run(name: str) -> Run:
    """Return the run of this name, finished or not; `sentiscope.runs()` lists all runs."""
    found = Run(name)
    found.store.get_path(name)
    return found


def runs() -> Runs:
    """List every run, newest first: those in the folder `trained` (or `SENTISCOPE_RUNS`) and the starter runs."""
    store = RunStore()
    return Runs(Run(row["run"], store) for row in runs_api.runs_list(store)["runs"])


class RunCodes(NamedRun):
    """The annotation codes of a run's sentences: codebook, notes, random samples, rates.

    Every method is a command of the same name: `run.codes.add("irony")` is `sentiscope codes add RUN irony`.
    """

    list = bind_verb(codes.codes_list)
    add = bind_verb(codes.codes_add)
    edit = bind_verb(codes.codes_edit)
    remove = bind_verb(codes.codes_remove)
    code = bind_verb(codes.codes_code)
    note = bind_verb(codes.codes_note)
    merge = bind_verb(codes.codes_merge)
    split = bind_verb(codes.codes_split)
    draw = bind_verb(codes.codes_draw)
    rates = bind_verb(codes.codes_rates)
    kappa = bind_verb(codes.codes_kappa)
    export = bind_verb(codes.codes_export)
    import_ = bind_verb(codes.codes_import)
    undo = bind_verb(codes.codes_undo)


@dataclass(frozen=True, repr=False)
class Run(NamedRun):
    """A training run and its directory; attributes are read from the disk at every access."""

    evaluate = bind_verb(evaluation.evaluate)
    compare = bind_verb(evaluation.compare)
    behave = bind_verb(evaluation.behave)
    predict = bind_verb(prediction.predict)
    predictions = bind_verb(runs_api.runs_predictions)
    inspect = bind_verb(prediction.inspect)
    explain = bind_verb(attribution.explain)
    methods = bind_verb(attribution.methods)
    parts = bind_verb(attribution.parts)
    lambdas = bind_verb(attribution.lambdas)
    patch = bind_verb(attribution.patch)
    steps = bind_verb(prediction.steps)
    attend = bind_verb(attention.attend)
    flip = bind_verb(faithfulness.flip)
    distance = bind_verb(faithfulness.distance)
    quiz = bind_verb(exhibits.quiz)
    believe = bind_verb(faithfulness.believe)
    project = bind_verb(embeddings.project)
    groups = bind_verb(embeddings.groups)
    layers = bind_verb(embeddings.layers)
    neighbours = bind_verb(embeddings.neighbours)
    errors = bind_verb(error_analysis.errors)
    slices = bind_verb(error_analysis.slices)
    shift = bind_verb(error_analysis.make_verb("shift"))
    figure = bind_verb(exhibits.figure)
    figures = bind_verb(exhibits.figures)
    report = bind_verb(exhibits.report)
    show = bind_verb(runs_api.runs_show)
    cancel = bind_verb(runs_api.runs_cancel)
    export = bind_verb(exhibits.export)
    remove = bind_verb(runs_api.runs_remove)

    @property
    def codes(self) -> RunCodes:
        """Return the annotation codes of the run's sentences: `run.codes.add("irony")`, `.code`, `.draw`, `.rates`."""
        return RunCodes(self.name, self.store)

    @property
    def record(self) -> RunRecord:
        """Return everything that is recorded about a run: settings, classes, parameters, progress, results."""
        return self.store.read(self.name)

    @property
    def status(self) -> Status:
        """Return the run's status: `queued`, `running`, `done`, `failed`, `cancelled` or `damaged`."""
        return self.show()["status"]

    @property
    def config(self) -> RunConfig:
        """Return the run's complete settings: `data`, `text`, `model` and `training`."""
        return self.record.config

    @property
    def metrics(self) -> dict[str, dict[str, float]]:
        """Return the run's metrics after training, by split and name; multi-label metrics are at threshold 0.5."""
        return self.record.results.get("metrics", {})

    @property
    def history(self) -> pd.DataFrame:
        """Return the training log of the run as a table; see `core.api.runs.runs_history`."""
        return runs_api.runs_history(self.name, self.store)

    def sentence(self, text: str, *, edit: str = "", intervene: Intervention | None = None) -> Sentence:
        """Return one text as the run's model reads it; see `core.api.prediction.sentence`."""
        view = prediction.sentence(self.name, text, self.store, edit=edit, intervene=intervene)
        return Sentence(self, view, build_answer(self.record, view.probabilities))

    def measure(self) -> dict[str, Any]:
        """Return the run's costs: `parameters`, training `seconds`, `disk`, and costs of a prediction on this machine.

        The latter, `one`, `batch`, `memory` and `where` as in `core.runs.efficiency.Efficiency`, is measured once.
        """
        return runs_api.runs_measure([self.name], self.store)["efficiency"][self.name]

    def resume(self, *, on_event: OnEvent | None = None) -> Run:
        """Resume a training run that was cancelled or failed; the result is exactly that of an uninterrupted run."""
        return wrap_training(training.resume)(self.name, store=self.store, on_event=on_event)

    def __repr__(self) -> str:
        return f"Run({self.name!r}: {_describe_run(self._show_always())})"

    def _repr_html_(self) -> str:
        shown = self._show_always()
        scores = training.tabulate_scores(training.summarize_run(self.record)) if "results" in shown else []
        about = f"<strong>{escape(shown['run'])}</strong><br>{escape(_describe_run(shown))}"
        return f"<div>{about}{_render_table(scores)}</div>"

    def _show_always(self) -> dict[str, Any]:
        """Return the known facts about a run, even if it is damaged or deleted."""
        try:
            return self.show()
        except RunNotFound as error:
            return {"run": self.name, "status": "gone", "reason": str(error)}


for _name in set(NAMES) - vars(Run).keys():
    setattr(Run, _name, bind_verb(error_analysis.make_verb(_name)))
train = wrap_training(training.train)
pretrain = wrap_training(training.pretrain)


@dataclass(frozen=True, repr=False)
class WrappedFunction(NamedRun):
    """A function from texts to probabilities, with the methods of a run that need nothing else; made by `wrap`."""

    predict = bind_verb(prediction.predict)
    explain = bind_verb(attribution.explain)
    methods = bind_verb(attribution.methods)
    flip = bind_verb(faithfulness.flip)
    distance = bind_verb(faithfulness.distance)
    behave = bind_verb(evaluation.behave)
    evaluate = bind_verb(evaluation.evaluate)
    compare = bind_verb(evaluation.compare)

    def save(
        self, name: str, data: str | Path, *, split: str = "", rename: Renamed = None, settings: Settings = None
    ) -> Run:
        """Write a new run without weights, evaluated on labelled data; the other arguments are those of `evaluate`."""
        wanted = core_runs.evaluation_data.DataRequest(str(data), split, rename or {}, settings=settings or {})
        model = self.store.find_loaded(self.name)
        return Run(core_runs.wrapped_model.save_function(RunStore(), model, name, wanted).run)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Run, name):
            raise AttributeError(f"'WrappedFunction' has no attribute '{name}'")
        if name in INNER:
            raise NotAvailable(f"{name}: {core_runs.wrapped_model.INSIDE}")
        raise NotAvailable(f"{name}: save(NAME, DATA) first writes a run with predictions on labelled data")

    def __repr__(self) -> str:
        return f"WrappedFunction({self.name!r}: {', '.join(self.store.read(self.name).classes)})"


INNER = set("inspect sentence parts lambdas patch steps attend believe project groups layers neighbours".split())
"""Methods of a run that need the weights or layers of its model."""


def wrap(
    predict_proba: Callable[[list[str]], Any], classes: Sequence[object], *, name: str = "wrapped"
) -> WrappedFunction:
    """Give a function that returns the probabilities of texts the methods of a run.

        model = sentiscope.wrap(pipeline.predict_proba, pipeline.classes_, name="mine")
        model.explain("not bad at all", method="shapley")
        model.save("mine", "reviews.csv")

    Answers are kept in memory, by text. What needs the inside of a model (maps, layers, gradients) is refused.

    Args:
        predict_proba: Takes a list of n texts and returns n rows of probabilities, one for each class.
        classes: The names of the classes, in the order of the columns.
    """
    model = core_runs.wrapped_model.WrappedModel.from_function(predict_proba, classes, name)
    return WrappedFunction(model.record.run, RunStore(held=[model]))


class Runs(tuple[Run, ...]):
    """A tuple of runs that is shown as a table."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "no runs yet"

    def _repr_html_(self) -> str:
        names = {each.name for each in self}
        listed = runs_api.runs_list(self[0].store)["runs"] if self else []
        rows = runs_api.runs_table({"runs": [row for row in listed if row["run"] in names]})
        return f"<div>{_render_table(rows) or 'no runs yet'}</div>"


@dataclass(frozen=True, repr=False)
class Sentence:
    """One text as a run's model reads it: L tokens, H heads, N maps per head; float32 arrays with queries in rows."""

    run: Run
    view: SentenceView  # all internals, as in `core.interpret.sentence_inspection`
    prediction: dict[str, Any]
    """`label` and `probabilities` by class; with several labels per text `labels` at 0.5 and `labels_tuned`."""

    @property
    def text(self) -> str:
        """Return the sentence as it was typed."""
        return self.view.text

    @property
    def tokens(self) -> tuple[str, ...]:
        """Return the L tokens of the sentence, which name the rows and columns of the attention maps."""
        return self.view.tokens

    @property
    def unknown(self) -> tuple[bool, ...]:
        """Return for each of the L tokens whether the vocabulary lacks it."""
        return self.view.unknown

    @property
    def mix(self) -> MixView | None:
        """Return probabilities of `network`, `tfidf` and `mixture`, and the network's `weight`; None: no mixture."""
        return self.view.mix

    @property
    def maps(self) -> tuple[np.ndarray, ...]:
        """Return each layer's combined attention maps, (H, L, L): the sum of each head's N maps times coefficients.

        Empty without attention; (H, 0, 0) where the text is too long for maps.
        """
        return tuple(layer.combined for layer in self.view.layers)

    @property
    def components(self) -> tuple[np.ndarray, ...]:
        """Return the softmax attention maps that each layer's heads combine, before they are combined, (N, H, L, L)."""
        return tuple(layer.components for layer in self.view.layers)

    @property
    def coefficients(self) -> tuple[np.ndarray, ...]:
        """Return each layer's coefficients of the N maps in a head, per query token, (N, H, L); the first map has 1."""
        return tuple(layer.coefficients for layer in self.view.layers)

    @property
    def gates(self) -> tuple[np.ndarray, ...]:
        """Return each layer's token gates, (L,): how visible each token is, 0 to 1; empty if the model has no gates."""
        return tuple(layer.gates for layer in self.view.layers if layer.gates is not None)

    def figure(
        self, name: str = "grid", *, theme: str = "light", options: Mapping[str, str | float] | None = None
    ) -> Any:
        """Draw a figure of the sentence by name (`grid`, `coefficients`, `gates` …); see `Run.figure`."""
        return self.run.figure(name, text=self.text, theme=theme, options=options)

    def __repr__(self) -> str:
        return f"Sentence({self.text!r}: {format_answer(self.prediction)})"

    def _repr_html_(self) -> str:
        view = self.view
        chances = "".join(
            f"<tr><th scope=row>{escape(name)}</th><td>{value:.3f}</td>"
            f'<td style="text-align:left;min-width:10em">{_BAR.format(width=10 * value)}</td></tr>'
            for name, value in view.probabilities.items()
        )
        note, parts = interpret.trace_summary.warn_unknown(view.unknown_words), view.mix.parts if view.mix else {}
        mixture = [{"": part, **{name: f"{p:.3f}" for name, p in said.items()}} for part, said in parts.items()]
        return (
            f"<div><q>{escape(view.text)}</q><br>{f'<em>{note}</em><br>' if note else ''}"
            f"<strong>{escape(format_answer(self.prediction))}</strong>"
            f"<table><tbody>{chances}</tbody></table>{_render_table(mixture)}</div>"
        )


def _describe_run(shown: Mapping[str, Any]) -> str:
    """Return a line about a run, from the result of `runs_show`: status, model, data, size, time, reason."""
    words = [shown["status"]]
    if "config" in shown:
        words += [
            f"{shown['described']} on {shown['config']['data']['name']}",
            f"{count(shown['parameters'])} parameters" if shown["parameters"] else "",
            f"{shown['seconds']:.0f} s of training" if shown["seconds"] else "",
        ]
    return ", ".join([word for word in words if word]) + (f": {shown['reason']}" if shown["reason"] else "")


def _render_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Render rows (dictionaries with equal keys) as an HTML table; return an empty string without rows."""
    if not rows:
        return ""
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(format_cell(value))}</td>' for value in row.values())}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
