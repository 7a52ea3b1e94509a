"""Look inside: one text, every figure, a map of a split."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.exceptions import InputError
from core.runs.store import RunStore
from core.verbs.prediction import OnProgress, answer
from core.verbs.registered import of_the_dashboard

if TYPE_CHECKING:
    from core.interpret.edits import Edits
    from core.interpret.explain import Explanation, Word
    from core.interpret.flip import Flip, Move
    from core.interpret.sentence import SentenceView
    from core.interpret.stages import Matrix
    from core.models.trace import Intervention
    from core.runs.load import LoadedRun


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
    loaded, edits, change = _changed(run, text, store, edit, intervene)
    return loaded.inspect(text, change, unmixed=edits.unmixed)


def _changed(
    run: str, text: str, store: RunStore | None, edit: str, intervene: Intervention | None
) -> tuple[LoadedRun, Edits, Intervention | None]:
    """A run, what is changed in it when it reads a text, and the same as the model takes it."""
    from core.runs.load import load_run

    loaded = load_run(store or RunStore(), run)
    edits = loaded.edits(text, edit)
    if intervene is not None and edits.inside:
        raise InputError("edit and intervene: one of them says what is changed inside")
    return loaded, edits, intervene or edits.intervention()


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

    loaded, edits, change = _changed(run, text, store, edit, intervene)
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


def explain(
    run: str,
    text: str,
    *,
    method: str = "deletion",
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """What each word of a text does to the log-odds of a class.

    Without a word means: its characters cut, the doubled space closed, the text read anew. Log-odds are
    log p - log of the sum of the others, of several labels log p - log(1 - p).

    Args:
        run: its name.
        text: any.
        method: `deletion` (log-odds with the word minus without it) and `shapley` for every run, `gradient` (times
            input) and `integrated` where a model reads vectors of words, `attention` (how much the word is read in the
            last layer) and `collapse` (in the first) where it has attention.
        target: a class; empty: the one with the highest probability.
        edit: what is changed inside, as in `sentence`: all that is said is then of the model that is changed so, also
            where it reads what is left of the text. A change at a token follows the token, and goes with it.
        intervene: the same as an `Intervention`.
        store: where runs live.

    Returns:
        `run`, `text`, `edit`, `method`, `target`, `prediction`, `log_odds`; `words`: `word`, `start`, `end` (in the
        text as typed), `push`, by `shapley` also its standard `error`; `completeness` (None but for `integrated` and
        `shapley`): `reference`, `at_reference`, `error`, `steps`; `agreement`: Spearman's rho with `deletion` and
        `attention`, None where there is none; `note`.

    Raises:
        InputError: no such run, method or class, or a method for another kind of model; says which there are. Of
            `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = _changed(run, text, store, edit, intervene)
    found = loaded.explain(text, method, target, change, unmixed=edits.unmixed)
    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        "method": method,
        **_whole(loaded, found),
        "words": [
            {key: value for key, value in dataclasses.asdict(word).items() if value is not None} for word in found.words
        ],
        "completeness": None if found.completeness is None else dataclasses.asdict(found.completeness),
        "agreement": found.agreement,
        "note": found.note,
    }


def _whole(loaded: LoadedRun, found: Explanation) -> dict[str, Any]:
    """What the text comes to with all its words."""
    said = answer(loaded.record, found.probabilities)
    return {"target": found.target, "prediction": said, "log_odds": found.log_odds}


def methods(
    run: str,
    text: str,
    *,
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
    on_progress: OnProgress | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """What each word of a text does to the log-odds of a class by every method, and how far each two agree.

    Args:
        run: its name.
        text: any.
        target: a class; empty: the one with the highest probability.
        edit: what is changed inside, as in `explain`.
        intervene: the same as an `Intervention`.
        on_progress: told which method is at work, and how far it is, where that is known.
        store: where runs live.

    Returns:
        `run`, `text`, `edit`, `target`, `prediction`, `log_odds`; `words`: `word`, `start`, `end` (in the text as
        typed) and `pushes` by method; `methods`: by name `completeness` as in `explain`, and by `shapley` the standard
        `errors`; `left_out`: why there is none of the others, by name; `agreement`: `first`, `second` and Spearman's
        `rho` of each pair (of sizes, where one is `attention` or `collapse`; None: fewer than three words, or all
        alike); `most_read` and `most_needed`: the word that receives most attention in the last layer, and the one
        whose deletion moves the log-odds most, None of fewer than two words or without attention; `note`.

    Raises:
        InputError: no such run or class; of `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = _changed(run, text, store, edit, intervene)

    def tell(method: str, share: float | None) -> None:
        if on_progress is not None and method:
            on_progress(method, share)

    *_, found = loaded.watched(tell).side_by_side(text, target, change, unmixed=edits.unmixed)
    by, first = found.by, found.by["deletion"]
    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        **_whole(loaded, first),
        "words": [
            {**_place(word), "pushes": {name: each.words[place].push for name, each in by.items()}}
            for place, word in enumerate(first.words)
        ],
        "methods": {name: _checked(each) for name, each in by.items()},
        "left_out": found.left_out,
        "agreement": [{"first": a, "second": b, "rho": rho} for (a, b), rho in found.agreement.items()],
        "most_read": found.most and _place(first.words[found.most.read]),
        "most_needed": found.most and _place(first.words[found.most.needed]),
        "note": found.note,
    }


