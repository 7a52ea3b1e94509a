"""Words of a text with their attributions and received attention, and tables of coloured numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.formatting import number, signed, whole_percent
from core.interpret.attribution_math import find_top_words
from core.runs.record import RunRecord
from core.text.graphemes import detect_direction, quote_text
from core.text.pos_tags import find_content_words
from dashboard.figures.attention import AttributedWords, sum_received
from dashboard.figures.attention_heads import LAYER, MAP, get_map
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure, Option, QuietOption, Source
from dashboard.figures.theme import LIGHT, Look, Tokens, blend_colors, choose_text_color, color_classes, shade_ink

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView

STEPS = 5  # number of colour steps, without the background
FAINTEST = 0.5  # log-odds in the strongest colour if no effect is larger, so that tiny effects stay pale
Cell = dict[str, Any]
Ramps = tuple[Sequence[str], Sequence[str]]
"""Colour steps of effects towards a class and away from it, background first."""
CONTENT = "words only"
SHOWN, BRIEFLY = 60, 24  # most words of a long text on a page and on a projector: those with the largest effects
NAMED = 6  # most unknown words that are named
ONE_LINE = 130  # characters of the explanation on a projector, where a second line would push the figure down


def find_full_color(pushes: Iterable[float]) -> float:
    """Return the absolute attribution that gets the strongest colour: the largest one, but at least a minimum."""
    return max([FAINTEST, *map(abs, pushes)])


def shade_push(push: float, top: float, ramps: Ramps, t: Tokens) -> Cell:
    """Return the cell and text colour of an attribution, and whether to hatch it; size `top` gets the full colour."""
    towards, away = ramps
    color = (towards if push >= 0 else away or towards)[min(STEPS, round(STEPS * abs(push) / top))]
    return {"colour": color, "ink": choose_text_color(t, color), "away": push < 0 and not away and color != t.paper}


def write_push(push: float) -> str:
    """Format an attribution with its sign; one that rounds to 0.00 has no sign."""
    return signed(push) if abs(push) >= 0.005 else "0.00"


def draw_heatmap(heads: list[Cell], rows: list[Cell], label: str, lines: list[str], look: Look) -> Component:
    """Draw a table of coloured numbers with row and column names; each cell has a tooltip."""
    colors = look.tokens.select_colors("ink", "muted", "grid", "paper")
    return Component("cells", {"heads": heads, "rows": rows, "label": label, "lines": lines, "colours": colors}, look)


def make_push_cell(push: float, top: float, ramps: Ramps, about: str, t: Tokens) -> Cell:
    """Return the coloured table cell of a signed attribution; one of size `top` gets the strongest colour."""
    return {"text": write_push(push), **shade_push(push, top, ramps, t), "about": about}


def make_ink_cell(value: float, top: float, about: str, t: Tokens) -> Cell:
    """Return the table cell of a value in shades of the text colour: the larger its absolute value, the stronger."""
    color = shade_ink(t, abs(value), top)
    drawn = {"text": number(value, 2), "colour": color, "ink": choose_text_color(t, color)}
    return {**drawn, "away": value < 0, "about": about}


@dataclass(frozen=True, eq=False)
class WordView:
    """Words of a text, each with its attribution and the attention that it receives."""

    record: RunRecord
    view: SentenceView
    pushed: AttributedWords
    read: NDArray[np.float64] | None  # (words,) attention to each word in the chosen map; None without a map
    setting: str
    before: NDArray[np.float64] | None  # (words,) effects in the trained model, if the user edited it
    counted: NDArray[np.int64]  # indices of the words that can lead: without punctuation and stop words, or all

    @property
    def pushes(self) -> NDArray[np.float64]:
        """Return the attribution of each word of a text, as an array with one number per word."""
        return self.pushed.found.pushes

    @property
    def target(self) -> str:
        """Return the class whose log-odds the word attributions explain."""
        return self.pushed.found.target

    @property
    def unread(self) -> NDArray[np.bool_]:
        """Return a mask over the words of a text: those that the tokenizer drops or cuts off."""
        return self._without_tokens & self.record.config.model.layered

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Return a mask over the words of a text: those that are partly or fully missing from the vocabulary."""
        belongs = self.pushed.belongs
        if not self.view.unknown or not any(self.view.unknown):  # models of word counts have no token for unknown words
            return self._without_tokens & ~self.unread
        strange = np.array(self.view.unknown)
        return np.array([bool(row[strange].any()) for row in belongs], bool)

    @property
    def _without_tokens(self) -> NDArray[np.bool_]:
        return np.array([not row.any() for row in self.pushed.belongs], bool)


def find_positive_class(record: RunRecord) -> str:
    """Return the positive class of a two-class run: the one named positive, else the second."""
    colors = color_classes(LIGHT, record.classes, ordered=record.ordered)
    return record.classes[colors.index(LIGHT.plus) if LIGHT.plus in colors else 1]


