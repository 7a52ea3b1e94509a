"""The data set `people`: the same sentences about people of many groups, so that no group tells the class.

`groups.tsv` has the terms for groups, by kind. The templates of `people.tsv` are filled with every term. Every subject
of that file with every predicate, and the sentences of `life` that mention a person, have one term of each kind.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

import pandas as pd

from core.data.dataset import TRAIN
from core.data.sources.builtin.corpus_files import HELD, read_life, read_rows

SLOT = "{group}"
_BLOCKS = 10
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
    text = template.replace(SLOT, term)
    article = "an" if term[0] in "AEIOUaeio" and not term.startswith("Euro") else "a"
    text = re.sub(rf"\b([Aa])n? (?={re.escape(term)}\b)", lambda found: f"{found[1]}{article[1:]} ", text)
    return text[0].upper() + text[1:]


def mask_groups(text: str) -> str:
    """Return a text in lower case with `{group}` in place of every term, so that the group makes no difference."""
    return re.sub(rf"\ban (?={SLOT})", "a ", _list_terms().sub(SLOT, text.lower()))


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
        if _PERSON.search(text) and SLOT not in mask_groups(text):
            yield _PERSON.sub(rf"\1 {SLOT} ", text, count=1), label


def _take_turns(templates: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each template with one term of each kind; the next template of the same class gets the next terms."""
    seen = Counter[str]()
    for template, label in templates:
        for kind, terms in read_groups().items():
            term = terms[seen[label] % len(terms)]
            yield fill_slot(template, term), label, kind, term
        seen[label] += 1
