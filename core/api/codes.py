"""Annotation codes of a run's errors: codebook, random samples, rates, agreement, files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from core import error_analysis
from core.api.options import Author, Clauses, CliArgument, File, RunName, Split, Store, Whose, as_list
from core.api.printing import make_printer, say, tabulate, write_rate
from core.atomic import write_named
from core.error_analysis.annotation_store import has_name, name_author
from core.exceptions import InputError
from core.formatting import count, plural
from core.runs.store import RunStore

if TYPE_CHECKING:
    import numpy as np

Code = Annotated[str, CliArgument("Of the codebook; `sentiscope codes list RUN` shows it.", metavar="CODE")]
Codes = Annotated[Sequence[str] | str, CliArgument("Of the codebook.", metavar="CODE…", kind=list[str])]
Keys = Annotated[Sequence[str], CliArgument("A row, as `errors` names it; repeat.", "--key", "KEY", list[str])]
Key = Annotated[str, CliArgument("A row, as `errors` names it.", metavar="KEY")]
Into = Annotated[str, CliArgument("The code that they get, new or of the codebook.", place=False)]
Definition = Annotated[str | None, CliArgument("When it is given.")]
Example = Annotated[str | None, CliArgument("A sentence that has it.")]
Place = Annotated[int | None, CliArgument("Its digit on the page; 0: none.", metavar="1-9")]
Coder = Annotated[str, CliArgument(metavar="AUTHOR")]
Written = Annotated[Path | str, CliArgument("Its ending says the format.", metavar="FILE")]
HISTORY = 5


class CodedRows(NamedTuple):
    """Selected rows of a run, with their annotation codes."""

    codes: error_analysis.codebook.Codes
    coded: error_analysis.row_annotations.Annotations
    table: error_analysis.predictions_table.PredictionTable
    rows: np.ndarray
    said: str
    by_codes: bool  # whether they were selected by their codes

    @property
    def keys(self) -> list[str]:
        """Return the keys of the selected rows, which are stable over runs and splits."""
        return self.table.frame["key"][self.rows].tolist()

    def encode(self, author: str | None, name: str = "rows.csv") -> bytes:
        """Return the selected rows as a file, with the annotation codes of an author; None: of all authors."""
        coded, rows = self.codes.read_annotations(author), self.rows.tolist()
        return error_analysis.annotation_files.format_annotations(self.table, rows, self.codes, coded, name)


def _open_codes(run: str, store: RunStore | None) -> error_analysis.codebook.Codes:
    store = store or RunStore()
    return error_analysis.codebook.Codes(store.folder, error_analysis.codebook.get_data_name(store.read(run)))


def _select_rows(run: str, split: str, where: Clauses, store: RunStore | None, author: str | None = None) -> CodedRows:
    """Return the rows of a split that filter clauses select (default: the errors), with their annotation codes."""
    store = store or RunStore()
    table, codes = error_analysis.predictions_table.read_table(store, run, split), _open_codes(run, store)
    coded = codes.read_annotations(author)
    asked = error_analysis.selection.Selection(tuple(as_list(where)) or ("wrong",), split)
    tagged = error_analysis.tags.TableTags(store, table)
    clauses, rows = error_analysis.selection.match_selection(asked, table, tagged, store)
    by_codes = any(error_analysis.query.is_private_rule(rule) for rule in asked.rules)
    return CodedRows(codes, coded, table, rows, error_analysis.report.describe_result(table, clauses, rows), by_codes)


def _check_keys(found: CodedRows, keys: Sequence[str]) -> list[str]:
    """Return row keys unchanged; raises InputError for a key that no row of the split has."""
    known = set(found.table.frame["key"])
    if strange := [key for key in keys if key not in known]:
        raise InputError(
            f"key {strange[0]!r:.40}: no sentence of {found.table.record.run}, {found.table.split} has it; "
            "`sentiscope errors` shows keys"
        )
    return list(keys)


def _describe_rows(found: CodedRows) -> dict[str, Any]:
    """Return the result fields about selected rows: run, data, split, number of rows, and the selection in words."""
    run, split = found.table.record.run, found.table.split
    return {"run": run, "data": found.codes.data, "split": split, "n": int(found.rows.sum()), "said": found.said}


def _describe_draw(draw: error_analysis.codebook.Draw) -> dict[str, Any]:
    """Return the facts about a random sample of rows (sizes, seed, author, time), without the keys of the rows."""
    sizes = {"n": len(draw.keys), "of": len(draw.population)}
    return {"id": draw.id, **sizes, "seed": draw.seed, "said": draw.said, "author": draw.author, "time": draw.time}


def codes_list(
    run: RunName, *, split: Split = "", where: Clauses = (), author: Whose = None, store: Store = None
) -> dict[str, Any]:
    """List the codebook, the number of annotated rows by author, random samples and the last changes.

    Codes belong to the sentences of a data set: all runs on them share the codes (`core.error_analysis.codebook`).

    Returns:
        `run`, `data`, `split`, `n` selected rows and `said`, the selection as a sentence; `codes`: `code`, `place` (its
        digit on the page), `definition`, `example` and `n` selected rows with the code; `authors`: `author`, the number
        of selected rows that they `coded`, and of their `notes`; `draws` (random samples): `id`, `n`, `of`, `seed`,
        `said`, `author`, `time`; `history`: `author`, `time`, `said`, `undone`, newest first.
    """
    found = _select_rows(run, split, where, store, author)
    keys, everybody = found.keys, found.codes.read_annotations()
    authors = sorted({*everybody.authors, *(name for each in everybody.notes.values() for name in each)})
    return {
        **_describe_rows(found),
        "codes": [
            {**_describe_code(code), "n": int(found.coded.match_code(keys, code.name).sum())}
            for code in found.coded.book
        ],
        "authors": [
            {
                "author": name,
                "coded": sum(name in everybody.given.get(key, {}) for key in keys),
                "notes": sum(name in everybody.notes.get(key, {}) for key in keys),
            }
            for name in authors
        ],
        "draws": [_describe_draw(each) for each in error_analysis.codebook.list_draws(found.codes)],
        "history": [
            {name: row[name] for name in ("author", "time", "said", "undone")}
            for row in found.codes.ledger.read_history(found.codes.data)
        ],
    }


def codes_add(
    run: RunName,
    code: Annotated[str, CliArgument(metavar="CODE")],
    *,
    definition: Definition = "",
    example: Example = "",
    place: Place = None,
    author: Author = "",
    store: Store = None,
) -> dict[str, Any]:
    """Add a code to the codebook, by default on the first free digit key; the name is one line without a semicolon."""
    return _describe_code(_open_codes(run, store).add_code(code, definition or "", example or "", place, author))


def codes_edit(
    run: RunName,
    code: Code,
    *,
    to: Annotated[str, CliArgument("The new name.", "--name")] = "",
    definition: Definition = None,
    example: Example = None,
    place: Place = None,
    author: Author = "",
    store: Store = None,
) -> dict[str, Any]:
    """Change the name, definition, example or digit of a code of the codebook; rows with the code keep the code."""
    given: dict[str, Any] = {"to": to, "definition": definition, "example": example, "place": place, "author": author}
    return _describe_code(_open_codes(run, store).edit_code(code, **given))


def codes_remove(run: RunName, code: Code, *, author: Author = "", store: Store = None) -> dict[str, Any]:
    """Remove a code from the codebook; refused while any row still has the code."""
    _open_codes(run, store).remove_code(code, author)
    return {"code": code, "removed": True}


def codes_code(
    run: RunName,
    codes: Codes,
    *,
    keys: Keys = (),
    split: Split = "",
    where: Clauses = (),
    off: Annotated[bool, CliArgument("Remove the codes instead.")] = False,
    author: Author = "",
    store: Store = None,
) -> dict[str, Any]:
    """Give codes of the codebook to rows of a run."""
    named = as_list(codes)
    found = _select_rows(run, split, where or "all", store)
    chosen = _check_keys(found, keys) if keys else found.keys if where else []
    if not chosen or not named:
        raise InputError("name at least one code, and rows: --key KEY, or --where CLAUSE that selects some")
    found.codes.give_codes(chosen, named, off=off, author=author, run=run)
    return {"codes": named, "rows": len(chosen), "off": off}


def codes_note(
    run: RunName, key: Key, text: str, *, split: Split = "", author: Author = "", store: Store = None
) -> dict[str, Any]:
    """Write a note on a row of a run.

    Args:
        text: The note; "" deletes it.
    """
    found = _select_rows(run, split, "all", store)
    _check_keys(found, [key])
    found.codes.write_note(key, text, author=author, run=run)
    return {"key": key, "note": text}


def codes_merge(run: RunName, codes: Codes, into: Into, *, author: Author = "", store: Store = None) -> dict[str, Any]:
    """Merge annotation codes: every row of the data set with an old code gets the new one."""
    named = as_list(codes)
    return {"codes": named, "into": into, "rows": _open_codes(run, store).merge_codes(named, into, author)}


def codes_split(
    run: RunName,
    code: Code,
    into: Into,
    *,
    keys: Keys = (),
    split: Split = "",
    where: Clauses = (),
    author: Author = "",
    store: Store = None,
) -> dict[str, Any]:
    """Split an annotation code: give some of its rows another code instead."""
    found = _select_rows(run, split, where or "all", store)
    if not keys and not where:
        raise InputError("say which rows have the new code: --key KEY, or --where CLAUSE such as text~not")
    chosen = _check_keys(found, keys) if keys else found.keys
    return {"code": code, "into": into, "rows": found.codes.split_code(code, into, chosen, author)}


def codes_draw(
    run: RunName,
    n: int = 75,
    *,
    seed: int = 0,
    split: Split = "",
    where: Clauses = (),
    csv: File = None,
    author: Author = "",
    store: Store = None,
) -> dict[str, Any]:
    """Draw and store a random sample of rows; once all are coded, it estimates each code's rate in all selected rows.

    Args:
        n: Number of rows.
        seed: Seed of the sample: the same seed draws the same rows, and a larger sample contains the smaller one.
        csv: Write the drawn rows to this file, with the codes of this author only.
    """
    found = _select_rows(run, split, where, store)
    made = error_analysis.codebook.draw_sample(found.codes, found.keys, n, seed, found.said, run=run, author=author)
    if csv is not None:
        found = found._replace(rows=found.table.frame["key"].isin(made.keys).to_numpy())
        write_named("--csv", csv, found.encode(author))
    return {**_describe_draw(made), "keys": list(made.keys)}


def codes_rates(
    run: RunName, *, split: Split = "", where: Clauses = (), author: Whose = None, store: Store = None
) -> dict[str, Any]:
    """Count how many selected rows have each annotation code, with its share if that can be estimated.

    Returns:
        `run`, `data`, `split`, `selection` in words, and the fields of `core.error_analysis.codebook`: `n`,
        `coded`, `sample`, `complete`, `authors`, `said`, `codes`. A code has a `share` and its 95 % `interval` (Wilson)
        if the selection or a random sample of it is fully coded; never for rows that were selected by their codes.
    """
    found = _select_rows(run, split, where, store, author)
    made = error_analysis.codebook.list_draws(found.codes)
    counted = error_analysis.codebook.compute_rates(found.coded, found.keys, made, by_codes=found.by_codes)
    return {**_describe_rows(found), "selection": found.said, **counted}


def codes_kappa(
    run: RunName, first: Coder, second: Coder, *, split: Split = "", where: Clauses = (), store: Store = None
) -> dict[str, Any]:
    """Measure how far two authors' codes agree (Cohen's kappa), by default on all rows that both have coded.

    Returns:
        `run`, `data`, `split`, `n`, `same`, `kappa` and its 95 % `interval`, the same for each code, and the
        differently coded rows (`core.error_analysis.row_annotations.compare_authors`).
    """
    found = _select_rows(run, split, where or "all", store)
    agreed = error_analysis.row_annotations.compare_authors(found.coded, first, second, found.keys)
    return {**_describe_rows(found), **agreed}


def codes_export(
    run: RunName,
    file: Written,
    *,
    split: Split = "",
    where: Clauses = (),
    author: Whose = None,
    book: Annotated[Path | str, CliArgument("Write the codebook to this file.")] = "",
    store: Store = None,
) -> dict[str, Any]:
    """Write selected rows to a file with their codes and notes: .csv, .parquet, or .json for Label Studio.

    Returns:
        `file`, `rows`, `book`, `codes`, and for .json `interface`: the labelling interface of its Label Studio project.
    """
    found = _select_rows(run, split, where, store)
    write_named("FILE", file, found.encode(author, Path(file).name))
    made: dict[str, Any] = {"file": str(file), "rows": int(found.rows.sum())}
    if Path(file).suffix.lower() == ".json":
        names = [code.name for code in found.coded.book]
        made["interface"] = error_analysis.annotation_files.describe_interface(found.table.classes, names)
    if not book:
        return made
    write_named("--book", book, error_analysis.annotation_files.format_codebook(found.codes))
    return {**made, "book": str(book), "codes": len(found.coded.book)}


def codes_import(
    run: RunName,
    file: Path | str = "",
    *,
    split: Split = "",
    author: Author = "",
    book: Path | str = "",
    store: Store = None,
) -> dict[str, Any]:
    """Read codes and notes of rows from a file (.csv, .parquet, .json of Label Studio); rows are matched by their keys.

    Args:
        file: Columns key and codes (separated by ;), and perhaps author and note; or tasks of Label Studio. Codes that
            the codebook lacks are added; with a column time, rows that were changed here later are refused.
        book: Codes with their definitions, imported first.

    Returns:
        `rows`, the `added` codes, and the number of `codes` from `book`. InputError names file, row and field of a
        wrong row; then nothing is changed.
    """
    found = _select_rows(run, split, "all", store)
    none: dict[str, Any] = {"rows": 0, "codes": 0, "added": []}
    taken = error_analysis.annotation_files.import_codebook(found.codes, Path(book), author) if book else none
    rows = none
    if file:
        rows = error_analysis.annotation_files.import_annotations(found.codes, found.table, Path(file), author=author)
    return {"rows": rows["rows"], "codes": taken["codes"], "added": [*taken["added"], *rows["added"]]}


def codes_undo(run: RunName, *, author: Author = "", store: Store = None) -> dict[str, Any]:
    """Undo an author's last change of codes: a coding, a note, a change of the codebook, an imported file."""
    return {"undone": _open_codes(run, store).undo_last(author)["said"]}


