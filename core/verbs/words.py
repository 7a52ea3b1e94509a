"""What the words of a text do to its answer, and which of them would change it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from core.exceptions import InputError
from core.runs.store import RunStore
from core.verbs.edited import changed
from core.verbs.prediction import OnProgress, answer

if TYPE_CHECKING:
    from core.interpret.explain import Explanation, Word
    from core.interpret.flip import Flip, Move
    from core.interpret.rank_test import RankTest
    from core.models.trace import Intervention
    from core.runs.load import LoadedRun


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
        `attention`, None where there is none; `verdicts`: by the same names what a permutation test says of it (`p`,
        two-sided; `verdict`: agree, disagree or inconclusive; both None below eight words; `sentence`); `note`.

    Raises:
        InputError: no such run, method or class, or a method for another kind of model; says which there are. Of
            `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = changed(run, text, store, edit, intervene)
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
        "verdicts": {name: _tested(test, name, method) for name, test in found.tests.items()},
        "note": found.note,
    }


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
        alike), with `p`, `verdict` and `sentence` as in `explain`; `most_read` and `most_needed`: the word that
        receives most attention in the last layer, and the one whose deletion moves the log-odds most, None of fewer
        than two words or without attention; `note`.

    Raises:
        InputError: no such run or class; of `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = changed(run, text, store, edit, intervene)

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
        "agreement": [
            {"first": a, "second": b, "rho": test.rho, **_tested(test, a, b)} for (a, b), test in found.tests.items()
        ],
        "most_read": found.most and _place(first.words[found.most.read]),
        "most_needed": found.most and _place(first.words[found.most.needed]),
        "note": found.note,
    }


def _tested(test: RankTest, first: str, second: str) -> dict[str, Any]:
    """Return the p-value and verdict of two methods, and both in a sentence."""
    return {"p": test.p, "verdict": test.verdict, "sentence": test.describe(first, second)}


def _whole(loaded: LoadedRun, found: Explanation) -> dict[str, Any]:
    """What the text comes to with all its words."""
    said = answer(loaded.record, found.probabilities)
    return {"target": found.target, "prediction": said, "log_odds": found.log_odds}


def _place(word: Word) -> dict[str, Any]:
    return {"word": word.word, "start": word.start, "end": word.end}


def _checked(found: Explanation) -> dict[str, Any]:
    """What is known of the errors of a method."""
    complete, errors = found.completeness, [word.error for word in found.words if word.error is not None]
    return {
        "completeness": None if complete is None else dataclasses.asdict(complete),
        **({"errors": errors} if errors else {}),
    }


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

    loaded, edits, change = changed(run, text, store, edit, intervene)
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
