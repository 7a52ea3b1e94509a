"""The analyses of a run's attention over a split, and their stored files (in the cache for starter runs).

attention/<hash>.json: the measures; <hash> is the SHA-256 of split, limit, data, weights and version.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from core.exceptions import InputError
from core.fingerprint import get_file_version, hash_value
from core.formatting import count
from core.models.capabilities import list_capabilities
from core.runs.background_jobs import Analysis, Offer, Tell, locate_folder
from core.runs.faithfulness_files import hash_weights
from core.runs.record import WEIGHTS, refuse_tagged
from core.runs.store import RunStore

if TYPE_CHECKING:
    from core.runs.evaluation_data import EvaluationData
    from core.runs.load import LoadedRun

FOLDER = "attention"
LIMIT, MOST = 500, 5000  # texts by default, and at most
SILENCED = 300  # texts of importance and words, at most
MAPS, IMPORTANCE, WORDS, EFFECTS, DEMOS = STEPS = "maps", "importance", "words", "effects", "demos"


@dataclass(frozen=True)
class AttentionAnalysis(Analysis[dict[str, Any]]):
    """Analysis of a run's attention on a sample of the texts of a split."""

    run: str
    split: str
    limit: int
    each_map: bool = False  # importance: each component in each head too
    VERSION: ClassVar[int] = 1  # raised when results change

    @classmethod
    def from_run(
        cls, store: RunStore, run: str, split: str = "", limit: int = LIMIT, *, each_map: bool = False
    ) -> Self:
        """Return the analysis of a split, `test` by default; InputError: a bad limit, or a run without attention."""
        if not 1 <= limit <= MOST:
            raise InputError(f"--limit {limit}: a number of texts from 1 to {MOST}")
        record, folder, split = store.read(run), store.get_path(run), split or "test"
        refuse_tagged(record)
        if "maps" not in list_capabilities(record.config.model):
            raise InputError(f"run '{run}' ({record.preset}) has no attention; choose a run of an encoder")
        limit = {MAPS: limit, EFFECTS: limit, DEMOS: MOST}.get(cls.name, min(limit, SILENCED))
        weights = hash_weights(str(folder / WEIGHTS), get_file_version(folder / WEIGHTS))
        about = {"version": cls.VERSION, "name": cls.name, "weights": weights, "answering": record.answering}
        about |= {"data": record.data_fingerprint, "config": record.config.data, "split": split, "limit": limit}
        about |= {"each_map": True} if each_map else {}
        stem = f"{cls.name}-{hash_value(about)}"
        return cls(locate_folder(folder, FOLDER, stem), stem, store, run, split, limit, each_map)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the `sentiscope` command that computes this analysis."""
        limit, more = str(self.limit), ("--each-map",) * self.each_map
        return "attend", self.run, "--split", self.split, "--limit", limit, "--only", self.name, *more

    def find(self, tell: Tell) -> dict[str, Any]:
        """Measure the texts of a split; InputError: no such split."""
        tell("reading the texts", None)
        from core.runs.evaluation_data import DataRequest, read_evaluation_data
        from core.runs.load import load_run

        loaded = load_run(self.store, self.run)
        wanted = DataRequest(split=self.split, limit=self.limit)
        return self._measure(loaded, read_evaluation_data(loaded.record, wanted), tell)

    @abstractmethod
    def _measure(self, loaded: LoadedRun, given: EvaluationData, tell: Tell) -> dict[str, Any]: ...


@dataclass(frozen=True)
class AttentionMaps(AttentionAnalysis):
    """The measures of all attention maps of a run over a split."""

    name = MAPS
    offer = Offer(
        "Read the maps",
        "Reading attention maps",
        "Attention could not be read",
        "Reads up to 500 texts once, and an untrained model as control. Takes up to a minute; the result is stored.",
    )

    def _measure(self, loaded: LoadedRun, given: EvaluationData, tell: Tell) -> dict[str, Any]:
        from core.interpret.split_attention import measure_split

        model: Any = loaded.model
        untrained: Any = loaded.build_untrained()
        found = measure_split(model, untrained, loaded.tokenizer, given.rows["text"].tolist(), tell)
        return {"data": given.data, "split": given.split, "seed": 0, **found}


@dataclass(frozen=True)
class PartImportance(AttentionAnalysis):
    """What a run loses on a split when each of its parts is silenced."""

    name = IMPORTANCE
    offer = Offer(
        "Measure importance",
        "Silencing one part at a time",
        "Importance could not be measured",
        f"Predicts up to {SILENCED} texts with each head, component, gate and lexical term silenced. Takes minutes.",
    )

    def _measure(self, loaded: LoadedRun, given: EvaluationData, tell: Tell) -> dict[str, Any]:
        from core.runs.part_importance import measure_importance

        return measure_importance(loaded, given, tell, maps=self.each_map)


@dataclass(frozen=True)
class WordEffects(AttentionAnalysis):
    """The words of a split, ranked by the mean effect of deleting them."""

    name = WORDS
    offer = Offer(
        "Rank words",
        "Deleting one word at a time",
        "Words could not be ranked",
        f"Predicts up to {SILENCED} texts again, each time with one word deleted. Takes up to a minute.",
    )

    def _measure(self, loaded: LoadedRun, given: EvaluationData, tell: Tell) -> dict[str, Any]:
        from core.interpret.attribution import measure_words

        texts = given.rows["text"].tolist()
        return {"texts": len(texts), "rows": measure_words(loaded.make_reader(), texts, tell)}


@dataclass(frozen=True)
class PartEffects(AttentionAnalysis):
    """How many answers of a run change on a split with all parts of a kind changed at once, such as every λ at 0."""

    name = EFFECTS
    offer = Offer(
        "Does it matter?",
        "Switching off all parts of a kind",
        "The effect could not be measured",
        "Predicts up to 500 texts with one kind of part changed at a time, such as every λ at 0. Takes seconds.",
    )

    def _measure(self, loaded: LoadedRun, given: EvaluationData, tell: Tell) -> dict[str, Any]:
        from core.runs.part_importance import measure_effects

        return measure_effects(loaded, given, tell)


@dataclass(frozen=True)
class DemoSentences(AttentionAnalysis):
    """Short sentences of a split whose answer one part of a run decides; `limit` is always the most."""

    name = DEMOS
    offer = Offer(
        "Find sentences that one part decides",
        "Silencing one part at a time",
        "The sentences could not be found",
        f"Predicts up to {count(MOST)} short texts without each part. Takes up to a minute; the result is stored.",
    )

    def _measure(self, loaded: LoadedRun, given: EvaluationData, tell: Tell) -> dict[str, Any]:
        from core.runs.part_importance import find_demos

        return find_demos(loaded, given, tell)


AFTER_MAPS: tuple[type[AttentionAnalysis], ...] = (PartImportance, WordEffects, PartEffects, DemoSentences)
"""The steps after the maps, in their order."""


def compare_deviation(found: Mapping[str, Any], other: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the deviation rows of a run with `against`: this run minus another, paired by text, with intervals.

    InputError: one has no class token, or they read different texts. Layers that only one run has get no difference.
    """
    import numpy as np

    from core.interpret.split_attention import DEVIATIONS, estimate_means

    first, second = (np.array(each["by_text"], float) for each in (found, other))  # (n, T, 2); None is NaN
    if not len(first) or not len(second):
        raise InputError("--against: both runs need a class token, as those of lexical-last have")
    if (found["data"], found["split"], len(first)) != (other["data"], other["split"], len(second)):
        raise InputError("--against: both runs need the same data and split")
    layers = min(first.shape[1], second.shape[1])
    difference = estimate_means(first[:, :layers] - second[:, :layers])
    rows = [dict(row) for row in found["deviation"]]
    for row in rows:
        if row["layer"] <= layers:
            row["against"] = difference.describe(row["layer"] - 1, DEVIATIONS.index(row["measure"]))
    return rows
