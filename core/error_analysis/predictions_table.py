"""A run's predictions on a split as one table: true and predicted labels, confidence, and the data's own columns.

key         a stable name: a digest of the text, followed by `-2` for the second row with that text. It is the same in
            all runs and splits, and does not change when a label is corrected or rows are added.
            If a run stores no texts and the data set is missing, it is a digest of a placeholder.
true        the true class; with several labels all of them, separated by commas
predicted   the predicted class; with several labels those above their thresholds (tuned on validation, if any)
p_true      probability of the true class; with several labels the smallest probability of any label's true state
p_predicted probability of the predicted class; with several labels the smallest of any label's predicted state
margin      p_predicted minus the probability of the runner-up; with several labels the least distance from a threshold
wrong       whether true and predicted differ
missed, invented   with several labels only: labels that are true and not predicted, and predicted and not true

A data column whose name is one of these, an earlier one (`ALIASES`) or a word of the filter rules is called
`data:NAME`.

`2026`, `2026-03`, `2026-03-31` and `2026-03-31 14:05` are a year, a month, a day and a minute. Other formats are
accepted if they are unambiguous: 31 March 2026, Tue, 31 Mar 2026 14:05:00 +0200, 31-03-2026 in a column where some day
is above 12. Times with a zone are compared in UTC.
"""

import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from core.data.dataset import Task
from core.data.findings import shorten
from core.error_analysis.keywords import Phrases
from core.evaluation import group_metrics
from core.evaluation.metrics import HALF, build_scores, join_class_names
from core.exceptions import InputError, try_call
from core.runs.predictions import Answers, choose_split, read_answers
from core.runs.record import RunRecord
from core.runs.store import RunStore

ALIASES = {"said": "predicted", "truth": "true", "p_said": "p_predicted", "p_truth": "p_true"}
"""Old name → new name. Only the new one is written."""
_OLD_RULE = re.compile(rf"^\s*({'|'.join(ALIASES)})(?=\s*[=~<>!])")


def rename_rule(rule: str) -> str:
    """Replace an old column name at the start of a filter rule by today's: `said=good` becomes `predicted=good`."""
    return _OLD_RULE.sub(lambda found: ALIASES[found[1]], rule)


def rename_keys(row: dict[str, Any]) -> dict[str, Any]:
    """Return a stored table row with old column names, the keys, replaced by today's names."""
    return {ALIASES.get(name, name): value for name, value in row.items()}


_LAST = pd.Timestamp("9999-12-31 23:59:59.999999", tz="UTC")
MOST = 0.9  # share of a column's values that must be dates; the other values count as missing
FIRST = 50  # distinct values that are parsed first, to reject other columns quickly
_ISO = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?:[T ](?P<minute>\d\d:\d\d)(?P<second>:\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)?)?"
)
_STEPS = {
    "second": pd.DateOffset(seconds=1),
    "minute": pd.DateOffset(minutes=1),
    "day": pd.DateOffset(days=1),
    "month": pd.DateOffset(months=1),
    "year": pd.DateOffset(years=1),
}  # the finest first
_NUMBERED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2\d{4}(?!\d)")
_FORMATS = "ISO8601", "%a %b %d %H:%M:%S %z %Y"  # the second is that of Twitter exports
_YEAR = re.compile(r"(?<!\w)\d{4}(?!\w)")
_TWELVE = 12


class DateSpan(NamedTuple):
    """The time span that a written date covers, such as a day or a year: from `start` to `end`, exclusive."""

    start: pd.Timestamp
    end: pd.Timestamp


