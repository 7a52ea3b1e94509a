"""What is known of a data set before any training: its splits, classes, lengths, yardstick; as tables and drawn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.data.table import TEST
from core.evaluation.intervals import wilson
from core.text.clusters import clipped
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count, number, plus_minus
from dashboard.figures.panels import Panels
from dashboard.figures.theme import Look, class_colours

_MARKS = {
    "lookalikes": "look-alikes read as one",
    "mark_elongation": "drawn-out words marked",
    "mark_capitals": "capitals marked",
}
SYMBOLS = ("circle", "diamond", "square", "triangle-up")
"""Of models side by side: a shape for whom two colours look alike."""
NAMED = 6
"""More classes than this share one colour: seven are too many to distinguish."""


def class_balance(
    shares: Mapping[str, Mapping[str, tuple[int, float]]], look: Look, *, ordered: bool = False
) -> go.Figure:
    """One panel for each split, one bar for each class."""
    t, splits = look.tokens, list(shares)
    classes = list(shares[splits[0]])
    names = [_short(name) for name in classes]
    colours = class_colours(t, classes, ordered=ordered) if len(classes) <= NAMED else [t.accent] * len(classes)
    top = max(share for found in shares.values() for _, share in found.values())
    figure = Panels(
        look,
        [[escape_text(name) for name in splits]],
        height=max(200, 60 + 30 * len(classes)),
        shared_yaxes=True,
        horizontal_spacing=0.03,
    )
    for column, split in enumerate(splits, 1):
        rows = [shares[split][name][0] for name in classes]
        parts = [shares[split][name][1] for name in classes]
        figure.add_bar(
            x=parts,
            y=names,
            orientation="h",
            width=0.62,
            marker={"color": colours, "line": {"width": 0}, "cornerradius": 3},
            text=[percent(part) for part in parts],
            textposition="outside",
            cliponaxis=False,
            textfont={"color": t.ink, "size": look.size(14)},
            hovertext=[
                f"{escape_text(split)}, {name}<br>{count(n)} rows, {percent(part)}"
                for name, n, part in zip(names, rows, parts, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            row=1,
            col=column,
        )
    room = 1 + look.size(0.65)  # for the number behind the longest bar
    figure.update_xaxes(range=[0, top * room], showticklabels=False)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False, tickfont={"color": t.ink})
    return figure.drawn()


def lengths(edges: Sequence[int], rows: Sequence[int], longest_read: int, cut_share: float, look: Look) -> go.Figure:
    """How long the texts of a split are, and where the model stops reading."""
    t = look.tokens
    widths = [after - before for before, after in itertools.pairwise(edges)]
    names = [_range(before, after, after == edges[-1]) for before, after in itertools.pairwise(edges)]
    figure = Panels(look, [[""]], height=300)
    # Bins differ in width by a token: rows per token of length keep the shape true.
    heights = [n / width for n, width in zip(rows, widths, strict=True)]
    figure.add_bar(
        x=list(edges[:-1]),
        y=heights,
        width=[width * 0.94 for width in widths],
        offset=0,
        marker={"color": t.accent, "opacity": 0.75, "line": {"width": 0}},
        hovertext=[f"{name} tokens<br>{count(n)} texts" for name, n in zip(names, rows, strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    top = max(heights, default=1.0) or 1.0
    right = float(edges[-1])
    if longest_read:
        right = max(right, longest_read * 1.02)
        figure.add_shape(
            type="line",
            x0=longest_read,
            x1=longest_read,
            y0=0,
            y1=top * 1.12,
            line={"color": t.ink, "width": look.size(1.6), "dash": "dot"},
        )
        figure.add_annotation(
            x=longest_read,
            y=top * 1.12,
            text=f"read to {longest_read}: {percent(cut_share)} of the texts are cut",
            xanchor="right" if longest_read > right / 2 else "left",  # where there is room for it
            yanchor="bottom",
            xshift=2 if longest_read > right / 2 else -2,
            font={"color": t.ink},
        )
    figure.update_xaxes(title="tokens in a text", range=[0, right * 1.01])
    figure.update_yaxes(title="texts per token of length", range=[0, top * 1.3])
    figure.update_layout(margin={"t": 8}, bargap=0)
    return figure.drawn()


def measured(table: pd.DataFrame, look: Look) -> go.Figure:
    """Accuracy of several models on each phenomenon; the first column is the yardstick, drawn as a ring.

    Args:
        table: phenomenon, then one column of accuracies for each model; the first row stands on top.
        look: Theme and size.
    """
    t = look.tokens
    names = [escape_text(name) for name in table["phenomenon"]]
    yardstick, *models = [str(name) for name in table if name != "phenomenon"]
    figure = Panels(look, [[""]], height=90 + 30 * len(names))
    ring = {"symbol": "circle-open", "size": look.size(12), "color": t.muted, "line": {"width": look.size(2)}}
    dots = [
        {"symbol": symbol, "size": look.size(10), "color": colour}
        for symbol, colour in zip(SYMBOLS, t.categories, strict=False)
    ]
    for name, marker in zip((yardstick, *models), (ring, *dots), strict=False):
        figure.add_scatter(
            x=table[name],
            y=names,
            name=escape_text(name),
            mode="markers",
            marker=marker,
            hovertemplate=f"%{{y}}<br>{escape_text(name)} %{{x:.3f}}<extra></extra>",
        )
    figure.update_xaxes(title="accuracy", range=[0, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], showgrid=True)
    figure.update_yaxes(showgrid=False, autorange="reversed", tickfont={"color": t.ink})
    legend = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"color": t.ink}}
    figure.update_layout(showlegend=True, legend=legend, margin={"t": look.size(34)})
    return figure.drawn()


def percent(share: float) -> str:
    """`12.3 %`; something that is there is never `0.0 %`."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return "0 %" if share == 0 else f"{100 * share:.1f} %"


