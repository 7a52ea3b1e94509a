"""Counterfactuals: the words that would change a prediction, and the reach of a negation."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from rich.text import Text

from core import behavioral_tests, interpret, runs
from core.api import options
from core.api.inspection import describe_text, open_text
from core.api.options import Against, Change, CliArgument, Edit, OnProgress, PairText, RunName, Stopped, Store, Target
from core.api.printing import escape_controls, out, say, say_edit, tabulate
from core.data.findings import plural
from core.exceptions import InputError
from core.interpret.negation_templates import TEMPLATES
from core.runs.store import RunStore
from core.runs.text_predictions import build_answer, format_answer
from core.table_format import format_decimals

TEMPLATE = (
    "A sentence with {} where words are put in and its negation in brackets, e.g. 'The film was [not] {} good.'; or "
    f"one of: {', '.join(TEMPLATES)}."
)
VERDICTS = {
    "proven": "proven: no smaller set of moves changes the answer, and no other of this size moves it more",
    "smallest found": "smallest found: not every set of moves of this size or below was read",
    "none, proven": "proven: none of the moves changes the answer",
    "none found": "none found: not every set of moves was read",
}


def flip(
    run: RunName,
    text: PairText,
    *,
    target: Target = "",
    readings: int | None = None,
    edit: Edit = "",
    intervene: Change = None,
    on_progress: OnProgress = None,
    stopped: Stopped = None,
    store: Store = None,
) -> dict[str, Any]:
    """Find the fewest words to delete or replace until the prediction changes. Ctrl-C stops and shows results so far.

    A word is replaced by one of at most 8 candidates: words of the opposite sign in the lexicon of the run, else
    VADER's, and neighbours among the model's word vectors. Up to two moves of any kind are allowed, and three
    deletions. The flip that changes the log-odds of the target most comes first.

    Args:
        target: The class that the answer leaves or becomes; default: the most probable one.
        readings: Texts that are read at most; default: 4000.

    Returns:
        `run`, `text`, `edit`, `target`, and the fields of `predict` for the text (`label`, `probabilities` …); `flip`:
        None, or the changed `text`, its fields of `predict`, and `moves`: `kind` (`delete` or `replace`), `word`,
        `start`, `end` (in the typed text), `with` (None: deleted); `also`: up to 4 further flips of the same size with
        other words; `verdict`: `proven` (all smaller sets of moves and all of this size were checked), `smallest
        found`, `none, proven` or `none found`; `readings`; `moves_allowed`; `note`.
    """
    loaded, edits, reader = open_text(run, text, store, edit, intervene)
    most = interpret.counterfactual.MOST_READINGS if readings is None else readings
    stop = stopped or (lambda: False)
    for found in interpret.counterfactual.search_flip(reader, text, target, most, stop):
        if on_progress is not None:
            on_progress("reading", found.readings / most)
    allowed, record = found.allowed, loaded.record

    def describe_flip(flipped: interpret.counterfactual.Flip) -> dict[str, Any]:
        """Return a counterfactual text with its prediction and its deleted or replaced words."""
        said = build_answer(record, flipped.probabilities)
        return {"text": flipped.text, **said, "moves": list(map(_describe_move, flipped.moves))}

    return {
        **describe_text(run, text, edits),
        "target": found.target,
        **build_answer(loaded.record, found.probabilities),
        "flip": found.flip and describe_flip(found.flip),
        "also": list(map(describe_flip, found.also)),
        "verdict": found.verdict,
        "readings": found.readings,
        "moves_allowed": {
            "deletions": allowed.deletions_at_most,
            "replacements": allowed.replacements_at_most,
            "candidates": allowed.candidates_at_most,
            "readings": allowed.readings,
            "words": allowed.words,
            "with": [_describe_move(each) for each in allowed.replacements],
        },
        "note": found.note,
    }


def _describe_move(move: interpret.counterfactual.Move) -> dict[str, Any]:
    kind = "delete" if move.instead is None else "replace"
    return {"kind": kind, "word": move.word, "start": move.start, "end": move.end, "with": move.instead}


def distance(
    run: RunName,
    text: Annotated[str, CliArgument(TEMPLATE)],
    *,
    against: Against = (),
    insert: Annotated[str, CliArgument(metavar="WORDS")] = "",
    most: int | None = None,
    target: Target = "",
    store: Store = None,
) -> dict[str, Any]:
    """Measure how far a negation reaches: the prediction with more and more words between it and the negated word.

    Args:
        against: Another run for the same text; repeat for more.
        insert: Pieces to insert, one option each or separated by |; default: neutral phrases.
        most: The maximum number of inserted pieces; default: all.
        target: The class whose probability is shown; default: the positive one, else the last.

    Returns:
        `text`, the template; `insert`; `target`; `steps`: `words` inserted, `text`, `without` the negation (None if
        none is marked); `curves`: `run`, `probabilities` of the target at each step, `without` (None, or the same
        without the negation), `note`.
    """
    store, insert = store or RunStore(), insert or interpret.negation_templates.FILLER
    asked = interpret.negation_templates.fill_template(text, insert, most)
    target = target or behavioral_tests.suite_predictions.choose_plotted_class(store.read(run).classes)
    curves = []
    for name in dict.fromkeys((run, *options.get_names(against))):
        loaded = runs.load.load_run(store, name)
        if target not in loaded.record.classes:
            raise InputError(f"run '{name}' has no class '{target:.80}'; it has {', '.join(loaded.record.classes)}")
        found = interpret.negation_templates.predict_template(loaded.make_reader(), asked, target)
        bare = None if found.without is None else found.without.tolist()
        curves.append({"run": name, "probabilities": found.probabilities.tolist(), "without": bare, "note": found.note})
    return {
        "run": run,
        "text": TEMPLATES.get(text, text),
        "insert": insert,
        "target": target,
        "steps": [dataclasses.asdict(step) for step in asked],
        "curves": curves,
    }


def print_flip(result: dict[str, Any]) -> None:
    """Print each counterfactual text with its prediction."""
    say_edit(result)
    say(format_answer(result))
    for flipped in [result["flip"], *result["also"]] if result["flip"] else []:
        out.print(_mark_changes(result["text"], flipped["moves"]), soft_wrap=True)
        say(format_answer(flipped))
    say(VERDICTS[result["verdict"]])
    allowed, words = result["moves_allowed"], plural(result["moves_allowed"]["words"], "word")
    say(
        f"moves: of {words} up to {allowed['deletions']} deleted, or up to {allowed['replacements']} deleted or "
        f"replaced, {plural(len(allowed['with']), 'replacement')} in all; {plural(result['readings'], 'text')} read"
    )


def _mark_changes(text: str, moves: list[dict[str, Any]]) -> Text:
    """Return a typed text with each deleted word marked as [-word-] and each replacement as {+word+}."""
    shown, at = Text(), 0
    for move in moves:
        shown.append(escape_controls(text[at : move["start"]])).append(escape_controls(f"[-{move['word']}-]"), "strike")
        if move["with"] is not None:
            shown.append(escape_controls(f"{{+{move['with']}+}}"), "bold")
        at = move["end"]
    return shown.append(escape_controls(text[at:]))


def print_distance(result: dict[str, Any]) -> None:
    """Print the predicted probability at each number of words between a negation and the negated word."""
    bare = result["steps"][0]["without"] is not None
    for curve in result["curves"]:
        if curve["note"]:
            say(f"{curve['run']}: {curve['note']}")
    say(result["text"])
    say(f"P({result['target']}) by words between" + (", then without the negation" if bare else ""))
    rows = [{"words": step["words"]} for step in result["steps"]]
    for curve in result["curves"]:
        both = [each for each in (curve["probabilities"], curve["without"]) if each]
        for row, chances in zip(rows, zip(*both, strict=True), strict=True):
            row[curve["run"]] = "  ".join(map(format_decimals, chances))
    tabulate(rows, ("words", *(curve["run"] for curve in result["curves"])), whole="words")
