"""Codes: what a person says of the sentences that a run gets wrong, counted, compared and given away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core.exceptions import InputError
from core.runs.store import RunStore
from core.verbs.writing import write_named

if TYPE_CHECKING:
    import numpy as np

    from core.failures.codes import Code, Coded, Codes
    from core.failures.draws import Draw
    from core.failures.table import Table

Where = Sequence[str] | str


class _Selected(NamedTuple):
    """Rows of a run, and what was said of them."""

    codes: Codes
    coded: Coded
    table: Table
    rows: np.ndarray
    said: str

    @property
    def keys(self) -> list[str]:
        found: list[str] = self.table.frame["key"][self.rows].tolist()
        return found


def codes_list(
    run: str, *, split: str = "", where: Where = (), author: str | None = None, store: RunStore | None = None
) -> dict[str, Any]:
    """The codebook of a run's data set, who has coded how much of a selection, draws, and the last changes.

    Codes belong to the sentences of a data set, so that every run on them has the same (`core.failures.codes`).

    Args:
        run: An evaluated run.
        split: As of `errors`.
        where: Clauses that select, as of `errors`; empty: what is wrong.
        author: Count what this one gave; None: what anybody gave.
        store: Where runs live.

    Returns:
        `run`, `data`, `split`, `n` selected rows and `said`, the selection as a sentence; `codes`: of each `code` its
        `place` (the digit on the page), `definition`, `example` and `n` selected rows that have it; `authors`: each
        `author`, how many selected rows they have `coded` and how many `notes` they wrote; `draws`: `id`, `n`, `of`,
        `seed`, `said`, `author`, `time`; `history`: `author`, `time`, `said`, `undone`, the newest first.

    Raises:
        InputError: There is no such run or split, or a clause is not understood.
    """
    from core.failures.draws import draws

    found = _selected(run, split, where, store, author)
    keys, everybody = found.keys, found.codes.coded()
    authors = sorted({*everybody.authors, *(name for each in everybody.notes.values() for name in each)})
    return {
        **_about(found),
        "codes": [{**_entry(code), "n": int(found.coded.rows(keys, code.name).sum())} for code in found.coded.book],
        "authors": [
            {
                "author": name,
                "coded": sum(name in everybody.given.get(key, {}) for key in keys),
                "notes": sum(name in everybody.notes.get(key, {}) for key in keys),
            }
            for name in authors
        ],
        "draws": [_draw(each) for each in draws(found.codes)],
        "history": [
            {name: row[name] for name in ("author", "time", "said", "undone")}
            for row in found.codes.ledger.history(found.codes.data)
        ],
    }


def codes_add(
    run: str,
    code: str,
    *,
    definition: str = "",
    example: str = "",
    place: int | None = None,
    author: str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Add a code to the codebook of a run's data set.

    Args:
        run: Any run on the data set.
        code: Its name: one line without a semicolon.
        definition: When it is given.
        example: A sentence that has it.
        place: Its digit on the page, 1 to 9, or 0 for none; None: the first that is free.
        author: Who adds it.
        store: Where runs live.

    Returns:
        `code`, `place`, `definition`, `example`.

    Raises:
        InputError: There is one of this name, the name is none, or the digit is taken.
    """
    return _entry(_codes(run, store).add(code, definition, example, place, author))


