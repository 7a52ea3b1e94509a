"""Delimited files in the forms in which people have them: each is written from the same short remarks."""

from collections.abc import Callable, Sequence

PLACES = ("the ferry", "our hostel", "this kettle", "the night bus", "her lecture", "that bakery")
OPINIONS = (("was a let-down", "bad"), ("made my day", "good"))
HEADER = ("text", "label")
Row = tuple[str, ...]


def remarks(count: int = 60, ending: str = "") -> list[Row]:
    found = []
    for number in range(count):
        opinion, label = OPINIONS[number % 2]
        found.append((f"{PLACES[number % len(PLACES)]} {opinion}, number {number}{ending}", label))
    return found


def lines(rows: Sequence[Row], mark: str = "\t", header: Row = HEADER) -> str:
    return "\n".join(mark.join(row) for row in ([header] if header else []) + list(rows)) + "\n"


def quoted(rows: Sequence[Row], sign: str = '""', mark: str = ",", header: str = "text,label") -> str:
    first, last = sign
    return "\n".join([header, *(mark.join(f"{first}{cell}{last}" for cell in row) for row in rows)]) + "\n"


def labelled(labels: Sequence[str], count: int = 60, name: str = "label") -> str:
    rows = [(text, labels[number % len(labels)]) for number, (text, _) in enumerate(remarks(count))]
    return lines(rows, header=("text", name))


def beside(columns: dict[str, Callable[[int], object]], text: str = "text") -> str:
    rows = [
        (remark, *(str(value(number)) for value in columns.values())) for number, (remark, _) in enumerate(remarks())
    ]
    return lines(rows, header=(text, *columns))


def mixed_encodings() -> bytes:
    rows = lines(remarks(ending=" à la crème brûlée")).splitlines()
    return b"\n".join(row.encode("utf-8" if number % 3 else "cp1252") for number, row in enumerate(rows))


ROWS = remarks()
PLAIN = [(text.replace(",", ""), label) for text, label in ROWS]
ESCAPED = [rf'"they say \"{text}\" twice",{label}' for text, label in ROWS]
BOTH = {"bad": 30, "good": 30}
QUOTED, COMMAS = ("don't know", 'he said "no"', "R&D"), ("Anger, annoyance", "Grief, loss", "Joy, excitement")
MISSING = {"missing-label", "missing-signs"}

