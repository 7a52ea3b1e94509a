"""The files of the built-in corpus, and of the data set `life`: words, templates, and sentences written by hand.

Slots of templates have the number of their opinion: `The {n1} {be1} not {adj1}.` Slots with a capital (`{C1}`) are
clauses. `challenge.tsv` has 350 hard sentences, each for one phenomenon; for a random sample of 100, `second` is the
score of a second labeller who saw only the texts and the scale. `everyday.tsv` has 200 short sentences, ten per domain.
Scores are from -2 (very negative) to 2 (very positive; 0: mixed or neutral). `life.tsv` has short sentences on what
happens to people. Language models wrote and labelled the three in separate sessions; those of `life` did not see the
other two, which are never used for training.

The data set `people` has the same sentences about people of many groups, so that no group tells the class. `groups.tsv`
has the terms for groups, by kind. The templates of `people.tsv` are filled with every term. Every subject of that file
with every predicate, and the sentences of `life` that mention a person, have one term of each kind.
"""

import csv
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from core.data.dataset import TEST, TRAIN, VALIDATION
from core.exceptions import ConfigError

HELD_OUT_ONE_IN = 8


@dataclass(frozen=True)
class PolarWord:
    """A polar (positive or negative) word or phrase of the built-in corpus."""

    text: str  # A verb's base form, an outcome in the past tense, or a noun with its article
    other: str  # A verb's past tense, an adjective's comparative, an outcome's participle
    part: str  # The slot that it fills: adj, feel, affect, pn, adv, outcome or situation
    kind: str  # What it can describe: any, thing (all but people), person, one kind of noun, or a domain (situations)
    score: int  # Polarity and strength: -2, -1, 1 or 2
    unseen: bool  # Whether only the test split has it: marked with a star in the file
    deniable: bool
    """Whether its negation means the opposite; false for score -2 (not horrible does not mean good), and for words with
    a tilde in the file."""


@dataclass(frozen=True)
class Noun:
    """A noun of the built-in corpus that an opinion can be about."""

    text: str
    domain: str
    role: str  # `whole` (the film) or `aspect` (its plot)
    kind: str  # story, dish, room, device, event, staff or artist; decides which adjectives fit
    number: str  # s: singular, p: plural, m: mass noun (singular, without an article)


