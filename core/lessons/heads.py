"""Lesson: one head can decide an answer, and a dark attention map need not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core import runs
from core.exceptions import NotAvailable
from core.formatting import number
from core.lazy_imports import numpy as np
from core.lessons import lesson
from core.lessons.lesson import Lesson, LessonChoice, LessonContent, LessonStage, SmallShape, WayOn, write_answer
from core.runs.store import RunStore

if TYPE_CHECKING:
    import pandas as pd

    from core.models.trace import Intervention
    from core.runs.load import LoadedRun

RUN = "starter-ndt-01-n3"
SPLIT = "challenge"
MOST_WORDS = 9  # of a sentence that fits on one line
MOST_HEADS = 12  # 4 096 sets of heads travel with the page
MOST_TRIED = 8  # sentences, until other heads can flip the answer too
DARK = 3  # maps that count as dark
CLEAR = 0.1  # from 0.5: answers that are nearer are no clear ones
OPTIONS = ("The deciding head", "A dark map", "First layer", "Another head")
THIN = 0.01  # attention weights below are not drawn


@dataclass(frozen=True)
class _Sentence:
    """A sentence with the probability of the positive class: with all heads, and without each head."""

    text: str
    label: str
    predicted: str
    positive: float
    alone: np.ndarray  # (heads,)

    @property
    def flips(self) -> np.ndarray:
        """Return (heads,) bool: without which heads the answer is the other one."""
        return (self.alone >= 0.5) != (self.positive >= 0.5)

    def measure_clarity(self, head: int) -> float:
        """Return how far from 0.5 the answers with and without a head are, the smaller distance."""
        return float(min(abs(self.positive - 0.5), abs(self.alone[head] - 0.5)))


@dataclass(frozen=True)
class _Heads:
    layers: int
    each: int  # in one layer

    @property
    def places(self) -> list[tuple[int, int]]:
        """Return (layer, head) of all heads, counted from 0."""
        return [(layer, head) for layer in range(self.layers) for head in range(self.each)]

    def name(self, place: int) -> str:
        """Return the name of a head as on the page, counted from 1."""
        return f"head {place % self.each + 1} of layer {place // self.each + 1}"

    def switch_off(self, places: Sequence[int]) -> Intervention:
        """Return the intervention that switches heads off."""
        from core.models.trace import Intervention

        return Intervention(heads_off=frozenset(self.places[place] for place in places))


def build_content(store: RunStore) -> LessonContent:
    """Find a sentence that one head decides and one that the same head gets wrong, and switch off all sets of heads."""
    frame = lesson.read_split(store, RUN, SPLIT)
    run = runs.load.load_run(store, RUN)
    model = run.record.config.model
    heads = _Heads(model.layers, model.attention.heads)
    if len(heads.places) > MOST_HEADS or len(run.record.classes) != 2:
        raise NotAvailable(f"this lesson needs a model with at most {MOST_HEADS} heads and two classes, unlike {RUN}")
    for pair in _choose_sentences(_read_sentences(run, heads, frame))[:MOST_TRIED]:
        first, second, head = pair
        sets = _predict_sets(run, heads, first.text)
        if other_way := lesson.find_flips(sets, [place for place in range(len(heads.places)) if place != head], 1000):
            break
    shown, again = _describe_sentence(run, heads, first), _describe_sentence(run, heads, second)
    darkest = shown["dark"][0] if shown["dark"][0] != head else shown["dark"][1]
    name, classes = heads.name(head), list(run.record.classes)
    flipped, fixed = (write_answer(classes, each.alone[head]) for each in (first, second))
    counts = [_count_flips(run, heads, frame, place) for place in (head, darkest)]
    (negated, of_negated), (plain, of_plain) = counts[0]
    least = "" if other_way is None else f" You need {len(other_way)} other heads."
    choices = _write_choices(heads, first, shown["dark"], head)
    later = _write_second_choices(heads, second, again["dark"], head, classes)
    other_heads = " and ".join(map(heads.name, other_way or ()))
    return LessonContent(
        options=OPTIONS,
        questions=(
            lesson.LessonQuestion("Which head decides this answer?", choices, head),
            lesson.LessonQuestion("Which head do you switch off?", later, head),
        ),
        stages=(
            LessonStage(
                "Which head decides this answer?",
                f"Each head has an attention map. Without one of these {len(heads.places)} heads the answer flips.",
                "Reveal",
            ),
            LessonStage(
                f"Without {name} the answer flips.",
                f"Bar below a map: probability of {classes[1]} without that head.",
                "Now you switch heads",
                reason=f"{_write_capitalized(heads.name(darkest))} has the darkest map. Without it the answer stays.",
            ),
            LessonStage(
                f"Flip the answer, and keep {name} on.", f"Click a head to switch it off.{least}", "Predict again"
            ),
            LessonStage(
                "This answer is wrong. Which head do you switch off?",
                f"The writer means {second.label}. The model says {second.predicted}.",
                finding="The same head. Here it causes the error.",
                reason=f"Without {name}: {fixed}. A head can help one sentence and hurt another.",
            ),
        ),
        fact=f"Without {name}, {negated} of {of_negated} sentences with a negation flip, and {plain} of {of_plain} "
        f"plain ones. Without {heads.name(darkest)}: {counts[1][0][0]} and {counts[1][1][0]}.",
        figure={
            "classes": classes,
            "layers": heads.layers,
            "heads": heads.each,
            "names": [heads.name(place) for place in range(len(heads.places))],
            "right": head,
            "first": shown,
            "second": again,
            "sets": sets,
            "all_on": f"All {len(heads.places)} heads are on.",
        },
        tasks=(
            f"Without one of these heads the answer flips. Ring it. Why this one? “{first.text}”",
            "It is head ____ of layer ____. Without it the model says:",
            f"Flip the answer, and keep {name} on. Which heads did you switch off?",
            f"“{second.text}” The model says {second.predicted}. Which head do you switch off? What happens?",
        ),
        answers=(
            f"{_write_capitalized(name)}. The darkest map, {heads.name(darkest)}, does not flip it.",
            f"The model says {flipped}. With all heads it says {write_answer(classes, first.positive)}.",
            f"For example {other_heads}." if other_way else "No other set of heads flips it.",
            f"{_write_capitalized(name)}. Without it: {fixed}.",
        ),
        ways=(
            WayOn("Open the first sentence", "sentence", {"run": RUN, "text": first.text}),
            WayOn("Follow its steps", "steps", {"run": RUN, "text": first.text}),
        ),
    )


def _read_sentences(run: LoadedRun, heads: _Heads, frame: pd.DataFrame) -> list[_Sentence]:
    """Return the short sentences with a clear answer, each without every head."""
    positive = frame[f"{runs.record.PROBABILITY}{run.record.classes[1]}"].to_numpy()
    short = np.array([len(text.split()) <= MOST_WORDS for text in frame["text"]]) & (np.abs(positive - 0.5) > CLEAR)
    chosen, texts = frame[short], frame[short]["text"].tolist()
    alone = np.stack([_predict(run, texts, heads.switch_off([place])) for place in range(len(heads.places))], 1)
    rows = zip(texts, chosen["label"], chosen["predicted"], positive[short], alone, strict=True)
    return [_Sentence(text, label, predicted, float(p), each) for text, label, predicted, p, each in rows]


def _predict(run: LoadedRun, texts: list[str], change: Any) -> np.ndarray:
    return run.predict(texts, intervene=change).probabilities[:, 1]


def _choose_sentences(sentences: Sequence[_Sentence]) -> list[tuple[_Sentence, _Sentence, int]]:
    """Return pairs of a right and a wrong sentence that only one head flips, and this head; clearest first.

    Each right sentence is in one pair.
    """
    decided = [(each, int(each.flips.argmax())) for each in sentences if each.flips.sum() == 1]
    pairs = [
        (min(one.measure_clarity(head), other.measure_clarity(head)), place, one, other, head)
        for place, (one, head) in enumerate(decided)
        for other, same in decided
        if same == head and one.predicted == one.label and other.predicted != other.label
    ]
    if not pairs:
        raise NotAvailable(f"no head of {RUN} decides a right and a wrong sentence; this lesson needs one")
    best: dict[int, tuple[_Sentence, _Sentence, int]] = {}
    for _, place, one, other, head in sorted(pairs, key=lambda pair: (-pair[0], pair[1])):
        best.setdefault(place, (one, other, head))
    return [*best.values()]


def _describe_sentence(run: LoadedRun, heads: _Heads, sentence: _Sentence) -> dict[str, Any]:
    """Return what the page draws of a sentence: tokens, the map of each head, and the answer without it."""
    view = run.inspect(sentence.text)
    maps = [view.layers[layer].combined[head] for layer, head in heads.places]
    ink = [float(np.abs(each).max(1).mean()) for each in maps]
    return {
        "text": sentence.text,
        "positive": round(sentence.positive, 3),
        "alone": [round(float(each), 3) for each in sentence.alone],
        "tokens": list(view.tokens),
        "maps": [np.where(np.abs(each) < THIN, 0, each).round(2).tolist() for each in maps],
        "dark": sorted(range(len(ink)), key=lambda place: -ink[place])[:DARK],
    }


def _predict_sets(run: LoadedRun, heads: _Heads, text: str) -> list[int]:
    """Return the probability of the positive class without each set of heads, in thousandths, by the set's bits."""
    several = len(heads.places)
    sets = [heads.switch_off([place for place in range(several) if bits >> place & 1]) for bits in range(2**several)]
    found: list[int] = np.rint(1000 * _predict(run, [text] * len(sets), sets)).astype(int).tolist()
    return found


