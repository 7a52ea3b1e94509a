"""What to do next about the errors of a run: a sentence each, with its evidence and the selection that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from core.failures.tags import BY_DEFINITION, CONSEQUENCES, WITH
from dashboard.figures.analysis import Analysis
from dashboard.figures.finding import Sliced
from dashboard.figures.gathering import Gathered, name_of
from dashboard.figures.numbers import count, percent

MOST = 4
WORTH = 1.0
"""Excess errors below which nothing is advised."""


class Step(NamedTuple):
    """One of them."""

    advice: str
    evidence: str
    rules: tuple[str, ...]
    """That select the sentences it is about."""


ADVICE: dict[str, str] = {
    "negation": "Add training sentences that deny: pairs with and without the negation",
    "contrast": "Add training sentences whose second half decides",
    "question": "Add questions to the training sentences, or say what a question is to be labelled",
    "unknown words": "Let the model read the letters of words (--recipe strong, or byte pairs)",
    "truncated": "Let the model read longer texts (text.max_length)",
    "lexicon disagrees": "Read these for irony, trade words and doubtful labels",
    "low margin": "Leave the least sure answers to a person: set a threshold on Performance",
    "seeds disagree": "Let several seeds answer together: chance decides these",
    "near duplicate": "Look at the labels of the near duplicates in training",
}
"""By tag, where its errors survive correction."""


def next_steps(shown: Analysis, tags: Gathered, slices: Sliced) -> list[Step]:
    """The steps that the numbers bear out, most excess errors first; empty where none does."""
    found = [*_of_tags(tags), *_of_slices(slices)]
    sure = shown.known.there.get("sure and wrong")
    if sure is not None and sure.any():
        evidence = f"{count(int(sure.sum()))} are wrong with a probability of 0.9 or more"
        found.append(
            Step("Read the surest errors first: doubtful labels stand among them", evidence, ("tag=sure and wrong",))
        )
    return found[:MOST]


def _of_tags(tags: Gathered) -> Iterator[Step]:
    for row in tags.rows:
        name = row["tag"].removeprefix("tag=")
        if name in BY_DEFINITION | CONSEQUENCES or not row["differs"] or (row["excess"] or 0.0) < WORTH:
            continue
        rest = row["rest"]["wrong"] / max(1, row["rest"]["n"])
        evidence = f"{percent(row['rate'])} of {count(row['n'])} are wrong, {percent(rest)} of the others"
        if name.startswith(WITH):
            usual = f"See on Compare what {name.removeprefix(WITH)} knows here, and whether both can answer together"
        else:
            usual = f"Read the errors with {name_of(row['tag'])}, and add training sentences like them"
        yield Step(ADVICE.get(name, usual), f"{name_of(row['tag'])}: {evidence}", ("wrong", row["tag"]))


def _of_slices(slices: Sliced) -> Iterator[Step]:
    for each in slices.found.slices:
        if len(each.clauses) > 1:
            risk, name = each.risk, " and ".join(map(name_of, map(str, each.clauses)))
            evidence = f"{percent(risk.rate)} of {count(risk.n)} are wrong, {percent(risk.rest_rate)} of the others"
            rules = ("wrong", *map(str, each.clauses))
            yield Step(
                "Read this slice: its two properties together are worse than either", f"{name}: {evidence}", rules
            )
