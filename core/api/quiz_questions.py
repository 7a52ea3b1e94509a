"""The quiz of a run: sentences to judge before its predictions are shown."""

from __future__ import annotations

import dataclasses
from typing import Any

from core import error_analysis
from core.api.options import RunName, Store
from core.api.printing import say, tabulate
from core.runs.store import RunStore


def quiz(run: RunName, *, right: int = 2, wrong: int = 3, store: Store = None) -> dict[str, Any]:
    """Choose short test sentences to judge before a run's predictions are shown, some predicted right, some wrong.

    Sentences come from the challenge and test splits. Those of different kinds, whose prediction changes when one or
    two words are deleted, are preferred.

    Args:
        right: Sentences that the run predicts right; more where it has too few errors.
        wrong: Sentences that it predicts wrong.

    Returns:
        `run`, `classes` and `questions`, in an order that gives no answer away. Of each `text`, `label` (the true
        class), `predicted`, `probabilities` by class, `kind`, `split`, `words` (start and end of each word), `unknown`
        (words that the run does not know, by number), `effects` (of each word: how far the log-odds of the predicted
        class fall without it), `flip` (the fewest words, one or two, whose deletion changes the prediction; empty if
        none do), `subset` (the words that are deleted in `scores`) and `scores`: for each class but the first a list of
        log p - log p(first class), whose place in binary says which of the words of `subset` are deleted.
    """
    store = store or RunStore()
    found, classes = error_analysis.quiz.make_quiz(store, run, right, wrong), store.read(run).classes
    compute = error_analysis.quiz.compute_probabilities
    return {
        "run": run,
        "classes": list(classes),
        "questions": [
            {
                **dataclasses.asdict(each),
                "probabilities": dict(zip(classes, compute(each.scores), strict=True)),
            }
            for each in found.questions
        ],
    }


def print_quiz(result: dict[str, Any]) -> None:
    """Print a row for each sentence: prediction, true label, and the words whose deletion changes the prediction."""
    right = sum(each["predicted"] == each["label"] for each in result["questions"])
    say(f"{result['run']} predicts {right} of {len(result['questions'])} right")
    columns: dict[str, Any] = {
        "predicted": "predicted",
        "p": lambda each: each["probabilities"][each["predicted"]],
        "true": "label",
        "flips without": lambda each: ", ".join(each["text"][slice(*each["words"][place])] for place in each["flip"]),
        "kind": "kind",
        "text": "text",
    }
    tabulate(result["questions"], columns)
