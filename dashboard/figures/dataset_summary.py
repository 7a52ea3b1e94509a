"""Summary of a data set before any training: splits, classes, lengths and baseline, as tables and charts."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.data.dataset import TRAIN, Dataset
from core.formatting import count, number, whole_percent
from core.text.graphemes import clip_text
from dashboard.figures import interval_table as columns
from dashboard.figures.drawing import DataTable, Panels, TableColumn, escape_text
from dashboard.figures.figure import Figure
from dashboard.figures.interval_drawing import build_component
from dashboard.figures.interval_table import IntervalTable, Mark, make_axis
from dashboard.figures.theme import Look, color_classes

_MARKS = {
    "lookalikes": "look-alike letters merged",
    "mark_elongation": "drawn-out words marked",
    "mark_capitals": "capitals marked",
}
NAMED = 6  # more classes than this share one colour: seven are too many to distinguish
EVEN = 0.02  # largest difference between the shares of balanced classes
READS = {"yardstick": "words", "yardstick_chars": "words and their parts"}  # what each baseline of a data card counts


def format_percent(share: float) -> str:
    """Format a share as `12.3 %`; a share above 0 is never shown as `0.0 %`."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return "0 %" if share == 0 else f"{100 * share:.1f} %"


def build_split_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each split: size, token lengths, and the shares of unknown, truncated and repeated text."""
    repeats, rows = card["repeats"], []
    read = repeats["as_read"]
    for name, split in card["splits"].items():
        tokens, from_train = split["tokens"], repeats["from_train"].get(name, {})
        row = {"split": name, "rows": split["rows"]}
        row |= {"median": tokens["quantiles"]["0.5"], "95 %": tokens["quantiles"]["0.95"], "longest": tokens["longest"]}
        row |= {"unknown": tokens["unknown_share"], "cut": tokens["cut_texts_share"]}
        row |= {"repeats": repeats["within"][name], "repeats as read": read["within"][name]}
        row |= {"also in train": from_train.get("rows")}
        row |= {"in train as read": read["from_train"].get(name, {}).get("rows")}
        rows.append(row | {"inside a training text": from_train.get("phrase_share")})
    whole = {"also in train": "Int64", "in train as read": "Int64", "inside a training text": "Float64"}
    return pd.DataFrame(rows).astype(whole)


def _explain_as_read(card: Mapping[str, Any]) -> str:
    known = card["repeats"]["as_read"]["settings"]
    marks = [word for name, word in _MARKS.items() if known.get(name)]
    unit = "words and marks" if known["tokenizer"] == "word" else "characters"
    how = f"normaliser {known['normaliser']}{''.join(f', {word}' for word in marks)}"
    return f"Tokenized: texts with the same {unit} after tokenization ({how})."


def format_split_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a data set's split table with numbers formatted for reading; missing values are empty."""

    def write_cell(name: str, cell: Any) -> str:
        if pd.isna(cell):
            return ""
        shares = ("unknown", "cut", "inside a training text")
        return format_percent(float(cell)) if name in shares else count(round(cell))

    columns = {name: [write_cell(name, cell) for cell in table[name]] for name in map(str, table) if name != "split"}
    return table[["split"]].assign(**columns)


def get_class_shares(card: Mapping[str, Any]) -> dict[str, dict[str, tuple[int, float]]]:
    """Return the size and share of each class by split, as split → class → (rows, share)."""
    return {
        name: {label: (found["rows"], found["share"]) for label, found in split["classes"].items()}
        for name, split in card["splits"].items()
    }


def describe_texts(dataset: Dataset) -> str:
    """Describe a data set in a sentence: its number of texts, and the balance of its classes in training."""
    rows, n = sum(map(len, dataset.splits.values())), len(dataset.classes)
    begin = f"{dataset.name} has {count(rows)} texts"
    if dataset.task != "single":
        return f"{begin} with {n} {'labels, several per text' if dataset.task == 'multi' else 'tags, one per word'}."
    shares = dataset.splits[TRAIN]["label"].value_counts(normalize=True)
    if shares.max() - shares.min() < EVEN:
        return f"{begin} in {n} balanced classes."
    largest = clip_text(dataset.classes[shares.index[0]], 22)
    return f"{begin} in {n} classes; {largest} has {format_percent(float(shares.iloc[0]))} of the training texts."


