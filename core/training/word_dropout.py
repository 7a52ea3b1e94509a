"""Words forgotten at random while a model learns, so that it knows what to make of a word that it has never seen."""

from __future__ import annotations

import torch

from core.models.trace import Batch
from core.text.ids import UNKNOWN
from core.text.lexicon import NEUTRAL


def forget_words(batch: Batch, share: float, mark: int | None = None) -> Batch:
    """The batch with each of its tokens replaced by the unknown one with probability `share`.

    A forgotten word is read as an unknown one is: no lexicon knows it, while its part of speech and its character
    n-grams stay. Padding stays, and a class token is put before the texts later. Drawn from torch's global generator on
    the CPU, where the batch has to be; nothing is drawn at 0. The `mark` between the texts of a pair is no word.
    """
    if not share:
        return batch
    forgotten = (torch.rand(batch.ids.shape) < share) & batch.keep
    if mark is not None:
        forgotten &= batch.ids != mark
    polarity = batch.polarity
    return batch._replace(
        ids=batch.ids.masked_fill(forgotten, UNKNOWN),
        polarity=None if polarity is None else polarity.masked_fill(forgotten[..., None], NEUTRAL),
    )