TOWARDS = QuietOption(
    "towards",
    "Effect towards",
    lambda source: () if is_binary(source.record) else source.record.classes,
    "The class that is explained; by default the answer.",
    usual=lambda source: source.reader.inspect_text(source.record.run, source.text).label,
)

COUNTED = Option(
    "counted",
    "Count",
    lambda source: (CONTENT, "all tokens"),
    "Whether punctuation and stop words, such as “the”, can be the most important word.",
)


def get_target_class(source: Source) -> str:
    """Return the class that word attributions explain: of two classes the positive one, of more the chosen one."""
    return find_positive_class(source.record) if is_binary(source.record) else str(source.get_choice(TOWARDS))


def _explain_words(source: Source) -> WordView:
    record, view = source.record, source.view
    about = (record.run, source.text, get_target_class(source))
    pushed = source.reader.pushed(*about, source.edits)
    before = source.reader.pushed(*about).found.pushes if source.edits else None
    row, read, setting = get_map(source), None, ""
    if row is not None:
        read, setting = pushed.belongs @ np.array(sum_received(row)), f"layer {source.get_choice(LAYER)}, {row.name}"
    words = [each.word for each in pushed.found.words]
    counted = find_content_words(words) if source.get_choice(COUNTED) == CONTENT else [True] * len(words)
    return WordView(record, view, pushed, read, setting, before, np.flatnonzero(counted))


def make_ramps(record: RunRecord, target: str, tokens: Tokens) -> Ramps:
    """Return two colour scales (palest first): for attributions towards a class, and for those away from it.

    Blue and orange for a positive and a negative class; any other class has its own colour, and away is hatched.
    """
    if record.task != "single":
        return _make_ramp(tokens, tokens.accent), ()
    place, colors = record.classes.index(target), color_classes(tokens, record.classes, ordered=record.ordered)
    if len(colors) == 2:
        return _make_ramp(tokens, colors[place]), _make_ramp(tokens, colors[1 - place])
    scales = (tokens.plus_scale, tokens.minus_scale)
    if any(colors[place] in scale for scale in scales):
        towards, away = scales if colors[place] in tokens.plus_scale else reversed(scales)
        return towards, away
    return _make_ramp(tokens, colors[place]), ()


def _make_ramp(tokens: Tokens, color: str) -> Sequence[str]:
    for scale in (tokens.plus_scale, tokens.minus_scale):
        if color in scale:
            return scale
    return [blend_colors(tokens.paper, color, step / STEPS) for step in range(STEPS + 1)]


def explain_answer(shown: WordView, most: float = np.inf) -> list[tuple[str, str]]:
    """Explain a prediction by its most important word and the unknown words, as (kind, words) parts of a sentence.

    `most`: the number of characters beyond which sentences about attention are left out.
    """
    found, pushes = shown.pushed.found, shown.pushes
    said, two = shown.view.label, is_binary(shown.record)
    favor = pushes * (-1 if two and said != shown.target else 1)
    line: list[tuple[str, str]] = []
    counted, place = shown.counted, -1
    if len(pushes) and favor[counted].max() >= 0.005:
        place = int(counted[favor[counted].argmax()])
        held = two or (said == shown.target and shown.record.task == "single")
        start, end = ("", f" pushes most towards {said}") if held else (f"Largest effect towards {shown.target}: ", "")
        if place != int(favor.argmax()):
            start = "Of the content words, " if held else start.replace("effect", "effect of a content word")
        word = ("strong", quote_text(found.words[place].word))
        line = [("", start), word, ("", f"{end} ({signed(pushes[place])}). ")]
    elif len(pushes):
        line = [("", f"No word supports {said if two else shown.target}. ")]
    odd = list(dict.fromkeys(word.word for word, strange in zip(found.words, shown.unknown, strict=True) if strange))
    if odd:
        named = ", ".join(quote_text(word) for word in odd[:NAMED])
        blank = "ignored" if shown.record.config.model.family.startswith("tfidf") else "read as a placeholder"
        fate = blank if shown.view.pieces is None else "read in pieces"
        more = f" and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
        line += [("unknown", "Unknown: "), ("strong", named), ("", f"{more}, {fate}. ")]
    for said in compare_attention(shown, place):
        if sum(len(words) for _, words in line) + len(said) <= most:
            line.append(("", said))
    return line


def compare_attention(shown: WordView, named: int = -1) -> list[str]:
    """Describe the words with most attention and with the largest effect of deletion, and whether both agree.

    `named`: the place of a word whose effect is told already.
    """
    if shown.pushed.read is None:
        return []
    both = shown.pushed.read.pushes[shown.counted], shown.pushes[shown.counted]
    if (most := find_top_words(*both)) is None:
        return []
    read, needed = (quote_text(shown.pushed.found.words[shown.counted[place]].word) for place in most)
    effect = "" if named == shown.counted[most[1]] else f", largest effect: {needed}"
    found = f"Most attention and effect: {read}" if most.same else f"Most attention: {read}{effect}"
    test = shown.pushed.found.tests.get("attention")  # of all words
    return [f"{found}. ", *([] if test is None else [f"{test.describe('Attention', 'effect', brief=True)}. "])]


