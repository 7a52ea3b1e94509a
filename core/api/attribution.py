"""The effect of each word of a text on its prediction, by every attribution method."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from core import interpret
from core.api import ablation
from core.api.ablation import describe_answer, draw_bars, print_lambdas, print_log_odds, print_parts
from core.api.inspection import collect_fields, describe_text, open_text
from core.api.options import Change, CliArgument, Edit, OnProgress, PairText, RunName, Store, Target
from core.api.printing import say, tabulate, write_rho
from core.data.findings import plural
from core.exceptions import InputError
from core.formatting import count, format_decimals, signed


def explain(  # noqa: PLR0913 - each is an option that a person types by name
    run: RunName,
    text: PairText,
    *,
    method: str = "",
    target: Target = "",
    parts: bool = False,
    lambdas: bool = False,
    side_by_side: Annotated[bool, CliArgument(name="--methods")] = False,
    edit: Edit = "",
    intervene: Change = None,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Compute what each word of a text, each model part or each map weight λ does to the log-odds of a class.

    Args:
        method: deletion (default: log-odds with the word minus without it), shapley, gradient, integrated,
            attention (how much it is read in the last layer) or collapse (in the first).
        parts: Explain layers, heads, components, gates and lexical terms instead of words.
        lambdas: Explain each λ over its range, and a factor on all λ, instead of words.
        side_by_side: Show every method side by side, and how far the methods agree.

    Returns:
        `run`, `text`, `edit`, `method`, `target`, `prediction`, `log_odds`; `words`: `word`, `start`, `end` (in the
        typed text), `push`, for `shapley` also its standard `error`; `completeness` (only for `integrated` and
        `shapley`, else None): `reference`, `at_reference`, `error`, `steps`; `agreement`: Spearman's rho with
        `deletion` and `attention`, or None; `verdicts`, by the same names: the result of a permutation test (`p`,
        two-sided; `verdict`: agree, disagree or inconclusive; both None below eight words; `sentence`); `note`. With
        `parts`, `lambdas` or `side_by_side`, the result of `parts`, `lambdas` or `methods`. Log-odds are log p - log of
        the sum of the other probabilities; with several labels per text log p - log(1 - p).
    """
    asked = {"parts": parts, "lambdas": lambdas, "methods": side_by_side}
    others = [name for name, given in asked.items() if given]
    if len(others) > 1:
        raise InputError(f"{' and '.join(f'--{name}' for name in others)}: one of them")
    if method and others:
        raise InputError(f"--method: leave it out, or leave --{others[0]} out")
    about: dict[str, Any] = {"target": target, "edit": edit, "intervene": intervene, "store": store}
    if side_by_side:
        return methods(run, text, on_progress=on_progress, **about)
    if others:
        return (ablation.parts if parts else ablation.lambdas)(run, text, **about)
    method = method or "deletion"
    loaded, edits, reader = open_text(run, text, store, edit, intervene)
    found = interpret.attribution.explain_text(reader, text, method, target)
    return {
        **describe_text(run, text, edits),
        "method": method,
        **describe_answer(loaded, found),
        "words": list(map(collect_fields, found.words)),
        "completeness": None if found.completeness is None else dataclasses.asdict(found.completeness),
        "agreement": found.agreement,
        "verdicts": {name: _describe_test(test, name, method) for name, test in found.tests.items()},
        "note": found.note,
    }


