"""The registry of named data sets, and whether they are on this machine. Imports nothing heavy."""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from core.data.sources.source import PARQUET_BRANCH, DataSource, Hub

LIFE, PEOPLE = "life", "people"


def _list_files(
    folder: str, names: str = "train validation test", file: str = "{split}-00000-of-00001.parquet"
) -> dict[str, tuple[str, ...]]:
    return {split: (f"{folder}/{file.format(split=split)}",) for split in names.split()}


def _number_names(*names: str) -> dict[str, str]:
    return {str(number): name for number, name in enumerate(names)}


_LISTED = "not checked against the hub; repository and files as in its public listing"
_ANALOGY = "not checked against the hub; repository as in public listings, file names by analogy with listed ones"
_CONVENTION = "not checked against the hub; repository as in public listings, file names by the hub's conversion rule"
# The NDT paper does not state the minimum frequency. With this one, vocabularies are closest to the reported sizes:
# SST-2 (re-split) 8,838 (reported 8,865), Twitter Financial (as tweets) 3,197 (3,137), IMDB 27,210 (26,284).
_NDT = {"ndt": {"text.min_freq": 5}}
_POLAR = _number_names("negative", "positive")
_TWITTER = "none of its own; those of the task and of Twitter may apply"
_SST = "Socher et al. 2013, Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank"
_YELP = "Zhang, Zhao and LeCun 2015, Character-level Convolutional Networks for Text Classification"
_TWEETEVAL = "Barbieri et al. 2020, TweetEval: Unified Benchmark and Comparative Evaluation for Tweet Classification"
_CONCERNS = (
    "conspiracy country ineffective ingredients mandatory pharma political religious rushed side-effect unnecessary "
    "none"
).split()
_EMOJI = (
    "❤ red_heart|😍 smiling_face_with_hearteyes|😂 face_with_tears_of_joy|💕 two_hearts|🔥 fire|"
    "😊 smiling_face_with_smiling_eyes|😎 smiling_face_with_sunglasses|✨ sparkles|💙 blue_heart|"
    "😘 face_blowing_a_kiss|📷 camera|🇺🇸 United_States|☀ sun|💜 purple_heart|😉 winking_face|💯 hundred_points|"
    "😁 beaming_face_with_smiling_eyes|🎄 Christmas_tree|📸 camera_with_flash|😜 winking_face_with_tongue"
).split("|")


def _make_converted(repo: str, config: str, names: str, checked: str = _CONVENTION, **columns: str) -> Hub:
    files = _list_files(config, names, "{split}/0000.parquet")
    return Hub(repo, files, revision=PARQUET_BRANCH, checked=checked, **columns)


def _make_tweet_eval(config: str, checked: str = _LISTED) -> Hub:
    return Hub("cardiffnlp/tweet_eval", _list_files(config), checked=checked)


