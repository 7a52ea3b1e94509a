"""Cached test for dataset shift between the texts of a split and the training texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core import error_analysis, evaluation, runs
from core.data.dataset import TRAIN
from core.error_analysis.split_analysis import SplitAnalysis
from core.exceptions import NotAvailable
from core.runs.background_jobs import Tell
from core.runs.cached_analysis import Offer


@dataclass(frozen=True)
class DatasetShift(SplitAnalysis[dict[str, Any]]):
    """Test whether the texts of a split are like those of training: words, lengths, classes. The result is stored.

    Returns:
        `run`, `data`, `split`; `n` texts of `training` and of the `split`, and how many of each were `read`, a
        seeded sample of many. `auc`: how well TF-IDF tells the two apart, cross-fitted: its `value`, 0.5 where it
        cannot, its 95 % `interval` and `p`. `measures`: `words of a text` and `unknown words`, the share of its words
        that no (other) training text has; of each `training`, `split`, their `difference` with its 95 % `interval` and
        `p` (Welch). `balance`: the same of the share of each `class` (score test, Newcombe's interval), and `p_holm`
        over the classes; `balance_p` of all at once (chi-square; None of several labels). `words`: words and phrases
        that more texts of one side have, by `p_holm` (Fisher's exact test after Holm over all that were `tried`): how
        many texts of the `split` and of `training` have it, `log_odds`, above 0 for the split, and their interval `low`
        to `high`. `left_out`: why nothing is said.
    """

    name = "shift"
    VERSION = 1
    offer = Offer(
        "Compare with training",
        "Comparing with training",
        "The texts could not be compared with training",
        "Compares words, lengths and classes with training. Takes seconds to a minute, once.",
    )

    def find(self, tell: Tell) -> dict[str, Any]:
        """Compare a split with the training texts; NotAvailable without texts or if the split is the training split."""
        if self.split == TRAIN:
            raise NotAvailable("choose a split other than train, to compare with the training texts")
        table = error_analysis.predictions_table.read_table(self.store, self.run, self.split)
        if why := runs.predictions.explain_lacking_texts(self.store.get_path(self.run), table.record):
            raise NotAvailable(why)
        dataset = runs.train_overlap.load_trained_data(table.record)
        has = evaluation.split_differences.to_class_matrix(dataset.get_targets(TRAIN), len(dataset.classes)), table.true
        training = dataset.splits[TRAIN]["text"].tolist()
        return error_analysis.dataset_shift.compare_with_training(
            training, table.texts, has, table.classes, table.record.config.text, tell
        )