FILES: dict[str, bytes] = {
    name: content if isinstance(content, bytes) else content.encode()
    for name, content in {
        "tabs": lines(ROWS),
        "byte-order mark": b"\xef\xbb\xbf" + quoted(ROWS, header='"text","label"').encode(),
        "utf-16 of a spreadsheet": lines(ROWS).encode("utf-16"),
        "pound sign": lines(remarks(ending=" for £4")).encode("latin-1"),
        "typographic quotes": lines(remarks(ending=" – it’s “fine”")).encode("cp1252"),
        "mac roman": lines(remarks(ending=" — it’s naïve at the café")).encode("mac-roman"),
        "two encodings": mixed_encodings(),
        "NUL bytes": lines(ROWS).replace("ferry", "fer\0ry", 2),
        "control-z": lines(ROWS) + "\x1a",
        "garbled before": lines(remarks(ending=" at the café")).encode().decode("cp1252"),
        "old mac": lines(ROWS).replace("\n", "\r"),
        "line separators": lines(remarks(ending="\u2028more\x85or\x0bless\x0c")),
        "lines in cells": quoted([(f"{text}\nsecond line", label) for text, label in ROWS]),
        "blank texts": lines([*ROWS[3:], *((" ", label) for _, label in ROWS[:3])]),
        "unbalanced quote": lines(
            [(f'"{text}', label) if n % 9 == 0 else (text, label) for n, (text, label) in enumerate(ROWS)]
        ),
        "a tab too few": lines(ROWS).replace("\tbad", " bad", 1),
        "trailing commas": "\n".join(["text,label", *(f"{text},{label}," for text, label in PLAIN)]),
        "sep line": "sep=;\r\n" + lines(ROWS, ";"),
        "backslashes": "\n".join(["text,label", *ESCAPED]),
        "single quotes": quoted(ROWS, "''"),
        "curly quotes": quoted(ROWS, "“”"),
        "blank after the comma": quoted(ROWS, mark=", ", header="text, label"),
        "doubled quotes": quoted([(f'so ""{text}""', label) for text, label in ROWS]),
        "row names": "text\tlabel\n" + "\n".join(f"{n}\t{text}\t{label}" for n, (text, label) in enumerate(ROWS, 1)),
        "row names, blanks": '"text" "label"\n'
        + "\n".join(f'"{n}" "{text}" "{label}"' for n, (text, label) in enumerate(ROWS, 1)),
        "index without a name": ",text,label\n"
        + "\n".join(f"{n},{text},{label}" for n, (text, label) in enumerate(PLAIN)),
        "header again": lines([*PLAIN[:20], HEADER, *PLAIN[20:40], HEADER, *PLAIN[40:]], ","),
        "empty names": "v1,v2,,\n" + "\n".join(f"{label},{text},," for text, label in PLAIN),
        "title above": "Report,,\nof May,,\n,,\nid,comment,label\n"
        + "\n".join(f"{n},{text},{label}" for n, (text, label) in enumerate(PLAIN)),
        "three headers": "Id,Q1,Q2\nNumber,What was it,Overall\n"
        + '"{""ImportId"":1}","{""ImportId"":2}","{""ImportId"":3}"\n'
        + "\n".join(f"R{n},{text},{label}" for n, (text, label) in enumerate(PLAIN)),
        "comments": "# free to use\n# made by hand\n" + lines(PLAIN, ","),
        "header in Chinese": lines(PLAIN, ",", ("文本", "标签")),
        "no header": lines([(str(n), f"brand{n % 7}", label, text) for n, (text, label) in enumerate(ROWS)], header=()),
        "unquoted commas": lines(
            [(text, label) if n % 2 else (text.replace(",", ""), label) for n, (text, label) in enumerate(ROWS)], ","
        ),
        "only a header": "text,label\n",
        "blank": "\n\n\n",
        "spreadsheet errors": lines([*PLAIN[3:], ("#NAME?", "bad"), ("#N/A", "good"), ("fine", "#REF!")]),
        "words that look missing": labelled(["NA", "None", "nan", "null"]),
        "database nulls": labelled(["bad", "good", "\\N"]),
        "numbers and floats": labelled(["0", "1", "0.0", "1.0"]),
        "numbers apart": labelled(["0.5", "1", "1.0"]),
        "blanks behind": labelled(["bad ", "good\u00a0", " bad", "good"]),
        "zero width": labelled(["bad\u200b", "good", "bad", "\ufeffgood"]),
        "two forms of an accent": labelled(["bien\u00e9", "biene\u0301", "regla"]),
        "upper and lower case": labelled(["bad", "Bad", "GOOD", "good"]),
        "JSON choices": labelled(['{"choices":["joy","calm"]}', "calm", "joy"]),
        "lists of one": labelled(['["bad"]', '["good"]']),
        "quote in a name": labelled(['bad"', 'good"']),
        "names with quotes inside": labelled(QUOTED),
        "one bar in ten names": labelled(["a|b", *(f"kind {n}" for n in range(9))], 100),
        "commas in names": labelled(COMMAS),
        "negated names": labelled(["good", "not good", "not", "bad", "not bad"]),
        "plus and minus": labelled(["-1", "0", "+1"]),
        "one class": labelled(["good"]),
        "77 intents": labelled([f"ask_{n}" for n in range(77)], 77 * 8, "intent"),
        "scores": labelled([f"{n / 100}" for n in range(60)], name="score"),
        "online shop": beside({"overall": lambda n: n % 5 + 1, "verified": lambda n: n % 3 == 0}, "reviewText"),
        "flag and points": beside({"verified": lambda n: n % 3 == 0, "points": lambda n: n % 5}, "words"),
    }.items()
}
"""The content of a file by what is odd about it."""

Read = tuple[str, str, dict[str, int], set[str]]

