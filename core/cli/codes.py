"""`sentiscope codes …`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import decimals
from core.cli.options import Command
from core.cli.printing import Json, Run, emit, say, tabulate
from core.data.findings import plural
from core.failures.names import has_name, known_as
from core.numbers import count

app = typer.Typer(
    no_args_is_help=True,
    help="Codes of sentences: list, add, edit, rm, code, note, merge, split, draw, rates, kappa, export, import, undo.",
)
Name = Annotated[str, typer.Argument(metavar="CODE", help="Of the codebook; `sentiscope codes list RUN` shows it.")]
Names = Annotated[list[str], typer.Argument(metavar="CODE…", help="Of the codebook.")]
Split = Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")]
Where = Annotated[
    list[str] | None,
    typer.Option(metavar="CLAUSE", help="Rows, as of `errors`: wrong, word=not, coded, code=NAME, noted …; repeat."),
]
Keys = Annotated[list[str] | None, typer.Option("--key", metavar="KEY", help="A row, as `errors` names it; repeat.")]
Author = Annotated[str, typer.Option(help="Who codes; default: nobody's name.")]
Whose = Annotated[str | None, typer.Option("--author", help="Of this one alone; default: of everybody.")]
Definition = Annotated[str | None, typer.Option(help="When it is given.")]
Example = Annotated[str | None, typer.Option(help="A sentence that has it.")]
Place = Annotated[int | None, typer.Option("--place", metavar="1-9", help="Its digit on the page; 0: none.")]
HISTORY = 5


@app.command("list")
def codes_list(run: Run, split: Split = "", where: Where = None, author: Whose = None, as_json: Json = False) -> None:
    """The codebook, who has coded how much, draws and the last changes."""
    emit(verbs.codes_list(run, split=split, where=where or (), author=author), as_json, _show_list)


@app.command("add")
def codes_add(
    run: Run,
    code: Annotated[str, typer.Argument(metavar="CODE")],
    definition: Definition = None,
    example: Example = None,
    place: Place = None,
    author: Author = "",
    as_json: Json = False,
) -> None:
    """A new code; its digit is the first that is free."""
    given: dict[str, Any] = {"definition": definition or "", "example": example or "", "place": place}
    emit(verbs.codes_add(run, code, **given, author=author), as_json, _show_code)


@app.command("edit", cls=Command)
def codes_edit(
    run: Run,
    code: Name,
    name: Annotated[str, typer.Option(help="Another name.")] = "",
    definition: Definition = None,
    example: Example = None,
    place: Place = None,
    author: Author = "",
    as_json: Json = False,
) -> None:
    """Another name, definition, example or digit of a code."""
    given: dict[str, Any] = {"to": name, "definition": definition, "example": example, "place": place, "author": author}
    emit(verbs.codes_edit(run, code, **given), as_json, _show_code)


@app.command("rm")
def codes_remove(run: Run, code: Name, author: Author = "", as_json: Json = False) -> None:
    """Take a code out that no row has."""
    emit(verbs.codes_remove(run, code, author=author), as_json, lambda r: say(f"{r['code']} is no code any more."))


@app.command("code")
def codes_code(
    run: Run,
    codes: Names,
    key: Keys = None,
    split: Split = "",
    where: Where = None,
    off: Annotated[bool, typer.Option("--off", help="Take them away instead.")] = False,
    author: Author = "",
    as_json: Json = False,
) -> None:
    """Give rows codes."""
    given: dict[str, Any] = {"keys": key or (), "split": split, "where": where or (), "off": off, "author": author}

    def show(result: dict[str, Any]) -> None:
        say(f"{', '.join(codes)} {'taken from' if off else 'given to'} {plural(result['rows'], 'row')}.")

    emit(verbs.codes_code(run, codes, **given), as_json, show)


@app.command("note")
def codes_note(
    run: Run,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A row, as `errors` names it.")],
    text: Annotated[str, typer.Argument(help='"" takes the note away.')],
    split: Split = "",
    author: Author = "",
    as_json: Json = False,
) -> None:
    """Write a note on a row."""
    result = verbs.codes_note(run, key, text, split=split, author=author)
    emit(result, as_json, lambda r: say(f"{r['key']}: {r['note'] or 'no note'}"))


@app.command("merge")
def codes_merge(
    run: Run,
    codes: Names,
    into: Annotated[str, typer.Option(help="The code that they become, new or one of them.")],
    author: Author = "",
    as_json: Json = False,
) -> None:
    """Make codes one."""
    result = verbs.codes_merge(run, codes, into, author=author)
    emit(result, as_json, lambda r: say(f"{plural(r['rows'], 'row')} changed; {', '.join(codes)} became {into}."))


@app.command("split")
def codes_split(
    run: Run,
    code: Name,
    into: Annotated[str, typer.Option(help="The code that some of its rows get, new or not.")],
    key: Keys = None,
    split: Split = "",
    where: Where = None,
    author: Author = "",
    as_json: Json = False,
) -> None:
    """Give some rows of a code another one in its place."""
    given: dict[str, Any] = {"keys": key or (), "split": split, "where": where or (), "author": author}
    result = verbs.codes_split(run, code, into, **given)
    emit(result, as_json, lambda r: say(f"{plural(r['rows'], 'row')} of {code} have {into} now."))


@app.command("draw")
def codes_draw(
    run: Run,
    n: Annotated[int, typer.Argument(help="How many.")] = 75,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    split: Split = "",
    where: Where = None,
    csv: Annotated[Path | None, typer.Option(help="Write the drawn rows to this file.")] = None,
    author: Author = "",
    as_json: Json = False,
) -> None:
    """Draw rows at random, whose codes tell rates of the whole selection."""
    result = verbs.codes_draw(run, n, seed=seed, split=split, where=where or (), csv=csv, author=author)
    emit(result, as_json, partial(_show_draw, seed))


@app.command("rates")
def codes_rates(run: Run, split: Split = "", where: Where = None, author: Whose = None, as_json: Json = False) -> None:
    """How often each code stands in a selection, where that can be told."""
    emit(verbs.codes_rates(run, split=split, where=where or (), author=author), as_json, _show_rates)


@app.command("kappa")
def codes_kappa(
    run: Run,
    first: Annotated[str, typer.Argument(metavar="AUTHOR")],
    second: Annotated[str, typer.Argument(metavar="AUTHOR")],
    split: Split = "",
    where: Where = None,
    as_json: Json = False,
) -> None:
    """How far two authors agree on the rows that both have coded: Cohen's kappa."""
    emit(verbs.codes_kappa(run, first, second, split=split, where=where or ()), as_json, _show_kappa)


