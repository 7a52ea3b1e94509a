"""Prevalence of annotation codes: how often each occurs in a selection, estimated from coded random samples.

Rows are drawn in the order of a digest of the seed and their key: the same seed draws the same rows in any order of
the input, a larger sample contains a smaller one, and the sampled rows of any part of the selection are random too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from core.data.findings import plural
from core.error_analysis.annotation_store import get_timestamp
from core.error_analysis.annotator_names import clean_author
from core.error_analysis.codebook import Codes
from core.error_analysis.row_annotations import Annotations, Code
from core.evaluation.intervals import compute_wilson
from core.exceptions import InputError
from core.fingerprint import hash_value
from core.formatting import count


@dataclass(frozen=True)
class Draw:
    """A stored random sample of sentences drawn from a selection, to be coded by annotators."""

    id: str
    keys: tuple[str, ...]  # in the order in which they were drawn
    population: frozenset[str]  # keys of all rows from which the sample was drawn
    seed: int
    said: str  # description of the selection
    run: str
    author: str
    time: str


def sample_keys(keys: Collection[str], n: int, seed: int) -> tuple[str, ...]:
    """Return `n` sentence keys, drawn at random without replacement, in the order in which they were drawn."""

    def hash_key(key: str) -> bytes:
        """Return a seeded hash of a sentence key; sorting by it is a random draw."""
        return hashlib.blake2b(f"{seed} {key}".encode(), digest_size=16).digest()

    return tuple(sorted(keys, key=hash_key)[:n])


def draw_sample(
    codes: Codes, keys: Sequence[str], n: int, seed: int, said: str, *, run: str = "", author: str = ""
) -> Draw:
    """Draw a random sample of selected sentences and store it, or return the stored one; InputError for too many."""
    if not 0 < n <= len(keys):
        raise InputError(f"{count(n)} at random of {plural(len(keys), 'row')}: draw 1 to {count(max(1, len(keys)))}")
    found = list_draws(codes)
    name = hash_value({"keys": sorted(keys), "n": n, "seed": seed})[:16]
    if kept := next((each for each in found if each.id == name), None):
        return kept
    author = clean_author(author)
    row: dict[str, Any] = {"data": codes.data, "id": name, "keys": " ".join(sample_keys(keys, n, seed)), "seed": seed}
    row |= {"population": " ".join(keys), "said": said, "run": run, "author": author, "time": get_timestamp()}
    with codes.ledger.begin_change(codes.data, author, f"{count(n)} drawn at random: {said}") as change:
        change.put_row("draws", row)
    return _build_draw(row)


def list_draws(codes: Codes) -> list[Draw]:
    """Return all stored random samples of a data set's sentences, newest first."""
    found = [_build_draw(row) for row in codes.ledger.read_rows("draws", data=codes.data)]
    return sorted(found, key=lambda each: (each.time, each.id), reverse=True)


@dataclass(frozen=True)
class Sample:
    """Selected sentences that must all be coded before the prevalence of annotation codes is known."""

    keys: tuple[str, ...]
    of: int  # rows that the sample represents
    draw: Draw | None  # None: all rows of the selection


def list_samples(keys: Sequence[str], known: Sequence[Draw], *, by_codes: bool = False) -> list[Sample]:
    """Return the samples of sentences from which code rates of a selection can be estimated, smallest first.

    A selection that equals a random sample represents the rows from which it was drawn. Samples of equal size are
    sorted by the rows that they represent. Rows selected `by_codes` are neither a population nor a random part of a
    sample, so only complete samples inside them count.
    """
    chosen, found = set(keys), []
    if by_codes:
        whole = [Sample(each.keys, len(each.population), each) for each in known if chosen.issuperset(each.keys)]
        return sorted(whole, key=lambda sample: (len(sample.keys), sample.of))
    for each in known:
        if chosen == set(each.keys):
            found.append(Sample(tuple(keys), len(each.population), each))
        elif chosen <= each.population and (own := tuple(key for key in each.keys if key in chosen)):
            found.append(Sample(own, len(keys), each))
    found.append(Sample(tuple(keys), len(keys), None))
    return sorted(found, key=lambda sample: (len(sample.keys), sample.of))


