"""Codes: what a person says of the sentences that a run gets wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.exceptions import InputError
from core.runs.store import RunStore
from core.verbs.coded import Where, about, codes_of, drawn, keyed, selected

if TYPE_CHECKING:
    from core.failures.coded import Code


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

    found = selected(run, split, where, store, author)
    keys, everybody = found.keys, found.codes.coded()
    authors = sorted({*everybody.authors, *(name for each in everybody.notes.values() for name in each)})
    return {
        **about(found),
        "codes": [{**_entry(code), "n": int(found.coded.rows(keys, code.name).sum())} for code in found.coded.book],
        "authors": [
            {
                "author": name,
                "coded": sum(name in everybody.given.get(key, {}) for key in keys),
                "notes": sum(name in everybody.notes.get(key, {}) for key in keys),
            }
            for name in authors
        ],
        "draws": [drawn(each) for each in draws(found.codes)],
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
    return _entry(codes_of(run, store).add(code, definition, example, place, author))


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
    return _entry(codes_of(run, store).edit(code, **given))


def codes_remove(run: str, code: str, *, author: str = "", store: RunStore | None = None) -> dict[str, Any]:
    """Take a code that no row has out of the codebook.

    Raises:
        InputError: There is no such code, or rows have it.
    """
    codes_of(run, store).remove(code, author)
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
    found = selected(run, split, where or "all", store)
    chosen = keyed(found, keys) if keys else found.keys if where else []
    if not chosen or not named:
        raise InputError("name at least one code, and rows: --key KEY, or --where CLAUSE that selects some")
    found.codes.give(chosen, named, off=off, author=author, run=run)
    return {"codes": named, "rows": len(chosen), "off": off}


def codes_note(
    run: str, key: str, text: str, *, split: str = "", author: str = "", store: RunStore | None = None
) -> dict[str, Any]:
    """Write a note on a row; an empty one takes it away.

    Raises:
        InputError: No row of the split has this key, or the note is too long.
    """
    found = selected(run, split, "all", store)
    keyed(found, [key])
    found.codes.note(key, text, author=author, run=run)
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
    return {"codes": named, "into": into, "rows": codes_of(run, store).merge(named, into, author)}


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
    found = selected(run, split, where or "all", store)
    if not keys and not where:
        raise InputError("say which rows have the new code: --key KEY, or --where CLAUSE such as text~not")
    chosen = keyed(found, keys) if keys else found.keys
    return {"code": code, "into": into, "rows": found.codes.split(code, into, chosen, author)}


def codes_undo(run: str, *, author: str = "", store: RunStore | None = None) -> dict[str, Any]:
    """Take back the last change of an author: a coding, a note, a change of the codebook, a file taken in.

    Returns:
        `undone`: what it was.

    Raises:
        InputError: There is none, or somebody has changed the same rows since.
    """
    return {"undone": codes_of(run, store).undo(author)["said"]}


def _entry(code: Code) -> dict[str, Any]:
    return {"code": code.name, "place": code.place, "definition": code.definition, "example": code.example}
