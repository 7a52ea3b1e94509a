"""How many rows have each code, and how often a code stands where the rows that were read can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.data.findings import plural
from core.evaluation.intervals import wilson
from core.failures.coded import Code, Coded
from core.failures.draws import Draw, Sample, samples
from core.numbers import count

BY_CODES = "Chosen by their codes: shares are told of a random draw, or of a selection that does not speak of codes."


def rates(coded: Coded, keys: Sequence[str], known: Sequence[Draw], *, by_codes: bool = False) -> dict[str, Any]:
    """Each code among the rows of a selection.

    A share is told only where the rows that were read are all of the selection or all of a random draw from it: rows
    that somebody chose to read say nothing of the others.

    Args:
        coded: what was said, by one author or by all: of several a row has what any of them gave it.
        keys: of the selection's rows.
        known: the draws of the data set.
        by_codes: whether the rows were selected by what was said of them: they are no population then.

    Returns:
        `n` rows and how many are `coded`; `sample`: the rows that the shares are of, `n`, `coded` of them, `of` how
        many they speak, whether they are a `draw`, with its `seed`; whether they are `complete`; how many `authors`
        are counted; `said` in words; `codes`: of each `code` its `place`, `n` rows of the selection, and where the
        sample is complete `hits` in it, their `share` and its 95 % `interval` (Wilson 1927), else None.
    """
    told = samples(keys, known, by_codes=by_codes)
    sample, complete = _sample(coded, told) if told else (Sample(tuple(keys), len(keys), None), False)
    authors = {author for key in {*keys, *sample.keys} for author in coded.given.get(key, {})}
    read = [key for key in sample.keys if key in coded.given]
    said = _said(sample, len(read), complete) if told or not keys else BY_CODES
    own, drawn = coded.count(keys), coded.count(sample.keys if complete else ())
    found = [_rate(code, own[code.name], drawn[code.name], len(sample.keys) if complete else 0) for code in coded.book]
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


def _sample(coded: Coded, found: Sequence[Sample]) -> tuple[Sample, bool]:
    """The largest that is coded to its end, else the draw of which most is, else all."""

    def share(sample: Sample) -> float:
        return sum(key in coded.given for key in sample.keys) / max(1, len(sample.keys))

    whole = [sample for sample in found if sample.keys and share(sample) == 1]
    return (whole[-1], True) if whole else (max(found, key=lambda each: (each.draw is not None, share(each))), False)


def _rate(code: Code, n: int, hits: int, of: int) -> dict[str, Any]:
    """Of `n` rows of the selection, and of `hits` of the `of` rows of a complete sample; 0: there is none."""
    told: dict[str, Any] = {"hits": None, "share": None, "interval": None}
    if of:
        told = {"hits": hits, "share": hits / of, "interval": list(wilson(hits, of))}
    return {"code": code.name, "place": code.place, "n": n, **told}


def _said(sample: Sample, read: int, complete: bool) -> str:
    rows, of = count(len(sample.keys)), count(sample.of)
    if not sample.keys:
        return "No row is selected."
    if sample.draw is None:
        if complete:
            return "All are coded." if len(sample.keys) > 1 else "It is coded."
        return f"{count(read)} of {rows} coded. Shares are told of all of them or of a random draw."
    if complete:
        return f"{plural(len(sample.keys), 'row')} of {of}, drawn at random and coded."
    return f"{count(read)} of {rows} coded, drawn at random from {of}. Shares are told when all of them are."
