"""Error rates and risk ratios of tags and column values, slices with many errors, and the report of a selection.

Risk ratio R = (a / m) / (c / k): a errors among m tagged rows, c among the other k. R = 1 is tested by the score test;
the interval inverts it at every R (Koopman, Biometrics 1984), so that it excludes 1 exactly if p is below its level.

Slices: one or two properties with significantly more errors, most excess errors first. Every option of the table (tags,
classes, column values) and every pair with at least `LEAST` rows is tested against all other rows, with Holm over all.
A pair is listed only if its error rate is also higher than that of each of its parts outside the pair.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.error_analysis.facets import OUTCOME, TAG, Facet, Facets, Filter, rank_features
from core.error_analysis.predictions_table import SEVERAL, PredictionTable
from core.error_analysis.query import Clause
from core.error_analysis.selection import Selection, describe_selection
from core.error_analysis.tags import BY_DEFINITION, CONSEQUENCES, OF_MODELS, TableTags, describe_tag
from core.evaluation.comparison import apply_holm
from core.evaluation.intervals import compute_wilson
from core.evaluation.significance import ALPHA
from core.formatting import count, plural
from core.lazy_imports import scipy

LEAST = 30  # rows needed with a tag, and without it, for a risk ratio
_NORMAL = statistics.NormalDist()
_FAR = 1e9


@dataclass(frozen=True)
class Risk:
    """Counts of rows and errors with and without a tag, for the risk ratio of an error."""

    n: int
    wrong: int
    rest_n: int
    rest_wrong: int

    @property
    def enough(self) -> bool:
        """Return whether a risk ratio is meaningful: enough rows with and without the tag, some right, some wrong."""
        errors, rows = self.wrong + self.rest_wrong, self.n + self.rest_n
        return min(self.n, self.rest_n) >= LEAST and 0 < errors < rows

    @property
    def rate(self) -> float:
        """Return the error rate of rows with the tag; 0 without such rows."""
        return self.wrong / self.n if self.n else 0.0

    @property
    def rest_rate(self) -> float:
        """Return the error rate of rows without the tag; 0 without such rows."""
        return self.rest_wrong / self.rest_n if self.rest_n else 0.0

    @property
    def ratio(self) -> float:
        """Return the risk ratio: error rate with the tag over error rate without it; infinite if the latter is 0."""
        return self.rate / self.rest_rate if self.rest_rate else math.inf

    @property
    def excess(self) -> float:
        """Return how many more errors tagged rows have than expected from untagged rows; 0 if all rows are tagged."""
        return self.wrong - self.n * self.rest_rate if self.rest_n else 0.0

    @property
    def p(self) -> float:
        """Return the two-sided p-value of the score test that the risk ratio is 1."""
        return math.erfc(abs(self._compute_score(1.0)) / math.sqrt(2))

    def compute_interval(self, alpha: float) -> tuple[float, float]:
        """Return the score interval of the risk ratio at level 1 − alpha; ends may be 0 or infinite."""
        z = -_NORMAL.inv_cdf(alpha / 2)

        def find_end(target: float) -> float:
            """Return the risk ratio at which the score statistic equals `target`."""
            root = scipy.optimize.brentq(lambda log: self._compute_score(math.exp(log)) - target, *ends, xtol=1e-12)
            return math.exp(root)

        ends = -math.log(_FAR), math.log(_FAR)
        low = 0.0 if self._compute_score(1 / _FAR) <= z else find_end(z)
        high = math.inf if self._compute_score(_FAR) >= -z else find_end(-z)
        return low, high

    def _compute_score(self, ratio: float) -> float:
        """Return the score statistic of the null hypothesis that the risk ratio is `ratio`, in standard errors."""
        m, k = self.n, self.rest_n
        # The maximum-likelihood rate of the rest, given the ratio: the smaller root of A q² − B q + C = 0.
        a, c = (m + k) * ratio, self.wrong + self.rest_wrong
        b = m * ratio + self.wrong + k + self.rest_wrong * ratio
        rest = 2 * c / (b + math.sqrt(max(0.0, b * b - 4 * a * c)))
        tagged = min(1.0, rest * ratio)
        spread = tagged * (1 - tagged) / m + ratio**2 * rest * (1 - rest) / k
        return (self.rate - ratio * self.rest_rate) / math.sqrt(max(spread, 1e-300))


def measure_risk(has: np.ndarray, wrong: np.ndarray) -> Risk:
    """Count rows and errors with and without a tag; both arguments are (n,) bool."""
    return Risk(int(has.sum()), int((has & wrong).sum()), int((~has).sum()), int((~has & wrong).sum()))


def build_risk_table(
    tags: Mapping[str, np.ndarray], wrong: np.ndarray, untested: frozenset[str] = frozenset()
) -> list[Any]:
    """Return error rates and risk ratios per tag, most excess errors first; `untested` tags have rates only."""
    found = {name: measure_risk(has, wrong) for name, has in tags.items()}
    tested = [name for name, each in found.items() if each.enough and name not in untested]
    steps = dict(zip(tested, apply_holm([found[name].p for name in tested]), strict=True))
    rows = []
    for name, each in found.items():
        row: dict[str, Any] = {"tag": name, "n": each.n, "wrong": each.wrong, "rate": each.rate}
        row |= {"interval": list(compute_wilson(each.wrong, each.n))}
        row |= {"rest": {"n": each.rest_n, "wrong": each.rest_wrong}}
        row |= {"excess": None if name in untested else each.excess}
        row |= dict.fromkeys(("ratio", "ratio_interval", "p", "p_holm", "differs"))
        if step := steps.get(name):
            ends = [_to_finite(end) for end in each.compute_interval(step.alpha)]
            row |= {"ratio": _to_finite(each.ratio), "ratio_interval": ends, "p": each.p, "p_holm": step.p}
            row["differs"] = step.p < ALPHA
        rows.append(row)
    return sorted(rows, key=lambda row: (row["excess"] is None, -(row["excess"] or 0.0)))


def _to_finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


MOST_SLICES = 12  # slices listed
CLASSES = {"true", "predicted"}  # a pair of these determines whether a row is wrong
ALIKE = 0.8  # Jaccard similarity above which two slices are one finding, listed with the more excess errors


@dataclass(frozen=True)
class FoundSlice:
    """A slice of the predictions with an elevated error rate: its filter rules, risk ratio and p-value."""

    clauses: tuple[Clause, ...]
    risk: Risk
    interval: tuple[float, float]  # of the risk ratio, at the level of its Holm step
    p_holm: float


@dataclass(frozen=True)
class FoundSlices:
    """All slices with an elevated error rate, and the number of slices tested."""

    slices: tuple[FoundSlice, ...]
    tried: int


def search_slices(facets: Sequence[Facet], wrong: np.ndarray) -> FoundSlices:
    """Find slices with significantly more `wrong` (n,) rows; facets that follow from the outcome are left out."""
    known = BY_DEFINITION | CONSEQUENCES
    causes = [facet for facet in facets if facet.name not in (OUTCOME, *SEVERAL)]
    options = [(facet.name, option) for facet in causes for option in facet.options if option.clause.value not in known]
    options = [each for each in options if each[0] != TAG or not each[1].clause.value.startswith(OF_MODELS)]
    options = [each for each in options if each[1].has.sum() >= LEAST]
    if not options or not 0 < wrong.sum() < len(wrong):
        return FoundSlices((), 0)
    tested = [(each, found) for each, found in _count_pairs(options, wrong) if found.enough]
    steps = apply_holm([found.p for _, found in tested])
    every = [(each, found, step) for (each, found), step in zip(tested, steps, strict=True) if step.p < ALPHA]
    kept = [one for one in every if one[1].ratio > 1 and _is_worse(one[0], wrong, len(tested))]
    listed: list[tuple[np.ndarray, FoundSlice]] = []
    for each, found, step in sorted(kept, key=lambda one: (-one[1].excess, len(one[0]))):
        has = np.all([option.has for option in each], axis=0)
        alike = any((has & other).sum() > ALIKE * (has | other).sum() for other, _ in listed)
        if len(listed) < MOST_SLICES and not alike:
            ends = found.compute_interval(step.alpha)
            listed.append((has, FoundSlice(tuple(option.clause for option in each), found, ends, step.p)))
    return FoundSlices(tuple(each for _, each in listed), len(tested))


def _count_pairs(options: Sequence[tuple[str, Filter]], wrong: np.ndarray) -> list[tuple[tuple[Filter, ...], Risk]]:
    """Count rows and errors of each facet option and of each pair of options that share enough rows."""
    has = np.stack([option.has for _, option in options]).astype(np.float32)
    rows, errors = has @ has.T, (has * wrong) @ has.T
    n, bad = len(wrong), int(wrong.sum())
    found: list[tuple[tuple[Filter, ...], Risk]] = []
    for first, (name, option) in enumerate(options):
        for second, (other, another) in enumerate(options[first:], first):
            number, mistakes = int(rows[first, second]), int(errors[first, second])
            if first != second and (number < LEAST or (name == other and name != TAG) or {name, other} == CLASSES):
                continue
            # If one option includes the other, the pair is the smaller option.
            if first != second and number in (int(rows[first, first]), int(rows[second, second])):
                continue
            pair = (option,) if first == second else (option, another)
            found.append((pair, Risk(number, mistakes, n - number, bad - mistakes)))
    return found


def _is_worse(each: tuple[Filter, ...], wrong: np.ndarray, tried: int) -> bool:
    """Return whether rows with both facet options have significantly more errors than rows with only one."""
    if len(each) == 1:
        return True
    has = each[0].has & each[1].has
    for option in each:
        inside = measure_risk(has[option.has], wrong[option.has])
        if not inside.enough or inside.ratio <= 1 or inside.p * 2 * tried >= ALPHA:
            return False
    return True


TAGGED = f"{TAG}="


def collect_rates(facets: Sequence[Facet], tags: Mapping[str, np.ndarray], wrong: np.ndarray) -> list[dict[str, Any]]:
    """Return error rates of all tags and column values (rows of `build_risk_table`), with p after Holm over all."""
    own = [facet for facet in facets if facet.name not in (OUTCOME, TAG, "true", "predicted", *SEVERAL)]
    has = {f"{TAGGED}{name}": each for name, each in tags.items()}
    has |= {str(option.clause): option.has for facet in own for option in facet.options}
    return build_risk_table(has, wrong, frozenset(f"{TAGGED}{name}" for name in BY_DEFINITION))


def report_found_slices(facets: Sequence[Facet], wrong: np.ndarray) -> list[dict[str, Any]]:
    """Return slices with an elevated error rate as dicts: filter rules, description and statistics of each."""
    rows = []
    for each in search_slices(facets, wrong).slices:
        row: dict[str, Any] = {"select": format_rules(each), "said": describe_selection(each.clauses)}
        row |= {name: getattr(each.risk, name) for name in ("n", "wrong", "rate", "excess")}
        ratio, *ends = map(_to_finite, (each.risk.ratio, *each.interval))
        rows.append({**row, "p_holm": each.p_holm, "ratio": ratio, "ratio_interval": ends})
    return rows


def format_rules(one: FoundSlice) -> str:
    """Return the filter rules of a slice as they appear in a link."""
    return str(Selection(tuple(map(str, one.clauses))))


def report_errors(
    table: PredictionTable, clauses: Sequence[Clause], chosen: np.ndarray, tags: TableTags | None
) -> dict[str, Any]:
    """Return statistics and rows of a selection as a dict; `tags` adds error rates per tag. See `core.api.errors`."""
    wrong = table.wrong
    found = {
        "run": table.record.run,
        "data": table.record.config.data.name,
        "split": table.split,
        "task": table.task,
        "classes": list(table.classes),
        **compute_rate(wrong),
        "where": list(map(str, clauses)),
        "selected": {**compute_rate(wrong[chosen]), "share": float(chosen.mean()) if len(chosen) else 0.0},
        "said": describe_result(table, clauses, chosen),
        "own": list(table.own),
    }
    rows = to_records(table.frame[chosen])
    if tags is None:
        return {**found, "rows": rows}
    facets = Facets(table).list_facets(dict(tags.available))
    names = list(tags.available)
    has = np.array([tags.available[name][chosen] for name in names], bool).reshape(len(names), -1).T
    of_rows = [[names[place] for place in np.flatnonzero(row)] for row in has]
    return {
        **found,
        **_collect_rates(table, facets, tags, chosen),
        "absent": tags.absent,
        "slices": report_found_slices(facets, table.wrong),
        "marks": rank_features(table, tags.available, chosen, list_clause_names(clauses)),
        "words": [each._asdict() for each in table.phrases.find_keywords(chosen)],
        "rows": [{**row, "tags": own} for row, own in zip(rows, of_rows, strict=True)],
    }


def list_clause_names(clauses: Sequence[Clause]) -> set[str]:
    """Return the columns and tags that a selection's filter rules use, and that thus cannot explain the selection."""
    named = {clause.value if clause.name == "tag" else clause.name for clause in clauses}
    return named | (BY_DEFINITION if "wrong" in named else set())