_ALL = (
    DataSource(
        name="built-in",
        title="Built-in corpus: composed sentences with named phenomena",
        licence="MIT",
        citation="Written for Sentiscope",
        kind="built-in",
        ordered=True,
        note="Version 2, of November 2026. Two, three or five classes of one scale (data.classes). Two further splits "
        "are written by hand: challenge, hard sentences, and everyday, short ones from everyday topics.",
    ),
    DataSource(
        name=LIFE,
        title="Everyday life: what happens to people, in short sentences",
        licence="MIT",
        citation="Written for Sentiscope",
        kind="built-in",
        ordered=True,
        labels=_POLAR,
        note="Written and labelled by language models, one by one; about half of the sentences were to tell an event "
        "without any word of opinion. Neighbours that differ in a few words are in the same split.",
    ),
    DataSource(
        name=PEOPLE,
        title="Groups of people: the same sentences about each of them",
        licence="MIT",
        citation="Written for Sentiscope",
        kind="built-in",
        ordered=True,
        labels=_POLAR,
        note="Templates with each of 69 terms of religion, sexuality, gender, nationality, ethnicity, age and "
        "disability, and sentences of life with such a term. The class never depends on the term; neutral sentences "
        "have an arbitrary one.",
    ),
    DataSource(
        name="sst2",
        title="SST-2: phrases and sentences of film reviews (GLUE)",
        licence="none stated",
        citation=f"{_SST}; Wang et al. 2019, GLUE",
        labels=_POLAR,
        hub=Hub("stanfordnlp/sst2", _list_files("data"), text="sentence", checked=_LISTED),
        reported_split="validation",
        pooled=("train", "validation"),
        settings={"text.max_length": 64},
        reported=_NDT,
        note="The 872 sentences of the official dev split are the test split; GLUE's own test labels are withheld. A "
        "random re-split (data.split) leaks phrases of the same sentence into test, so its scores are far higher.",
    ),
    DataSource(
        name="sst5",
        title="SST-5: film-review sentences on a five-point scale",
        licence="none stated",
        citation=_SST,
        labels=_number_names("very negative", "negative", "neutral", "positive", "very positive"),
        ordered=True,
        hub=_make_converted("SetFit/sst5", "default", "train validation test"),
        settings={"text.max_length": 64},
    ),
    DataSource(
        name="imdb",
        title="IMDB: whole film reviews",
        licence="none stated",
        citation="Maas et al. 2011, Learning Word Vectors for Sentiment Analysis",
        labels=_POLAR,
        hub=Hub("stanfordnlp/imdb", _list_files("plain_text", "train test"), checked=_LISTED),
        validation_share=0.2,
        settings={"text.max_length": 256},
        reported=_NDT,
        note="123 texts occur in both official splits.",
    ),
    DataSource(
        name="yelp-5",
        title="Yelp reviews, one to five stars",
        licence="Yelp dataset terms",
        citation=_YELP,
        labels=_number_names("1 star", "2 stars", "3 stars", "4 stars", "5 stars"),
        ordered=True,
        hub=Hub("Yelp/yelp_review_full", _list_files("yelp_review_full", "train test"), checked=_LISTED),
        settings={"text.max_length": 256},
        reported=_NDT,
    ),
    DataSource(
        name="yelp-polarity",
        title="Yelp reviews, negative or positive",
        licence="Yelp dataset terms",
        citation=_YELP,
        labels=_POLAR,
        hub=Hub("fancyzhx/yelp_polarity", _list_files("plain_text", "train test"), checked=_LISTED),
        settings={"text.max_length": 256},
    ),
    DataSource(
        name="yelp_polarity_sentences",
        title="Yelp review sentences, negative or positive",
        licence="Apache-2.0 repository; Yelp dataset terms",
        citation="Shen et al. 2017, Style Transfer from Non-Parallel Text by Cross-Alignment",
        labels=_POLAR,
        settings={"text.max_length": 64},
        note="A sentence inherits the label of its review.",
    ),
    DataSource(
        name="twitter_financial",
        title="Twitter Financial News: bearish, bullish or neutral",
        licence="MIT, as its page states",
        citation="zeroshot/twitter-financial-news-sentiment",
        labels=_number_names("bearish", "bullish", "neutral"),
        hub=_make_converted("zeroshot/twitter-financial-news-sentiment", "default", "train validation"),
        settings={"text.max_length": 64, "text.normaliser": "tweet"},
        reported=_NDT,
        note="65 % of the rows are neutral: accuracy alone misleads.",
    ),
    DataSource(
        name="tweet_sentiment",
        title="Tweets: negative, neutral or positive (SemEval-2017 task 4A)",
        licence=_TWITTER,
        citation=f"Rosenthal et al. 2017, SemEval-2017 Task 4; {_TWEETEVAL}",
        labels=_number_names("negative", "neutral", "positive"),
        ordered=True,
        hub=_make_tweet_eval("sentiment"),
        settings={"text.normaliser": "tweet"},
        note="The share of negative tweets doubles from train to test.",
    ),
    DataSource(
        name="us_airline",
        title="Tweets to US airlines: negative, neutral or positive",
        licence="CC-BY-NC-SA-4.0, as its page states; not checked. Twitter terms",
        citation="Crowdflower 2015, Twitter US Airline Sentiment",
        labels=_number_names("negative", "neutral", "positive"),
        ordered=True,
        settings={"text.normaliser": "tweet"},
    ),
    DataSource(
        name="sentiment140",
        title="Sentiment140: tweets labelled by their emoticon",
        licence="none stated; Twitter terms",
        citation="Go, Bhayani and Huang 2009, Twitter Sentiment Classification using Distant Supervision",
        labels={"0": "negative", "2": "neutral", "4": "positive"},
        ordered=True,
        hub=_make_converted(
            "stanfordnlp/sentiment140", "sentiment140", "train test", checked=_ANALOGY, label="sentiment"
        ),
        pooled=("train", "validation"),
        settings={"text.normaliser": "tweet"},
        note="Neutral tweets occur in test only and are left out there.",
    ),
    DataSource(
        name="nsmc",
        title="NSMC: Korean film reviews",
        language="ko",
        licence="CC0-1.0",
        citation="Park 2016, Naver Sentiment Movie Corpus",
        labels=_POLAR,
        hub=_make_converted("e9t/nsmc", "default", "train test", text="document"),
        settings={"text.tokenizer": "bpe"},
    ),
    DataSource(
        name="korean_hate_speech",
        title="Korean entertainment comments: none, offensive or hate",
        language="ko",
        licence="CC-BY-SA-4.0, not checked",
        citation="Moon, Cho and Lee 2020, BEEP! Korean Corpus of Online News Comments for Toxic Speech Detection",
        labels=_number_names("hate", "offensive", "none"),
        ordered=True,
        reported_split="validation",
        pooled=("train", "validation"),
        settings={"text.tokenizer": "bpe"},
        note="Labels of the official test split are withheld; the 471 comments of its dev split are the test split.",
    ),
    DataSource(
        name="tweeteval_emotion",
        title="Tweets: anger, joy, optimism or sadness",
        licence=_TWITTER,
        citation=f"Mohammad et al. 2018, SemEval-2018 Task 1; {_TWEETEVAL}",
        labels=_number_names("anger", "joy", "optimism", "sadness"),
        hub=_make_tweet_eval("emotion"),
        settings={"text.normaliser": "tweet"},
    ),
    DataSource(
        name="tweeteval_irony",
        title="Tweets: ironic or not",
        licence=_TWITTER,
        citation=f"Van Hee, Lefever and Hoste 2018, SemEval-2018 Task 3; {_TWEETEVAL}",
        labels=_number_names("non_irony", "irony"),
        hub=_make_tweet_eval("irony", _ANALOGY),
        settings={"text.normaliser": "tweet"},
    ),
    DataSource(
        name="tweeteval_emoji",
        title="Tweets: which of twenty emoji",
        licence=_TWITTER,
        citation=f"Barbieri et al. 2018, SemEval-2018 Task 2; {_TWEETEVAL}",
        labels=_number_names(*_EMOJI),
        hub=_make_tweet_eval("emoji", _ANALOGY),
        settings={"text.normaliser": "tweet"},
        note="The class mixes of validation and test differ from that of train.",
    ),
    DataSource(
        name="bangla_emotion",
        title="BEmoC: Bengali texts, six basic emotions",
        language="bn",
        licence="none stated",
        citation="Das et al. 2021, Emotion Classification in a Resource Constrained Language (NAACL SRW)",
        labels=_number_names("anger", "disgust", "fear", "joy", "sadness", "surprise"),
        settings={"text.tokenizer": "bpe"},
        note="About 15 % of validation and test texts also occur in train.",
    ),
    DataSource(
        name="ohsumed",
        title="OHSUMED abstracts: one of 23 disease categories",
        licence="none stated; research use",
        citation="Hersh et al. 1994, OHSUMED; single-label subset as in Yao, Mao and Luo 2019, TextGCN",
        settings={"text.max_length": 256},
        note="The single-label subset of 7\u202f400 abstracts.",
    ),
    DataSource(
        name="caves",
        title="CAVES: concerns about vaccines",
        licence="GPL-3.0; Twitter terms",
        citation="Poddar et al. 2022, CAVES: A Dataset to facilitate Explainable Classification of Concerns",
        task="multi",
        labels=_number_names(*_CONCERNS),
        settings={"text.normaliser": "tweet"},
        note="Up to three of eleven concerns, or none, which is a label of its own. Where no test split is found, half "
        "of validation takes its place.",
    ),
    DataSource(
        name="kornli",
        title="KorNLI: Korean sentence pairs, entailment",
        language="ko",
        licence="CC-BY-SA-4.0, not checked",
        citation="Ham et al. 2020, KorNLI and KorSTS: New Benchmark Datasets for Korean Natural Language Understanding",
        task="pair",
        labels={name: name for name in ("contradiction", "neutral", "entailment")},
        note="A folder kornli in SENTISCOPE_DATA with the published files under these names: train.tsv "
        "(snli_1.0_train.ko.tsv and multinli.train.ko.tsv, one after the other under one header), dev.tsv "
        "(xnli.dev.ko.tsv), test.tsv (xnli.test.ko.tsv); columns sentence1, sentence2, gold_label. Not checked against "
        "the published files.",
    ),
    DataSource(
        name="paws_x_ko",
        title="PAWS-X, Korean: paraphrase or not",
        language="ko",
        licence="not known here",
        citation="Yang et al. 2019, PAWS-X: A Cross-lingual Adversarial Dataset for Paraphrase Identification",
        task="pair",
        labels=_number_names("different", "paraphrase"),
        note="A folder paws_x_ko in SENTISCOPE_DATA with the published files of ko under these names: train.tsv "
        "(translated_train.tsv), dev.tsv (dev_2k.tsv), test.tsv (test_2k.tsv); columns id, sentence1, sentence2, "
        "label. Not checked against the published files.",
    ),
    DataSource(
        name="question_pair",
        title="Korean question pairs: same meaning or not",
        language="ko",
        licence="not known here",
        citation="Songys, Question_pair",
        task="pair",
        labels=_number_names("0", "1"),
        note="A folder question_pair in SENTISCOPE_DATA with the published files under these names: train.csv "
        "(kor_pair_train.csv), test.csv (kor_pair_test.csv); columns question1, question2, is_duplicate, whose "
        "numbers are the classes. Not checked against the published files.",
    ),
)

