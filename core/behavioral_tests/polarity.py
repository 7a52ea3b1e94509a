"""The polarity (negative, neutral, positive) of a run's classes: by name, by order, or as the user maps them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from core.behavioral_tests.suite import POLARITIES, Polarity
from core.exceptions import InputError

NONE = "none"  # how the user maps a class without polarity, which is never a correct answer
_WORDS: dict[str, Polarity] = {
    **dict.fromkeys(("negative", "neg", "bearish", "unfavourable", "unfavorable", "bad"), "negative"),
    **dict.fromkeys(("neutral", "neu"), "neutral"),
    **dict.fromkeys(("positive", "pos", "bullish", "favourable", "favorable", "good"), "positive"),
}
_TURNS = {"not", "non", "no"}

Sides = dict[str, Polarity | None]  # class → polarity; None: it has none


def find_polarities(
    run: str, classes: Sequence[str], chosen: Mapping[str, str] | None = None, order: Sequence[str] = ()
) -> Sides:
    """Return the polarity of each class of a run: negative, neutral, positive or None.

    `chosen` is the user's map, class → negative, neutral, positive or none; it may have classes of other runs.
    `order` has the classes from negative to positive, if the data define an order. Raises InputError if the polarity of
    a class is unknown, or all classes have the same one.
    """
    for name, side in (chosen or {}).items():
        if side not in (*POLARITIES, NONE):
            raise InputError(f"--map {name}={side}: a class is {', '.join(POLARITIES)} or {NONE}")
    mapped = {name.casefold(): side for name, side in (chosen or {}).items()}
    ranked = _rank_polarities(order) if set(order) == set(classes) else {}
    found = {name: mapped.get(name.casefold(), infer_polarity(name) or ranked.get(name)) for name in classes}
    if unknown := [name for name, side in found.items() if side is None]:
        example = " ".join(f'--map "{name}"=…' if " " in name else f"--map {name}=…" for name in unknown[:6])
        raise InputError(
            f"run '{run}' has classes without a polarity ({', '.join(unknown)}); say for each whether it is "
            f"{', '.join(POLARITIES)} or {NONE}: {example}"
        )
    sides: Sides = {name: side if side in POLARITIES else None for name, side in found.items()}
    if len({side for side in sides.values() if side}) < 2:
        raise InputError(f"run '{run}': its classes {', '.join(classes)} have only one polarity; a suite needs two")
    return sides


def refuse_unknown_class(chosen: Mapping[str, str], classes: Sequence[str]) -> None:
    """Refuse a mapping of classes to polarities that names a class no run has, with an InputError."""
    known = {name.casefold() for name in classes}
    if strange := [name for name in chosen if name.casefold() not in known]:
        found = ", ".join(dict.fromkeys(classes))
        raise InputError(f"--map {strange[0]}=…: no run has this class; the classes are {found}")


def infer_polarity(name: str) -> Polarity | None:
    """Return the polarity that a class name implies, such as positive; None if it implies none, or two."""
    words = set(re.findall(r"[^\W\d_]+", name.casefold()))
    found = {_WORDS[word] for word in words & _WORDS.keys()}
    return found.pop() if len(found) == 1 and not words & _TURNS else None


def choose_plotted_class(classes: Sequence[str]) -> str:
    """Return the class whose probability is plotted by default: the positive class, else the last one."""
    return next((name for name in classes if infer_polarity(name) == "positive"), classes[-1])


def _rank_polarities(order: Sequence[str]) -> dict[str, Polarity]:
    """Return class → polarity of ordered classes: negative before the middle, neutral in the middle, positive after."""
    last = len(order) - 1
    return {name: POLARITIES[1 + (2 * place > last) - (2 * place < last)] for place, name in enumerate(order)}