def _build_draw(row: dict[str, Any]) -> Draw:
    keys, population = tuple(row["keys"].split()), frozenset(row["population"].split())
    return Draw(row["id"], keys, population, row["seed"], row["said"], row["run"], row["author"], row["time"])


BY_CODES = "Chosen by their codes: shares are told of a random draw, or of a selection that does not speak of codes."


def compute_rates(
    coded: Annotations, keys: Sequence[str], known: Sequence[Draw], *, by_codes: bool = False
) -> dict[str, Any]:
    """Compute how often each annotation code occurs among the selected sentences.

    Shares are given only if all rows of the selection, or all rows of a random sample from it, are coded.

    Args:
        coded: The annotations of one author or of all; a row has every code that any of them gave it.
        keys: The keys of the selected rows.
        known: The stored random samples of the data set.
        by_codes: Whether the rows were selected by codes or notes, so that they are no population.

    Returns:
        `n` rows and how many are `coded`; `sample`, the rows from which the shares are computed: `n`, how many are
        `coded`, `of` how many rows they are a sample, whether it is a random `draw`, and its `seed`; whether the sample
        is `complete`; the number of `authors`; a sentence, `said`; `codes`: the `place` and `n` rows of each `code`,
        and, for a complete sample, `hits`, `share` and its 95 % `interval` (Wilson 1927), else None.
    """
    told = list_samples(keys, known, by_codes=by_codes)
    sample, complete = _choose_sample(coded, told) if told else (Sample(tuple(keys), len(keys), None), False)
    authors = {author for key in {*keys, *sample.keys} for author in coded.given.get(key, {})}
    read = [key for key in sample.keys if key in coded.given]
    said = _describe_sample(sample, len(read), complete) if told or not keys else BY_CODES
    own, drawn = coded.count_codes(keys), coded.count_codes(sample.keys if complete else ())
    found = [
        _make_rate(code, own[code.name], drawn[code.name], len(sample.keys) if complete else 0) for code in coded.book
    ]
    found.sort(key=lambda row: (-(row["hits"] if complete else row["n"]), row["place"] or 10, row["code"]))
    return {
        "n": len(keys),
        "coded": sum(key in coded.given for key in keys),
        "sample": {
            "n": len(sample.keys),
            "coded": len(read),
            "of": sample.of,
            "draw": sample.draw is not None,
            "seed": sample.draw.seed if sample.draw else None,
        },
        "complete": complete,
        "authors": len(authors),
        "said": f"{said} A code counts where any of {len(authors)} authors gave it." if len(authors) > 1 else said,
        "codes": found,
    }


def _choose_sample(coded: Annotations, found: Sequence[Sample]) -> tuple[Sample, bool]:
    """Return the largest fully coded sample, or else the most coded one; and whether it is fully coded."""

    def compute_share(sample: Sample) -> float:
        """Return the fraction of a sample's sentences that have been coded."""
        return sum(key in coded.given for key in sample.keys) / max(1, len(sample.keys))

    whole = [sample for sample in found if sample.keys and compute_share(sample) == 1]
    if whole:
        return whole[-1], True
    return max(found, key=lambda each: (each.draw is not None, compute_share(each))), False


def _make_rate(code: Code, n: int, hits: int, of: int) -> dict[str, Any]:
    told: dict[str, Any] = {"hits": None, "share": None, "interval": None}
    if of:
        told = {"hits": hits, "share": hits / of, "interval": list(compute_wilson(hits, of))}
    return {"code": code.name, "place": code.place, "n": n, **told}


def _describe_sample(sample: Sample, read: int, complete: bool) -> str:
    rows, of = count(len(sample.keys)), count(sample.of)
    if not sample.keys:
        return "No row is selected."
    if sample.draw is None:
        if complete:
            return "All are coded." if len(sample.keys) > 1 else "It is coded."
        return f"{count(read)} of {rows} coded. Percentages need all of them coded, or a random sample."
    if complete:
        return f"{plural(len(sample.keys), 'row')} of {of}, drawn at random and coded."
    return f"{count(read)} of {rows} coded, a random sample of {of}. Percentages need all of it coded."