def build_class_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table of the row count and share of each class in each split."""
    parts = ((split, *each) for split, found in get_class_shares(card).items() for each in found.items())
    return pd.DataFrame([(*each, *own) for *each, own in parts], columns=["split", "class", "rows", "share"])


def build_length_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """Return the text length histogram of every split; the last bin also holds all longer texts."""
    known = {name: split["tokens"]["histogram"] for name, split in card["splits"].items()}
    edges = {name: {"from": each["edges"][:-1], "below": each["edges"][1:]} for name, each in known.items()}
    parts = [pd.DataFrame({"split": name, **edges[name], "rows": each["rows"]}) for name, each in known.items()]
    return pd.concat(parts, ignore_index=True)


def build_phenomena_table(card: Mapping[str, Any], yardstick: Mapping[str, Any] | None) -> pd.DataFrame:
    """Return row counts of each annotated linguistic phenomenon by split, with TF-IDF's accuracy; empty without any."""
    counts = {name: split["phenomena"] for name, split in card["splits"].items() if "phenomena" in split}
    if not counts:
        return pd.DataFrame()
    frame = pd.DataFrame(counts).fillna(0).astype("int64").sort_values(next(iter(counts)), ascending=False)
    frame = frame.rename_axis("phenomenon").reset_index()
    if yardstick:
        frame["TF-IDF, test"] = frame["phenomenon"].map(yardstick["phenomena"])
    return frame


def build_baseline_table(yardsticks: Mapping[str, Any], rows: Mapping[str, int]) -> pd.DataFrame:
    """Return the scores of the baselines (TF-IDF with logistic regression) on every split but train.

    With several labels per text it has no accuracy but F1 at the thresholds tuned on validation, and AUPR.
    """
    parts = []
    for key, words in READS.items():
        tuned = yardsticks[key].get("tuned", {}).get("splits", {})
        for name, found in yardsticks[key]["splits"].items():
            row = {"TF-IDF of": words, "split": name, "n": rows.get(name, 0)}
            if "hamming_loss" in found:
                row |= {"F1, macro": found["f1_macro"], "tuned": tuned.get(name, {}).get("f1_macro")}
                parts.append(row | {"AUPR": found.get("average_precision")})
            else:
                parts.append(row | {"accuracy": found.get("accuracy"), "F1, macro": found["f1_macro"]})
    return pd.DataFrame(parts)


def build_cardinality_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """Return how many texts of each split have 0, 1, 2 … labels, and the mean; empty for single-label data."""
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


def _align_right(label: str, width: int, about: str = "") -> TableColumn:
    return TableColumn(label, about, alignment="right", width=width)


SPLIT_COLUMNS = {
    "split": TableColumn("Split", width=84),
    "rows": _align_right("Rows", 62),
    "median": _align_right("Median", 66, "Tokens of the median text"),
    "95 %": _align_right("95th percentile", 106, "95 % of the texts have at most this many tokens"),
    "longest": _align_right("Longest", 68, "In tokens"),
    "unknown": _align_right("Unknown", 76, "Share of the tokens"),
    "cut": _align_right("Truncated", 78, "Share of the texts"),
    "repeats": _align_right("Duplicates", 78, "Rows that repeat an earlier text of their split"),
    "repeats as read": _align_right(
        "Duplicates (tokenized)", 152, "Rows with the tokens of an earlier text of their split"
    ),
    "also in train": _align_right("In train", 64, "Rows whose text is also a training text, character by character"),
    "in train as read": _align_right("In train (tokenized)", 134, "Rows whose tokens are those of a training text"),
    "inside a training text": _align_right("Part of a training text", 148, "Share of the texts"),
}