def methods(
    run: RunName,
    text: PairText,
    *,
    target: Target = "",
    edit: Edit = "",
    intervene: Change = None,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Compute what each word of a text does to the log-odds of a class by every method, and how far methods agree.

    Returns:
        `run`, `text`, `edit`, `target`, `prediction`, `log_odds`; `words`: `word`, `start`, `end` (in the typed text)
        and `pushes` by method; `methods`: name → `completeness` as in `explain`, and for `shapley` the standard
        `errors`; `left_out`: name of a missing method → reason; `agreement`, for each pair: `first`, `second`,
        Spearman's `rho` (of absolute values if one is `attention` or `collapse`; None: fewer than three words, or equal
        values), and `p`, `verdict` and `sentence` as in `explain`; `most_read` and `most_needed`: the word with most
        attention in the last layer, and the word whose deletion changes the log-odds most (None: fewer than two words,
        or no attention); `note`.
    """
    loaded, edits, reader = open_text(run, text, store, edit, intervene)

    def tell_method(method: str, share: float | None) -> None:
        """Report the progress of an attribution method to the caller; an empty method name is not reported."""
        if on_progress is not None and method:
            on_progress(method, share)

    told = loaded.copy_with_progress(tell_method).make_reader(reader.intervene, unmixed=edits.unmixed)
    *_, found = interpret.attribution.explain_by_methods(told, text, target)
    by, first = found.by, found.by["deletion"]
    return {
        **describe_text(run, text, edits),
        **describe_answer(loaded, first),
        "words": [
            {**_describe_word(word), "pushes": {name: each.words[place].push for name, each in by.items()}}
            for place, word in enumerate(first.words)
        ],
        "methods": {name: _describe_errors(each) for name, each in by.items()},
        "left_out": found.left_out,
        "agreement": [
            {"first": a, "second": b, "rho": test.rho, **_describe_test(test, a, b)}
            for (a, b), test in found.tests.items()
        ],
        "most_read": found.most and _describe_word(first.words[found.most.read]),
        "most_needed": found.most and _describe_word(first.words[found.most.needed]),
        "note": found.note,
    }


def _describe_test(test: interpret.attribution_math.RankTest, first: str, second: str) -> dict[str, Any]:
    """Return the p-value and verdict on whether two attribution methods rank words alike, and both as a sentence."""
    return {"p": test.p, "verdict": test.verdict, "sentence": test.describe(first, second)}


def _describe_word(word: interpret.attribution.WordAttribution) -> dict[str, Any]:
    return {"word": word.word, "start": word.start, "end": word.end}


def _describe_errors(found: interpret.attribution.Explanation) -> dict[str, Any]:
    """Return whether a method's word attributions add up to the log-odds, and the attributions' standard errors."""
    complete, errors = found.completeness, [word.error for word in found.words if word.error is not None]
    whole = None if complete is None else dataclasses.asdict(complete)
    return {"completeness": whole, **({"errors": errors} if errors else {})}


def print_explain(result: dict[str, Any]) -> None:
    """Print the effects of words, model parts or map weights λ on the log-odds of a class."""
    if "methods" in result:
        _print_methods(result)
    elif "parts" in result:
        print_parts(result)
    elif "curves" in result:
        print_lambdas(result)
    else:
        _print_effects(result)


def _print_effects(result: dict[str, Any]) -> None:
    print_log_odds(result)
    words = result["words"]
    bars = draw_bars([each["push"] for each in words])
    rows = [
        {"word": each["word"], "push": signed(each["push"], 3)}
        | ({"±": each["error"]} if "error" in each else {})
        | {"": bar}
        for each, bar in zip(words, bars, strict=True)
    ]
    tabulate(rows)
    if whole := result["completeness"]:
        say(f"pushes add up from {_format_completeness(whole)}")
    for each in result["verdicts"].values():
        say(each["sentence"])


def _format_completeness(whole: dict[str, Any]) -> str:
    said = f"{signed(whole['at_reference'])} of {whole['reference']}"
    return f"{said}; error {signed(whole['error'], 3)} after {count(whole['steps'])} steps"


def _print_methods(result: dict[str, Any]) -> None:
    print_log_odds(result)
    names, words = list(result["methods"]), result["words"]
    pushes = [
        {"word": each["word"]} | {name: _format_effect(name, each["pushes"][name]) for name in names} for each in words
    ]
    tabulate(pushes, ("word", *names))
    for name, checked in result["methods"].items():
        if whole := checked["completeness"]:
            say(f"{name}: pushes add up from {_format_completeness(whole)}")
    for name, reason in result["left_out"].items():
        say(f"without {name}: {reason}")
    say(f"agreement of ranks, ρ ({plural(len(words), 'word')})")
    rho = {frozenset((each["first"], each["second"])): each["rho"] for each in result["agreement"]}
    matrix = [
        {"": a, **{b: "" if a == b else write_rho(rho[frozenset((a, b))]) for b in names}}
        for a in names
        if len(names) > 1
    ]
    tabulate(matrix, ("", *names))
    if result["most_read"]:
        read, needed = (result[which]["word"] for which in ("most_read", "most_needed"))
        say(f"most read “{read}”, most needed “{needed}”")
    for each in result["agreement"]:
        if {each["first"], each["second"]} == {"deletion", "attention"}:
            say(each["sentence"])


def _format_effect(method: str, push: float) -> str:
    """Format the effect of a word on the log-odds with its sign; an attention weight has no sign."""
    return format_decimals(push) if method in ("attention", "collapse") else signed(push, 3)
