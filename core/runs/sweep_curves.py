"""Curves of a sweep over a setting that is a number: a metric by the number of rows, by a strength, by a rate."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.formatting import parse_number

ROWS = "data.limit"  # the setting of a learning curve: training rows
LEAST = 3  # values of the setting that make a curve
LOGARITHMIC = 8  # from this ratio of the largest value to the smallest, the axis is logarithmic
EXPONENTS = np.linspace(0.05, 2.0, 196)
"""Candidates for c in a + b·n^−c."""


def find_curves(rows: Sequence[Mapping[str, Any]], metric: str) -> dict[str, Any] | None:
    """Return a metric's curves over a sweep's numeric grid setting with most values; None if there is none.

    `rows` are as of `build_table`. `setting`, `metric`, `logarithmic`, `yardstick` (TF-IDF: `x`, `mean`) and `curves`:
    of each model `label`, `points` (`x`, `mean`, sample `deviation` or null, `n`) and `error` (`fit_error`), else null.
    """
    known = [row for row in rows if row["metrics"].get(metric)]
    values = {name: {parse_number(row["grid"].get(name)) for row in known} for row in known[:1] for name in row["grid"]}
    numeric = {name: found for name, found in values.items() if None not in found and len(found) >= LEAST}
    if not numeric:
        return None
    setting = max(numeric, key=lambda name: len(numeric[name]))
    groups: dict[str, list[dict[str, Any]]] = {}
    tfidf: dict[float, float] = {}
    for row in known:
        rest = [f"{name.rsplit('.', 1)[-1]}={value}" for name, value in row["grid"].items() if name != setting]
        several = len({each["data"] for each in known}) > 1
        label = " · ".join([row["model"], *([str(row["data"])] if several else []), *rest])
        x = float(row["grid"][setting])
        groups.setdefault(label, []).append({"x": x, **row["metrics"][metric]})
        if beside := row["yardstick"].get(metric):
            tfidf.setdefault(x, beside["mean"])
    every = [value for value in numeric[setting] if value is not None]
    return {
        "setting": setting,
        "metric": metric,
        "logarithmic": 0 < LOGARITHMIC * min(every) <= max(every),
        "yardstick": [{"x": x, "mean": mean} for x, mean in sorted(tfidf.items())],
        "curves": [
            {"label": label, "points": points, "error": fit_error(points) if setting == ROWS else None}
            for label, found in groups.items()
            if len(points := sorted(found, key=lambda each: each["x"])) >= LEAST
        ],
    }


def fit_error(points: Sequence[Mapping[str, float]]) -> dict[str, float] | None:
    """Fit 1 − mean ≈ a + b·n^−c (a, b ≥ 0; c from 0.05 to 2) by least squares; None: fewer than four points."""
    from scipy.optimize import nnls

    if len(points) < 4:
        return None
    n, error = (np.array([each[key] for each in points]) for key in ("x", "mean"))
    fits = [(*nnls(np.stack([np.ones_like(n), n**-c], axis=1), 1 - error), c) for c in EXPONENTS]
    (a, b), residual, c = min(fits, key=lambda fit: fit[1])
    return {"a": float(a), "b": float(b), "c": float(c), "residual": float(residual)}
