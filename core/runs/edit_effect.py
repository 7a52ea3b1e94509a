"""Effect of an edit inside a model over many texts: how many answers change, and how many are right without it."""

from typing import Any

from core.data.dataset import encode_targets
from core.evaluation.comparison import McNemar, count_discordant
from core.metrics import TUNED
from core.runs.evaluation_data import EvaluationData, predict_rows
from core.runs.load import LoadedRun
from core.runs.predictions import Answers, combine_scores

METRICS = {"single": "accuracy", "multi": f"{TUNED}subset_accuracy"}


def measure_edit(trained: LoadedRun, edited: LoadedRun, given: EvaluationData) -> dict[str, Any]:
    """Measure what an edit changes on labelled rows, paired by row.

    Returns:
        `edit`; `rows`; `changed`: rows whose answer is another one; the share of right rows `trained` and `edited`
        (several labels per text: all right); their `difference` with its 95 % `interval` and `p` (McNemar).
    """
    record, texts = trained.record, given.rows["text"].tolist()
    labels = encode_targets(given.rows, len(record.classes), record.task)
    said = [predict_rows(each, given).probabilities for each in (edited, trained)]
    answers = [Answers(record, texts, labels, each, given.rows[[]], record.tuned_thresholds) for each in said]
    first, second = (each.to_scores(METRICS[record.task]) for each in answers)
    both = combine_scores(first, second, METRICS[record.task])
    found, changed = McNemar(*count_discordant(both), both.rows), first.answers != second.answers
    return {
        "edit": edited.edits.encode_line(),
        "rows": len(texts),
        "changed": int((changed if changed.ndim == 1 else changed.any(1)).sum()),
        "edited": float(first.correct.mean()),
        "trained": float(second.correct.mean()),
        "difference": found.difference,
        "interval": list(found.compute_interval(0.05)),
        "p": found.p,
    }