def _count_flips(run: LoadedRun, heads: _Heads, frame: pd.DataFrame, place: int) -> list[tuple[int, int]]:
    """Count how many answers flip without a head, of the sentences with a negation and of the plain ones."""
    counted = []
    for rows in (frame[frame["phenomenon"].str.contains("negation")], frame[frame["phenomenon"] == "plain"]):
        positive = rows[f"{runs.record.PROBABILITY}{run.record.classes[1]}"].to_numpy() >= 0.5
        changed = (_predict(run, rows["text"].tolist(), heads.switch_off([place])) >= 0.5) != positive
        counted.append((int(changed.sum()), len(rows)))
    return counted


def _group_head(heads: _Heads, place: int, dark: Sequence[int], right: int) -> int:
    return 0 if place == right else 1 if place in dark else 2 if place < heads.each else 3


def _write_choices(heads: _Heads, sentence: _Sentence, dark: Sequence[int], right: int) -> list[LessonChoice]:
    moved = [abs(float(each) - sentence.positive) for each in sentence.alone]
    choices = []
    for place in range(len(heads.places)):
        option = _group_head(heads, place, dark, right)
        feedback = (
            "You found it.",
            "You chose a dark map. Dark means much attention, not decisive.",
            "You chose a head of the first layer. Later layers can do its work.",
            f"Without this head the answer moves by only {number(moved[place], 2)}.",
        )[option]
        choices.append(LessonChoice(_write_capitalized(heads.name(place)), option, feedback))
    return choices


