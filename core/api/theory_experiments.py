"""SentiFormer's theory: attention as a kernel, labels learned by heart, and what a bounded memory cannot see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from core.api.options import CliArgument, OnProgress, Store
from core.api.printing import say, tabulate
from core.exceptions import InputError
from core.formatting import number, whole_percent
from core.papers.theory_names import HARD_CHANCE, LENGTHS, MODELS, QUESTIONS, average_over_seeds

RUN = "starter-sentiformer"
TEXT = "The plot is thin, but I never got bored."


def theory(
    name: Annotated[str, CliArgument(f"{', '.join(QUESTIONS)}.")],
    *,
    run: Annotated[str, CliArgument("Of `kernel`: a run with one attention map per head.")] = RUN,
    text: Annotated[str, CliArgument("Of `kernel`: the text that it reads.")] = TEXT,
    layer: Annotated[int, CliArgument("Of `kernel`: the layer, from 1; default: the last.", least=0)] = 0,
    again: Annotated[bool, CliArgument("Train again, up to three minutes; else the kept results are shown.")] = False,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Show an experiment on the theory of the SentiFormer paper: `kernel`, `memorise` or `markov`.

    Returns:
        `name`, `question`, `finding`. Of `kernel`: `run`, `text`, `layer`, `tokens`, `gates` (factor of each key),
        `maps` and `weights` (heads × tokens × tokens: of the model, and of the kernel smoother), `kernel` (before each
        row is divided by its sum), `difference` (the largest between them), `output_difference`, and `outside`: how far
        an output leaves the range of the values. The others: as their functions in `core.papers.theory`.
    """
    if name not in QUESTIONS:
        raise InputError(f"there is no theory {name!r:.60}; choose one of {', '.join(QUESTIONS)}")
    if name == "kernel":
        found = _describe_kernel(run, text, layer, store)
    elif again:
        from core.papers.theory import COMPUTED

        found = COMPUTED[name](on_progress or (lambda what, share: None))
    else:
        from core.papers.theory_names import read_theory

        found = read_theory(name)
    return {"name": name, "question": QUESTIONS[name], "finding": FINDINGS[name](found), **found}


def _describe_kernel(run: str, text: str, layer: int, store: Store | None) -> dict[str, Any]:
    from core.papers.kernel_view import compute_view
    from core.runs.load import load_run
    from core.runs.store import RunStore

    seen = compute_view(load_run(store or RunStore(), run), text, layer)
    arrays = {key: getattr(seen, key).tolist() for key in ("gates", "maps", "kernel", "weights")}
    sizes = {key: getattr(seen, key) for key in ("difference", "output_difference", "outside")}
    return {"run": run, "text": text, "layer": seen.layer, "tokens": list(seen.tokens), **arrays, **sizes}


def _tell_kernel(found: Mapping[str, Any]) -> str:
    same, inside = found["difference"] < 1e-6, found["outside"] == 0
    return (
        f"Attention {'is' if same else 'is not'} a kernel smoother to within 10⁻⁶; "
        f"outputs {'stay within' if inside else 'leave'} the range of the values."
    )


def _tell_memorise(found: Mapping[str, Any]) -> str:
    rows = found["rows"]
    whole = sum(row["accuracy"] == 1 for row in rows)
    best = max(row["counts"] for row in rows)
    return (
        f"{whole} of {len(rows)} transformers learn all {found['sequences']} random labels. Word counts alone reach "
        f"{whole_percent(best)} at most."
    )


def _tell_markov(found: Mapping[str, Any]) -> str:
    last = {name: average_over_seeds(found["rows"], name, max(LENGTHS)) for name in MODELS}
    windows = max(value for name, value in last.items() if name.startswith("window"))
    return (
        f"At {max(LENGTHS)} words the transformer gets {whole_percent(last['transformer'])} right and the LSTM "
        f"{whole_percent(last['lstm'])}; windows guess ({whole_percent(windows)})."
    )


FINDINGS = {"kernel": _tell_kernel, "memorise": _tell_memorise, "markov": _tell_markov}
"""Name → function that writes what an experiment found, as a sentence."""


def tabulate_markov(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each model with its accuracy on texts that end with *good*, by their number of words."""
    return [
        {"model": words} | {f"n = {n}": average_over_seeds(found["rows"], name, n) for n in LENGTHS}
        for name, words in MODELS.items()
    ]


def print_theory(result: dict[str, Any]) -> None:
    """Print the question, a table of results, and the finding."""
    say(result["question"])
    if result["name"] == "kernel":
        rows = [
            {"token": token, "gate": gate} | {f"head {at}": head[0][place] for at, head in enumerate(result["maps"], 1)}
            for place, (token, gate) in enumerate(zip(result["tokens"], result["gates"], strict=True))
        ]
        say(f"layer {result['layer']}, attention from “{result['tokens'][0]}”")
        tabulate(rows, tuple(rows[0]), "token")
    elif result["name"] == "memorise":
        columns = {"seed": "seed", "steps": "step", "accuracy": "accuracy", "by word counts": "counts"}
        tabulate(result["rows"], columns)
    else:
        say(f"accuracy on texts that end with “good”; a guess is right for {number(HARD_CHANCE, 1)}")
        rows = tabulate_markov(result)
        tabulate(rows, tuple(rows[0]), "model")
    say(result["finding"])