SOURCES: dict[str, DataSource] = {source.name: source for source in _ALL}  # The built-in corpus first


def split_mixture(data: str) -> tuple[str, ...]:
    """Return the registered data set names in a mixture such as `sst2+imdb`; empty for any other name."""
    names = tuple(part.strip() for part in data.split("+"))
    return names if len(names) > 1 and all(name in SOURCES for name in names) else ()


def is_registered(data: str) -> bool:
    """Return whether a data name is a registered name or a mixture of such names, rather than a path."""
    return data in SOURCES or bool(split_mixture(data))


def suggest_settings(data: str, paper: str = "") -> dict[str, Any]:
    """Return settings (dotted name → value) recommended for a named data set and a paper's models; empty for a path.

    For a mixture, return the settings on which all parts that have them agree.
    """
    every: dict[str, set[Any]] = {}
    for source in (SOURCES[name] for name in split_mixture(data) or (data,) if name in SOURCES):
        for name, value in {**source.settings, **source.reported.get(paper, {})}.items():
            every.setdefault(name, set()).add(value)
    return {name: values.pop() for name, values in every.items() if len(values) == 1}


DATA_FOLDER = "SENTISCOPE_DATA"  # Environment variable: a folder with one for each data set, read instead of the hub


@dataclass(frozen=True)
class Availability:
    """The availability of a named data set in a few words, and why it cannot be opened (empty if it can)."""

    state: str
    lacking: str = ""


