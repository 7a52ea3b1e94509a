"""Metrics of a run on labelled data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from core.runs.record import refuse_passages
from core.runs.store import RunStore
from core.text.passages import words_of_passage

if TYPE_CHECKING:
    from core.runs.judged import Wanted


def evaluate(  # noqa: PLR0913 - each is an option that a person types by name
    run: str,
    *,
    data: str = "",
    split: str = "",
    rename: Mapping[str, str] | None = None,
    by: str = "",
    cost: Mapping[str, float] | None = None,
    against: str = "",
    limit_test: int = 0,
    passage: int = 0,
    settings: Mapping[str, Any] | None = None,
    store: RunStore | None = None,
    on_progress: Callable[[str, float], None] | None = None,
) -> dict[str, Any]:
    """Metrics of a run on a split of its own data or of other labelled data.

    Args:
        run: a finished run.
        data: a registered name, a folder or a file; empty: the data it was trained on.
        split: empty: test, or what a folder without one has, or the whole of a single file.
        rename: label in the data → class of the run, where their names differ by more than case; to an empty name: its
            rows are left out.
        by: a column of the data, or `label`, for metrics of each of its values.
        cost: class → how many false positives one false negative is as bad as; the threshold that costs least on
            validation is then under `costs`, with what it costs here.
        against: another run, compared on the same rows.
        limit_test: rows at most, seeded and stratified; 0: all.
        passage: read texts of more words than these in passages of so many at most, whose log-odds are averaged: a run
            that learned from sentences reads a review so; 0: each as a whole. Temperature, thresholds and TF-IDF are
            those of whole texts.
        settings: how other data are read: `{"data.text": "review", "data.label": "stars"}`.
        store: where runs live.
        on_progress: told what is done and which share of all; may raise to stop.

    Returns:
        `metrics` with `intervals` (95 %); `calibration`: the `temperature` of the run, the class `prior` towards which
        it moves answers (None: no class is preferred), the validation `rows` it was fitted on (None of runs that are
        older than temperatures), loss, calibration error and Brier score `calibrated` and `as_trained`, and how many
        answers it has `changed`; `doubt`: of how many `rows` of made-up words without a known one which share is
        answered `near` the class `prior`, within 0.10, or `left_out`; `mix`: None, or the `weight` of the network
        beside TF-IDF and the metrics of each alone, `network` and `tfidf`; `left_out` (metrics that these rows do not
        define, with the reason), `per_class`, `confusion`; `seen_in_training`: `rows` and `share` that the model reads
        exactly as a text it was trained on, or that it, one of its `ancestors` (the runs that it started from or was
        taught by, and theirs) learned from, letter case and blanks aside; `unknown`: runs of which it is not
        known what they learned from; `unseen`: the metrics without these; `truncated`: `rows` and `share`
        that are longer than it reads, or whose `passages` are; `unknown_words`: `rows` and `share` with half of their
        words unknown or more; `differences`: in what these rows differ from training (`core.evaluation.differences`);
        `yardsticks`: both TF-IDF models, fitted on what the run was trained on; `against`: a pair as `compare` has it,
        with a `verdict` in words; `dropped` and `renamed` labels; `by`; `warnings`, a sentence each.

        With several labels per text metrics are those at 0.5, `tuned` has the same at the thresholds that were chosen
        on validation, and `confusion` is 2 × 2 for each label; `unseen` and `by` are at tuned ones if there are any.

        Of a run that tags words: `metrics` (span F1 …) with `intervals`, `per_type`, and `outcomes`: how many spans are
        right, missed, spurious, of another type or border; `words`, and how many were `unread`.

    Raises:
        InputError: no such run, split or column, or labels that are no classes of the run: all are told, with a command
            that reads them.
    """
    from core.runs.costs import lines
    from core.runs.judged import Wanted, judged
    from core.runs.load import load_run
    from core.runs.report import report
    from core.training.history import finite

    store = store or RunStore()
    wanted = Wanted(data, split, rename or {}, limit_test, settings or {}, words_of_passage(passage))
    if store.read(run).task == "tokens":
        from core.verbs.tagged import evaluated

        of_texts = {"--map": rename, "--by": by, "--cost": cost, "--against": against, "--passage": passage}
        return evaluated(store, run, wanted, of_texts)
    loaded = load_run(store, run)
    if passage:
        refuse_passages(loaded.record)
    given = judged(loaded.record, wanted)
    heard = {"on_progress": on_progress} if on_progress else {}
    compared = {"against": _against(store, run, against, wanted)} if against else {}
    chosen = lines(store, loaded.record, cost or {})
    return finite(report(loaded, given, by=by, lines=chosen, **heard) | compared)


def _against(store: RunStore, run: str, other: str, wanted: Wanted) -> dict[str, Any]:
    """The usual first metric of two runs on the same rows: McNemar's exact test for accuracy."""
    from core.evaluation.comparison import verdict
    from core.runs.comparison import compare
    from core.runs.sides import read_sides

    (pair,) = compare(read_sides(store, [run, other], wanted=wanted))["pairs"]
    return {**pair, "verdict": verdict(pair)}