def _write_second_choices(
    heads: _Heads, sentence: _Sentence, dark: Sequence[int], right: int, classes: Sequence[str]
) -> list[LessonChoice]:
    left = [f"Without the head you chose: {write_answer(classes, one)}. Still wrong." for one in sentence.alone]
    left[right] = "You found it again."
    return [
        LessonChoice(_write_capitalized(heads.name(place)), _group_head(heads, place, dark, right), feedback)
        for place, feedback in enumerate(left)
    ]


def _write_capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _draw_small() -> list[SmallShape]:
    shapes = []
    for place in range(8):
        x, y = 2 + 34 * (place % 4), 3 + 33 * (place // 4)
        for row in range(6):
            to = (row * (place + 2) + place) % 6 if place < 5 else (0, 5, 2)[place - 5]
            start, end = y + 2 + 5 * row, y + 2 + 5 * to
            curve = f"M{x} {start}C{x + 14} {start} {x + 14} {end} {x + 28} {end}"
            shapes.append(SmallShape(curve, "ink", 0.35 + 0.1 * (place % 4) * (place > 3), 1.2))
    return shapes


HEADS = Lesson(
    "heads",
    "What does one head do?",
    "One can decide. A dark map need not matter.",
    10,
    "",
    plan=(
        (0, "Read the sentence aloud. Everybody chooses a head, alone."),
        (2, "Ask two pupils why they chose it. Do not comment."),
        (3, "Reveal. Ask who chose the darkest map."),
        (5, "Move: flip the answer, and keep the deciding head on."),
        (8, "Same question, new sentence. Compare both answers."),
    ),
    belief="Many believe that the darkest map decides. Dark only means that a word gets much attention.",
    small=_draw_small(),
    build=build_content,
    runs=(RUN,),
)
