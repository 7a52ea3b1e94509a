"""The codebook of a data set (annotation codes, up to nine under digit keys), codings, and how frequent codes are.

A coding belongs to a sentence (data set name and row `key`) and an author, and stores the run in which the author saw
the sentence. So codings are shared by all runs on the data, and survive another seed, other splits and corrected
labels. How often a code occurs in a selection of one run is estimated from coded random samples.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.error_analysis import annotation_store as store
from core.error_analysis.row_annotations import Annotations, Code
from core.evaluation.intervals import compute_wilson
from core.exceptions import InputError
from core.fingerprint import hash_value
from core.formatting import count, plural
from core.paths import ELSEWHERE
from core.runs.record import RunRecord

KEYS = tuple(range(1, 10))  # digit keys of codes


class Codes:
    """The codebook of a data set, with the codes and notes that authors gave to its sentences."""

    def __init__(self, folder: Path, data: str) -> None:
        self.ledger, self.data = store.Ledger(folder), data

    @property
    def version(self) -> str:
        """Return a cache key that changes whenever any annotation or codebook is changed, also of other data sets."""
        return self.ledger.version

    def list_codes(self) -> list[Code]:
        """Return a data set's annotation codes: first those with a digit key, by digit, then the others by name."""
        found = [Code(**_drop_data(row)) for row in self.ledger.read_rows("codes", data=self.data)]
        return sorted(found, key=lambda code: (code.place or len(KEYS) + 1, code.name.casefold()))

    def read_annotations(self, author: str | None = None) -> Annotations:
        """Read the codes and notes that an author gave the sentences of a data set; None: of all authors."""
        where = {"data": self.data} | ({} if author is None else {"author": author})
        given: dict[str, dict[str, tuple[str, ...]]] = {}
        notes: dict[str, dict[str, str]] = {}
        for row in self.ledger.read_rows("codings", **where):
            own = given.setdefault(row["key"], {})
            own[row["author"]] = (*own.get(row["author"], ()), row["code"])
        for row in self.ledger.read_rows("notes", **where):
            notes.setdefault(row["key"], {})[row["author"]] = row["text"]
        return Annotations(tuple(self.list_codes()), given, notes)

    def add_code(
        self, name: str, definition: str = "", example: str = "", place: int | None = None, author: str = ""
    ) -> Code:
        """Add an annotation code under a free digit key; InputError for an invalid name, or a taken name or digit."""
        name, author = store.clean_code_name(name), store.clean_author(author)
        with self.ledger.begin_change(self.data, author, f"code {name} added") as change:
            book = change.read_rows("codes", data=self.data)
            if known := store.match_name(name, (row["name"] for row in book)):
                raise InputError(f"there is a code {known!r} already")
            digit = _find_free_digit(book) if place is None else _check_place(place, name, book)
            code = Code(name, digit, store.clean_text(definition), store.clean_text(example))
            change.put_row("codes", {"data": self.data, **vars(code)})
        return code

    def import_code(
        self, change: store.Change, name: str, definition: str = "", example: str = "", place: int = 0
    ) -> bool:
        """Add an annotation code within a transaction, or update a known one's texts; return whether it is new."""
        book = change.read_rows("codes", data=self.data)
        known = store.match_name(name, (row["name"] for row in book))
        if known:
            (old,) = change.read_rows("codes", data=self.data, name=known)
            change.put_row("codes", {**old, "definition": definition, "example": example})
        else:
            digit = 0 if any(row["place"] == place for row in book) else place
            change.put_row("codes", {"data": self.data, **vars(Code(name, digit, definition, example))})
        return not known

    def add_names(self, change: store.Change, names: Iterable[str]) -> dict[str, str]:
        """Add annotation codes that the codebook lacks within a transaction; return name → spelling in the codebook."""
        found = {}
        for name in names:
            book = change.read_rows("codes", data=self.data)
            found[name] = store.match_name(name, (row["name"] for row in book)) or name
            if found[name] not in (row["name"] for row in book):
                change.put_row("codes", {"data": self.data, **vars(Code(name, _find_free_digit(book), "", ""))})
        return found

    def edit_code(
        self,
        name: str,
        *,
        to: str = "",
        definition: str | None = None,
        example: str | None = None,
        place: int | None = None,
        author: str = "",
    ) -> Code:
        """Change an annotation code's name, texts or digit; InputError if it is missing or name or digit are taken."""
        author = store.clean_author(author)
        new = store.clean_code_name(to) if to else name
        with self.ledger.begin_change(self.data, author, f"code {name} edited") as change:
            book = change.read_rows("codes", data=self.data)
            old = self._find_row(book, name)
            name, new = old["name"], new if to else old["name"]
            if known := store.match_name(new, (row["name"] for row in book if row != old)):
                raise InputError(f"there is a code {known!r} already; `codes merge` joins two codes")
            given = {"definition": definition, "example": example}
            texts = {key: store.clean_text(value) for key, value in given.items() if value is not None}
            digit = old["place"] if place is None else _check_place(place, name, book)
            row = {**old, **texts, "name": new, "place": digit}
            if new != name:
                change.drop_row("codes", old)
                self._move_codings(change, name, new)
            change.put_row("codes", row)
        return Code(**_drop_data(row))

    def remove_code(self, name: str, author: str = "") -> None:
        """Remove an annotation code from the codebook; InputError if a sentence still has it."""
        with self.ledger.begin_change(self.data, store.clean_author(author), f"code {name} removed") as change:
            row = self._find_row(change.read_rows("codes", data=self.data), name)
            if change.read_rows("codings", data=self.data, code=row["name"]):
                raise InputError(f"code {name!r}: sentences have it; merge it into another code to remove it")
            change.drop_row("codes", row)

    def give_codes(
        self, keys: Iterable[str], codes: Collection[str], *, off: bool = False, author: str = "", run: str = ""
    ) -> None:
        """Add annotation codes to sentences for one author, or remove them (`off`); InputError for an unknown code."""
        author, keys, wanted = store.clean_author(author), tuple(keys), sorted(set(codes))
        said = f"{', '.join(wanted)}{' taken off' * off}: {_describe_rows(keys)}"
        with self.ledger.begin_change(self.data, author, said) as change:
            book = change.read_rows("codes", data=self.data)
            named = {self._find_row(book, name)["name"] for name in wanted}
            for key in keys:
                own = {row["code"] for row in change.read_rows("codings", data=self.data, key=key, author=author)}
                self.set_codes(change, key, author, own - named if off else own | named, run)

    def set_codes(self, change: store.Change, key: str, author: str, wanted: Collection[str], run: str) -> None:
        """Set the annotation codes of one sentence by one author, within a transaction."""
        own = {"data": self.data, "key": key, "author": author}
        before = {row["code"]: row for row in change.read_rows("codings", **own)}
        for name, row in before.items():
            if name not in wanted:
                change.drop_row("codings", row)
        for name in sorted(wanted):
            if name not in before:
                change.put_row("codings", {**own, "code": name, "run": run, "time": store.get_timestamp()})

    def write_note(self, key: str, text: str, *, author: str = "", run: str = "", goes_on: bool = False) -> None:
        """Write an author's note on a sentence, empty: delete it; `goes_on` merges it with the last change of it."""
        author = store.clean_author(author)
        with self.ledger.begin_change(self.data, author, f"note: {_describe_rows((key,))}", goes_on=goes_on) as change:
            self.set_note(change, key, author, store.clean_text(text), run)

    def set_note(self, change: store.Change, key: str, author: str, text: str, run: str) -> None:
        """Write or delete an author's note on a sentence, within a transaction."""
        own = {"data": self.data, "key": key, "author": author}
        before = next(iter(change.read_rows("notes", **own)), None)
        if not text:
            change.drop_row("notes", own)
        elif before is None or before["text"] != text:
            change.put_row("notes", {**own, "text": text, "run": run, "time": store.get_timestamp()})

    def merge_codes(self, names: Collection[str], into: str, author: str = "") -> int:
        """Merge annotation codes into one; return how many sentences had a replaced code. InputError without codes."""
        into, author = store.clean_code_name(into), store.clean_author(author)
        gone = sorted({name for name in names if name.casefold() != into.casefold()})
        if not gone:
            raise InputError(f"merge at least one other code into {into!r}")
        with self.ledger.begin_change(self.data, author, f"{', '.join(gone)} merged into {into}") as change:
            book = change.read_rows("codes", data=self.data)
            known = store.match_name(into, (row["name"] for row in book))
            old = [self._find_row(book, name) for name in gone]
            for row in old:
                change.drop_row("codes", row)
            if not known:
                change.put_row("codes", {**old[0], "name": into})
            return len({key for row in old for key in self._move_codings(change, row["name"], known or into)})

    def split_code(self, name: str, into: str, keys: Collection[str], author: str = "") -> int:
        """Replace an annotation code by another in given sentences; return how many had it. InputError if none had."""
        into, author, wanted = store.clean_code_name(into), store.clean_author(author), set(keys)
        if into.casefold() == name.casefold():
            raise InputError(f"split {name!r} into a code of another name")
        with self.ledger.begin_change(self.data, author, f"{into} split from {name}") as change:
            book = change.read_rows("codes", data=self.data)
            name, into = self._find_row(book, name)["name"], self.add_names(change, [into])[into]
            moved = self._move_codings(change, name, into, wanted)
            if not moved:
                raise InputError(f"no row of the selection has the code {name!r}; select some that have it")
            return len(moved)

    def undo_last(self, author: str = "") -> dict[str, Any]:
        """Undo an author's last change (`Ledger.undo_last`); InputError also if a code left the codebook meanwhile."""
        return self.ledger.undo_last(self.data, store.clean_author(author), self._check_codings)

    def _check_codings(self, change: store.Change, said: str) -> None:
        book = {row["name"] for row in change.read_rows("codes", data=self.data)}
        left = [row["code"] for row in change.read_rows("codings", data=self.data) if row["code"] not in book]
        if left:
            name = min(left)
            have = "1 sentence has" if left.count(name) == 1 else f"{count(left.count(name))} sentences have"
            raise InputError(f"{said!r:.80} cannot be undone: {have} the code {name!r} by now, which would be lost")

    def transfer_visitor(self, visitor: str, author: str) -> bool:
        """Move an unnamed visitor's annotations and undo history to a named author; return whether there were any."""
        author = store.clean_author(author)
        if not store.has_name(author) or store.has_name(visitor):
            raise ValueError("from somebody without a name to a name")
        with self.ledger.transfer_author(self.data, visitor, author) as change:
            for table in ("codings", "notes", "draws"):
                for row in change.read_rows(table, data=self.data, author=visitor):
                    change.drop_row(table, row)
                    moved = {**row, "author": author}
                    if table == "notes":  # two notes of one author on a sentence become one
                        there = change.read_rows("notes", data=self.data, key=row["key"], author=author)
                        moved["text"] = "\n".join(dict.fromkeys([*(each["text"] for each in there), row["text"]]))
                    change.put_row(table, moved)
            return bool(change.made)

    def _move_codings(
        self, change: store.Change, name: str, into: str, keys: Collection[str] | None = None
    ) -> list[str]:
        """Replace one annotation code by another in some sentences, or in all; return the keys of changed sentences."""
        found = change.read_rows("codings", data=self.data, code=name)
        moved = [row for row in found if keys is None or row["key"] in keys]
        for row in moved:
            change.drop_row("codings", row)
            if not change.read_rows("codings", data=self.data, key=row["key"], author=row["author"], code=into):
                change.put_row("codings", {**row, "code": into})
        return [row["key"] for row in moved]

    def _find_row(self, book: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
        same = store.match_name(name, (row["name"] for row in book))
        for row in book:
            if row["name"] == same:
                return row
        known = ", ".join(row["name"] for row in book) or "there are none yet: `sentiscope codes add` makes one"
        raise InputError(f"no code {name!r:.80} for {self.data}; the codes are: {known}")


def get_data_name(record: RunRecord) -> str:
    """Return the name under which annotations are stored: that of the data set or file, which may be corrected."""
    return Path(record.config.data.name.removeprefix(ELSEWHERE)).name


def _check_place(place: int, name: str, book: Sequence[Mapping[str, Any]]) -> int:
    if place not in (0, *KEYS):
        raise InputError(f"code {name!r}: its key is a digit from 1 to 9, or 0 for none")
    for row in book:
        if place and row["place"] == place and row["name"] != name:
            raise InputError(f"key {place} belongs to the code {row['name']!r}; give that code another key first")
    return place


def _find_free_digit(book: Sequence[Mapping[str, Any]]) -> int:
    """Return the first digit key that no annotation code uses; 0 if all nine are in use."""
    return next((digit for digit in KEYS if all(row["place"] != digit for row in book)), 0)


def _drop_data(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "data"}


def _describe_rows(keys: Sequence[str]) -> str:
    return f"row {keys[0]}" if len(keys) == 1 else f"{len(keys)} rows"


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
    """Return `n` sentence keys in the order of a digest of seed and key.

    So the order of the input does not matter, and a larger sample contains a smaller one.
    """
    hashes = {key: hashlib.blake2b(f"{seed} {key}".encode(), digest_size=16).digest() for key in keys}
    return tuple(sorted(keys, key=hashes.__getitem__)[:n])


def draw_sample(
    codes: Codes, keys: Sequence[str], n: int, seed: int, said: str, *, run: str = "", author: str = ""
) -> Draw:
    """Draw a random sample of selected sentences and store it, or return the stored one; InputError for too many."""
    if not 0 < n <= len(keys):
        raise InputError(f"{count(n)} at random of {plural(len(keys), 'row')}: draw 1 to {count(max(1, len(keys)))}")
    name = hash_value({"keys": sorted(keys), "n": n, "seed": seed})[:16]
    if kept := next((each for each in list_draws(codes) if each.id == name), None):
        return kept
    author = store.clean_author(author)
    row: dict[str, Any] = {"data": codes.data, "id": name, "keys": " ".join(sample_keys(keys, n, seed)), "seed": seed}
    row |= {"population": " ".join(keys), "said": said, "run": run, "author": author, "time": store.get_timestamp()}
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

    A selection that equals a random sample represents its population. Rows selected `by_codes` are no population, and
    only complete samples inside them count.
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
    """Compute how often each annotation code occurs among the selected sentences, the rows with these `keys`.

    Shares are given only if all rows of the selection, or all rows of a random sample from it (`known`), are coded. A
    row has every code that any author of `coded` gave it. Rows selected `by_codes` or notes are no population.

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
    found = []
    for code in coded.book:
        rate: dict[str, Any] = {"hits": None, "share": None, "interval": None}
        if complete and (of := len(sample.keys)):
            hits = drawn[code.name]
            rate = {"hits": hits, "share": hits / of, "interval": list(compute_wilson(hits, of))}
        found.append({"code": code.name, "place": code.place, "n": own[code.name], **rate})
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
        return sum(key in coded.given for key in sample.keys) / max(1, len(sample.keys))

    whole = [sample for sample in found if sample.keys and compute_share(sample) == 1]
    if whole:
        return whole[-1], True
    return max(found, key=lambda each: (each.draw is not None, compute_share(each))), False


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
