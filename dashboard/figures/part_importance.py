"""What the parts of a model do over a whole split: accuracy without each, along λ, and the words with most effect."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.formatting import count, format_p, format_subscript, number, signed
from core.interpret import attention_findings as findings
from core.runs import attention_files
from dashboard.figures import interval_table as columns
from dashboard.figures import split_attention
from dashboard.figures.drawing import Panels
from dashboard.figures.figure import Figure, Option, Source
from dashboard.figures.interval_table import Mark
from dashboard.figures.split_attention import CSV, SIGNED, Row, SplitAttention, make_table_figure
from dashboard.figures.theme import Look


def read_importance(source: Source) -> SplitAttention:
    """Read what silencing each part costs; NotAvailable: not computed yet, or no attention."""
    return split_attention.read_measures(source, attention_files.PartImportance)


def _mark_difference(row: Row) -> Mark:
    """Mark a difference of accuracy; it is a tie by p after Holm where there is one, else if its interval has 0."""
    low, high = row["interval"]
    tie = row["p_holm"] >= findings.ALPHA if "p_holm" in row else low <= 0 <= high
    label = f"{signed(100 * row['value'], 1)} points ({signed(100 * low, 1)} to {signed(100 * high, 1)})"
    return Mark(row["value"], low, high, tie=tie, said=label)


IMPORTANCE_OF_PARTS = make_table_figure(
    "importance",
    "What the model needs",
    read_importance,
    "Accuracy lost when a part is silenced",
    lambda shown: sorted(shown.found["parts"], key=lambda row: (row["value"], -row["loss"])),
    (
        columns.name("part", "Switched off", findings.name_silenced, "16rem", part="part", how="how"),
        columns.interval("accuracy", "accuracy difference", _mark_difference, SIGNED),
        columns.text("loss", "log-loss", lambda row: signed(row["loss"], 3), "6rem", log_loss="loss"),
        columns.text("p", "p (Holm)", lambda row: format_p(row["p_holm"]), "6rem", p_holm="p_holm"),
        *(columns.count("changed", "changed", "changed", "5rem"), CSV),
    ),
    lambda row: f"{row['part']}:{row['how']}",
    note=lambda shown: f"{shown.n}, accuracy {number(shown.found['accuracy'])}",
    reading="Switched off minus trained. Ring: no significant difference (Holm).",
    finding=lambda shown: findings.describe_importance({"importance": shown.found}),
    how="All texts are predicted again with one part at zero, or at its mean. Intervals resample texts, paired; p is "
    "McNemar's exact test after Holm over all silencings.",
)


def _draw_lambda_course(shown: SplitAttention, look: Look) -> go.Figure:
    figure, t = Panels(look, [[""]], height=280), look.tokens
    rows: Sequence[Row] = shown.found["lambdas"]
    for layer, component in dict.fromkeys((row["layer"], row["component"]) for row in rows):
        own = [row for row in rows if (row["layer"], row["component"]) == (layer, component)]
        name = "all λ" if layer is None else f"λ{format_subscript(component)} of layer {layer}"
        x, y = ([row[key] for row in own] for key in ("factor", "accuracy"))
        line = {"width": 3 if layer is None else 1, "color": t.ink if layer is None else t.muted}
        figure.add_scatter(x=x, y=y, name=name, mode="lines+markers", line=line)
    figure.update_xaxes(title="factor on the learned λ")
    figure.update_yaxes(title="accuracy")
    return figure.build_figure()


LAMBDA_COURSE = Figure("attention-lambda", split_attention.PAGE, "Accuracy against λ").add_details(
    read=lambda source: split_attention.refuse_empty(read_importance(source), "lambdas", "λ", source),
    draw=_draw_lambda_course,
    note=lambda shown: shown.n,
    reading="Thick: all λ together; thin: one λ alone. 1 is as trained.",
    how="Each point predicts all texts with λ multiplied by the factor; no training.",
    tables=lambda shown: {"Accuracy against λ": pd.DataFrame(shown.found["lambdas"]).drop(columns="interval")},
)
WORD_CLASS = Option(
    "effect-on", "Class", lambda source: list(source.record.classes), "The class whose log-odds the words change"
)


@dataclass(frozen=True)
class RankedWords:
    """The words of a split by their mean effect on one class, from the largest to the smallest."""

    rows: Sequence[Row]
    shown: SplitAttention
    picked: str = ""  # the word whose sentences are selected


def read_words(source: Source) -> RankedWords:
    """Read the words of a split by their effect on the chosen class; NotAvailable: not computed yet, or none."""
    shown = split_attention.read_measures(source, attention_files.WordEffects)
    rows = [row for row in shown.found["rows"] if row["class"] == source.get_choice(WORD_CLASS)]
    if not rows:
        raise NotAvailable("no word is in enough texts")
    return RankedWords(rows, shown)


def _mark_word(row: Row) -> Mark:
    low, high = split_attention.find_ends(row)
    return Mark(row["value"], low, high, tie=low is None or high is None or low <= 0 <= high)


WORDS = make_table_figure(
    "words",
    lambda shown: f"Words that speak for and against {shown.rows[0]['class']}",
    read_words,
    "Mean effect of words",
    lambda shown: shown.rows,
    (
        columns.name("word", "Word", "word", "10rem", word="word", of_class="class"),
        columns.interval("effect", "effect (log-odds)", _mark_word, SIGNED),
        columns.text("mean", "mean", lambda row: signed(row["value"], 2), "5rem"),
        *(columns.count("texts", "texts", "texts", "5rem"), CSV),
    ),
    "word",
    split_attention.pick_ends,
    note=lambda shown: f"{shown.shown.n}, {count(len(shown.rows))} words",
    reading="Bar: 95 % interval; ring: it contains 0. Choose a word for its sentences.",
    finding=lambda shown: findings.describe_words({"words": shown.shown.found}),
    how="The mean loss of log-odds when the word is deleted, over the texts that have it. Words of fewer than five "
    "texts are left out. The table shows both ends, the CSV all words.",
    options=(WORD_CLASS,),
)

EFFECTS_OF_PARTS = make_table_figure(
    "effects",
    "Does it matter?",
    lambda source: split_attention.read_measures(source, attention_files.PartEffects),
    "Accuracy lost with all parts of a kind changed",
    lambda shown: shown.found["effects"],
    (
        columns.name("what", "Changed", "what", "16rem", what="what", edit="edit"),
        columns.interval("accuracy", "accuracy difference", _mark_difference, SIGNED, accuracy="accuracy"),
        *(columns.count("changed", "answers changed", "changed", "9rem"), CSV),
    ),
    "what",
    lambda rows: rows,
    note=lambda shown: f"{shown.n}, accuracy {number(shown.found['accuracy'])}",
    reading="Changed minus trained. Ring: no clear difference.",
    finding=lambda shown: findings.describe_effects({"effects": shown.found}),
    how="All texts are predicted again with all parts of a kind changed at once. Intervals resample texts, paired.",
)
IMPORTANCE_FIGURES = (IMPORTANCE_OF_PARTS, LAMBDA_COURSE)