def build_neutral_table(rows: Sequence[Mapping[str, Any]]) -> IntervalTable:
    """Build the table of the share of tokens outside VADER, by data set and tokenizer."""

    def mark(row: Mapping[str, Any]) -> Mark:
        return Mark(row["value"], *(row["interval"] or (None, None)))

    return IntervalTable(
        "Tokens outside VADER",
        (
            columns.name("data", "Data", "data", "12rem", data="data"),
            columns.name("tokenizer", "Tokenizer", "tokenizer", "7rem", tokenizer="tokenizer"),
            columns.interval("share", "share", mark, partial(make_axis, ends=(0, 1)), share="value"),
            columns.text("percent", "", lambda row: format_percent(row["value"]), "5rem"),
            columns.count("tokens", "tokens", "tokens", "6rem"),
            columns.make_csv_columns(low="interval.0", high="interval.1"),
        ),
        rows,
        lambda row: f"{row['data']} {row['tokenizer']}",
        picks=lambda row: False,
    )


NEUTRAL = Figure("neutral-tokens", "data", "Tokens outside the lexicon").add_details(
    draw=lambda rows, look: build_component(build_neutral_table(rows).marks, look),
    reading="Share of tokens that VADER does not list. Bar: 95 % interval over texts.",
    how="Fig. 4 of the lexical attention paper finds about 50 % with its own lexicon and subword tokenizers. Here: the "
    "first 5 000 training texts, `sentiscope data check NAME --lexicon vader`.",
    tables=lambda rows: {"Neutral tokens": build_neutral_table(rows).frame},
)
SPLITS = Figure("splits", "data", "Splits").add_details(
    draw=lambda card, look: DataTable(format_split_table(build_split_table(card)), SPLIT_COLUMNS),
    note=lambda card: (
        f"vocabulary of {count(card['vocabulary']['size'])} "
        + ("words" if card["vocabulary"]["tokenizer"] == "word" else "pieces")
    ),
    reading=lambda card: (
        f"{_explain_as_read(card)} Unknown: share of tokens outside the training vocabulary. Truncated: share of texts."
    ),
    how="Repeats are rows whose text occurred before in the same split. A model can memorise a row of another split "
    "that is also in train, or inside a training text as a phrase: scores on such rows may be too high.",
    tables=lambda card: {"Splits": build_split_table(card)},
)
CARDINALITY = Figure("cardinality", "data", "Labels per text").add_details(
    draw=lambda card, look: DataTable(build_cardinality_table(card), narrow=True),
    note="number of texts by number of labels",
    tables=lambda card: {"Labels a text": build_cardinality_table(card)},  # exported files keep their names
)


@dataclass(frozen=True)
class Balance:
    """Class balance of each split of a data set: rows and share of each class."""

    shares: Mapping[str, Mapping[str, tuple[int, float]]]  # split → class → rows and share
    multi: bool = False  # whether a text may have several labels
    ordered: bool = False


def draw_classes(balance: Balance, look: Look) -> go.Figure:
    """Draw the class balance of a data set: a panel for each split, a bar for each class."""
    t, splits = look.tokens, balance.shares
    classes = list(next(iter(splits.values())))
    names = [escape_text(clip_text(name, 22)) for name in classes]  # what fits next to an axis
    few = len(classes) <= NAMED
    colors = color_classes(t, classes, ordered=balance.ordered) if few else [t.accent] * len(classes)
    titles, height = [[escape_text(name) for name in splits]], max(200, 60 + 30 * len(classes))
    figure = Panels(look, titles, height=height, shared_yaxes=True, horizontal_spacing=0.03)
    for column, (split, found) in enumerate(splits.items(), 1):
        rows, parts = zip(*(found[name] for name in classes), strict=True)
        figure.add_bar(
            x=parts,
            y=names,
            orientation="h",
            width=0.62,
            marker={"color": colors, "line": {"width": 0}, "cornerradius": 3},
            text=[whole_percent(part) if part >= 0.1 else format_percent(part) for part in parts],
            textfont={"color": t.ink, "size": look.scale_size(14)},
            textposition="outside",
            cliponaxis=False,
            hovertext=[
                f"{escape_text(split)}, {name}<br>{count(n)} rows, {format_percent(part)}"
                for name, n, part in zip(names, rows, parts, strict=True)
            ],
            hover="%{hovertext}",
            col=column,
        )
    top = max(share for found in splits.values() for _, share in found.values())
    room = 1 + look.scale_size(0.65)  # for the number behind the longest bar
    figure.update_xaxes(range=[0, top * room], showticklabels=False)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False, tickfont={"color": t.ink})
    return figure.build_figure()


