"""Lesson `lambda`: λ can move and matter nothing, or hardly move and matter as little. Moving is not mattering.

`python -m core.lessons.lambdas` records its two trainings again, which takes a few minutes on one core.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from core import evaluation, interpret, runs
from core.atomic import write_text
from core.exceptions import NotAvailable
from core.formatting import format_subscript, number
from core.lazy_imports import numpy as np
from core.lessons import lesson
from core.lessons.lesson import Lesson, LessonChoice, LessonContent, LessonQuestion, LessonStage, SmallShape, WayOn
from core.runs.attention_files import DemoSentences, PartEffects
from core.runs.record import HISTORY
from core.runs.store import RunStore
from core.training.history import read_history

FREE_RUN, USUAL_RUN = "starter-ndt-shares", "starter-ndt-small"
RUNS = {FREE_RUN: "free λ", "starter-ndt-shares-s1": "free λ, another seed", USUAL_RUN: "usual λ"}
"""Runs that one sentence is read by, and their names on the page."""
FILE = Path(__file__).with_name("recorded_lambda.json")
SMALL: dict[str, Any] = {"data.limit": 8000, "training.epochs": 8, "training.lr": 0.001, "training.patience": 0}
SMALL |= {"model.width": 64, "model.ff_width": 128, "training.threads": 1}
FREE: dict[str, Any] = {"training.lambda_lr": 100, "training.diversity": 0.03}
FREE |= {"model.attention.lambda_start": "1", "model.attention.row_norm": True}
SETTINGS = {
    "falling": ("ndt-01-n3", SMALL | {"model.attention.lambda_start": "0.25", "training.lambda_lr": 100}),
    "longer": ("ndt-free-n3", SMALL | FREE | {"data.limit": 0, "training.epochs": 12}),
}
"""Preset and settings of each recorded training."""
POINTS = 60  # of a course, at most
ZERO, START = "every λ at 0", "every λ back at its start"
RANGES = ((0, 2), (3, 7), (8, 20), (21, 100))
LABELS = (*(f"{low} to {high} of 100" for low, high in RANGES[:-1]), f"More than {RANGES[-1][0] - 1} of 100")
OPTIONS = ("The right range", "The nearest other range", "A range further off", "The range furthest off")
FACTORS = tuple(place / 10 for place in range(21))


def describe_course(store: RunStore, run: str) -> dict[str, Any]:
    """Return the course of each λ of a run, and how many test answers change with every λ at 0 or at its start."""
    rows = [row for row in read_history(store.get_path(run) / HISTORY).select_kind("step") if row.get("lambda")]
    logged = np.array([row["lambda"] for row in rows])
    rows = [*rows[:: -(-len(rows) // POINTS)], rows[-1]]
    effects, lines = PartEffects.from_run(store, run).read_or_compute()[0], dict[str, list[float]]()
    for layer, values in enumerate(rows[0]["lambda"]):
        for i in range(len(values)):
            lines[f"λ{format_subscript(i + 1)} layer {layer + 1}"] = [round(row["lambda"][layer][i], 4) for row in rows]
    moved = float(np.abs(logged - logged[0]).max())  # of all steps, as Attention says it
    changed = {row["what"]: row["changed"] for row in effects["effects"]}
    steps = [row["step"] for row in rows]
    return {"steps": steps, "lines": lines, "moved": moved, "texts": effects["texts"], "changed": changed}


def record_training(preset: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Train once with these settings; return the course of λ, and how many test answers need it."""
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        run = store.create(runs.configuration.configure("built-in", preset, settings), preset).run
        runs.training_jobs.execute(store, run)
        return describe_course(store, run)