PLAINLY_READ = (
    *("tabs", "control-z", "old mac", "line separators", "lines in cells", "unbalanced quote"),
    *("trailing commas", "blank after the comma", "doubled quotes", "row names", "row names, blanks"),
    *("index without a name", "blanks behind", "lists of one"),
)
READ: dict[str, Read] = {
    **dict.fromkeys(PLAINLY_READ, ("utf-8", "text, label", BOTH, set())),
    "byte-order mark": ("utf-8-sig", "text, label", BOTH, set()),
    "utf-16 of a spreadsheet": ("utf-16", "text, label", BOTH, set()),
    "pound sign": ("latin-1", "text, label", BOTH, {"encoding-guessed"}),
    "typographic quotes": ("cp1252", "text, label", BOTH, {"encoding-guessed"}),
    "mac roman": ("mac-roman", "text, label", BOTH, {"encoding-guessed"}),
    "two encodings": ("utf-8+cp1252", "text, label", BOTH, {"two-encodings"}),
    "NUL bytes": ("utf-8", "text, label", BOTH, {"nul-bytes"}),
    "garbled before": ("utf-8", "text, label", BOTH, {"garbled"}),
    "blank texts": ("utf-8", "text, label", {"bad": 28, "good": 29}, {"blank-text"}),
    "a tab too few": ("utf-8", "text, label", {"bad": 29, "good": 30}, {"ragged-rows"}),
    "sep line": ("utf-8", "text, label", BOTH, {"separator-line"}),
    "backslashes": ("utf-8", "text, label", BOTH, {"quoting"}),
    "single quotes": ("utf-8", "text, label", BOTH, {"quoting"}),
    "curly quotes": ("utf-8", "text, label", BOTH, {"quoting"}),
    "header again": ("utf-8", "text, label", BOTH, {"repeated-header"}),
    "empty names": ("utf-8", "v2, v1", BOTH, set()),
    "title above": ("utf-8", "comment, label", BOTH, {"title-rows"}),
    "three headers": ("utf-8", "Q1, Q2", BOTH, {"header-rows"}),
    "comments": ("utf-8", "text, label", BOTH, {"title-rows"}),
    "header in Chinese": ("utf-8", "文本, 标签", BOTH, set()),
    "no header": ("utf-8", "3, 2", BOTH, {"label-guessed"}),
    "spreadsheet errors": ("utf-8", "text, label", {"bad": 28, "good": 29}, {"missing-text", *MISSING}),
    "words that look missing": ("utf-8", "text, label", dict.fromkeys(["NA", "nan", "None", "null"], 15), set()),
    "database nulls": ("utf-8", "text, label", {"bad": 20, "good": 20}, MISSING),
    "numbers and floats": ("utf-8", "text, label", {"0": 30, "1": 30}, {"labels-merged"}),
    "numbers apart": ("utf-8", "text, label", {"0.5": 20, "1": 40}, {"labels-merged"}),
    "zero width": ("utf-8", "text, label", BOTH, {"labels-merged"}),
    "two forms of an accent": ("utf-8", "text, label", {"biené": 40, "regla": 20}, {"labels-merged"}),
    "upper and lower case": ("utf-8", "text, label", dict.fromkeys(["Bad", "bad", "GOOD", "good"], 15), {"case"}),
    "JSON choices": ("utf-8", "text, label", {"calm": 40, "joy": 40}, {"several-labels"}),
    "names with quotes inside": ("utf-8", "text, label", dict.fromkeys(QUOTED, 20), set()),
    "one bar in ten names": ("utf-8", "text, label", {"a|b": 10, **{f"kind {n}": 10 for n in range(9)}}, set()),
    "commas in names": ("utf-8", "text, label", dict.fromkeys(COMMAS, 20), set()),
    "negated names": ("utf-8", "text, label", dict.fromkeys(["bad", "good", "not", "not bad", "not good"], 12), set()),
    "plus and minus": ("utf-8", "text, label", {"-1": 20, "0": 20, "+1": 20}, set()),
    "77 intents": ("utf-8", "text, intent", {f"ask_{n}": 8 for n in range(77)}, {"small-class"}),
    "online shop": ("utf-8", "reviewText, overall", {str(n): 12 for n in range(1, 6)}, set()),
    "flag and points": ("utf-8", "words, points", {str(n): 12 for n in range(5)}, {"label-guessed"}),
}
"""What is read of a file: encoding, columns of text and label, rows of each class, kinds of findings."""

REFUSED = {
    "unquoted commas": "30 of 60 rows have another number of fields than the rest; put texts that hold the delimiter",
    "only a header": "holds a single row; if that is a header, the rows below it are missing",
    "blank": "the file is empty",
    "quote in a name": 'the label bad" begins or ends with a quote, so the file is quoted in a way that was not',
    "one class": "every row has the label 'good'; a classifier needs at least two classes",
    "scores": "the label column has 60 different numbers, so it is a quantity rather than a class",
}
"""The sentence of refusal of a file that cannot be used."""