def find_local_folder(name: str) -> Path | None:
    """Return the folder under SENTISCOPE_DATA that replaces the download of a named data set; None if it is missing."""
    base = os.environ.get(DATA_FOLDER, "")
    folder = Path(base).expanduser() / name
    return folder if base and folder.is_dir() else None


def check_availability(source: DataSource, *, hub: bool | None = None) -> Availability:
    """Return whether and where a named data set is available; `hub` says whether the download package is installed."""
    if source.kind == "built-in":
        return Availability("part of the program")
    folder, layout = find_local_folder(source.name), source.published
    if folder and layout and layout.is_used_in(folder):
        if not (lacking := ", ".join(layout.list_missing(folder))):
            return Availability("found, as published")
        return Availability(f"incomplete: {lacking} lacks", f"{folder} lacks {lacking}. {_describe_files(source)}")
    if folder and any(folder.iterdir()):
        return Availability("found")
    if source.hub and (find_spec("huggingface_hub") is not None if hub is None else hub):
        return Availability("on the hub")
    how = "" if layout else "No download is known for it. "
    how = "Install the download: `pip install sentiscope[hub]`. Or: " if source.hub else how
    place, own = f"into a folder named {source.name}", f"start with `{DATA_FOLDER}` naming the folder above it."
    copy = f"{_describe_files(source)} They belong {place}: {own}" if layout else f"Put a copy {place}, and {own}"
    return Availability("not here", how + copy)


def _describe_files(source: DataSource) -> str:
    layout = source.published
    assert layout is not None
    return f"The files, as given out at {layout.where}: {layout.describe_layout()}. Terms: {source.licence}."