def build_content(store: RunStore) -> LessonContent:
    """Ask how many answers need λ in two models whose λ moves; slide λ for one sentence in three models."""
    for run in RUNS:
        lesson.read_metrics(store, run, "test")  # NotAvailable, if one is missing
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    courses = [describe_course(store, run) for run in (FREE_RUN, USUAL_RUN)] + [recorded[name] for name in SETTINGS]
    free, usual, falling, _ = courses
    n, least, none, late = map(_count_of_hundred, courses)
    moved, hardly, fallen, on = (number(course["moved"], 3 if course is usual else 2) for course in courses)
    low, high = (100 * end for end in evaluation.intervals.compute_wilson(free["changed"][ZERO], free["texts"]))
    ended = f"{number(max(line[-1] for line in falling['lines'].values()), 2)} or less"
    back = _count_of_hundred(free, START)
    begin, start = (number(next(iter(course["lines"].values()))[0], 2) for course in (free, falling))
    told, least_told, none_told, late_told = map(_write_changes, (n, least, none, late))
    shown = _read_sentence(store)
    flips = [name for name, line in zip(RUNS.values(), shown["positive"], strict=True) if _has_flipped(line)]
    ask = "With every λ at 0, how many of 100 answers change?"
    return LessonContent(
        options=OPTIONS,
        questions=(
            _build_question(ask, n, f"It is {n}: here the maps that λ weighs are needed."),
            _build_question(ask, none, f"It is {none}: training had already switched these maps off."),
        ),
        stages=(
            LessonStage(
                f"Each λ starts at {begin} and moves, by up to {moved}. Does λ matter?",
                "λ is the weight of a further attention map. Lines: each λ while the model learned.",
                "Reveal",
            ),
            LessonStage(
                f"With every λ at 0, {told}.",
                "Right: the usual model of that size. Filled squares: answers that change with every λ at 0.",
                "Now you move λ",
                reason=f"In the usual model λ moves by {hardly}, and {least_told}.",
            ),
            LessonStage(
                "", "One sentence, three models. The slider multiplies every λ; 1: as trained.", "Predict again"
            ),
            LessonStage(
                f"Another training: each λ falls from {start} to {ended}. Does λ matter?",
                "Lines: each λ while this model learned.",
                finding=f"λ moved by {fallen}, and {none_told}. Moving is not mattering.",
                reason=f"Learning longer, on all sentences, free λ moves by {on}, and only {late_told}: the first map "
                "can do the work of all.",
            ),
        ),
        fact=f"{free['changed'][ZERO]} of {free['texts']} test answers (95 % interval {number(low, 0)} to "
        f"{number(high, 0)} of 100). With every λ back at its start {_write_changes(back)}."
        + (" The maps matter more than the move of λ." if 2 * back < n else ""),
        figure={
            "ranges": RANGES,
            "first": {**free, "name": RUNS[FREE_RUN], "zero": n},
            "usual": {**usual, "name": RUNS[USUAL_RUN], "zero": least},
            "falling": {**falling, "name": f"λ from {start}", "zero": none},
            "sentence": shown,
        },
        tasks=(
            f"Each λ moves, by up to {moved}. {ask} Tick one. Why?",
            f"It is ____ of 100. In the usual model λ moves by {hardly}: it is ____ of 100.",
            f"“{shown['text']}” In which models does the answer flip if every λ goes to 0?",
            f"Another λ falls from {start} to {ended}. {ask}",
        ),
        answers=(
            f"{n} of 100.",
            f"{n} and {least}.",
            f"{', '.join(flips)}." if flips else "In none.",
            f"{none} of 100. Training switched the maps off: moving is not mattering.",
        ),
        ways=[WayOn("Open it, every λ at 0", "sentence", {"run": FREE_RUN, "text": shown["text"], "edit": "l:0"})],
    )


def _write_changes(n: int) -> str:
    return f"{n} of 100 answers change{'s' * (n == 1)}"


def _count_of_hundred(course: Mapping[str, Any], what: str = ZERO) -> int:
    return round(100 * course["changed"][what] / course["texts"])


def _has_flipped(line: list[float]) -> bool:
    """Return whether the answer with every λ at 0 is another one than as trained."""
    return (line[0] >= 0.5) != (line[FACTORS.index(1)] >= 0.5)


def _read_sentence(store: RunStore) -> dict[str, Any]:
    """Return the first demo sentence of λ that flips with every λ at 0, and what each model says for each factor."""
    change = [replace(interpret.explain_context.UNCHANGED, lambda_scale=factor) for factor in FACTORS]
    loaded = [runs.load.load_run(store, run) for run in RUNS]
    for row in DemoSentences.from_run(store, FREE_RUN).read_or_compute()[0]["rows"]:
        told = [each.predict([row["text"]] * len(FACTORS), intervene=change).probabilities[:, 1] for each in loaded]
        lines = [[round(float(value), 3) for value in line] for line in told]
        if row["edit"].startswith("l") and _has_flipped(lines[0]):
            named = {"text": row["text"], "label": row["label"], "classes": loaded[0].record.classes}
            return {**named, "names": list(RUNS.values()), "factors": FACTORS, "positive": lines}
    raise NotAvailable(f"no sentence of {FREE_RUN} hangs on λ; this lesson needs one")


def _build_question(ask: str, n: int, why: str) -> LessonQuestion:
    """Build the question for a measured number of 100; a choice counts by its distance from it."""
    distances = [max(low - n, n - high, 0) for low, high in RANGES]
    order = sorted(range(len(RANGES)), key=lambda place: distances[place])
    choices = [
        LessonChoice(label, order.index(place), "You found it. " * (place == order[0]) + why)
        for place, label in enumerate(LABELS)
    ]
    return LessonQuestion(ask, choices, order[0])


LAMBDA = Lesson(
    "lambda",
    "What does λ do here?",
    "A weight that moves far need not matter.",
    10,
    "",
    plan=(
        (0, "Show how λ moves. Everybody chooses a range, alone."),
        (2, "Ask two pupils why. Do not comment."),
        (3, "Reveal. Compare both models: how far λ moves, and what changes."),
        (5, "Move: slide λ to 0. In which model does the answer hang on it?"),
        (8, "Same question, new training. Then say it together: moving is not mattering."),
    ),
    belief="Many believe that a learned number that moved must matter. Only a test without it can tell.",
    small=[
        SmallShape("M6 60C24 56 30 14 132 8", "ink", 0.8, 2.5),
        SmallShape("M6 30C20 32 26 60 132 62", "wrong", 1, 2.5),
        SmallShape("M6 66H134M6 66V6", "ink", 0.5, 1.2),
    ],
    build=build_content,
    runs=tuple(RUNS),
)

if __name__ == "__main__":
    found = {name: record_training(*asked) for name, asked in SETTINGS.items()}
    write_text(FILE, json.dumps(found, separators=(",", ":")).replace('{"steps"', '\n{"steps"') + "\n")
