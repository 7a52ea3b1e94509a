"""Codes of rows for tests: one call states all codes that an author gives to some rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from core.error_analysis.codebook import Codes


def code_rows(codes: Codes, keys: Iterable[str], names: Collection[str], *, author: str = "", run: str = "") -> None:
    """Give rows these codes of an author, and take all other codes of that author off."""
    keys, given = list(keys), codes.read_annotations(author).given
    others = {code for key in keys for code in given.get(key, {}).get(author, ())} - set(names)
    if others:
        codes.give_codes(keys, others, off=True, author=author, run=run)
    if names or not others:
        codes.give_codes(keys, names, author=author, run=run)