def _describe_code(code: error_analysis.row_annotations.Code) -> dict[str, Any]:
    return {"code": code.name, "place": code.place, "definition": code.definition, "example": code.example}


def print_codes_list(result: dict[str, Any]) -> None:
    """Print the codebook, authors, random samples and the last changes of annotation codes."""
    say(f"{result['data']}: {result['said']}")
    if result["codes"]:
        tabulate(result["codes"], ("place", "code", "n", "definition", "example"), "code")
    else:
        say("No codes yet: `sentiscope codes add RUN CODE` makes one.")
    for each in result["authors"]:
        coded = f"{count(each['coded'])} of {plural(result['n'], 'row')} coded, {plural(each['notes'], 'note')}"
        say(f"{coded}.", head=f"{_name_author(each['author'])}: ")
    for each in result["draws"]:
        say(f"{count(each['n'])} of {count(each['of'])}, seed {each['seed']}: {each['said']}", head="Drawn: ")
    for each in result["history"][:HISTORY]:
        undone = " (taken back)" if each["undone"] else ""
        say(f"{each['said']}{undone}, {_name_author(each['author'])}, {each['time']}", head="Changed: ")


def _name_author(author: str) -> str:
    """Return an annotator's display name; without a name, a substitute and the ID that other commands accept."""
    return author if has_name(author) else " ".join(filter(None, (name_author(author), author)))


