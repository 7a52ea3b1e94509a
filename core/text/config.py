"""Settings for the normalisation and tokenisation of texts. Imports nothing heavy."""

from dataclasses import dataclass
from typing import Literal

from core.exceptions import ConfigError
from core.settings import check_ranges, setting

Normalizer = Literal["raw", "none", "lower", "tweet", "tweet-clean", "tweet-clean-as-released"]
LOOKALIKES = 1  # The newest version of the look-alike table in `core.text.normalization`, which new trainings use
TokenizerKind = Literal["word", "bpe", "pretrained"]
TaggerKind = Literal["none", "auto", "en", "de", "nl"]
READING = ("normaliser", "lookalikes", "mark_elongation", "mark_capitals", "tokenizer", "max_vocab", "min_freq")


@dataclass(frozen=True)
class TextConfig:
    """The settings for the tokens of texts and their features: normaliser, tokenizer, tagger and lexicon."""

    # fmt: off
    normaliser: Normalizer = setting("lower",
        help="raw: as typed · none: only white space is folded · lower: also lower-cased · tweet: also URL and @name "
        "marked · tweet-clean: lower-cased, URL, @name, digits and every mark removed, emoji and apostrophes too · "
        "tweet-clean-as-released: as the released code of 7ess-Xin, which takes any http or www for a link, also "
        "inside a word (awwww becomes a), and removes all from an @ to the next blank.")
    mark_elongation: bool = setting(False,
        help="Shorten drawn-out words and put a mark behind them: soooo becomes so xxlong, coooool becomes cool "
        "xxlong.")
    mark_capitals: bool = setting(False,
        help="Put a mark behind words in capitals: GREAT becomes GREAT xxcaps, before any lower-casing.")
    lookalikes: int = setting(0, "look-alikes",
        help="Version of the table by which characters that look the same are read as one, before anything else: "
        "apostrophes of every kind between letters, wide and narrow letters, ligatures, entities, <br>, joiners and "
        "blanks without width; 0: none, as in runs made before there was one.", within=(0, LOOKALIKES))
    tokenizer: TokenizerKind = setting("word",
        help="word: words, numbers, emoji and single marks · bpe: byte-level byte-pair encoding, no unknown tokens · "
        "pretrained: that of the backbone, which reads nothing else.")
    max_vocab: int = setting(30_000, help="Most entries, special tokens included; the most frequent are kept.",
        within=(8, 10_000_000))
    min_freq: int = setting(2, help="A token seen less often in the training split is unknown.",
        within=(1, 1_000_000_000))
    char_ngrams: int = setting(0,
        help="Longest character n-gram, of 2 letters at least and within words, that TF-IDF counts beside words and "
        "pairs; 0: none.", within=(0, 8))
    tokenizer_fit: Literal["train", "all"] = setting("train",
        help="train: the vocabulary comes from the training split · all: also from the texts of validation and test, a "
        "leak of their words (not of their labels) that some papers have.")
    grown: int = setting(0, "added words",
        help="Of a training that starts from another run: so many frequent words of the new texts, unknown to its "
        "tokenizer or cut into pieces by it, become tokens of their own; 0: it is kept as it is.",
        within=(0, 1_000_000))
    max_length: int = setting(0,
        help="Longest text in tokens, the rest is cut; 0: the 99th percentile of the training split, between 16 and "
        "256.")
    tagger: TaggerKind = setting("none", "tagger", "Positions",
        "Parts of speech by HanTa: none · auto: the language of the training texts where there is a tagger for it, "
        "else none and a note · en, de, nl: English, German, Dutch.")
    lexicon: str = setting("", "lexicon", "Lexicon",
        "Words with a polarity: vader · the path of a TSV or CSV file · several with commas between, each read for "
        "itself · empty: none.")
    lexicon_match: Literal["word", "contains"] = setting("word", "match of the lexicon", "Lexicon",
        "word: a token takes what the lexicon says of its whole word · contains: of every entry that has it as a "
        "token.")
    # fmt: on

    def __post_init__(self) -> None:
        check_ranges(self, "text")
        if "\0" in self.lexicon or len(self.lexicon) > 4096:
            raise ConfigError(f"text.lexicon={self.lexicon!r:.60}: vader, or the path of a file")
        names = self.lexicons
        if "" in names or len(set(names)) < len(names):
            raise ConfigError(
                f"text.lexicon={self.lexicon!r:.60}: different ones with a comma between two, as vader,FILE (a path "
                "with a comma in it cannot be told from two)"
            )
        if self.char_ngrams == 1:
            raise ConfigError("text.char_ngrams=1: 0 (none) or 2 to 8; a single letter says nothing")
        if self.max_length != 0 and not 4 <= self.max_length <= 16_384:
            raise ConfigError(f"text.max_length={self.max_length!s:.40}: 0 (automatic) or 4 to 16384")

    @property
    def lexicons(self) -> tuple[str, ...]:
        """The names of the sentiment lexicons that the setting `text.lexicon` lists, in its order."""
        return parse_lexicons(self.lexicon)


def parse_lexicons(setting: str) -> tuple[str, ...]:
    """Return the names of the sentiment lexicons in a value of the setting `text.lexicon`."""
    return tuple(name.strip() for name in setting.split(",")) if setting else ()
