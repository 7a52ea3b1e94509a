"""The effect of words, model parts, map weights λ and copied activations on the prediction for a text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from core import interpret, runs
from core.api.options import AnyText, Change, CliArgument, Edit, OnProgress, PairText, RunName, Store, Target
from core.api.prediction import collect_fields, describe_text, open_text
from core.api.printing import say, say_edit, tabulate, write_rho
from core.exceptions import InputError
from core.formatting import count, format_decimals, plural, signed
from core.runs.text_predictions import build_answer, format_answer


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
    if others:
        return INSTEAD[others[0]](run, text, **about, **({"on_progress": on_progress} if side_by_side else {}))
    method = method or "deletion"
    loaded, edits, reader = open_text(run, text, store, edit, intervene)
    found = interpret.attribution.explain_text(reader, text, method, target)
    return {
        **describe_text(run, text, edits),
        "method": method,
        **_describe_answer(loaded, found),
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
        if on_progress is not None and method:
            on_progress(method, share)

    told = loaded.copy_with_progress(tell_method).make_reader(reader.intervene, unmixed=edits.unmixed)
    *_, found = interpret.attribution.explain_by_methods(told, text, target)
    by, first = found.by, found.by["deletion"]
    return {
        **describe_text(run, text, edits),
        **_describe_answer(loaded, first),
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
    _print_log_odds(result)
    for key, print_others in (("methods", _print_methods), ("parts", _print_parts), ("curves", _print_lambdas)):
        if key in result:
            print_others(result)
            return
    rows = [
        {"word": each["word"], "push": signed(each["push"], 3)}
        | ({"±": each["error"]} if "error" in each else {})
        | {"": bar}
        for each, bar in zip(result["words"], _draw_bars(result["words"], "push"), strict=True)
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
    names, words = list(result["methods"]), result["words"]
    plain = {"attention": format_decimals, "collapse": format_decimals}  # an attention weight has no sign
    forms = {name: plain.get(name, partial(signed, digits=3)) for name in names}
    pushes = [{"word": each["word"]} | {name: forms[name](each["pushes"][name]) for name in names} for each in words]
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


BAR = 24  # length of the longest bar


def parts(
    run: RunName, text: PairText, *, target: Target = "", edit: Edit = "", intervene: Change = None, store: Store = None
) -> dict[str, Any]:
    """Compute how silencing each part of a model, one at a time, changes the log-odds of a class for a text.

    Returns:
        `run`, `text`, `edit`, `target`, `prediction`, `log_odds`, `tokens`; `parts`: `kind` (`layer`: all its heads,
        `head`, `component` of all heads, `map`: one component of one head, `gate` of a token, `lexical`), `layer`, and
        `head`, `component`, `token` if the part has them, counted from 0; `zero` and `mean`: log-odds with the part
        minus log-odds with its output set to 0, or at every token to its mean over the tokens; `note`.
    """
    loaded, edits, reader = open_text(run, text, store, edit, intervene)
    found = interpret.ablation.silence_parts(reader, text, target)
    return {
        **describe_text(run, text, edits),
        **_describe_answer(loaded, found),
        "tokens": list(found.tokens),
        "parts": list(map(collect_fields, found.parts)),
        "note": found.note,
    }


def lambdas(
    run: RunName, text: PairText, *, target: Target = "", edit: Edit = "", intervene: Change = None, store: Store = None
) -> dict[str, Any]:
    """Compute how the log-odds of a class for a text change as each λ (weight of an attention map) goes over its range.

    Returns:
        `run`, `text`, `edit`, `target`; `prediction` and `log_odds` of the trained model; `curves`, for each λ: `layer`
        from 0, `component` from 1, `learned`, `start` (before training; absent if unknown), `values` (which include
        these and 0), and `log_odds` and `probabilities` of the target if all heads and tokens have that λ and the rest
        is as trained or edited; the last curve, without layer, is a factor on every λ from 0 to 2; `note`.
    """
    loaded, edits, reader = open_text(run, text, store, edit, intervene)
    found = loaded.measure_lambdas(text, target, reader.change, unmixed=edits.unmixed)
    curves = map(collect_fields, found.curves)
    return {
        **describe_text(run, text, edits),
        **_describe_answer(loaded, found),
        "curves": [{key: value for key, value in each.items() if key != "now"} for each in curves],
        "note": found.note,
    }


INSTEAD: dict[str, Callable[..., dict[str, Any]]] = {"parts": parts, "lambdas": lambdas, "methods": methods}
"""Option of `explain` → what it explains instead of words."""


def patch(
    run: RunName,
    text: AnyText,
    donor: str,
    *,
    target: Target = "",
    edit: Edit = "",
    intervene: Change = None,
    store: Store = None,
) -> dict[str, Any]:
    """Copy activations of another text into this one, one layer, token or head at a time, and measure the effect.

    Args:
        donor: Another text with the same number of tokens.

    Returns:
        `run`, `text`, `edit`, `donor`, `target`, `prediction`, `donor_prediction`, `log_odds`, `donor_log_odds`,
        `tokens`, `donor_tokens`; `patches`: `kind` (`layer`: its output at every token, `token`: at one token, `head`:
        the head's output at every token), `layer`, and `token` or `head`, counted from 0; `log_odds` with the donor's
        values there, and `moved`, the difference from the text without patching; `note`.
    """
    loaded, edits, reader = open_text(run, text, store, edit, intervene)
    found = interpret.ablation.patch_activations(reader, text, donor, target)
    return {
        **describe_text(run, text, edits),
        "donor": donor,
        "target": found.target,
        "prediction": build_answer(loaded.record, found.probabilities),
        "donor_prediction": build_answer(loaded.record, found.donor_probabilities),
        "log_odds": found.log_odds,
        "donor_log_odds": found.donor_log_odds,
        "tokens": list(found.tokens),
        "donor_tokens": list(found.donor_tokens),
        "patches": list(map(collect_fields, found.patches)),
        "note": found.note,
    }


def _describe_answer(loaded: runs.load.LoadedRun, found: Any) -> dict[str, Any]:
    """Return the class that an explanation is about, the log-odds of this class, and the model's prediction."""
    said = build_answer(loaded.record, found.probabilities)
    return {"target": found.target, "prediction": said, "log_odds": found.log_odds}


def _print_log_odds(result: dict[str, Any]) -> None:
    """Print the prediction for a text and the log-odds of the explained class, after a note if there is one."""
    say_edit(result)
    say(f"{format_answer(result['prediction'])}; log-odds of {result['target']} {signed(result['log_odds'])}")


def _draw_bars(rows: list[dict[str, Any]], key: str) -> list[str]:
    """Return a number of each row as a bar of plus or minus signs; the longest bar has a fixed length."""
    pushes = [row[key] for row in rows]
    largest = max(map(abs, pushes), default=0.0) or 1.0
    return [("+" if push > 0 else "-") * round(BAR * abs(push) / largest) for push in pushes]


def _print_parts(result: dict[str, Any]) -> None:
    rows = [
        {"part": _name_part(each, result["tokens"]), **{by: signed(each[by], 3) for by in ("zero", "mean")}, "": bar}
        for each, bar in zip(result["parts"], _draw_bars(result["parts"], "zero"), strict=True)
    ]
    tabulate(rows, ("part", "zero", "mean", ""))


def _name_part(part: dict[str, Any], tokens: list[str]) -> str:
    """Return a model part's name as on the dashboard: maps are counted from 0, layers and heads from 1."""
    layer, head = f"layer {part['layer'] + 1}", f"head {part.get('head', 0) + 1}"
    return {
        "layer": f"{layer} all heads",
        "head": f"{layer} {head}",
        "component": f"{layer} A{part.get('component')}",
        "map": f"{layer} {head} A{part.get('component')}",
        "gate": f"{layer} gate of {tokens[part.get('token', 0)] if tokens else ''}",
        "lexical": f"{layer} lexical term",
    }[part["kind"]]


def _print_lambdas(result: dict[str, Any]) -> None:
    rows = []
    for curve in result["curves"]:
        chances, row = curve["probabilities"], {"zero": curve["probabilities"][curve["values"].index(0.0)]}
        for name in ("start", "learned"):
            value = curve.get(name)
            chance = "" if value is None else format_decimals(chances[curve["values"].index(value)])
            row[name] = None if value is None else f"{value:.3f}: {chance}"
        row["λ"] = f"layer {curve['layer'] + 1} λ{curve['component']}" if "layer" in curve else "all λ ×"
        rows.append(row | {"all along": [min(chances), max(chances)]})
    say(f"P({result['target']}) where λ is 0, as at the start, as learned, and all along its range")
    tabulate(rows, ("λ", "zero", "start", "learned", "all along"))


def print_patch(result: dict[str, Any]) -> None:
    """Print how far each activation that is copied from another text moves the log-odds of a class."""
    _print_log_odds(result)
    donor = format_answer(result["donor_prediction"])
    say(f"donor: {donor}; log-odds of {result['target']} {signed(result['donor_log_odds'])}")
    moved = {(each["layer"], each.get("token"), each.get("head")): each["moved"] for each in result["patches"]}
    layers = sorted({layer for layer, _, _ in moved})
    heads = sorted({head for _, _, head in moved if head is not None})
    tokens = sorted({token for _, token, _ in moved if token is not None})
    pairs = list(zip(result["tokens"], result["donor_tokens"], strict=True))
    places: list[tuple[str, int | None, int | None]] = [("everything", None, None)]
    places += [(a if a == b else f"{a} ← {b}", at, None) for at, (a, b) in enumerate(pairs) if at in tokens]
    places += [(f"head {head + 1}", None, head) for head in heads]
    rows = [
        {"from the donor": name} | {f"layer {layer + 1}": signed(moved[layer, *at], 3) for layer in layers}
        for name, *at in places
    ]
    say("what the log-odds move by")
    tabulate(rows, whole="from the donor")
