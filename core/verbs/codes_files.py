"""Codes as CSV files, given away and taken in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.runs.store import RunStore
from core.verbs.coded import Where, selected
from core.verbs.writing import write_named


def codes_export(
    run: str,
    file: Path | str,
    *,
    split: str = "",
    where: Where = (),
    author: str | None = None,
    book: Path | str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Write rows with their codes and notes as CSV, with every own column of the data.

    Args:
        run: An evaluated run.
        file: A row for each selected sentence, and for each author of one that several have coded.
        split: As of `errors`.
        where: Clauses that select; empty: what is wrong.
        author: Of this one alone; None: of everybody.
        book: Another file, for the codebook; empty: none.
        store: Where runs live.

    Returns:
        `file`, `rows`, and where asked for `book` and its `codes`.

    Raises:
        InputError: As `codes_list`; or a file cannot be written.
    """
    from core.failures.coded_csv import book_written, written

    found = selected(run, split, where, store)
    write_named("FILE", Path(file), written(found.table, found.rows.tolist(), found.codes, found.codes.coded(author)))
    if not book:
        return {"file": str(file), "rows": int(found.rows.sum())}
    write_named("--book", Path(book), book_written(found.codes))
    return {"file": str(file), "rows": int(found.rows.sum()), "book": str(book), "codes": len(found.coded.book)}


def codes_import(
    run: str,
    file: Path | str = "",
    *,
    split: str = "",
    author: str = "",
    book: Path | str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Take codes and notes from a CSV file, by the stable `key` of each row.

    Args:
        run: An evaluated run.
        file: With the columns `key` and `codes` (with `;` between), and `author` and `note` where there are any. Of
            each row and author that it names, codes and note are as it says; codes that the book lacks are added. With
            a column `time`, rows that were changed here after it are refused.
        split: As of `errors`.
        author: Of rows that name none, and of the change.
        book: A file of codes, with `code`, `place`, `definition`, `example`; taken first.
        store: Where runs live.

    Returns:
        `rows`, codes that were `added`, `codes` that were taken from `book`.

    Raises:
        InputError: A file cannot be read, or rows of it cannot be used: each is named with file, row and field, and
            nothing is changed.
    """
    from core.failures.coded_csv import read_back, read_book

    found = selected(run, split, "all", store)
    none: dict[str, Any] = {"rows": 0, "codes": 0, "added": []}
    taken = read_book(found.codes, Path(book), author) if book else none
    rows = read_back(found.codes, found.table, Path(file), author=author) if file else none
    return {"rows": rows["rows"], "codes": taken["codes"], "added": [*taken["added"], *rows["added"]]}