def parse_dates(column: pd.Series) -> pd.Series | None:
    """Parse a column into UTC times, NaT for other values; None: no dates, InputError: day and month are ambiguous."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return pd.to_datetime(column, utc=True)
    if pd.api.types.is_numeric_dtype(column):
        return None
    words = column.where(column.notna(), "").astype(str).str.strip()
    there = words != ""
    # pandas reads words such as May, and numbers, as dates; here a date must have a year.
    dated = words.str.contains(_YEAR) & pd.to_numeric(words, errors="coerce").isna()
    kinds = pd.Series(words[dated].unique(), dtype=object)
    if dated.sum() < MOST * max(1, there.sum()):
        return None
    some = try_call(InputError, None, _parse_values, kinds.head(FIRST))  # None: day and month are ambiguous
    if some is not None and some.notna().mean() < MOST:
        return None
    found = dict(zip(kinds, _parse_values(kinds), strict=True))
    times = pd.to_datetime(words.map(found), utc=True)
    return times if times[there].notna().mean() >= MOST else None


def parse_span(text: str) -> DateSpan | None:
    """Parse a typed date, such as `2026-03`, into its time span; None: it is no date, or is ambiguous."""
    text = text.strip()
    iso = _ISO.fullmatch(text)
    if iso is None:
        try:
            time = _parse_values(pd.Series([text], dtype=object)).iloc[0] if _YEAR.search(text) else pd.NaT
        except InputError:
            return None
        step = _STEPS["minute" if ":" in text else "day"]
    else:
        time = pd.to_datetime(text, utc=True, errors="coerce")
        step = next(_STEPS[name] for name in _STEPS if name == "year" or iso[name])
    if pd.isna(time):
        return None
    try:
        end = time + step
    except (ValueError, OverflowError):  # the year 9999
        end = _LAST
    return DateSpan(time, min(end, _LAST))


def cut_quarters(times: pd.Series) -> group_metrics.RowGroups:
    """Group a table's rows into quartiles by date, keeping equal days together; missing dates form the last group."""
    return group_metrics.cut_quarters(times.dt.tz_localize(None).dt.floor("D"), "{:%Y-%m-%d}".format)


def compare_times(times: pd.Series, sign: str, low: DateSpan, high: DateSpan) -> np.ndarray:
    """Return (n,) bool: which times are before or after `low` (<, <=, >, >=); for = and !=, from `low` to `high`."""
    ways = {"<": times < low.start, "<=": times < low.end, ">": times >= low.end, ">=": times >= low.start}
    return ways.get(sign, (times >= low.start) & (times < high.end)).to_numpy(bool)


def _parse_values(kinds: pd.Series) -> pd.Series:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the format is inferred
        for each in _FORMATS:
            if (times := pd.to_datetime(kinds, format=each, utc=True, errors="coerce")).notna().all():
                return times
        # A single format for all values is fast; "mixed" is slow.
        for way in (None, "mixed"):
            given: dict[str, Any] = {"format": way, "utc": True, "errors": "coerce"}
            month, day = (pd.to_datetime(kinds, dayfirst=first, **given) for first in (False, True))
            if month.notna().all() or day.notna().all():
                break
    apart = month.ne(day) & month.notna() & day.notna()
    if not apart.any():
        return month.fillna(day)
    # In dates such as 31-03-2026 a number above 12 must be the day.
    found = [match for each in kinds if (match := _NUMBERED.search(each))]
    first, second = (max((int(each[part]) for each in found), default=0) for part in (1, 3))
    if first > _TWELVE >= second:
        return day
    if second > _TWELVE >= first:
        return month
    one, other = month[apart].iloc[0], day[apart].iloc[0]
    raise InputError(
        f"{shorten(str(kinds[apart].iloc[0]))} may be {one.day} {one:%B} or {other.day} {other:%B}; write dates as "
        "2026-03-31 in the data"
    )


T = TypeVar("T")
OURS = ("key", "row", "text", "true", "predicted", "p_true", "p_predicted", "margin", "wrong")
SEVERAL = ("missed", "invented")  # with several labels per text, after `OURS`
_FILTER = ("outcome", "others", "further")
_WORDS = ("right", "all", "coded", "uncoded", "noted", "unnoted")
RESERVED = frozenset((*OURS, *SEVERAL, *ALIASES, *_FILTER, *_WORDS, "tag", "tags", "split", "word", "code", "ids"))
"""Names that data columns cannot have: such a column is called `data:NAME`."""
_HEX = 12


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """The prediction table of a run for a split: a row per text, with true and predicted classes."""

    record: RunRecord
    split: str
    frame: pd.DataFrame  # a row per text: columns `OURS`, with several labels `SEVERAL`, then `own`
    own: tuple[str, ...]  # the data's own columns
    true: np.ndarray  # (n, C) bool: the classes that each text has
    said: np.ndarray  # (n, C) bool: the classes that are predicted
    probabilities: np.ndarray  # (n, C)
    _columns: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def task(self) -> Task:
        """Return the classification task: `single` or `multi` label."""
        return self.record.task

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the class names in the order of the columns of the label matrices."""
        return self.record.classes

    @cached_property
    def wrong(self) -> np.ndarray:
        """Return (n,) bool: which predictions are wrong."""
        return self.frame["wrong"].to_numpy(bool)

    @property
    def texts(self) -> list[str]:
        """Return the texts of the prediction table in row order."""
        return self.frame["text"].tolist()

    @cached_property
    def phrases(self) -> Phrases:
        """Return the word and phrase index of the table's texts, built on first use."""
        return Phrases(self.texts)

    def read_dates(self, name: str) -> pd.Series | None:
        """Return one of the data's own columns as times; None: no dates. InputError if day and month are ambiguous."""
        return self._cache_column("dates", name, lambda: parse_dates(self.frame[name]))

    def format_column(self, name: str) -> pd.Series:
        """Return a table column as text for people: whole numbers without a decimal point, missing values empty."""
        return self._cache_column("written", name, lambda: _as_written(self.frame[name]))

    def fold_case(self, name: str) -> pd.Series:
        """Return a table column as case-folded text for searches that ignore case."""
        return self._cache_column("folded", name, lambda: self.format_column(name).str.casefold())

    def _cache_column(self, kind: str, name: str, make: Callable[[], T]) -> T:
        if (kind, name) not in self._columns:
            self._columns[kind, name] = make()
        return self._columns[kind, name]


