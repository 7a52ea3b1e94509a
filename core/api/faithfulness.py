"""Faithfulness of a run's explanations, and agreement between attribution methods."""

from __future__ import annotations

import dataclasses
from typing import Any

from core import evaluation, interpret, runs
from core.api.options import OnProgress, RunName, Split, Store, Target
from core.api.printing import say, tabulate, write_rho
from core.api.runs import runs_predictions
from core.data.findings import plural
from core.exceptions import InputError, NotAvailable
from core.formatting import MINUS, count, percent, whole_percent
from core.models.capabilities import list_capabilities
from core.runs import faithfulness_files
from core.runs.store import RunStore

SEED = 0
NOT_JUDGED = "not judged"  # outcome of a test that does not count for a method's verdict


def agreement(
    run: RunName,
    *,
    split: Split = "",
    wrong: bool = False,
    limit: int = 200,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Count how often the most attended word matters most when deleted; correlate attribution methods with deletion.

    Most attended: the word that receives most attention in the last layer, by size, mean over heads and queries. Most
    needed: the word whose deletion changes the log-odds of the predicted class most. If several differ only by
    rounding, the first counts. Texts of fewer than two words are left out; of longer texts 300 words are compared.

    Args:
        wrong: Only texts that the run gets wrong.
        limit: The number of texts, drawn at random with seed 0; 0: all.

    Returns:
        `run`, `split`, `wrong`, `found` (number of rows), `drawn`, `seed`; `methods`, for `attention`, `collapse`,
        `gradient` and `integrated` if the model supports them: `method`, `texts`, `same` (number of texts in which the
        method's top word is the most needed one), `chance` (the share for a random word: the mean of 1 / words), `rho`
        (mean Spearman correlation with deletion, or None), `ranked` (texts with at least three words whose values are
        not all equal).
    """
    store = store or RunStore()
    if limit < 0:
        raise InputError(f"--limit {limit}: a number of texts, or 0 for all")
    split = runs.predictions.choose_split(store, run, split)
    table = runs_predictions(run, split, store)
    if why := runs.predictions.explain_lacking_texts(store.get_path(run), store.read(run)):
        raise NotAvailable(f"run '{run}': {why}")
    loaded = runs.load.load_run(store, run)
    if not set(interpret.attribution.list_methods(loaded.model.provides)) - {"deletion", "shapley"}:
        raise InputError(f"run '{run}' can be explained by deletion and shapley alone: there is nothing to compare")
    texts = table.loc[table["label"] != table["predicted"]] if wrong else table
    found = texts["text"].tolist()
    if not found:
        raise InputError(f"run '{run}' has no {'wrong ' if wrong else ''}text in split '{split}'")
    chosen = evaluation.nearest_neighbors.draw_rows(len(found), limit or len(found), SEED)
    drawn = [found[place] for place in chosen]
    tell = on_progress or (lambda what, share: None)
    told = interpret.attribution.compare_with_deletion(loaded.make_reader(), drawn, tell)
    return {
        "run": run,
        "split": split,
        "wrong": wrong,
        "found": len(found),
        "drawn": len(drawn),
        "seed": SEED,
        "methods": [dataclasses.asdict(each) for each in told],
    }


def believe(
    run: RunName,
    text: str | None = None,
    *,
    method: str = "",
    target: Target = "",
    limit: int = faithfulness_files.LIMIT,
    on_progress: OnProgress = None,
    store: Store = None,
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


def _test_run(store: RunStore, run: str, method: str, limit: int, on_progress: OnProgress | None) -> dict[str, Any]:
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
    known, outcomes = dataclasses.asdict(found), dict(said.outcomes)
    outcomes.pop("answers", None)
    tests = {name: {**each, "outcome": outcomes.get(name, NOT_JUDGED)} for name, each in known["tests"].items()}
    tests |= {name: {"outcome": each} for name, each in outcomes.items() if name not in tests}
    curves = {name: {side: list(each) for side, each in curve.items()} for name, curve in known["curves"].items()}
    rest = {name: known[name] for name in ("areas", "control")}
    about = {"method": found.method, "verdict": said.verdict, "tests": tests}
    return {**about, **rest, "curves": curves, "agreement": known["agreement"]}


def print_agreement(result: dict[str, Any]) -> None:
    """Print a row for each attribution method: how far it agrees with deletion."""
    kind = "wrong text" if result["wrong"] else "text"
    of = f" of {count(result['found'])}" * (result["drawn"] < result["found"])
    say(f"{result['run']}, {result['split']}: {plural(result['drawn'], kind)}{of}; each method against deletion")
    columns: dict[str, Any] = {
        "method": "method",
        "same word first": lambda each: f"{count(each['same'])} of {count(each['texts'])}",
        "": lambda each: whole_percent(each["same"] / each["texts"]) if each["texts"] else "",
        "by chance": lambda each: "–" if each["chance"] is None else percent(each["chance"]),
        "mean ρ": lambda each: write_rho(each["rho"]),
        "over": lambda each: count(each["ranked"]),
    }
    tabulate(result["methods"], columns)


def print_believe(result: dict[str, Any]) -> None:
    """Print how faithful a run's explanations are, by several tests, for the whole run or for one text."""
    if "text" in result:
        _print_sentence(result)
        return
    drawn = f"{plural(result['sentences'], 'sentence')} of {result['split']}, seed {result['seed']}"
    was = "" if result["computed"] else " (was there)"
    say(f"{result['run']}, {drawn}{was}; 95 % intervals over the sentences")
    for number, what in (
        (result["left_out"], "too short and left out"),
        (result["cut"], "long and cut at 60 words or where the model stops reading"),
    ):
        if number:
            say(f"{plural(number, 'sentence')} {what}")
    say(f"right answers beyond chance (kappa): {_format_interval(result['answers'])}, {result['answers']['outcome']}")
    names = [name for name in result["thresholds"] if name != "answers"]
    rows = [
        {"method": each["method"], "verdict": each["verdict"]}
        | {name: _format_test(each["tests"][name]) if name in each["tests"] else "not asked" for name in names}
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
    """Format a number with two decimal places."""
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