def read_rows(name: str | Path) -> list[dict[str, str]]:
    """Read a tab-separated file of this folder, or one with a full path, as one dict per row."""
    with (Path(__file__).parent / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def read_words() -> tuple[PolarWord, ...]:
    """Return all polar words and phrases of the built-in corpus, in the order of their file."""
    return tuple(
        _parse_word(entry, row["part"], row["kind"], int(row["score"]))
        for row in read_rows("lexicon.tsv")
        for entry in row["words"].split(", ")
    )


@cache
def read_nouns() -> tuple[Noun, ...]:
    """Return all nouns of the built-in corpus, in the order of their file."""
    return tuple(
        Noun(text, row["domain"], row["role"], row["kind"], row["number"])
        for row in read_rows("nouns.tsv")
        for text in row["nouns"].split(", ")
    )


@cache
def list_domains() -> tuple[str, ...]:
    """Return the domains of the built-in corpus's nouns, in the order of their file."""
    return tuple(dict.fromkeys(noun.domain for noun in read_nouns()))


@cache
def read_fillers() -> dict[str, tuple[str, ...]]:
    """Return neutral words by template slot: lead-ins, intensifiers, people, days, and participles by kind of noun."""
    return {row["slot"]: tuple(row["choices"].split(", ")) for row in read_rows("fillers.tsv")}


def is_held_out(word: PolarWord, phenomenon: str) -> bool:
    """Return whether a polar word is held out from training sentences of a phenomenon: one word in eight, by checksum.

    Situations and irregular forms (tastier, given) occur in one phenomenon only and are never held out.
    """
    irregular = word.part in ("adj", "outcome") and word.other not in (word.text, f"more {word.text}")
    one_use = word.part == "situation" or irregular
    return not one_use and zlib.crc32(f"{phenomenon}:{word.text}".encode()) % HELD_OUT_ONE_IN == 0


def _parse_word(entry: str, part: str, kind: str, score: int) -> PolarWord:
    listed = entry.rstrip("*~")
    marks = entry.removeprefix(listed)
    text, _, other = listed.partition("/")
    if not other:
        other = f"more {text}" if part == "adj" else text
    return PolarWord(text, other, part, kind, score, unseen="*" in marks, deniable=score > -2 and "~" not in marks)


SLOT = re.compile(r"\{([A-Za-z]+?)(\d?)\}")
MIXED, LUKEWARM, FACT = "mixed", "lukewarm", "neutral fact"
SIGNS = {"+": 1, "-": -1, "~": -1}  # `-`: words of the opposite sign; `~`: of the same, which the sentence denies


@dataclass(frozen=True)
class Frame:
    """A sentence template of the built-in corpus, with its rule of composition."""

    id: str
    phenomenon: str
    held_out: bool
    template: str
    signs: tuple[int, ...] = ()  # For each opinion, the sign of its words relative to the sentence: +1 or -1
    denied: tuple[bool, ...] = ()  # Of each opinion, whether the sentence denies its words
    score: str = "zero"  # weak (±1), strong (±2), zero, or the number of the opinion that decides
    kinds: frozenset[str] = frozenset()  # Kinds of noun that fit; empty: all
    domain: str = ""  # The only domain it belongs to; empty: any


@cache
def read_frames() -> tuple[Frame, ...]:
    """Return all sentence templates (frames) in the order of their files; statements of fact come last."""
    opinions = tuple(
        Frame(
            id=row["id"],
            phenomenon=row["phenomenon"],
            held_out=row["split"] == "test",
            signs=tuple(SIGNS[sign] for sign in row["signs"]),
            denied=tuple(sign == "~" for sign in row["signs"]),
            score=row["score"],
            kinds=frozenset(row["kinds"].split()),
            template=row["template"],
        )
        for row in read_rows("frames.tsv")
    )
    facts = tuple(
        Frame(f"fact-{number:02d}", FACT, row["split"] == "test", row["template"], domain=row["domain"])
        for number, row in enumerate(read_rows("facts.tsv"), start=1)
    )
    return opinions + facts


@cache
def read_clauses() -> dict[str, tuple[str, ...]]:
    """Return slot name → clause templates that can fill the slot; `#` in them means an opinion's number."""
    found: dict[str, list[str]] = {}
    for row in read_rows("clauses.tsv"):
        found.setdefault(row["name"], []).append(row["template"])
    return {name: tuple(templates) for name, templates in found.items()}


CHALLENGE, EVERYDAY = "challenge", "everyday"
NAMES = {
    2: ("negative", "positive"),
    3: ("negative", "neutral", "positive"),
    5: ("very negative", "negative", "neutral", "positive", "very positive"),
}
COLUMNS = ["text", "label", "phenomenon", "score", "domain", "frame", "unseen"]


def get_class_names(classes: int) -> tuple[str, ...]:
    """Return the built-in corpus's names of two, three or five classes, in label order; else raise ConfigError."""
    if classes not in NAMES:
        raise ConfigError(f"data.classes={classes}: 2, 3 or 5")
    return NAMES[classes]


def convert_scores(scores: np.ndarray, classes: int) -> np.ndarray:
    """Convert sentiment scores (-2 to 2) to class numbers of 2 (by sign, no score 0), 3 (by sign) or 5 classes."""
    return {2: (scores > 0).astype(np.int64), 3: np.sign(scores) + 1, 5: scores + 2}[classes].astype(np.int64)


def read_split(name: str) -> pd.DataFrame:
    """Read the sentences of a handwritten split as a table with scores (-2 to 2), phenomenon and domain."""
    rows = pd.read_csv(
        Path(__file__).with_name(f"{name}.tsv"),
        sep="\t",
        quoting=csv.QUOTE_NONE,
        encoding="utf-8",
        keep_default_na=False,
        na_values={"second": [""]},
        dtype={"text": "str", "score": "int64", "phenomenon": "str", "domain": "str", "second": "Int64"},
    )
    return rows.assign(**{"domain" if name == CHALLENGE else "phenomenon": name})


def load_split(name: str, classes: int = 2) -> pd.DataFrame:
    """Return a handwritten split with the columns of `generate_corpus`; with two classes, leave score 0 out."""
    rows = read_split(name)
    if classes == 2:
        rows = rows[rows["score"] != 0].reset_index(drop=True)
    return rows.assign(label=convert_scores(rows["score"].to_numpy(), classes), frame="", unseen=False)[COLUMNS]


_BLOCK, _BLOCKS = 12, 10
"""Rows per block, and blocks per cycle. A block goes into one split, as neighbours in the file are often pairs that
differ in a few words; one block of each cycle goes into validation and one into test."""
HELD = {_BLOCKS - 2: VALIDATION, _BLOCKS - 1: TEST}


def read_life() -> dict[str, pd.DataFrame]:
    """Return train, validation and test of the data set `life`, with columns text, label (class name) and domain."""
    rows = pd.DataFrame(read_rows("life.tsv"), dtype="str")[["text", "label", "domain"]]
    block = np.arange(len(rows)) // _BLOCK % _BLOCKS
    where = pd.Series(block).map(HELD).fillna(TRAIN)
    return {split: rows[where == split].reset_index(drop=True) for split in (TRAIN, VALIDATION, TEST)}


GROUP_SLOT = "{group}"
_PERSON = re.compile(
    r"\b(my|our|the|an?|her|his|their|this|that|your|another|two|some|these|those|no|every|any|new) "
    r"(?=(neighbour|friend|teacher|doctor|nurse|boss|waiter|waitress|driver|man|woman|men|women|girl|boy|people|couple|"
    r"family|student|colleague|guide|guest|owner|landlord|landlady|roommate|flatmate|stranger|customer|coach|cook|chef|"
    r"singer|actor|manager|dentist|mechanic|plumber|tutor|child|children|kid|mother|father|sister|brother|aunt|uncle|"
    r"cousin|grandmother|grandfather|husband|wife|son|daughter|writer|author|clerk|cashier|librarian|barber|"
    r"hairdresser|director|professor|officer|policeman|passenger|crew|lady|guy|bloke|carer|surgeon|midwife|priest|"
    r"lawyer|builder|electrician|farmer|baker|butcher|postman|vet|pilot|conductor|receptionist|bride|groom)s?\b)",
    re.IGNORECASE,
)


@cache
def read_groups() -> dict[str, tuple[str, ...]]:
    """Return kind (religion, age …) → terms for groups of people of that kind."""
    return {row["kind"]: tuple(row["terms"].split(", ")) for row in read_rows("groups.tsv")}


def fill_slot(template: str, term: str) -> str:
    """Return a template with a term in place of `{group}`, with *a* or *an* before it, and a capital at the start."""
    text = template.replace(GROUP_SLOT, term)
    article = "an" if term[0] in "AEIOUaeio" and not term.startswith("Euro") else "a"
    text = re.sub(rf"\b([Aa])n? (?={re.escape(term)}\b)", lambda found: f"{found[1]}{article[1:]} ", text)
    return text[0].upper() + text[1:]


def mask_groups(text: str) -> str:
    """Return a text in lower case with `{group}` in place of every term, so that the group makes no difference."""
    return re.sub(rf"\ban (?={GROUP_SLOT})", "a ", _list_terms().sub(GROUP_SLOT, text.lower()))


@cache
def _list_terms() -> re.Pattern[str]:
    terms = sorted(chain.from_iterable(read_groups().values()), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(re.escape(term.lower()) for term in terms)})(?![\w-])")


