"""What is known of each text of a split."""

from __future__ import annotations

import pandas as pd

from core.evaluation.scores import HALF
from core.runs.predictions import refuse_misfit
from core.runs.record import LABEL, PROBABILITY
from dashboard.figures.decisions import answer_probability

PHENOMENON = "phenomenon"


PREDICTED = "predicted:"
COLUMN = "column:"
"""Before the name of one of the data's own columns."""


def points_frame(saved: pd.DataFrame, classes: tuple[str, ...]) -> pd.DataFrame:
    """What is known of each sentence of a split: text, label, predicted, probability (of the predicted), phenomenon.

    With several labels per text also 0/1 columns `label:CLASS` and `predicted:CLASS` (at 0.5) each. The data's own
    columns are `column:NAME`.

    Raises:
        RunDamaged: a column is missing.
    """
    try:
        bits = [name for name in (f"{LABEL}{each}" for each in classes) if name in saved]
        chances = saved[[f"{PROBABILITY}{name}" for name in classes]].to_numpy(float)
        kept = ["text", "label", "predicted", *([PHENOMENON] if PHENOMENON in saved else []), *bits]
        predicted = {f"{PREDICTED}{name}": chances[:, i] > HALF for i, name in enumerate(classes)} if bits else {}
        own = {f"{COLUMN}{name}": saved[name] for name in saved if name not in (*kept, "row") and ":" not in str(name)}
        return saved[kept].assign(**own, probability=answer_probability(chances, multi=bool(bits)), **predicted)
    except (KeyError, ValueError):
        refuse_misfit(saved, classes)