def _collect_rates(
    table: PredictionTable, facets: Sequence[Facet], tags: TableTags, chosen: np.ndarray
) -> dict[str, Any]:
    """Return error rates per error tag and per column value, and how many selected rows have the tag or value."""
    of_values = {str(option.clause): option.has for facet in facets for option in facet.options}
    found: dict[str, list[dict[str, Any]]] = {"tags": [], "values": []}
    for row in collect_rates(facets, tags.available, table.wrong):
        rule = row.pop("tag")
        if (name := rule.removeprefix(TAGGED)) in tags.available and rule.startswith(TAGGED):
            selected = int((tags.available[name] & chosen).sum())
            found["tags"].append({"tag": name, **row, "about": describe_tag(name), "selected": selected})
        else:
            found["values"].append({"rule": rule, **row, "selected": int((of_values[rule] & chosen).sum())})
    return found


def describe_result(table: PredictionTable, clauses: Sequence[Clause], chosen: np.ndarray) -> str:
    """Return a sentence that says how many rows a selection has and by which filter rules."""
    number, of, asked = int(chosen.sum()), plural(len(table), "sentence"), ", ".join(map(str, clauses)) or "all"
    if not number and not table.wrong.any() and clauses == (Clause("wrong"),):
        return f"All {of} are right."
    if not number:
        return f"No sentence is left of {of}: {asked}. Take a clause out."
    return f"{count(number)} of {of}: {asked}."


def to_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Convert table rows to JSON records: missing values as None, everything but numbers as text."""
    plain = {str(name): _to_plain(column) for name, column in frame.items()}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def compute_rate(wrong: np.ndarray) -> dict[str, Any]:
    """Return the number of rows `n`, of errors `wrong`, the error `rate` and its 95 % Wilson `interval`."""
    n, errors = len(wrong), int(wrong.sum())
    return {"n": n, "wrong": errors, "rate": errors / n if n else 0.0, "interval": list(compute_wilson(errors, n))}


def _to_plain(column: pd.Series) -> list[Any]:
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
        return column.astype(object).where(column.notna() & ~column.isin((np.inf, -np.inf)), None).tolist()
    return [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