@app.command("export")
def codes_export(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV.")],
    split: Split = "",
    where: Where = None,
    author: Whose = None,
    book: Annotated[Path | None, typer.Option(help="Write the codebook to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Write rows with codes, notes and every own column."""
    given: dict[str, Any] = {"split": split, "where": where or (), "author": author, "book": book or ""}
    result = verbs.codes_export(run, file, **given)
    emit(result, as_json, lambda r: say(f"{plural(r['rows'], 'row')} in {r['file']}."))


@app.command("import")
def codes_import(
    run: Run,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="CSV with the columns key and codes; author and note.")
    ] = None,
    split: Split = "",
    author: Author = "",
    book: Annotated[Path | None, typer.Option(help="Codes with their definitions, taken first.")] = None,
    as_json: Json = False,
) -> None:
    """Take codes and notes of rows from a file, by their stable keys."""

    def show(result: dict[str, Any]) -> None:
        say(f"{plural(result['rows'], 'row')} and {plural(result['codes'], 'code')} taken.")
        if result["added"]:
            say(f"New in the codebook: {', '.join(result['added'])}.")

    emit(verbs.codes_import(run, file or "", split=split, author=author, book=book or ""), as_json, show)


@app.command("undo")
def codes_undo(run: Run, author: Author = "", as_json: Json = False) -> None:
    """Take back the author's last change."""
    emit(verbs.codes_undo(run, author=author), as_json, lambda r: say(f"Taken back: {r['undone']}."))


def _who(author: str) -> str:
    """An author; of a visitor without a name also what the other commands call that one."""
    return author if has_name(author) else " ".join(filter(None, (known_as(author), author)))


def _show_code(result: dict[str, Any]) -> None:
    tabulate([result], ("code", "place", "definition", "example"), "code")


def _show_list(result: dict[str, Any]) -> None:
    say(f"{result['data']}: {result['said']}")
    if result["codes"]:
        tabulate(result["codes"], ("place", "code", "n", "definition", "example"), "code")
    else:
        say("No codes yet: `sentiscope codes add RUN CODE` makes one.")
    for each in result["authors"]:
        coded = f"{count(each['coded'])} of {plural(result['n'], 'row')} coded, {plural(each['notes'], 'note')}"
        say(f"{coded}.", head=f"{_who(each['author'])}: ")
    for each in result["draws"]:
        say(f"{count(each['n'])} of {count(each['of'])}, seed {each['seed']}: {each['said']}", head="Drawn: ")
    for each in result["history"][:HISTORY]:
        undone = " (taken back)" if each["undone"] else ""
        say(f"{each['said']}{undone}, {_who(each['author'])}, {each['time']}", head="Changed: ")


def _show_draw(seed: int, result: dict[str, Any]) -> None:
    say(f"{count(result['n'])} of {count(result['of'])} drawn with seed {seed}: {result['said']}")
    for key in result["keys"]:
        say(key)


def _show_rates(result: dict[str, Any]) -> None:
    say(f"{result['selection']} {result['said']}")
    rows = [
        {
            "code": each["code"],
            "n": count(each["n"]),
            "share": "" if each["share"] is None else decimals(each["share"]),
            "95 %": "" if each["interval"] is None else " to ".join(map(decimals, each["interval"])),
        }
        for each in result["codes"]
    ]
    if rows:
        tabulate(rows, ("code", "n", "share", "95 %") if result["complete"] else ("code", "n"), "code")


def _show_kappa(result: dict[str, Any]) -> None:
    say(f"{plural(result['n'], 'row')} coded by both, {count(result['same'])} alike: {_kappa(result)}.")
    rows = [{**each, "kappa": _kappa(each)} for each in result["codes"]]
    if rows:
        tabulate(rows, ("code", "first", "second", "both", "kappa"), "code")


def _kappa(found: dict[str, Any]) -> str:
    if found["kappa"] is None:
        return "no kappa, both say one and the same"
    low, high = found["interval"]
    return f"{found['kappa']:.2f} ({low:.2f} to {high:.2f})"
