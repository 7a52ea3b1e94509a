"""Cached test for dataset shift between the texts of a split and the training texts."""

from dataclasses import dataclass
from typing import Any

from core import error_analysis, evaluation, runs
from core.data.dataset import TRAIN
from core.error_analysis.split_analysis import SplitAnalysis
from core.exceptions import NotAvailable
from core.runs.background_jobs import Offer, Tell


@dataclass(frozen=True)
class DatasetShift(SplitAnalysis[dict[str, Any]]):
    """Test whether the texts of a split are like those of training: words, lengths, classes. The result is stored.

    Returns:
        `run`, `data`, `split`; `n` texts of `training` and of the `split`, and how many of each were `read` (at most a
        seeded sample). `auc`: the AUC with which cross-fitted TF-IDF separates the two: `value` (0.5: not at all), 95 %
        `interval` and `p`. `measures`: the tests of `core.evaluation.split_differences.find_differences` (`labels`,
        `length`, `words`: share of words that no other training text has, `in training`, `repeats`), each with the
        values of `training` and of the `other` side, their `difference`, its 95 % `interval` and `p_holm`. `words`:
        words and phrases that are more frequent in one of the two, by `p_holm` (Fisher's exact test, Holm over all that
        were `tried`): the number of texts of the `split` and of `training`, `log_odds` (above 0: more in the split) and
        its interval from `low` to `high`. `left_out`: why nothing was computed.
    """

    name = "shift"
    VERSION = 2
    offer = Offer(
        "Compare with training",
        "Comparing with training",
        "The texts could not be compared with training",
        "Compares words, lengths and classes with training. Takes up to a minute; the result is stored.",
    )

    def find(self, tell: Tell) -> dict[str, Any]:
        """Compare a split with the training texts; NotAvailable without texts or if the split is the training split."""
        if self.split == TRAIN:
            raise NotAvailable("choose a split other than train, to compare with the training texts")
        table = error_analysis.predictions_table.read_table(self.store, self.run, self.split)
        if why := runs.predictions.explain_lacking_texts(self.store.get_path(self.run), table.record):
            raise NotAvailable(why)
        dataset = runs.lineage.load_trained_data(table.record)
        split_differences = evaluation.split_differences
        return error_analysis.dataset_shift.compare_with_training(
            split_differences.get_split_texts(dataset, TRAIN),
            split_differences.ComparedTexts(table.texts, table.true),
            table.classes,
            table.record.config.text,
            name=self.split,
            tell=tell,
        )
