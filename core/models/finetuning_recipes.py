"""The papers' fine-tuning settings for the pretrained encoders that they use. Imports nothing heavy.

Settings that a paper gives are listed with its section; others are chosen here and marked as such, or come from the
preset `pretrained`. Names are those on the hub, as far as we know: without a network they could not be checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

PRESET = "pretrained"  # The preset that each recipe changes


class PaperSetting(NamedTuple):
    """The value of a training setting in a paper, with the section that states it."""

    value: Any
    where: str  # The section that states it; or that none does, and the reason for the choice


@dataclass(frozen=True)
class FineTuning:
    """The settings with which a paper fine-tunes one pretrained encoder."""

    paper: str  # Its key in `core.models.presets.PAPERS`
    backbone: str  # OWNER/NAME on the hub
    source: str  # Where the paper names it
    settings: Mapping[str, PaperSetting] = field(default_factory=dict)
    note: str = ""


NOT_SAID = "not stated"
TABLE_2 = "section 4.3, Table 2"
_INCEPTIVE = {
    "text.max_length": PaperSetting(126, f"{TABLE_2}: 128, of which two are the beginning and the end"),
    "training.batch_size": PaperSetting(32, TABLE_2),
    "training.epochs": PaperSetting(12, TABLE_2),
    "training.lr": PaperSetting(1e-5, TABLE_2),
    "training.weight_decay": PaperSetting(1e-3, TABLE_2),
    "training.decay": PaperSetting("all", f"{NOT_SAID}; AdamW as it comes (section 4.2)"),
    "training.schedule": PaperSetting("cosine", "section 4.2"),
    "training.warmup": PaperSetting(0.0, f"{NOT_SAID}; none is mentioned"),
    "training.clip": PaperSetting(1.0, "section 4.2"),
    "training.patience": PaperSetting(0, "section 4.2: the best of all epochs by validation"),
}
_CAVES = {**_INCEPTIVE, "training.weight_decay": PaperSetting(1e-4, f"{TABLE_2}: on CAVES")}
_OHSUMED = {
    **_INCEPTIVE,
    "text.max_length": PaperSetting(510, f"{TABLE_2}: 512 on OHSUMED, of which two are the beginning and the end"),
    "training.weight_decay": PaperSetting(1e-4, f"{TABLE_2}: on OHSUMED"),
}
_LEXICAL = {
    "training.lr": PaperSetting(3e-5, "section 4.4: between 1e-5 and 5e-5, which is not stated; the middle"),
    "training.epochs": PaperSetting(5, "section 4.4: between 3 and 10, which is not stated"),
}
_ONLY_FINE_TUNED = "The paper states no rate, batch or epochs: those of the preset."
_HEAD = "The paper's own system is this with --set model.head.kernels=2,3,5,7 --set model.head.channels=16."
_SIGMA = (
    "The paper's own system is this with --set model.attention.lexical=add and a lexicon; batch, length and warm-up "
    "are not stated."
)


def _make_inceptive(backbone: str, settings: Mapping[str, PaperSetting] = _INCEPTIVE, note: str = _HEAD) -> FineTuning:
    return FineTuning("inceptive", backbone, "section 4, Tables 3 and 4", settings, note)


def _make_lexical(backbone: str) -> FineTuning:
    return FineTuning("lexical_attention", backbone, "section 4.4 and Table 1", _LEXICAL, _SIGMA)


FINE_TUNINGS: dict[str, FineTuning] = {
    "sentiformer-distilbert": FineTuning(
        "sentiformer", "distilbert/distilbert-base-uncased", "section V.A, Table I", note=_ONLY_FINE_TUNED
    ),
    "sentiformer-bert": FineTuning(
        "sentiformer", "google-bert/bert-base-uncased", "section V.A, Table I", note=_ONLY_FINE_TUNED
    ),
    "tweet-roberta": FineTuning(
        "tweet_encoder_7essxin", "FacebookAI/roberta-base", "section V.B, on Sentiment140", note=_ONLY_FINE_TUNED
    ),
    "lexical-ko-electra": _make_lexical("monologg/koelectra-base-v3-discriminator"),
    "lexical-kr-electra": _make_lexical("snunlp/KR-ELECTRA-discriminator"),
    "lexical-kc-electra": _make_lexical("beomi/KcELECTRA-base"),
    "lexical-kr-bert": _make_lexical("snunlp/KR-BERT-char16424"),
    "lexical-xlm-roberta": _make_lexical("FacebookAI/xlm-roberta-base"),
    "inceptive-bertweet": _make_inceptive(
        "vinai/bertweet-base",
        note=f"{_HEAD} Its tokenizer is published as vocab.txt and bpe.codes: one is needed as tokenizer.json.",
    ),
    "inceptive-roberta": _make_inceptive(
        "FacebookAI/roberta-base", note=f"{_HEAD} On OHSUMED and CAVES also training.weight_decay=1e-4."
    ),
    "inceptive-banglabert": _make_inceptive("csebuetnlp/banglabert"),
    "inceptive-xlm-roberta": _make_inceptive("FacebookAI/xlm-roberta-base"),
    "inceptive-biobert": _make_inceptive("dmis-lab/biobert-v1.1", _OHSUMED),
    "inceptive-biobert-large": _make_inceptive("dmis-lab/biobert-large-cased-v1.1", _OHSUMED),
    "inceptive-ct-bert": _make_inceptive("digitalepidemiologylab/covid-twitter-bert-v2", _CAVES),
}  # Name → recipe; names begin like the presets of the paper