def _range(before: int, after: int, last: bool) -> str:
    if last:
        return f"{before} or more"
    return str(before) if after - before == 1 else f"{before} to {after - 1}"


def _short(name: str) -> str:
    """A class name as an axis can hold it."""
    return escape_text(clipped(name, 22))


def split_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """One row for each split: size, lengths in tokens, and the shares that are unknown, cut or repeated."""
    repeats, rows = card["repeats"], []
    read = repeats["as_read"]
    for name, split in card["splits"].items():
        tokens, from_train = split["tokens"], repeats["from_train"].get(name, {})
        rows.append(
            {
                "split": name,
                "rows": split["rows"],
                "median": tokens["quantiles"]["0.5"],
                "95 %": tokens["quantiles"]["0.95"],
                "longest": tokens["longest"],
                "unknown": tokens["unknown_share"],
                "cut": tokens["cut_texts_share"],
                "repeats": repeats["within"][name],
                "repeats as read": read["within"][name],
                "also in train": from_train.get("rows"),
                "in train as read": read["from_train"].get(name, {}).get("rows"),
                "inside a training text": from_train.get("phrase_share"),
            }
        )
    whole = {"also in train": "Int64", "in train as read": "Int64", "inside a training text": "Float64"}
    return pd.DataFrame(rows).astype(whole)


def as_read_text(card: Mapping[str, Any]) -> str:
    """What the columns of texts that are equal as read mean, with the settings by which they were read."""
    known = card["repeats"]["as_read"]["settings"]
    marks = [word for name, word in _MARKS.items() if known.get(name)]
    unit = "words and marks" if known["tokenizer"] == "word" else "characters"
    how = f"normaliser {known['normaliser']}{''.join(f', {word}' for word in marks)}; the same {unit} in the same order"
    return f"As read: texts that the tokenizer cannot tell apart ({how})."