print_codes_add = print_codes_edit = lambda r: tabulate([r], ("code", "place", "definition", "example"), "code")
print_codes_remove = make_printer(lambda r: f"{r['code']} is no code any more.")
print_codes_code = make_printer(
    lambda r: f"{', '.join(r['codes'])} {'taken from' if r['off'] else 'given to'} {plural(r['rows'], 'row')}."
)
print_codes_note = make_printer(lambda r: f"{r['key']}: {r['note'] or 'no note'}")
print_codes_merge = make_printer(
    lambda r: f"{plural(r['rows'], 'row')} changed; {', '.join(r['codes'])} became {r['into']}."
)
print_codes_split = make_printer(lambda r: f"{plural(r['rows'], 'row')} of {r['code']} have {r['into']} now.")
print_codes_export = make_printer(
    lambda r: f"{plural(r['rows'], 'row')} in {r['file']}. {r.get('interface', '')}".rstrip()
)
print_codes_undo = make_printer(lambda r: f"Taken back: {r['undone']}.")


def print_codes_draw(result: dict[str, Any]) -> None:
    """Print the keys of the rows in a random sample."""
    say(f"{count(result['n'])} of {count(result['of'])} drawn with seed {result['seed']}: {result['said']}")
    for key in result["keys"]:
        say(key)