def _as_written(column: pd.Series) -> pd.Series:
    if pd.api.types.is_float_dtype(column):
        return column.map(lambda value: f"{value:.15g}", na_action="ignore").astype(object).fillna("").astype(str)
    return column.astype(object).where(column.notna(), "").astype(str)


def read_table(store: RunStore, run: str, split: str = "") -> PredictionTable:
    """Read a run's prediction table of a split (default: test, or the last); InputError: none, RunDamaged: unfit."""
    chosen = choose_split(store, run, split)
    return build_table(read_predictions(store, run, chosen), chosen)


def read_predictions(store: RunStore, run: str, split: str) -> Answers:
    """Read a run's stored predictions on a split that the run was evaluated on."""
    return read_answers(store, store.read(run), choose_split(store, run, split))


def build_table(answers: Answers, split: str) -> PredictionTable:
    """Build the prediction table of a split from a run's predictions with true labels."""
    record, chances = answers.record, answers.probabilities
    limits = np.array([(answers.thresholds or {}).get(name, HALF) for name in record.classes])
    scores = build_scores(answers.labels, chances, record.task, limits, ordered=record.ordered)
    single = record.task == "single"
    ours: dict[str, Any] = {
        "key": hash_texts(answers.texts),
        "row": np.arange(len(answers)),
        "text": answers.texts,
        **{
            name: np.array(record.classes, object)[has.argmax(1)] if single else join_class_names(has, record.classes)
            for name, has in (("true", scores.true), ("predicted", scores.predicted))
        },
        **_compute_confidence(chances, scores.true, scores.predicted, limits, record.task),
        "wrong": (scores.true != scores.predicted).any(1),
    }
    if record.task == "multi":
        ours["missed"] = join_class_names(scores.true & ~scores.predicted, record.classes)
        ours["invented"] = join_class_names(scores.predicted & ~scores.true, record.classes)
    own: dict[str, np.ndarray] = {}
    for name, column in answers.columns.items():
        label = f"data:{name}" if name in RESERVED else str(name)
        own[f"{label} (2)" if label in own else label] = column.to_numpy()
    return PredictionTable(
        record, split, pd.DataFrame({**ours, **own}), tuple(own), scores.true, scores.predicted, chances
    )


def hash_texts(texts: Sequence[str]) -> list[str]:
    """Return a stable row key for each text: 12 hex digits of its digest, numbered for repeated texts."""
    seen: Counter[str] = Counter()
    found = []
    for text in texts:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HEX // 2).hexdigest()
        seen[digest] += 1
        found.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return found


def _compute_confidence(
    chances: np.ndarray, true: np.ndarray, said: np.ndarray, limits: np.ndarray, task: Task
) -> dict[str, np.ndarray]:
    """Return arrays by name: probability of the true label, of the predicted label, and the margin."""
    if task == "single":
        first = np.where(said, chances, 0.0).max(1)
        second = np.where(said, -np.inf, chances).max(1, initial=0.0)
        return {"p_true": np.where(true, chances, 0.0).max(1), "p_predicted": first, "margin": first - second}
    of_truth, of_said = (np.where(state, chances, 1 - chances).min(1) for state in (true, said))
    return {"p_true": of_truth, "p_predicted": of_said, "margin": np.abs(chances - limits).min(1)}