def split_words(table: pd.DataFrame) -> pd.DataFrame:
    """`split_table` as a person reads it: nothing where nothing can be."""

    def words(cell: Any, share: bool) -> str:
        if pd.isna(cell):
            return ""
        return percent(float(cell)) if share else count(round(cell))

    shares = ("unknown", "cut", "inside a training text")
    return pd.DataFrame(
        {
            name: column if name == "split" else [words(cell, name in shares) for cell in column]
            for name, column in table.items()
        }
    )


def class_shares(card: Mapping[str, Any]) -> dict[str, dict[str, tuple[int, float]]]:
    """Split → class → rows and share."""
    return {
        name: {label: (found["rows"], found["share"]) for label, found in split["classes"].items()}
        for name, split in card["splits"].items()
    }


def class_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """Rows and share of each class in each split."""
    return pd.DataFrame(
        [
            {"split": split, "class": label, "rows": rows, "share": share}
            for split, found in class_shares(card).items()
            for label, (rows, share) in found.items()
        ]
    )


def length_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """The histogram of every split, the last bin of which holds everything beyond as well."""
    parts = []
    for name, split in card["splits"].items():
        edges, rows = split["tokens"]["histogram"]["edges"], split["tokens"]["histogram"]["rows"]
        parts.append(pd.DataFrame({"split": name, "from": edges[:-1], "below": edges[1:], "rows": rows}))
    return pd.concat(parts, ignore_index=True)


def phenomenon_table(card: Mapping[str, Any], yardstick: Mapping[str, Any] | None) -> pd.DataFrame:
    """Rows of each named phenomenon in each split, and what TF-IDF gets right of it; empty where none is named."""
    counts = {name: split["phenomena"] for name, split in card["splits"].items() if "phenomena" in split}
    if not counts:
        return pd.DataFrame()
    frame = pd.DataFrame(counts).fillna(0).astype("int64").sort_values(next(iter(counts)), ascending=False)
    frame = frame.rename_axis("phenomenon").reset_index()
    if yardstick:
        frame["TF-IDF, test"] = frame["phenomenon"].map(yardstick["phenomena"])
    return frame


READS = {"yardstick": "words", "yardstick_chars": "words and their parts"}
"""What each yardstick of a data card counts."""


def yardstick_table(yardsticks: Mapping[str, Any], rows: Mapping[str, int]) -> pd.DataFrame:
    """What TF-IDF with logistic regression reaches on every split but train, a yardstick after the other.

    With several labels per text it has no accuracy but F1 at the thresholds tuned on validation, and AUPR.
    """
    return pd.DataFrame([row for key, words in READS.items() for row in _yardstick_rows(words, yardsticks[key], rows)])