def read_people() -> dict[str, pd.DataFrame]:
    """Return train, validation and test of the data set `people`, with columns text, label, kind and group.

    All sentences of a template are in one split. A neutral template has one class for all groups, which changes from
    template to template.
    """
    rows, found = read_rows("people.tsv"), dict[str, list[tuple[str, str, str, str]]]()
    given = {part: [row["template"] for row in rows if row["label"] == part] for part in ("subject", "predicate")}
    composed = (f"{subject} {predicate}" for subject in given["subject"] for predicate in given["predicate"])
    known = [(row["template"], row["label"]) for row in rows if row["label"] not in given]
    for number, (template, label) in enumerate(known):
        told, part = _choose_class(number) if label == "neutral" else label, HELD.get(number % _BLOCKS, TRAIN)
        pairs = ((kind, term) for kind, terms in read_groups().items() for term in terms)
        found.setdefault(part, []).extend((fill_slot(template, term), told, kind, term) for kind, term in pairs)
    found[TRAIN] += _take_turns((each, _choose_class(number)) for number, each in enumerate(composed))
    for split, sentences in read_life().items():
        found[split] += _take_turns(_find_people(sentences))
    columns = ["text", "label", "kind", "group"]
    return {split: pd.DataFrame(each, columns=columns, dtype="str") for split, each in found.items()}


def _choose_class(number: int) -> str:
    return ("negative", "positive")[number // _BLOCKS % 2]


def _find_people(sentences: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield a template and the class for each sentence with a person, whose group is not mentioned."""
    for text, label in zip(sentences["text"], sentences["label"], strict=True):
        if _PERSON.search(text) and GROUP_SLOT not in mask_groups(text):
            yield _PERSON.sub(rf"\1 {GROUP_SLOT} ", text, count=1), label


def _take_turns(templates: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each template with one term of each kind; the next template of the same class gets the next terms."""
    seen = Counter[str]()
    for template, label in templates:
        for kind, terms in read_groups().items():
            term = terms[seen[label] % len(terms)]
            yield fill_slot(template, term), label, kind, term
        seen[label] += 1
