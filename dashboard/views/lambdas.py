"""Lambdas of several runs: what belongs together, and final values beside the reported ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from core.models.provides import provides
from core.papers.reported import Counterpart
from core.runs.record import RunRecord
from core.training.history import History
from dashboard.charts.lambdas import Line, Place, Track
from dashboard.charts.numbers import number, signed, subscript


def has_lambda(record: RunRecord) -> bool:
    """Whether this kind of model has a lambda at all."""
    return record.status != "damaged" and "lambda" in provides(record.config.model)


def same_but_seed(one: RunRecord, other: RunRecord) -> bool:
    """Whether two runs differ in nothing but the training's seed and the machine."""

    def core(record: RunRecord) -> Any:
        return replace(record.config, training=replace(record.config.training, seed=0, threads=0, device="auto"))

    return one.preset == other.preset and bool(core(one) == core(other))


def other_seeds(record: RunRecord, others: Sequence[RunRecord]) -> list[str]:
    """Runs with the same settings and a seed of their own; of several with one seed, the first."""
    found: dict[int, str] = {record.config.training.seed: record.run}
    for one in others:
        if same_but_seed(record, one):
            found.setdefault(one.config.training.seed, one.run)
    return [run for run in found.values() if run != record.run]


def head_lines(history: History) -> dict[Place, tuple[Line, ...]]:
    """The lambda of each head where heads differ: (layer, component) → a line for each head."""
    rows = [row["lambda_heads"] for row in history.rows if _finite(row.get("lambda_heads"))]
    if not rows:
        return {}
    return {
        (layer, component + 1): tuple(
            tuple(row[layer][component][head] for row in rows) for head in range(len(rows[0][layer][component]))
        )
        for layer in range(len(rows[0]))
        for component in range(len(rows[0][layer]))
    }


def _finite(heads: Any) -> bool:
    return bool(heads) and all(value is not None for layer in heads for part in layer for value in part)


def kept(record: RunRecord, track: Track) -> dict[Place, float]:
    """A run's lambdas: those of the weights it kept once it is done, before that the last logged."""
    if saved := record.results.get("lambda"):
        return {(i, j + 1): value for i, layer in enumerate(saved) for j, value in enumerate(layer)}
    return {place: line[-1] for place, line in track.curves.lambdas.items() if line}


def reported_places(found: Counterpart | None) -> dict[Place, float]:
    """A paper's lambdas by layer (from 0) and component (from 1)."""
    table = found.lambdas if found else ()
    return {(i, j + 1): value for i, layer in enumerate(table) for j, value in enumerate(layer)}


def final_table(
    tracks: Sequence[Track], records: Mapping[str, RunRecord], paper: Mapping[Place, float]
) -> pd.DataFrame:
    """One row for each layer and component: start, ours, over seeds, reported, difference.

    Args:
        tracks: The run in focus first.
        records: By name.
        paper: Reported values; empty where there are none.
    """
    focus, *others = tracks
    own = kept(records[focus.run], focus)
    seeds = [own, *(kept(records[track.run], track) for track in others if track.sibling)]
    rows = []
    for place, line in sorted(focus.curves.lambdas.items()):
        value = own.get(place, line[-1])
        row: dict[str, object] = {
            "Layer": place[0] + 1,
            "λ": f"λ{subscript(place[1])}",
            "At the start": number(line[0], 4),
            "This run": number(value, 4),
        }
        if len(seeds) > 1:
            values = [part[place] for part in seeds if place in part]
            row[f"Mean over {len(seeds)} seeds"] = number(sum(values) / len(values), 4)
            row["Range"] = f"{number(min(values), 4)} to {number(max(values), 4)}"
            value = sum(values) / len(values)
        if place in paper:
            row |= {"Reported": number(paper[place], 4), "Difference": signed(value - paper[place], 4)}
        rows.append(row)
    return pd.DataFrame(rows)


HARDLY = 0.01
"""A change of lambda below this is called hardly any: a hundredth of what the first map weighs, which is 1."""


def moved(track: Track) -> str:
    """How far any lambda of a run came from its first value; that it hardly moved, where that is the finding."""
    changes = {place: max(abs(value - line[0]) for value in line) for place, line in track.curves.lambdas.items()}
    layer, component = max(changes, key=lambda place: changes[place])
    most, where = changes[layer, component], f"λ{subscript(component)} of layer {layer + 1}"
    if most < HARDLY:
        return f"λ hardly moved: by {number(most, 4)} at most ({where}), less than {HARDLY:g} of the first map's 1."
    return f"λ moved by up to {number(most, 3)} ({where}); the first map weighs 1."


def where_it_starts(record: RunRecord) -> str:
    """What the start of lambda rests on, and so what its end can say beside a reported one."""
    part = record.config.model.attention
    if part.mixing != "additive":
        return ""
    if part.start is None:
        return (
            "The paper prints no start: ours was fitted to the λ that it reports after training, so an end near the "
            "reported one is no evidence."
        )
    return f"The paper prints no start; here λ starts at {part.start:g}."


def course_table(tracks: Sequence[Track]) -> pd.DataFrame:
    """Every drawn point: run, seed, epoch, layer, component, head (empty: mean or shared), lambda, change."""
    rows = []
    for track in tracks:
        for (layer, component), line in sorted(track.curves.lambdas.items()):
            lines = [("", line), *((str(h), own) for h, own in enumerate(track.heads.get((layer, component), ()), 1))]
            rows += [
                (track.run, track.seed, epoch, layer + 1, component, head, value, value - values[0])
                for head, values in lines
                for epoch, value in zip(track.curves.lambda_step, values, strict=False)
            ]
    names = ["run", "seed", "epoch", "layer", "component", "head", "lambda", "change"]
    return pd.DataFrame(rows, columns=names)


def loss_table(tracks: Sequence[Track]) -> pd.DataFrame:
    """The validation losses below: run, seed, epoch, loss."""
    rows = [
        (track.run, track.seed, epoch, loss)
        for track in tracks
        for epoch, loss in zip(track.curves.epoch, track.curves.validation_loss, strict=True)
    ]
    return pd.DataFrame(rows, columns=["run", "seed", "epoch", "validation_loss"])
