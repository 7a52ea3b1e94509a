"""Whether a run doubts where it knows nothing: made-up texts without a known word, and how often classes are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.data.findings import plural
from core.numbers import whole_percent
from core.runs.load import LoadedRun
from core.runs.record import RunRecord
from core.runs.seen import TrainingTexts
from core.settings import LARGEST_SEED
from core.text.nonsense import nonsense

TEXTS = 500
NEAR = 0.10
"""No probability is further from the prior than this: the text is answered with doubt."""
SEED = LARGEST_SEED + 1
"""That of no training, so that its made-up texts are others."""


def doubt(loaded: LoadedRun, texts: Sequence[str], trained: TrainingTexts | str) -> dict[str, Any]:
    """Count the made-up texts of unknown words that get the class prior, within `NEAR`.

    Args:
        loaded: the run.
        texts: whose letters half of the made-up words have.
        trained: its data, or why they are not there: for the prior of a run that has none in its record.

    Returns:
        `rows`, how many texts were asked; `near`, the share answered so; `prior` by class; `note`, the same in words.
        Or `left_out`, why not, and an empty `note`.
    """
    prior = _prior(loaded.record, trained)
    if prior is None:
        return {"left_out": trained, "note": ""}
    made = [text for text in nonsense(texts, TEXTS, SEED) if loaded.tokenizer.unknown_share(text) in (1, None)]
    if not made:
        return {"left_out": "the run knows a word of every made-up text", "note": ""}
    away = np.abs(loaded.predict(made).probabilities - np.array(prior)).max(1)
    rows, near = len(made), float((away <= NEAR).mean())
    like = ", ".join(f"{name} {share:.2f}" for name, share in zip(loaded.record.classes, prior, strict=True))
    return {
        "rows": rows,
        "near": near,
        "prior": dict(zip(loaded.record.classes, prior, strict=True)),
        "note": f"Of {plural(rows, 'text')} of made-up words {whole_percent(near)} are answered within {NEAR:.2f} of "
        f"the class prior ({like}).",
    }


def _prior(record: RunRecord, trained: TrainingTexts | str) -> Sequence[float] | None:
    """What doubt is for a run: where classes weigh the same, every class alike; None: it is not known."""
    classes = len(record.classes)
    if record.scaling.prior:
        return record.scaling.prior
    if record.config.training.class_weights == "balanced":
        return [0.5 if record.task == "multi" else 1 / classes] * classes
    return None if isinstance(trained, str) else trained.prior