CLASSES = Figure[Balance]("classes", "data", "Classes", None, draw_classes).add_details(
    note="share of each split",
    reading=lambda balance: (
        "Share of texts with each label; a text may have several, or none."
        if balance.multi
        else "Share of each class. Always predicting the largest class has that accuracy."
    ),
    how="Rows of a class divided by the rows of its split. If splits differ, a model is chosen on other class shares "
    "than it is tested on.",
)


@dataclass(frozen=True)
class LengthHistogram:
    """Histogram of the text lengths in a split."""

    split: str
    about: Mapping[str, Any]  # the split's part of the data card
    longest: int  # tokens that a model reads; 0: all


def draw_lengths(shown: LengthHistogram, look: Look) -> go.Figure:
    """Draw a histogram of text lengths in tokens, with the length at which texts are truncated."""
    t, tokens = look.tokens, shown.about["tokens"]
    edges, rows = tokens["histogram"]["edges"], tokens["histogram"]["rows"]
    bins = list(itertools.pairwise(edges))
    names = [str(low) if high - low == 1 else f"{low} to {high - 1}" for low, high in bins[:-1]]
    names.append(f"{edges[-2]} or more")
    # Bins differ in width by a token: rows per token of length keep the shape true.
    heights = [n / (high - low) for n, (low, high) in zip(rows, bins, strict=True)]
    figure = Panels(look, [[""]], height=300)
    figure.add_bar(
        x=list(edges[:-1]),
        y=heights,
        width=[(high - low) * 0.94 for low, high in bins],
        offset=0,
        marker={"color": t.accent, "opacity": 0.75, "line": {"width": 0}},
        hovertext=[f"{name} tokens<br>{count(n)} texts" for name, n in zip(names, rows, strict=True)],
        hover="%{hovertext}",
    )
    top, right, end = max(heights, default=1.0) or 1.0, float(edges[-1]), shown.longest
    if end:
        right = max(right, end * 1.02)
        line = {"color": t.ink, "width": look.scale_size(1.6), "dash": "dot"}
        figure.add_shape(type="line", x0=end, x1=end, y0=0, y1=top * 1.12, line=line)
        text = f"cut at {end}: {format_percent(tokens['cut_texts_share'])} of the texts"
        late = end > right / 2  # the label is on the side with more room
        side: dict[str, Any] = {"xanchor": "right", "xshift": 2} if late else {"xanchor": "left", "xshift": -2}
        figure.add_annotation(x=end, y=top * 1.12, yanchor="bottom", text=text, font={"color": t.ink}, **side)
    figure.update_xaxes(title="tokens in a text", range=[0, right * 1.01])
    figure.update_yaxes(title="texts per token of length", range=[0, top * 1.3])
    figure.update_layout(margin={"t": 8}, bargap=0)
    return figure.build_figure()


LENGTHS = Figure[LengthHistogram]("lengths", "data", "Lengths", None, draw_lengths).add_details(
    note=lambda shown: f"{shown.split}, n = {count(shown.about['rows'])}",
    reading="Text lengths before cutting; the last bar includes all longer texts.",
    how="By default, a model reads as many tokens as the 99th percentile of the training texts, but 16 to 256. Bins "
    "differ in width by one token, so the height is texts per token of length.",
)