def _place(word: Word) -> dict[str, Any]:
    return {"word": word.word, "start": word.start, "end": word.end}


def _checked(found: Explanation) -> dict[str, Any]:
    """What is known of the errors of a method."""
    complete, errors = found.completeness, [word.error for word in found.words if word.error is not None]
    return {
        "completeness": None if complete is None else dataclasses.asdict(complete),
        **({"errors": errors} if errors else {}),
    }


def patch(
    run: str,
    text: str,
    donor: str,
    *,
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """What the log-odds of a class become when a place inside has the values that it has of another text.

    Args:
        run: its name.
        text: any.
        donor: another text of as many tokens, as the model reads them.
        target: a class; empty: the one with the highest probability for the first text.
        edit: what is changed inside for both, as in `explain`.
        intervene: the same as an `Intervention`.
        store: where runs live.

    Returns:
        `run`, `text`, `edit`, `donor`, `target`, `prediction`, `donor_prediction`, `log_odds`, `donor_log_odds`,
        `tokens`, `donor_tokens`; `patches`: `kind` (`layer`: what it gives at every token, `token`: at one, `head`:
        what it says at every token), `layer`, and `token` or `head`, counted from 0; `log_odds` with the values of the
        donor there, and `moved`, less those of the text by itself; `note`.

    Raises:
        InputError: no such run or class, a model without attention, or texts of different numbers of tokens; of
            `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = _changed(run, text, store, edit, intervene)
    found = loaded.patch(text, donor, target, change, unmixed=edits.unmixed)
    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        "donor": donor,
        "target": found.target,
        "prediction": answer(loaded.record, found.probabilities),
        "donor_prediction": answer(loaded.record, found.donor_probabilities),
        "log_odds": found.log_odds,
        "donor_log_odds": found.donor_log_odds,
        "tokens": list(found.tokens),
        "donor_tokens": list(found.donor_tokens),
        "patches": [
            {key: value for key, value in dataclasses.asdict(each).items() if value is not None}
            for each in found.patches
        ],
        "note": found.note,
    }


def parts(
    run: str,
    text: str,
    *,
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """What silencing each part of a model does to the log-odds of a class, one at a time.

    Args:
        run: its name.
        text: any.
        target: a class; empty: the one with the highest probability.
        edit: what is changed inside, as in `explain`: each part is silenced besides.
        intervene: the same as an `Intervention`.
        store: where runs live.

    Returns:
        `run`, `text`, `edit`, `target`, `prediction`, `log_odds`, `tokens`; `parts`: `kind` (`layer`: all heads of it,
        `head`, `component` of all heads, `map`: one component of one head, `gate` of a token, `lexical`), `layer`, and
        `head`, `component`, `token` where it has them, counted from 0; `zero` and `mean`: log-odds with the part minus
        log-odds where it says nothing, or at every token its mean over the tokens; `note`.

    Raises:
        InputError: no such run or class, or a model without attention; of `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = _changed(run, text, store, edit, intervene)
    found = loaded.parts(text, target, change, unmixed=edits.unmixed)
    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        "target": found.target,
        "prediction": answer(loaded.record, found.probabilities),
        "log_odds": found.log_odds,
        "tokens": list(found.tokens),
        "parts": [
            {key: value for key, value in dataclasses.asdict(part).items() if value is not None} for part in found.parts
        ],
        "note": found.note,
    }


def lambdas(
    run: str,
    text: str,
    *,
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """What each λ does to the log-odds of a class, along the values that it may be moved to.

    Args:
        run: its name.
        text: any.
        target: a class; empty: the one with the highest probability.
        edit: what is changed inside, as in `explain`; a curve replaces what it says of the same λ.
        intervene: the same as an `Intervention`.
        store: where runs live.

    Returns:
        `run`, `text`, `edit`, `target`; `prediction` and `log_odds` as trained; `curves`: of each λ `layer` from 0,
        `component` from 1, `learned`, `start` (before training; left out where the run does not know it), and along
        `values`, which hold these and 0, `log_odds` and `probabilities` of the target when all heads and tokens have
        that λ and all else is as trained or as edited; last, without a place, a factor on every λ from 0 to 2; `note`.

    Raises:
        InputError: no such run or class, or a model without λ; of `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = _changed(run, text, store, edit, intervene)
    found = loaded.lambdas(text, target, change, unmixed=edits.unmixed)
    curves = [dataclasses.asdict(each) for each in found.curves]
    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        "target": found.target,
        "prediction": answer(loaded.record, found.probabilities),
        "log_odds": found.log_odds,
        "curves": [{key: each[key] for key in each if key != "now" and each[key] is not None} for each in curves],
        "note": found.note,
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
    loaded, edits, change = _changed(run, text, store, edit, intervene)
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


def flip(
    run: str,
    text: str,
    *,
    target: str = "",
    readings: int | None = None,
    edit: str = "",
    intervene: Intervention | None = None,
    on_progress: OnProgress | None = None,
    stopped: Callable[[], bool] | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """The smallest change of a text that changes its answer, among moves that are told.

    A move deletes a word, as `explain` does, or replaces it by one of at most 8 candidates: words of the opposite sign
    in the lexicon of the run, else VADER's, and neighbours among the model's vectors of words. Allowed are up to two
    moves of any kind, and three deletions. Of the flips of the smallest size it is the one that moves the log-odds of
    the target most.

    Args:
        run: its name.
        text: any.
        target: a class; empty: the one with the highest probability. The answer flips when the target is no longer the
            predicted class, or, if it was not, becomes it; of several labels, when it leaves or joins the labels, at
            the run's own thresholds if it has any.
        readings: texts that are read at most, 1 to 4000, which it is unless given.
        edit: what is changed inside, as in `explain`, but for changes at single tokens.
        intervene: the same as an `Intervention`.
        on_progress: told what is done, and which share of the readings.
        stopped: asked before each 128 readings; True ends the search with what was found.
        store: where runs live.

    Returns:
        `run`, `text`, `edit`, `target`, what `predict` says of the text (`label`, `probabilities` …); `flip`: None, or
        the changed `text`, what `predict` says of it, and `moves`: `kind` (`delete` or `replace`), `word`, `start`,
        `end` (in the text as typed), `with` (None: deleted); `also`: up to 4 more of its size, each of other words, as
        `flip`; `verdict`: `proven` (every smaller set of moves was read, and every one of this size), `smallest found`,
        `none, proven` or `none found`; `readings`; `moves_allowed`; `note`.

    Raises:
        InputError: no such run or class, a number of readings that cannot be, or a change inside at single tokens; of
            `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    from core.interpret.flip import MOST_READINGS

    loaded, edits, change = _changed(run, text, store, edit, intervene)
    most = MOST_READINGS if readings is None else readings
    for found in loaded.flips(text, target, most, stopped or (lambda: False), change, unmixed=edits.unmixed):
        if on_progress is not None:
            on_progress("reading", found.readings / most)
    allowed = found.allowed

    def told(flipped: Flip) -> dict[str, Any]:
        said = answer(loaded.record, flipped.probabilities)
        return {"text": flipped.text, **said, "moves": [_move(each) for each in flipped.moves]}

    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        "target": found.target,
        **answer(loaded.record, found.probabilities),
        "flip": found.flip and told(found.flip),
        "also": [told(each) for each in found.also],
        "verdict": found.verdict,
        "readings": found.readings,
        "moves_allowed": {
            "deletions": allowed.deletions_at_most,
            "replacements": allowed.replacements_at_most,
            "candidates": allowed.candidates_at_most,
            "readings": allowed.readings,
            "words": allowed.words,
            "with": [_move(each) for each in allowed.replacements],
        },
        "note": found.note,
    }


def _move(move: Move) -> dict[str, Any]:
    kind = "delete" if move.instead is None else "replace"
    return {"kind": kind, "word": move.word, "start": move.start, "end": move.end, "with": move.instead}


def distance(
    run: str,
    text: str,
    *,
    against: Sequence[str] = (),
    insert: str = "",
    most: int | None = None,
    target: str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """How far a negation reaches: a sentence with more and more words put between it and what it denies.

    Args:
        run: its name.
        text: a sentence with {} where words are put in, or the name of one of ours
            (`core.interpret.templates.TEMPLATES`). What stands in brackets, "was [not] {} good", is the negation; the
            sentence is read without it too.
        against: other runs, which read the same.
        insert: what is put in, one word at a time, or with | between pieces a piece at a time; empty: phrases without a
            polarity.
        most: pieces at most.
        target: a class that all runs have; empty: the one that says positive, else the last.
        store: where runs live.

    Returns:
        `text`, the template; `insert`; `target`; `steps`: `words` between, `text`, `without` the negation (None where
        none is marked); `curves`: `run`, `probabilities` of the target at each step, `without` (None, or the same
        without the negation), `note`.

    Raises:
        InputError: no such run or class; no place, or several; nothing to put in, or too much.
        RunDamaged: a file of a run is missing or cannot be read.
    """
    from dataclasses import asdict

    from core.behaviour.polarity import followed
    from core.interpret.templates import FILLER, TEMPLATES, steps
    from core.runs.load import load_run

    store, insert = store or RunStore(), insert or FILLER
    asked, classes = steps(text, insert, most), store.read(run).classes
    target = target or followed(classes)
    curves = []
    for name in dict.fromkeys((run, *against)):
        loaded = load_run(store, name)
        if target not in loaded.record.classes:
            raise InputError(f"run '{name}' has no class '{target:.80}'; it has {', '.join(loaded.record.classes)}")
        found = loaded.reach(asked, target)
        bare = None if found.without is None else found.without.tolist()
        curves.append({"run": name, "probabilities": found.probabilities.tolist(), "without": bare, "note": found.note})
    return {
        "run": run,
        "text": TEMPLATES.get(text, text),
        "insert": insert,
        "target": target,
        "steps": [asdict(step) for step in asked],
        "curves": curves,
    }


def figures(
    run: str,
    folder: Path,
    *,
    against: Sequence[str] = (),
    split: str = "",
    only: Sequence[str] = (),
    text: str = "",
    theme: str = "light",
    options: Mapping[str, str | float] | None = None,
    csv: bool = False,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Write the figures of a run as HTML files that open without a network; arguments as `dashboard.export.figures`.

    Returns:
        `run`, `split`, `theme`; `files`: `name`, `title`, `file` of each; `left_out`: name → why there is none.

    Raises:
        InputError: no such run, split, figure, option or theme, a figure that this run does not have, or a bad folder.
        NotAvailable: the installation knows no dashboard.
    """
    draw = of_the_dashboard("figures")
    given: dict[str, Any] = {"against": against, "split": split, "text": text, "theme": theme, "options": options}
    return draw(run, folder, only=only, csv=csv, store=store, **given)


def figure(
    run: str,
    name: str,
    *,
    against: Sequence[str] = (),
    split: str = "",
    text: str = "",
    theme: str = "light",
    options: Mapping[str, str | float] | None = None,
    store: RunStore | None = None,
) -> Any:
    """One of these figures, to show, change and save; arguments and errors as `figures`.

    Returns:
        A chart as a Plotly object, a table with a pandas frame as its `rows`, or a component with the `data` it draws.
    """
    draw = of_the_dashboard("figure")
    return draw(run, name, against=against, split=split, text=text, theme=theme, options=options, store=store)
