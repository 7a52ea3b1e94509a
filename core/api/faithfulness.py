"""Faithfulness of explanations, counterfactual texts, and the reach of a negation."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from rich.text import Text

from core import behavioral_tests, interpret, runs
from core.api import options
from core.api.prediction import describe_text, open_text
from core.api.printing import escape_controls, out, say, say_edit, tabulate
from core.exceptions import InputError
from core.formatting import MINUS, count, format_decimals, plural
from core.interpret.negation_templates import TEMPLATES
from core.models.capabilities import list_capabilities
from core.runs import faithfulness_files
from core.runs.store import RunStore
from core.runs.text_predictions import build_answer, format_answer


def believe(
    run: options.RunName,
    text: str | None = None,
    *,
    method: str = "",
    target: options.Target = "",
    limit: int = faithfulness_files.LIMIT,
    on_progress: options.OnProgress = None,
    store: options.Store = None,
) -> dict[str, Any]:
    """Test whether explanations are faithful: insert, delete and rephrase words, and randomise the weights.

    Thresholds turn the tests into `evidence` (all passed), `neither` (one failed) or `illustration`. Deletion is judged
    by deleting two words at once, all other methods by deleting words. The result is stored with the run; Ctrl-C stops
    without a result.

    Args:
        text: Test one text instead, without intervals or verdict.
        method: deletion, shapley, gradient, integrated, attention or collapse; default: all that the model has.
        target: The class for one text; default: the one with the highest probability.
        limit: The number of validation sentences, a stratified sample with seed 0; 1 to 2000.

    Returns:
        `run`, `split`, `limit`, `seed`, `computed`, `file`, `sentences`, `left_out` (fewer than three words), `cut`
        (more than sixty words, or more than the model reads); `answers` (kappa): `value`, `low`, `high`, `n`,
        `outcome`; `methods`: `method`, `verdict`, `tests` (name → the same five fields), `areas`, `control`, `curves`
        (mean probability of the predicted class at eleven shares of the words), `agreement`; `thresholds`; `meaning` of
        *evidence*. For one text: `run`, `text`, `methods`: `method`, `target`, `words`, `tests`, `edits`,
        `completeness` (the error of integrated gradients); `note`.
    """
    if target and text is None:
        raise InputError("--target needs a text: give one, or leave --target out")
    store = store or RunStore()
    has = list_capabilities(store.read(run).config.model)
    if method:
        interpret.attribution.check_method(method, has)
    if text is not None:
        asked = (method,) if method else tuple(interpret.attribution.list_methods(has))
        return _test_sentence(store, run, text, asked, target)
    return _test_run(store, run, method, limit, on_progress)


def _test_sentence(store: RunStore, run: str, text: str, methods: tuple[str, ...], target: str) -> dict[str, Any]:
    from core.text.word_spans import find_word_spans

    most, words = interpret.faithfulness.MOST, len(find_word_spans(text))
    reader = runs.load.load_run(store, run).make_reader()
    notes = reader.write_notes(text, reader.tokenizer.encode(text))
    if words > most:
        notes.append(f"Tested are the first {most} of {count(words)} words.")
    found = [interpret.faithfulness.measure_sentence(reader, text, each, target) for each in methods]
    return {
        "run": run,
        "text": text,
        "methods": [{**dataclasses.asdict(each), "edits": list(each.edits)} for each in found],
        "note": " ".join(notes),
    }


def _test_run(
    store: RunStore, run: str, method: str, limit: int, on_progress: options.OnProgress | None
) -> dict[str, Any]:
    here, verdict = faithfulness_files.BeliefFiles.from_run(store, run, method, limit), interpret.faithfulness_verdict
    found, there = here.read_or_compute(on_progress)
    said = {
        one.method: verdict.judge_method(one.method, {**one.tests, "answers": found.answers}) for one in found.methods
    }
    right = verdict.decide_outcome(verdict.THRESHOLDS["answers"], found.answers)
    return {
        "run": run,
        "split": faithfulness_files.VALIDATION,
        "limit": limit,
        "seed": faithfulness_files.SEED,
        "computed": not there,
        "file": str(here.get_path("json")),
        "sentences": found.sentences,
        "left_out": found.left_out,
        "cut": found.cut,
        "answers": {**dataclasses.asdict(found.answers), "outcome": right},
        "methods": [_describe_method(each, said[each.method]) for each in found.methods],
        "thresholds": {name: dataclasses.asdict(each) for name, each in verdict.THRESHOLDS.items()},
        "meaning": verdict.MEANING,
    }


def _describe_method(
    found: interpret.faithfulness_verdict.MethodMeasurements, said: interpret.faithfulness_verdict.Verdict
) -> dict[str, Any]:
    known = dataclasses.asdict(found)
    outcomes = {name: each for name, each in said.outcomes.items() if name != "answers"}
    tests = {name: {**each, "outcome": outcomes.get(name, "not judged")} for name, each in known["tests"].items()}
    tests |= {name: {"outcome": each} for name, each in outcomes.items() if name not in tests}
    curves = {name: {side: list(each) for side, each in curve.items()} for name, curve in known["curves"].items()}
    about = {"method": found.method, "verdict": said.verdict, "tests": tests}
    return {**about, **{name: known[name] for name in ("areas", "control", "agreement")}, "curves": curves}


def print_believe(result: dict[str, Any]) -> None:
    """Print how faithful a run's explanations are, by several tests, for the whole run or for one text."""
    if "text" in result:
        _print_sentence(result)
        return
    drawn = f"{plural(result['sentences'], 'sentence')} of {result['split']}, seed {result['seed']}"
    was = "" if result["computed"] else " (was there)"
    say(f"{result['run']}, {drawn}{was}; 95 % intervals over the sentences")
    if result["left_out"]:
        say(f"{plural(result['left_out'], 'sentence')} too short and left out")
    if result["cut"]:
        say(f"{plural(result['cut'], 'sentence')} long and cut at 60 words or where the model stops reading")
    say(f"right answers beyond chance (kappa): {_format_interval(result['answers'])}, {result['answers']['outcome']}")
    names = [name for name in result["thresholds"] if name != "answers"]
    rows = [
        {"method": each["method"], "verdict": each["verdict"]}
        | {name: _format_test(each["tests"].get(name, {"outcome": "not asked"})) for name in names}
        for each in result["methods"]
    ]
    tabulate(rows, ("method", "verdict", *names), "method")
    for each in result["methods"]:
        if each["agreement"]:
            rhos = ", ".join(f"{name} {_format_number(rho['value'])}" for name, rho in each["agreement"].items())
            say(f"{each['method']}, mean rank correlation: {rhos}")
    for name, each in result["thresholds"].items():
        side = "at most" if each["small"] else "at least"
        failed = "" if each["neither"] is None else f", failed beyond {each['neither']}"
        say(f"{name}: {each['asks']}; passed: {side} {each['evidence']}{failed}")
    say(result["meaning"])


