"""The challenge set of the built-in corpus: sentences written by hand, one by one, never generated.

`challenge.tsv` holds a sentence per row: its text, its score from -2 (very negative) to 2 (very positive; 0: mixed or
neutral), the one phenomenon that it is about, and for 100 rows, drawn with a fixed seed over all phenomena, a second
score by a labeller who saw the texts and the scale only. Both labellers are language models, in separate sessions.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import pandas as pd

from core.data.sources.builtin import handwritten
from core.numbers import whole_percent

FILE = "challenge.tsv"
CHALLENGE = "challenge"


class Agreement(TypedDict):
    """How far the first and the blind second labelling agree."""

    n: int
    """Sentences that have both scores."""
    observed: float
    """Share with the same sign: negative, neutral or mixed, positive."""
    kappa: float
    """Cohen's kappa of the signs (Cohen 1960)."""
    observed_five: float
    """Share with the same score on the five-point scale."""
    weighted_kappa: float
    """Cohen's kappa of the five-point scores, with quadratic weights (Cohen 1968)."""


def read() -> pd.DataFrame:
    """Read the sentences as written: text, score (int64), phenomenon, second (Int64, missing where not done)."""
    return handwritten.read(FILE)


def load(classes: int = 2) -> pd.DataFrame:
    """Return the challenge set as `handwritten.split` does; its domain is "challenge"."""
    return handwritten.split(read().assign(domain=CHALLENGE), classes)


def agreement() -> Agreement:
    """Compare the scores with the blind second ones, on their sign and on the whole scale."""
    from sklearn.metrics import cohen_kappa_score

    rows = read().dropna(subset=["second"])
    first, second = rows["score"].to_numpy(), rows["second"].to_numpy(dtype=np.int64)
    return Agreement(
        n=len(rows),
        observed=float(np.mean(np.sign(first) == np.sign(second))),
        kappa=float(cohen_kappa_score(np.sign(first), np.sign(second))),
        observed_five=float(np.mean(first == second)),
        weighted_kappa=float(cohen_kappa_score(first, second, weights="quadratic")),
    )


def statement() -> str:
    """Say the agreement, and who agreed, as the data card carries it."""
    found = agreement()
    return (
        f"{found['n']} of {len(read())} challenge sentences were labelled blind a second time: "
        f"Cohen's κ {found['kappa']:.2f} on negative, neutral, positive ({whole_percent(found['observed'])} agree); "
        f"quadratic-weighted κ {found['weighted_kappa']:.2f} on the five-point scale "
        f"({whole_percent(found['observed_five'])} agree). Both labellings are by language models, in two separate "
        "sessions of which the second saw the texts only; κ is likely to flatter the agreement between people"
    )