def _yardstick_rows(words: str, yardstick: Mapping[str, Any], rows: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    tuned = yardstick.get("tuned", {}).get("splits", {})
    for name, found in yardstick["splits"].items():
        row = {"TF-IDF of": words, "split": name, "n": rows.get(name, 0)}
        row |= {"accuracy": found.get("accuracy"), "F1, macro": found["f1_macro"]}
        if "hamming_loss" in found:
            del row["accuracy"]
            row |= {"tuned": tuned.get(name, {}).get("f1_macro"), "AUPR": found.get("average_precision")}
        yield row


def cardinality_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """How many texts of each split have no, one, two … labels, and the mean; empty where each has one."""
    splits = {name: split["labels"] for name, split in card["splits"].items() if "labels" in split}
    if not splits:
        return pd.DataFrame()
    most = max(int(size) for found in splits.values() for size in found["rows"])
    rows = [
        {"split": name, "labels per text": number(found["mean"], 2)}
        | {f"with {size}": count(found["rows"].get(str(size), 0)) for size in range(most + 1)}
        for name, found in splits.items()
    ]
    return pd.DataFrame(rows)


def measured_table(known: Mapping[str, Any], rows: Mapping[str, int]) -> pd.DataFrame:
    """What models were once measured to reach: a row for each, with the 95 % interval over the sentences of a split.

    Args:
        known: `core.data.card.measured`.
        rows: Of each split.
    """
    found = []
    for name, model in known["models"].items():
        row = {"Model": name, "Seeds": str(model.get("seeds", 1)), "Epochs": str(model.get("epochs", ""))}
        for split, part in model["splits"].items():
            accuracies, n = part["accuracy"], rows[split]
            mean = sum(accuracies) / len(accuracies)
            title = split.capitalize()
            row[title] = plus_minus(mean, *wilson(mean * n, n))
            if len(accuracies) > 1:
                row[f"{title}, seeds"] = f"{number(min(accuracies))} to {number(max(accuracies))}"
            if part.get("unseen words") is not None:
                row["Unseen words"] = number(part["unseen words"])
        found.append(row)
    table = pd.DataFrame(found).fillna("")  # an empty cell would read "None"
    first = [name for name in ("Model", "Seeds", "Epochs", "Test", "Test, seeds", "Unseen words") if name in table]
    return table[[*first, *(name for name in table if name not in first)]]


def measured_phenomena(known: Mapping[str, Any], split: str = TEST) -> pd.DataFrame:
    """Accuracy by phenomenon, a column for each model that was measured on it; what TF-IDF gets wrong stands first."""
    models = {name: model["splits"].get(split, {}).get("phenomena") for name, model in known["models"].items()}
    table = pd.DataFrame({name: found for name, found in models.items() if found})
    return table.sort_values(table.columns[0]).rename_axis("phenomenon").reset_index()


@dataclass(frozen=True)
class Balance:
    """Split → class → rows and share; `multi`: a text may have several labels."""

    shares: Mapping[str, Mapping[str, tuple[int, float]]]
    multi: bool
    ordered: bool = False


CLASSES = Figure[Balance](
    "classes",
    "data",
    "Classes",
    None,
    lambda balance, look: class_balance(balance.shares, look, ordered=balance.ordered),
    note="share of each split",
    reading=lambda balance: (
        "The share of the texts of each split that have a label; a text may have several, or none."
        if balance.multi
        else "The share of each class in each split. A model that always says the largest class is right that often."
    ),
    how=(
        "Rows of a class divided by the rows of its split. Where splits differ, a model chosen on one is judged on "
        "another."
    ),
)


@dataclass(frozen=True)
class Lengths:
    """How long the texts of a split are."""

    split: str
    about: Mapping[str, Any]
    """What the card of the data set says of it."""
    longest: int
    """Tokens that a model reads."""


def _draw_lengths(shown: Lengths, look: Look) -> go.Figure:
    tokens = shown.about["tokens"]
    bins = tokens["histogram"]
    return lengths(bins["edges"], bins["rows"], shown.longest, tokens["cut_texts_share"], look)


LENGTHS = Figure[Lengths](
    "lengths",
    "data",
    "Lengths",
    None,
    _draw_lengths,
    note=lambda shown: f"{shown.split}, n = {count(shown.about['rows'])}",
    reading="How long texts are before they are cut; the last bar also holds everything longer.",
    how=(
        "Unless a setting says otherwise, a model reads as many tokens as the 99th percentile of the training texts, "
        "between 16 and 256. Bins differ in width by one token, so the height is texts per token of length."
    ),
)


@dataclass(frozen=True)
class Measured:
    """What models once reached on exactly this content: the table of `measured_phenomena`, when, on how many texts."""

    table: pd.DataFrame
    date: str
    n: int


MEASURED = Figure[Measured](
    "measured",
    "data",
    "What models reach",
    None,
    lambda shown, look: measured(shown.table, look),
    note=lambda shown: f"measured on {shown.date}, test n = {count(shown.n)}",
    reading=(
        "Accuracy on the test sentences of each phenomenon, what TF-IDF gets wrong on top. In the table, ± is half of "
        "the 95 % interval over the sentences of a split, at the mean over the seeds."
    ),
    how=(
        "Trained once from the command line on exactly this content (its fingerprint is compared), and kept with the "
        "program. A phenomenon far to the left of a model's mean is what it has not learned."
    ),
)
