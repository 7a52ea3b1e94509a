"""Deviations of each preset from its paper, and the papers' settings for pretrained encoders. Imports nothing heavy.

Settings that a paper gives are listed with its section; others are chosen here and marked as such, or come from the
preset `pretrained`. Names are those on the hub, as far as we know: without a network they could not be checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Departure(NamedTuple):
    """A difference between a preset and its paper, with what the paper says and why."""

    what: str
    paper: str  # What the paper states; empty if nothing
    why: str
    setting: str = ""  # Dotted name of a setting whose value in the preset is our choice
    instead: str = ""  # The value of that setting that follows the paper, if any
    ours: str = ""  # Our choice, if no setting expresses it


def list_size_deviations(layers: str, width: str) -> tuple[Departure, ...]:
    """List how the small encoders differ in size from the large pretrained ones that their papers fine-tune."""
    return (
        Departure("encoder", f"{layers}, pre-trained", "nothing is downloaded", "model.layers"),
        Departure("width", width, "trains on two cores", "model.width"),
    )


ATTENTION_DROPOUT = Departure(
    "attention dropout",
    "dropout on the attention weights, attn_drop",
    "maps of training and of reading stay the same thing",
    ours="none; dropout elsewhere as in the paper",
)
NO_ATTENTION_DROPOUT = ATTENTION_DROPOUT._replace(paper="")
BEST_EPOCH = Departure(
    "best epoch",
    "by the positive class's F1 on validation",
    "no class is the positive one in data of other kinds",
    "training.metric",
)

NDT = (
    Departure("width", "", "the slope of Table X's parameters over vocabulary", "model.width"),
    Departure("feed-forward", "", "the one width with which 16 of 20 cells of Table X come out", "model.ff_width"),
    Departure("heads", "", "vectors of lambda are as long as a head is wide", "model.attention.heads"),
    Departure("positions", "", "the size leaves no room for learned ones", "model.position"),
    Departure("embedding", "", "as in the first transformer", ours="times the root of the width"),
    Departure("pooling", "", "needs no further token", "model.pooling"),
    Departure("learning rate", "", "chosen on validation", "training.lr"),
    Departure("dropout", "", "usual; not on attention weights", "model.dropout"),
    Departure(
        "precision and F1",
        "TP/(TP+FP), of one class",
        "its Table VII fits only this mean",
        ours="mean of classes, weighted by rows",
    ),
)
ADDITIVE = (
    *NDT,
    Departure(
        "start of lambda",
        "",
        "fitted to the lambdas that the paper reports after training, so agreement with those is no evidence",
        "model.attention.lambda_start",
    ),
    Departure("beta", "called a bias term; whether it is learned is open", "its reported lambdas hardly leave their "
              "round values", "model.attention.learn_beta", "true"),
)  # fmt: skip
DIFFERENTIAL = (
    *NDT,
    Departure("direction", "left to right (arXiv 2410.05258)", "texts are classified whole", ours="both directions"),
    Departure("positions and biases", "rotary, no biases (arXiv 2410.05258)", "one body for all of NDT's baselines",
              ours="sinusoids, biases"),
)  # fmt: skip

SENTIFORMER = (
    Departure("norm", "", "trains without a long warm-up", "model.norm_place"),
    Departure("vocabulary", "about 22 million parameters, no vocabulary", "67,000 words make 22 million",
              "text.max_vocab"),
    Departure("weight decay", "", "not on biases, norms, gates and factors", "training.weight_decay"),
    Departure("after the warm-up", "", "linearly to 0", "training.schedule"),
    Departure("epochs", "", "stops before by the validation loss, as the paper does", "training.epochs"),
    NO_ATTENTION_DROPOUT,
)  # fmt: skip
WINDOW = (
    Departure("window", "64, on which side is open", "half on each side; a token always sees itself",
              "model.attention.window"),
    Departure("global tokens", "", "else the class token could not gather in one layer",
              ours="see all tokens and are seen by all"),
    Departure("random tokens", "two a layer; when they are drawn is open", "a text reads the same in every batch",
              "model.attention.support_seed"),
)  # fmt: skip
RECENCY = Departure(
    "recency",
    "sin and cos of pi i / n",
    "the end is told apart from every other place: cos = -1 there",
    ours="i from 1, the class token counted in n",
)
GATE = (
    Departure("gate of the class token", "the gate of every token is learned", "what reads the answer stays visible",
              ours="1"),
    Departure("bias of the gate", "none in equation 4", "gates begin open, so that something is learned through them",
              ours="learned, from +2"),
)  # fmt: skip
TAGGER = Departure("tagger", "a lightweight tagger, unnamed", "reads English, German and Dutch", "text.tagger")

TWEET = (
    ATTENTION_DROPOUT,
    BEST_EPOCH,
    Departure("padding", "masking is optional; the released code masks nothing", "a text reads the same in every batch",
              "model.pad_mode", "as_released"),
    Departure("tokenizer", "trained on the whole corpus", "validation and test texts stay unseen",
              "text.tokenizer_fit", "all"),
    Departure("special tokens", "<pad> 0, <s> 1, </s> 2, <unk> 3", "its code never inserts <s> and </s>",
              ours="padding 0, unknown 1"),
    Departure("underscores", "removed, as all that is no letter or digit", "parts of names", ours="kept"),
    Departure("seed", "42", "one seed for all presets", "training.seed", "42"),
)  # fmt: skip
HALVED = Departure(
    "feed-forward width",
    "twice the width by its formula",
    "its code halves the factor of Table I, as “3 (effective 1.5)” of V8 says too",
    "model.ff_width",
)
V8_WIDTH = Departure(
    "feed-forward width",
    "ff_expansion=3, effective 1.5 of the width",
    "the released code divides whole numbers: 3 // 2 = 1",
    "model.ff_width",
    "288",
)
V5_ROWS = Departure(
    "training tweets",
    "100,000 of 1.6 million, half of each class, split 80/10/10",
    "80,000 are the training part; a sixteenth only of the full set, and drawn by the data's own proportions",
    "data.limit",
)
RELEASED_VOCABULARY = Departure(
    "vocabulary", "30,000; the released code has {} here", "the paper's own number", "text.max_vocab"
)

LEXICAL = (
    *list_size_deviations("12 layers", "768: ko-electra and others of base size"),
    Departure("positions", "learned, of the pre-trained model", "nothing to learn", "model.position"),
    Departure("learning rate", "1e-5 to 5e-5, for fine-tuning", "from scratch", "training.lr"),
    Departure("epochs", "3 to 10, tuned", "stops by validation", "training.epochs"),
    NO_ATTENTION_DROPOUT,
)
SIGMA = (
    Departure("lexicon", "CARBD-ko: aspects and intensities of Korean reviews", "any lexicon with polarities does, "
              "by the paper; this one comes along", "text.lexicon"),
    Departure("which entries a token takes", "every entry whose words contain the token", "“a” is part of thousands of "
              "entries", "text.lexicon_match", "contains"),
    Departure("words outside the vocabulary", "subwords: there are none", "their embedding is one for all",
              ours="neutral"),
)  # fmt: skip
HADAMARD = Departure(
    "matrix",
    "similarity of words in WordNet (Xia et al. 2021)",
    "one matrix for both ways to bring the lexicon in; pairs with a neutral word are scaled by 1/3",
    ours="sigma",
)

INCEPTIVE = (
    *list_size_deviations("12 layers: BERTweet, RoBERTa and others", "768"),
    Departure("learning rate", "1e-5, for fine-tuning", "from scratch", "training.lr", "1e-5"),
    Departure("two classes", "one logit, sigmoid and binary cross-entropy", "one rule for any number of classes",
              "model.head.one_logit", "true"),
    Departure("weight decay", "1e-3; 1e-4 on OHSUMED and CAVES", "a preset knows no data set", "training.weight_decay",
              "1e-4"),
    Departure("longest text", "128; 512 on OHSUMED", "a preset knows no data set", "text.max_length", "512"),
    NO_ATTENTION_DROPOUT._replace(paper="that of its pre-trained encoders; of the head's attention nothing is said"),
)  # fmt: skip
CONVOLUTIONS = (
    Departure("statistics of the batch norm", "over all positions", "padding changes nothing in training either",
              ours="over real tokens"),
    Departure("mean before the classifier", "over all positions", "padding changes nothing", ours="over real tokens"),
)  # fmt: skip
HEADS = Departure("heads of its attention", "another tunable number", "divides every width of Table 3",
                  "model.head.attention_heads")  # fmt: skip
NO_HEAD_DROPOUT = Departure(
    "dropout after the encoder", "a dropout layer", "a control of pooling and nothing else", ours="none"
)

ALL_FIVE = "they are the baselines of all five papers here"
BASELINE_TRAINING = (
    Departure("learning rate", "1e-4 at its highest", "small data, few epochs", "training.lr", "1e-4"),
    Departure("batch", "32", ALL_FIVE, "training.batch_size", "32"),
    Departure("warm-up", "10 % of the steps", ALL_FIVE, "training.warmup", "0.1"),
    Departure("label smoothing", "0.1", ALL_FIVE, "training.label_smoothing", "0.1"),
    Departure("best epoch", "by the validation loss", f"{ALL_FIVE}; auto is accuracy", "training.metric", "loss"),
    Departure("embedding", "", "as pre-trained vectors usually are", "model.width"),
    Departure("dropout", "", "Kim (2014)", "model.dropout"),
)
PRETRAINED = (
    Departure("attention dropout", "0.1", ATTENTION_DROPOUT.why, ours="none; dropout elsewhere as in the paper"),
    Departure("pooling", "the class token through one more layer, which guessed whether sentences follow each other",
              "not every backbone has that layer", ours="the class token itself"),
    Departure("best epoch", "the last", "validation chooses, as for every model here", "training.metric"),
)  # fmt: skip
FILTERS = Departure("filters", "", "Kim (2014)", "model.head.channels")

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
_FOR_ALL = "section V.B, not only of its own model"
_SENTIFORMER = {
    "text.max_length": PaperSetting(510, f"{_FOR_ALL}: 512, of which two are the beginning and the end"),
    "training.batch_size": PaperSetting(32, _FOR_ALL),
    "training.lr": PaperSetting(1e-4, _FOR_ALL),
    "training.warmup": PaperSetting(0.1, _FOR_ALL),
    "training.label_smoothing": PaperSetting(0.1, _FOR_ALL),
    "training.metric": PaperSetting("loss", _FOR_ALL),
    "training.patience": PaperSetting(3, _FOR_ALL),
    "training.epochs": PaperSetting(20, f"{NOT_SAID}; it stops before by the validation loss"),
}
_HEAD = (
    "The paper's own system is this with --set model.head.kernels=2,3,5,7 --set model.head.channels={} "
    "--set model.head.attention_heads=8 --set model.head.dense=512 --set model.pooling=mean; the number of heads is "
    "not stated."
)
_ONE_LOGIT = "On irony also --set model.head.one_logit=true."
_SIGMA = (
    "The paper's own system is this with --set model.attention.lexical=add and a lexicon; batch, length and warm-up "
    "are not stated."
)


def _make_inceptive(
    backbone: str, channels: str, settings: Mapping[str, PaperSetting] = _INCEPTIVE, note: str = ""
) -> FineTuning:
    head = f"{_HEAD.format(channels)} {note}".strip() if channels else "The paper reports it without its head."
    return FineTuning("inceptive", backbone, "section 4, Tables 3 and 4", settings, head)


def _make_lexical(backbone: str) -> FineTuning:
    return FineTuning("lexical", backbone, "section 4.4 and Table 1", _LEXICAL, _SIGMA)


FINE_TUNINGS: dict[str, FineTuning] = {
    "sentiformer-distilbert": FineTuning(
        "sentiformer", "distilbert/distilbert-base-uncased", "section V.A, Table I", _SENTIFORMER
    ),
    "sentiformer-bert": FineTuning(
        "sentiformer", "google-bert/bert-base-uncased", "section V.A, Table I", _SENTIFORMER
    ),
    "tweet-roberta": FineTuning(
        "7ess-xin", "FacebookAI/roberta-base", "section V.B, on Sentiment140", note=_ONLY_FINE_TUNED
    ),
    "lexical-ko-electra": _make_lexical("monologg/koelectra-base-v3-discriminator"),
    "lexical-kr-electra": _make_lexical("snunlp/KR-ELECTRA-discriminator"),
    "lexical-kc-electra": _make_lexical("beomi/KcELECTRA-base"),
    "lexical-kr-bert": _make_lexical("snunlp/KR-BERT-char16424"),
    "lexical-xlm-roberta": _make_lexical("FacebookAI/xlm-roberta-base"),
    "inceptive-bertweet": _make_inceptive(
        "vinai/bertweet-base",
        "64 (emotion) or 16 (irony)",
        note=f"{_ONE_LOGIT} Its tokenizer is published as vocab.txt and bpe.codes: `backbones convert` makes "
        "tokenizer.json.",
    ),
    "inceptive-roberta": _make_inceptive(
        "FacebookAI/roberta-base",
        "16 (emotion), 32 (irony, CAVES) or 128 (OHSUMED)",
        note=f"{_ONE_LOGIT} On OHSUMED and CAVES also training.weight_decay=1e-4, on OHSUMED text.max_length=510.",
    ),
    "inceptive-banglabert": _make_inceptive("csebuetnlp/banglabert", "16"),
    "inceptive-xlm-roberta": _make_inceptive("FacebookAI/xlm-roberta-base", "16"),
    "inceptive-biobert": _make_inceptive("dmis-lab/biobert-v1.1", "128", _OHSUMED),
    "inceptive-biobert-large": _make_inceptive("dmis-lab/biobert-large-cased-v1.1", "", _OHSUMED),
    "inceptive-ct-bert": _make_inceptive("digitalepidemiologylab/covid-twitter-bert-v2", "16", _CAVES),
}
"""Name → recipe; names begin like the presets of the paper."""
