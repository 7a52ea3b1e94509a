"""The effect of a model's parts on a prediction: ablation, other map weights λ, activation patching."""

from __future__ import annotations

from typing import Any

from core import interpret, runs
from core.api.inspection import collect_fields, describe_text, open_text
from core.api.options import AnyText, Change, Edit, PairText, RunName, Store, Target
from core.api.printing import say, say_edit, tabulate
from core.formatting import signed
from core.runs.text_predictions import build_answer, format_answer
from core.table_format import format_decimals

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
        **describe_answer(loaded, found),
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
        **describe_answer(loaded, found),
        "curves": [{key: value for key, value in each.items() if key != "now"} for each in curves],
        "note": found.note,
    }


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


def describe_answer(loaded: runs.load.LoadedRun, found: Any) -> dict[str, Any]:
    """Return the class that an explanation is about, the log-odds of this class, and the model's prediction."""
    said = build_answer(loaded.record, found.probabilities)
    return {"target": found.target, "prediction": said, "log_odds": found.log_odds}


def print_log_odds(result: dict[str, Any]) -> None:
    """Print the prediction for a text and the log-odds of the explained class, after a note if there is one."""
    say_edit(result)
    say(f"{format_answer(result['prediction'])}; log-odds of {result['target']} {signed(result['log_odds'])}")


def draw_bars(pushes: list[float]) -> list[str]:
    """Return each number as a bar of plus or minus signs; the longest bar has a fixed length."""
    largest = max(map(abs, pushes), default=0.0) or 1.0
    return [("+" if push > 0 else "-") * round(BAR * abs(push) / largest) for push in pushes]


def print_parts(result: dict[str, Any]) -> None:
    """Print how ablating each part of a model changes the log-odds of a class."""
    print_log_odds(result)
    bars = draw_bars([each["zero"] for each in result["parts"]])
    rows = [
        {"part": _name_part(each, result["tokens"]), **{by: signed(each[by], 3) for by in ("zero", "mean")}, "": bar}
        for each, bar in zip(result["parts"], bars, strict=True)
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


def print_lambdas(result: dict[str, Any]) -> None:
    """Print a class's probability for each map weight λ: at 0, at its initial and its learned value, and the range."""
    print_log_odds(result)
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
    print_log_odds(result)
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