def print_codes_rates(result: dict[str, Any]) -> None:
    """Print a row for each annotation code: its number of rows and share."""
    say(f"{result['selection']} {result['said']}")
    columns: dict[str, Any] = {"code": "code", "n": lambda each: count(each["n"]), "share": "share", "95 %": "interval"}
    if not result["complete"]:
        del columns["share"], columns["95 %"]
    if result["codes"]:
        tabulate(result["codes"], columns, "code")


def print_codes_kappa(result: dict[str, Any]) -> None:
    """Print how far two annotators agree (Cohen's kappa), over all codes and for each code."""
    say(f"{plural(result['n'], 'row')} coded by both, {count(result['same'])} alike: {_write_kappa(result)}.")
    if result["codes"]:
        names = {name: name for name in ("code", "first", "second", "both")}
        tabulate(result["codes"], {**names, "kappa": _write_kappa}, "code")


def _write_kappa(found: dict[str, Any]) -> str:
    if found["kappa"] is None:
        return "no kappa, both say one and the same"
    return write_rate(found["kappa"], found["interval"])


def print_codes_import(result: dict[str, Any]) -> None:
    """Print how many annotated rows and codes were imported from a file, and which codes are new."""
    say(f"{plural(result['rows'], 'row')} and {plural(result['codes'], 'code')} taken.")
    if result["added"]:
        say(f"New in the codebook: {', '.join(result['added'])}.")