def codes_edit(
    run: str,
    code: str,
    *,
    to: str = "",
    definition: str | None = None,
    example: str | None = None,
    place: int | None = None,
    author: str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Change the name (`to`), definition, example or digit of a code; the rows that have it keep it.

    Returns:
        As `codes_add`.

    Raises:
        InputError: There is no such code, or another one has the name or the digit.
    """
    given: dict[str, Any] = {"to": to, "definition": definition, "example": example, "place": place, "author": author}
    return _entry(_codes(run, store).edit(code, **given))


def codes_remove(run: str, code: str, *, author: str = "", store: RunStore | None = None) -> dict[str, Any]:
    """Take a code that no row has out of the codebook.

    Raises:
        InputError: There is no such code, or rows have it.
    """
    _codes(run, store).remove(code, author)
    return {"code": code, "removed": True}


def codes_code(
    run: str,
    codes: Sequence[str] | str,
    *,
    keys: Sequence[str] = (),
    split: str = "",
    where: Where = (),
    off: bool = False,
    author: str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Give rows codes, besides those that they have.

    Args:
        run: An evaluated run.
        codes: Of the codebook.
        keys: Of rows of the split, as `errors` names them, or
        where: clauses that select them.
        split: As of `errors`.
        off: Take these codes from the rows instead.
        author: Who says so.
        store: Where runs live.

    Returns:
        `codes`, how many `rows`, and whether they were taken `off`.

    Raises:
        InputError: There is no such code, or no row is named.
    """
    named = [codes] if isinstance(codes, str) else list(codes)
    selected = _selected(run, split, where or "all", store)
    chosen = _keyed(selected, keys) if keys else selected.keys if where else []
    if not chosen or not named:
        raise InputError("name at least one code, and rows: --key KEY, or --where CLAUSE that selects some")
    selected.codes.give(chosen, named, off=off, author=author, run=run)
    return {"codes": named, "rows": len(chosen), "off": off}


def codes_note(
    run: str, key: str, text: str, *, split: str = "", author: str = "", store: RunStore | None = None
) -> dict[str, Any]:
    """Write a note on a row; an empty one takes it away.

    Raises:
        InputError: No row of the split has this key, or the note is too long.
    """
    selected = _selected(run, split, "all", store)
    _keyed(selected, [key])
    selected.codes.note(key, text, author=author, run=run)
    return {"key": key, "note": text}


def codes_merge(
    run: str, codes: Sequence[str] | str, into: str, *, author: str = "", store: RunStore | None = None
) -> dict[str, Any]:
    """Make codes one: every row of the data set that has one of them has `into`, which may be new.

    Returns:
        `codes`, `into`, how many `rows`.

    Raises:
        InputError: There is no such code.
    """
    named = [codes] if isinstance(codes, str) else list(codes)
    return {"codes": named, "into": into, "rows": _codes(run, store).merge(named, into, author)}


def codes_split(
    run: str,
    code: str,
    into: str,
    *,
    keys: Sequence[str] = (),
    split: str = "",
    where: Where = (),
    author: str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Give those of some rows that have a code another one, `into`, in its place.

    Args:
        run: An evaluated run.
        code: Of the codebook.
        into: New, or of the codebook.
        keys: Of rows of the split, or
        where: clauses that select them.
        split: As of `errors`.
        author: Who does so.
        store: Where runs live.

    Returns:
        `code`, `into`, how many `rows` have it now.

    Raises:
        InputError: There is no such code, or none of the rows has it.
    """
    selected = _selected(run, split, where or "all", store)
    if not keys and not where:
        raise InputError("say which rows have the new code: --key KEY, or --where CLAUSE such as text~not")
    chosen = _keyed(selected, keys) if keys else selected.keys
    return {"code": code, "into": into, "rows": selected.codes.split(code, into, chosen, author)}


def codes_draw(
    run: str,
    n: int = 75,
    *,
    seed: int = 0,
    split: str = "",
    where: Where = (),
    csv: Path | None = None,
    author: str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Draw rows of a selection at random and keep the draw: coded to its end it tells the rates of the selection.

    Args:
        run: An evaluated run.
        n: How many.
        seed: Of the draw: the same draws the same rows, and a larger draw holds the smaller one.
        split: As of `errors`.
        where: Clauses that select, as of `errors`; empty: what is wrong.
        csv: A file for the rows that were drawn, to be coded there and taken in again (`codes_import`).
        author: Who draws.
        store: Where runs live.

    Returns:
        `id`, `n`, `of`, `seed`, `said` (the selection), `author`, `time`, and the drawn `keys`, in the order of the
        draw.

    Raises:
        InputError: There are fewer rows, or the file cannot be written.
    """
    from core.failures.coded_csv import written
    from core.failures.draws import draw

    found = _selected(run, split, where, store)
    made = draw(found.codes, found.keys, n, seed, found.said, run=run, author=author)
    if csv is not None:
        chosen = found.table.frame["key"].isin(made.keys)
        write_named("--csv", csv, written(found.table, chosen.tolist(), found.codes))
    return {**_draw(made), "keys": list(made.keys)}


def codes_rates(
    run: str, *, split: str = "", where: Where = (), author: str | None = None, store: RunStore | None = None
) -> dict[str, Any]:
    """How many rows of a selection have each code, and how often a code stands where that can be told.

    Args:
        run: An evaluated run.
        split: As of `errors`.
        where: Clauses that select, as of `errors`; empty: what is wrong.
        author: Count what this one gave; None: what anybody gave.
        store: Where runs live.

    Returns:
        `run`, `data`, `split`, `selection` in words, and what `core.failures.rates` finds: `n`, `coded`, `sample`,
        `complete`, `said`, `codes` with their `share` and 95 % `interval` (Wilson) where all of the selection, or all
        of a random draw from it, is coded.

    Raises:
        InputError: As `codes_list`.
    """
    from core.failures.draws import draws
    from core.failures.rates import rates

    found = _selected(run, split, where, store, author)
    about = _about(found)
    return {**about, "selection": about["said"], **rates(found.coded, found.keys, draws(found.codes))}


def codes_kappa(
    run: str, first: str, second: str, *, split: str = "", where: Where = (), store: RunStore | None = None
) -> dict[str, Any]:
    """How far two authors agree, on the rows of a selection that both have coded.

    Args:
        run: An evaluated run.
        first: An author.
        second: Another.
        split: As of `errors`.
        where: Clauses that select; empty: all rows, right ones too.
        store: Where runs live.

    Returns:
        `run`, `data`, `split`, and what `core.failures.kappa.agreement` finds: `n`, `same`, Cohen's `kappa` and its
        95 % `interval`, the same of each code, and the rows that they coded otherwise.

    Raises:
        InputError: As `codes_list`; or one of them has coded nothing.
    """
    from core.failures.kappa import agreement

    found = _selected(run, split, where or "all", store)
    return {**_about(found), **agreement(found.coded, first, second, found.keys)}


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

    found = _selected(run, split, where, store)
    write_named("FILE", Path(file), written(found.table, found.rows.tolist(), found.codes, author))
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
            each row and author that it names, codes and note are as it says; codes that the book lacks are added.
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

    found = _selected(run, split, "all", store)
    taken = read_book(found.codes, Path(book), author) if book else 0
    rows = read_back(found.codes, found.table, Path(file), author=author) if file else {"rows": 0, "added": []}
    return {**rows, "codes": taken}


def codes_undo(run: str, *, author: str = "", store: RunStore | None = None) -> dict[str, Any]:
    """Take back the last change of an author: a coding, a note, a change of the codebook, a file taken in.

    Returns:
        `undone`: what it was.

    Raises:
        InputError: There is none, or somebody has changed the same rows since.
    """
    return {"undone": _codes(run, store).undo(author)["said"]}


def _codes(run: str, store: RunStore | None) -> Codes:
    from core.failures.codes import Codes, data_of

    store = store or RunStore()
    return Codes(store.folder, data_of(store.read(run)))


def _selected(run: str, split: str, where: Where, store: RunStore | None, author: str | None = None) -> _Selected:
    from core.failures.report import said
    from core.failures.selection import Selection, chosen_rows
    from core.failures.table import read_table
    from core.failures.tags import Tagged

    store = store or RunStore()
    table, codes = read_table(store, run, split), _codes(run, store)
    coded = codes.coded(author)
    asked = Selection((where,) if isinstance(where, str) and where else tuple(where) or ("wrong",), split)
    clauses, rows = chosen_rows(asked, table, Tagged(store, table), store)
    return _Selected(codes, coded, table, rows, said(table, clauses, rows))


def _keyed(selected: _Selected, keys: Sequence[str]) -> list[str]:
    known = set(selected.table.frame["key"])
    if strange := [key for key in keys if key not in known]:
        raise InputError(
            f"key {strange[0]!r:.40}: no sentence of {selected.table.record.run}, {selected.table.split} has it; "
            "`sentiscope errors` shows keys"
        )
    return list(keys)


def _about(found: _Selected) -> dict[str, Any]:
    run, split = found.table.record.run, found.table.split
    return {"run": run, "data": found.codes.data, "split": split, "n": int(found.rows.sum()), "said": found.said}


def _entry(code: Code) -> dict[str, Any]:
    return {"code": code.name, "place": code.place, "definition": code.definition, "example": code.example}


def _draw(draw: Draw) -> dict[str, Any]:
    sizes = {"n": len(draw.keys), "of": len(draw.population)}
    return {"id": draw.id, **sizes, "seed": draw.seed, "said": draw.said, "author": draw.author, "time": draw.time}
