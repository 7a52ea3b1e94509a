"""Look inside: one text as a run reads it, and its forward pass step by step."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.runs.store import RunStore
from core.verbs.edited import changed
from core.verbs.prediction import answer
from core.verbs.registered import of_the_dashboard

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView
    from core.interpret.stages import Matrix
    from core.models.trace import Intervention


def sentence(
    run: str,
    text: str,
    store: RunStore | None = None,
    *,
    edit: str = "",
    intervene: Intervention | None = None,
) -> SentenceView:
    """One text as a run reads it: tokens, probabilities and everything inside the model, as arrays.

    Args:
        run: its name.
        text: any.
        store: where runs live.
        edit: what is changed inside, as in the link of a page: `h1.2,l2c1:0.5` (`core.interpret.edits`).
        intervene: in its place what a line cannot say: a `core.models.trace.Intervention`; of `edit` only `mix.0` may
            stand beside it.

    Raises:
        InputError: no such run, or a change of what it does not have; says what it has.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = changed(run, text, store, edit, intervene)
    return loaded.inspect(text, change, unmixed=edits.unmixed)


def inspect(
    run: str,
    text: str,
    *,
    edit: str = "",
    intervene: Intervention | None = None,
    html: Path | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """One text with its tokens, prediction and everything inside the model; arguments and errors as of `sentence`.

    The inside is that of `core.interpret.sentence.inside`, `edit` what is changed in it, as a link says it. `mix` is
    null, or has the `weight` of the network beside TF-IDF (1 where TF-IDF is taken out) and the probabilities of
    `network`, `tfidf` and their `mixture` before the temperature; `parts` has these in words. `html`: also write a page
    of it.
    """
    from core.evaluation.multilabel import NOTHING
    from core.interpret.sentence import inside
    from core.interpret.unknown import unknown_note

    loaded, edits, change = changed(run, text, store, edit, intervene)
    view, record = loaded.inspect(text, change, unmixed=edits.unmixed), loaded.record
    said = answer(record, view.probabilities)
    if html is not None:
        labels = said.get("labels_tuned", said.get("labels"))
        words = "" if labels is None else ", ".join(labels) or NOTHING
        of_the_dashboard("inside")(view, html, record, words)
    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        "read_as": view.read_as,
        "tokens": list(view.tokens),
        "unknown": list(view.unknown),
        "unknown_words": view.unknown_words,
        "note": unknown_note(view.unknown_words),
        "truncated": view.truncated,
        "prediction": said,
        "mix": None if view.mix is None else {**dataclasses.asdict(view.mix), "parts": view.mix.parts},
        **inside(view),
    }


def steps(
    run: str,
    text: str,
    *,
    layer: int | None = None,
    head: int | None = None,
    component: int | None = None,
    edit: str = "",
    intervene: Intervention | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """The forward pass of a text as stages, each with its formula and the matrices of this text.

    Everything is computed anew from the weights, plainly and in float64; the last matrix is what `predict` says.

    Args:
        run: its name.
        text: any, of at most 512 tokens.
        layer: counted from 1, as on the pages; None: the last.
        head: from 1; None: the first.
        component: from 0, the base component, which is meant by None.
        edit: what is changed inside, as in `explain`.
        intervene: the same as an `Intervention`.
        store: where runs live.

    Returns:
        `run`, `text`, `edit`, `tokens`; `layer`, `head`, `component` that were chosen, 0 where a model has none;
        `layers`, `heads`, `components`: how many there are; `prediction`; `note`; `stages`, from the tokens to the
        probabilities: `key`, `title`, `formulas` (LaTeX), `reading` and `matrices`: `name` (LaTeX), `rows`, `columns`,
        `values`, null where a score is hidden. A stage that the model does not have says so and has no matrix.

    Raises:
        InputError: no such run, layer, head or component; of `edit` and `intervene` as `sentence`.
        NotAvailable: the text has no token that the model knows, or too many.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = changed(run, text, store, edit, intervene)
    found = loaded.steps(text, layer, head, component, change, unmixed=edits.unmixed)
    last = found.stages[-1].matrices[-1]
    chances = dict(zip(last.columns, last.values[0].tolist(), strict=True))
    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        "tokens": list(found.tokens),
        "layer": found.layer,
        "head": found.head,
        "component": found.component,
        "layers": found.layers,
        "heads": found.heads,
        "components": found.components,
        "prediction": answer(loaded.record, chances),
        "note": " ".join(found.notes),
        "stages": [
            {
                "key": stage.key,
                "title": stage.title,
                "formulas": list(stage.formulas),
                "reading": stage.reading,
                "matrices": [_matrix(each) for each in stage.matrices],
            }
            for stage in found.stages
        ],
    }


def _matrix(matrix: Matrix) -> dict[str, Any]:
    rows = [
        [*(None if value == -math.inf else value for value in numbers), *words]
        for numbers, words in zip(matrix.values.tolist(), matrix.words or ((),) * len(matrix.rows), strict=True)
    ]
    return {"name": matrix.name, "rows": list(matrix.rows), "columns": list(matrix.columns), "values": rows}