def is_binary(record: RunRecord) -> bool:
    """Tell whether a run has two classes and one label per text."""
    return record.task == "single" and len(record.classes) == 2


def build_push_table(shown: WordView) -> pd.DataFrame:
    """Return a row for each word of a text: position in the typed text, attribution, attention, and whether unknown."""
    found = shown.pushed.found
    columns: dict[str, Any] = {name: [getattr(word, name) for word in found.words] for name in ("word", "start", "end")}
    columns |= {"towards": found.target, "push": shown.pushes}
    if shown.before is not None:
        columns["as trained"] = shown.before
    if shown.read is not None:
        columns["is read"] = shown.read
    return pd.DataFrame(columns | {"unknown": shown.unknown})


def _draw_words(shown: WordView, look: Look) -> Component:
    t, found, pushes = look.tokens, shown.pushed.found, shown.pushes
    towards, away = make_ramps(shown.record, found.target, t)
    top = find_full_color(float(push) for push in pushes)
    read = shown.read if shown.read is not None and np.abs(shown.read).max(initial=0) > 0 else None
    others = f"away from {found.target}"
    if is_binary(shown.record):
        others = f"towards {next(name for name in shown.record.classes if name != found.target)}"
    data = {
        "items": list(_list_items(shown, read, top, (towards, away), t, BRIEFLY if look.projector else SHOWN)),
        "reads": read is not None,
        "cause": explain_answer(shown, ONE_LINE if look.projector else np.inf),
        "legend": {
            "ends": [others, f"towards {found.target}"],
            "ramp": [*reversed(away[1:]), *towards] if away else list(towards),
            "away": "" if away else others,
            "push": f"effect of deleting the word (log-odds); strongest = {number(top, 1 if top >= 1 else 2)}",
            "read": f"bar: attention ({shown.setting})" if read is not None else "",
            "unknown": "not in the vocabulary" if shown.unknown.any() else "",
            "unread": "not read" if shown.unread.any() else "",
        },
        "dir": detect_direction(" ".join(word.word for word in found.words)),
        "label": f"words with their effect towards {found.target}",
        "brief": look.projector,
        "colours": t.select_colors("ink", "muted", "grid", "paper", "wrong"),
    }
    return Component("words", data, look)


def _list_items(
    shown: WordView, read: NDArray[np.float64] | None, top: float, ramps: Ramps, t: Tokens, most_words: int
) -> Iterator[dict[str, Any]]:
    """Yield a text's words with the largest attributions as plain data, in text order, with counts of omitted words."""
    found, pushes, belongs = shown.pushed.found, shown.pushes, shown.pushed.belongs
    kept = set(np.argsort(-np.abs(pushes), kind="stable")[:most_words].tolist())
    most = int(shown.counted[np.abs(pushes[shown.counted]).argmax()]) if len(pushes) else -1
    deepest = np.abs(read).max() if read is not None else 1.0
    folded = 0
    for place, word in enumerate(found.words):
        if place not in kept:
            folded += 1
            continue
        if folded:
            yield {"folded": folded}
            folded = 0
        push = float(pushes[place])
        unknown, unread = bool(shown.unknown[place]), bool(shown.unread[place])
        share = None if read is None else float(read[place])
        about = [f"{word.word}, effect {signed(push, 3)} towards {found.target}"]
        about += [] if shown.before is None else [f"as trained {signed(float(shown.before[place]), 3)}"]
        about += [] if share is None else [f"attention {number(share, 3)}"]
        about += ["not in the vocabulary"] * unknown + ["not read by this model"] * unread
        yield {
            "word": word.word,
            "push": write_push(push),
            **shade_push(push, top, ramps, t),
            "unknown": unknown,
            "unread": unread,
            "most": place == most,
            "read": None if share is None else round(share / deepest, 3),
            "about": ", ".join(about),
            "tokens": np.flatnonzero(belongs[place]).tolist(),
        }
    if folded:
        yield {"folded": folded}


def _write_finding(shown: WordView) -> str:
    why = "".join(words for kind, words in explain_answer(shown)[:3] if kind in ("", "strong")).strip()
    return f"The model says {shown.view.label} ({whole_percent(shown.view.probabilities[shown.view.label])}). {why}"


WORDS = Figure("words", "sentence", "Effect of each word", _explain_words, _draw_words).add_details(
    note=lambda shown: f"towards {shown.target}" + ("" if shown.before is None else ", after your changes"),
    reading=lambda shown: (
        f"Number: effect of deleting the word (log-odds).{'' if shown.read is None else ' Bar: attention.'}"
    ),
    finding=_write_finding,
    how="Each word is deleted and the rest is read again: the effect is the log-odds with the word minus without it. "
    "Log-odds are log p − log Σ of the other classes. Effects need not add up: words act together.",
    options=(LAYER, MAP, TOWARDS, COUNTED),
    tables=lambda shown: {"Effect": build_push_table(shown)},
)