def _format_test(test: dict[str, Any]) -> str:
    return f"{_format_interval(test)} {test['outcome']}" if "value" in test else test["outcome"]


def _format_number(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)


def _format_interval(number: dict[str, Any]) -> str:
    return f"{_format_number(number['value'])} [{_format_number(number['low'])}, {_format_number(number['high'])}]"


def _print_sentence(result: dict[str, Any]) -> None:
    first, *_ = result["methods"]
    if result["note"]:
        say(result["note"])
    edits = ", ".join(sorted({edit for each in result["methods"] for edit in each["edits"]}))
    say(f"{plural(first['words'], 'word')}, pushed towards {first['target']}; it says nothing of other sentences")
    say(f"said otherwise by: {edits or 'nothing that the model reads differently'}")
    tests = ("insertion", "deletion", "pairs", "stability")
    rows = [
        {"method": each["method"]}
        | {name: "" if each["tests"][name] is None else _format_number(each["tests"][name]) for name in tests}
        for each in result["methods"]
    ]
    tabulate(rows, ("method", *tests), "method")


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
    run: options.RunName,
    text: options.PairText,
    *,
    target: options.Target = "",
    readings: int | None = None,
    edit: options.Edit = "",
    intervene: options.Change = None,
    on_progress: options.OnProgress = None,
    stopped: options.Stopped = None,
    store: options.Store = None,
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
    run: options.RunName,
    text: Annotated[str, options.CliArgument(TEMPLATE)],
    *,
    against: options.Against = (),
    insert: Annotated[str, options.CliArgument(metavar="WORDS")] = "",
    most: int | None = None,
    target: options.Target = "",
    store: options.Store = None,
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
    target = target or behavioral_tests.suite.choose_plotted_class(store.read(run).classes)
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
    """Mark each deleted word of a text as [-word-] and each replacement as {+word+}."""
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
