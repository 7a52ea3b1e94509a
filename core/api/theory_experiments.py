"""SentiFormer's theory: attention as a kernel, labels learned by heart, and what a bounded memory cannot see."""

from collections.abc import Mapping
from typing import Annotated, Any

from core.api.options import CliArgument, OnProgress, Store, get_store
from core.api.printing import say, tabulate
from core.exceptions import InputError
from core.formatting import whole_percent
from core.papers.reported_results import read_theory

QUESTIONS = {
    "kernel": "Is attention a kernel smoother?",
    "memorise": "Can a transformer learn random labels by heart?",
    "markov": "Which models link the first word to the last?",
}
"""Experiment → the question that it answers."""
LIMIT = 1e-6
"""Greatest difference between an attention weight, or an output, and that of the kernel smoother."""
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
        row is divided by its sum), `difference` (the largest between them) and `distance` (the largest of an output
        from the hull of the values). The others: as their functions in `core.papers.theory`.
    """
    if name not in QUESTIONS:
        raise InputError(f"there is no experiment {name!r:.60}; choose one of {', '.join(QUESTIONS)}")
    if name == "kernel":
        from core.papers.theory import compare_with_kernel
        from core.runs.load import load_run

        found = {"run": run, "text": text, **compare_with_kernel(load_run(get_store((), store), run), text, layer)}
    elif again:
        from core.papers.theory import COMPUTED

        found = COMPUTED[name](on_progress or (lambda what, share: None))
    else:
        found = read_theory(name)
    return {"name": name, "question": QUESTIONS[name], "finding": _describe_result(name, found), **found}


def _describe_result(name: str, found: Mapping[str, Any]) -> str:
    if name == "kernel":
        same, inside = found["difference"] < LIMIT, found["distance"] < LIMIT
        return (
            f"Attention {'is' if same else 'is not'} a kernel smoother to within 10⁻⁶; "
            f"outputs {'stay in' if inside else 'leave'} the convex hull of the values."
        )
    if name == "memorise":
        rows, best = found["rows"], max(row["counts"] for row in found["rows"])
        learned = f"{sum(row['accuracy'] == 1 for row in rows)} of {len(rows)} transformers learn"
        return (
            f"{learned} all {found['sequences']} random labels. Word counts alone reach {whole_percent(best)} at most."
        )
    last = {model: means[-1] for model, means in found["means"].items()}
    windows = max(value for model, value in last.items() if model.startswith("window"))
    return (
        f"At {found['lengths'][-1]} words the transformer gets {whole_percent(last['transformer'])} right and the LSTM "
        f"{whole_percent(last['LSTM'])}; models of a window guess ({whole_percent(windows)})."
    )


def tabulate_kernel(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each key of the first token: its gate, and attention and kernel of each head."""
    columns = {"token": found["tokens"], "gate": found["gates"]}
    for name, key in (("head", "maps"), ("kernel", "kernel")):
        columns |= {f"{name} {number}": rows[0] for number, rows in enumerate(found[key], 1)}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def tabulate_markov(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each model with its accuracy on texts that end with *good*, by their number of words."""
    names = [f"n = {n}" for n in found["lengths"]]
    return [{"model": model, **dict(zip(names, means, strict=True))} for model, means in found["means"].items()]


def print_theory(result: dict[str, Any]) -> None:
    """Print the question, a table of results, and the finding."""
    say(result["question"])
    if result["name"] == "kernel":
        say(f"layer {result['layer']}, attention from “{result['tokens'][0]}”")
        tabulate(tabulate_kernel(result), whole="token")
    elif result["name"] == "memorise":
        tabulate(result["rows"], {"seed": "seed", "steps": "step", "accuracy": "accuracy", "by word counts": "counts"})
    else:
        say("accuracy on texts that end with “good”; a guess is right for 0.5")
        tabulate(tabulate_markov(result), whole="model")
        exact = sum(share == 1 for share in result["hand"].values())
        say(f"weights set by hand: no error at {exact} of {len(result['hand'])} lengths, 2 to {result['lengths'][-1]}")
    say(result["finding"])
