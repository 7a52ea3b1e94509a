"""Error tags of predicted texts: from wording, training data, confidence, and disagreement with other runs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from core import runs
from core.error_analysis import linguistic_tags, mc_dropout
from core.error_analysis.neighbors import MOST_TRAINING, TrainingRows, find_conflicts, find_near_duplicates
from core.error_analysis.predictions_table import PredictionTable, build_table, read_predictions
from core.error_analysis.split_analysis import cache_array
from core.evaluation.projection import NEIGHBORS
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.fingerprint import hash_file, hash_value
from core.formatting import count
from core.metrics import get_metric
from core.runs.predictions import explain_lacking_texts, list_evaluated_splits
from core.runs.record import EMBEDDINGS, EVALUATION, PREDICTIONS, TOKENIZER, WEIGHTS, RunRecord
from core.runs.run_names import get_seed_fold, group_runs
from core.runs.store import RunStore
from core.text.tokenizer_factory import load_tokenizer
from core.training.config import resolve_metric


def find_peers(store: RunStore, record: RunRecord, split: str, among: Iterable[RunRecord]) -> list[RunRecord]:
    """Return those of the given runs that were evaluated on the same rows of a split as a certain run."""
    return [
        each
        for each in among
        if each.run != record.run
        and each.status == "done"
        and each.data_fingerprint == record.data_fingerprint != ""
        and each.task == record.task
        and set(each.classes) == set(record.classes)
        and split in list_evaluated_splits(store.get_path(each.run))
    ]


def select_seeds(record: RunRecord, among: Iterable[RunRecord]) -> list[str]:
    """Return names of runs of the same model with another random seed, the newest of each seed."""
    same = group_runs([record, *among])[0]
    return [each.run for seed, each in same.runs.items() if seed[0] != get_seed_fold(record)[0]]


def select_models(record: RunRecord, among: Iterable[RunRecord], split: str) -> list[str]:
    """Return names of runs of other models than a given run's, best metric on the split first."""
    same = {each.run for each in group_runs([record, *among])[0].records}
    metric = get_metric(resolve_metric(record.config.training.metric, record.task, ordered=record.ordered))
    sign = 1 if metric.better == "lower" else -1

    def get_sort_value(each: RunRecord) -> float:
        value = each.results.get("metrics", {}).get(split, {}).get(metric.name)
        return float("inf") if value is None else sign * value

    return [each.run for each in sorted(among, key=get_sort_value) if each.run not in same]


LOW_MARGIN = 0.2
SURE = 0.9
UNKNOWN = 0.2  # share of a text's words
MODELS, WITH = "models disagree", "models disagree with "
"""The tag of any disagreement, and the beginning of the tag for one run, which its name follows."""
ABOUT = {
    "negation": "a word such as not, never or nobody",
    "contrast": "a word such as but, however or although",
    "intensifier": "a word such as very, really or extremely",
    "question": "a question mark",
    "capitals": "a word of two or more letters, all capitals",
    "elongation": "a letter three times in a row",
    "emoji": "an emoji",
    "hashtag": "a hashtag",
    "unknown words": "every fifth word or more is not in the vocabulary",
    "truncated": "longer than the model reads",
    "lexicon disagrees": "the words of the lexicon add up to the polarity opposite to the true class",
    "both signs": "positive and negative words of the lexicon, about balanced",
    "near duplicate": "a training text shares four of five of all different words, or more",
    "neighbours conflict": f"most of the {NEIGHBORS} nearest training texts in embedding space have another label "
    f"(among {count(MOST_TRAINING)} at most)",
    "low margin": f"the margin is below {LOW_MARGIN}",
    "unsure under dropout": f"read {mc_dropout.READINGS} times with dropout left on, the answer changes in "
    f"{mc_dropout.FLIPS:.0%} or more, or its probability has a standard deviation of {mc_dropout.SPREAD} or more",
    "sure and wrong": f"wrong, with a probability of {SURE} or more",
    "seeds disagree": "the same model with another seed says something else",
    MODELS: "another model says something else",
}  # tag → which texts have it
BY_DEFINITION = frozenset(("sure and wrong",))  # tags that only errors have
CONSEQUENCES = frozenset(("neighbours conflict",))
"""Tags that follow from an error: a model predicts the class among whose texts it places a text."""
_GROUPS = {
    "_signs": (*linguistic_tags.SIGNS, "capitals"),
    "_words": (*linguistic_tags.NAMED, "lexicon disagrees", "both signs"),
    "_read": ("unknown words", "truncated"),
    "_duplicates": ("near duplicate",),
    "_neighbors": ("neighbours conflict",),
    "_sure": ("low margin", "sure and wrong"),
    "_dropout": ("unsure under dropout",),
    "_seeds": ("seeds disagree",),
}
_GROUP = {name: group for group, names in _GROUPS.items() for name in names}
"""Tag → the property of `TableTags` that finds it."""
_MISSING = {WEIGHTS: "weights", TOKENIZER: "tokenizer", EMBEDDINGS: "embeddings of this split"}
OF_MODELS = ("seeds disagree", WITH)  # Beginnings of tags that compare runs and do not describe the text itself
_OF_TEXTS = frozenset(("_signs", "_words", "_read", "_duplicates", "_dropout"))
"""Properties that need the texts, rather than their placeholders."""
Found = dict[str, "np.ndarray | str"]  # tag → (n,) bool, or why it is unavailable


class TableTags:
    """The error tags of a prediction table; some tags compare the predictions with those of other runs."""

    def __init__(
        self,
        store: RunStore,
        table: PredictionTable,
        against: Sequence[str] = (),
        tell: Callable[[str, float | None], None] = lambda what, share: None,
    ) -> None:
        self._store, self._table, self._against, self._tell = store, table, against, tell
        self._folder = store.get_path(table.record.run)
        self._apart: dict[str, np.ndarray] = {}
        self.training = TrainingRows(store, table.record, tell)

    def match_tag(self, name: str) -> np.ndarray:
        """Return (n,) bool: which texts have an error tag; InputError if it is unknown or could not be computed."""
        if name not in ABOUT and not name.startswith(WITH):
            raise InputError(f"no tag {name!r}; the tags are {', '.join(ABOUT)}")
        found = self._find_tag(name)
        if isinstance(found, str):
            raise InputError(f"tag {name!r}: this run does not have it: {found}")
        return found

    @cached_property
    def available(self) -> dict[str, np.ndarray]:
        """Return tag → (n,) bool rows for all available error tags, with one tag per other model that disagrees."""
        names = (*(name for name in ABOUT if name != MODELS), *(f"{WITH}{run}" for run in self._models))
        every = {name: self._find_tag(name) for name in names}
        return {name: has for name, has in every.items() if not isinstance(has, str)}

    @property
    def absent(self) -> dict[str, str]:
        """Return why each unavailable error tag could not be computed, as tag → reason."""
        every = {name: self._find_tag(name) for name in ABOUT}
        return {name: why for name, why in every.items() if isinstance(why, str)}

    def _find_tag(self, name: str) -> np.ndarray | str:
        if name.startswith(WITH):
            return self._compare_run(name.removeprefix(WITH))
        if name == MODELS:
            apart = [self._compare_run(run) for run in self._models]
            return np.any(apart, axis=0) if apart else "no other model is named beside it (--against RUN)"
        if self._lacking and _GROUP[name] in _OF_TEXTS:
            return self._lacking
        found: Found = getattr(self, _GROUP[name])
        return found[name]

    @cached_property
    def _lacking(self) -> str:
        why = explain_lacking_texts(self._folder, self._table.record)
        return why[:1].lower() + why[1:]

    @cached_property
    def _signs(self) -> Found:
        names = _GROUPS["_signs"]

        def match_signs() -> np.ndarray:
            found = linguistic_tags.find_signs(self._table.texts)
            return np.stack([found[name] for name in names])

        made = cache_array("signs", (self._texts, names), (len(names), len(self._table)), match_signs)
        return dict(zip(names, made, strict=True))

    @cached_property
    def _words(self) -> Found:
        texts, config = self._table.texts, self._table.record.config
        language, words = linguistic_tags.guess_language(config.data.name, texts), linguistic_tags.collect_words(texts)
        disagree = {
            "lexicon disagrees": linguistic_tags.find_disagreement(self._table, words, language),
            "both signs": linguistic_tags.find_both_signs(self._table, words, language),
        }
        if language not in linguistic_tags.LANGUAGES:
            return {**dict.fromkeys(linguistic_tags.NAMED, linguistic_tags.explain_language(language)), **disagree}
        return {name: linguistic_tags.match_words(name, words, language) for name in linguistic_tags.NAMED} | disagree

    @cached_property
    def _read(self) -> Found:
        """Find the error tags that depend on the tokenizer: unknown words and truncated texts."""
        try:
            depends = self._texts, hash_file(self._folder / TOKENIZER)
            tokenizer = load_tokenizer(self._folder / TOKENIZER)
        except FileNotFoundError:
            return dict.fromkeys(("unknown words", "truncated"), "it has no tokenizer")
        except (OSError, RunDamaged) as error:
            return dict.fromkeys(("unknown words", "truncated"), f"its tokenizer cannot be read ({error})")
        texts = self._table.texts

        def check_tokens() -> np.ndarray:
            """Return (2, n) bool: which texts have many unknown words, and which are cut off."""
            unknown = [(tokenizer.compute_unknown_share(text) or 0.0) >= UNKNOWN for text in texts]
            return np.array([unknown, runs.lineage.encode_texts(tokenizer, texts).cut], bool)

        made = cache_array("reading", depends, (2, len(texts)), check_tokens)
        whole = "every word consists of known byte pairs"
        return {"unknown words": whole if tokenizer.known_words is None else made[0], "truncated": made[1]}

    @cached_property
    def _duplicates(self) -> Found:
        record, texts = self._table.record, self._table.texts

        def match_duplicates() -> np.ndarray:
            self._tell("comparing with the training texts", None)
            return find_near_duplicates(texts, self.training.texts)

        try:
            depends = self._texts, record.data_fingerprint, record.config.data
            return {"near duplicate": cache_array("duplicates", depends, (len(texts),), match_duplicates)}
        except (NotAvailable, OSError) as error:
            return {"near duplicate": str(error)}

    @cached_property
    def _neighbors(self) -> Found:
        record = self._table.record

        def match_conflicts() -> np.ndarray:
            vectors, true = runs.predictions.read_vectors(self._folder, self._table.split, record.classes)
            labels = self.training.labels[self.training.rows].astype(np.int64)
            return find_conflicts(vectors, true.astype(np.int64), self.training.read_vectors(vectors.shape[1]), labels)

        try:
            model = [hash_file(self._folder / name) for name in (WEIGHTS, TOKENIZER)]
            split = self._table.split
            vectors = runs.predictions.locate_embeddings(self._folder, split)
            files = [hash_file(path) for path in (self._folder / EVALUATION / split / PREDICTIONS, vectors)]
            depends = files, model, record.data_fingerprint, record.config.data
            return {"neighbours conflict": cache_array("neighbours", depends, (len(self._table),), match_conflicts)}
        except FileNotFoundError as error:
            return {"neighbours conflict": f"it has no {_MISSING.get(Path(error.filename or '').name, 'model')}"}
        except (NotAvailable, RunDamaged, OSError) as error:
            return {"neighbours conflict": str(error)}

    @cached_property
    def _sure(self) -> Found:
        frame = self._table.frame
        sure = (frame["p_predicted"] >= SURE).to_numpy(bool)
        return {"low margin": (frame["margin"] < LOW_MARGIN).to_numpy(bool), "sure and wrong": sure & self._table.wrong}

    @cached_property
    def _dropout(self) -> Found:
        """Return the MC-dropout error tag if computed on request, as it takes longer than all other tags together."""
        store, record = self._store, self._table.record
        (name,) = _GROUPS["_dropout"]
        try:
            if why := mc_dropout.explain_unavailable(store, record):
                return {name: why}
            analysis = mc_dropout.DropoutUncertainty.from_run(store, record, self._table.split)
            found = analysis.read_tagged(len(self._table))
        except OSError as error:
            return {name: str(error)}
        asked = f"nobody has had it read with dropout on yet: sentiscope errors {record.run} --unsure"
        return {name: asked if found is None else found}

    def compare_with_run(self, run: str) -> TableTags:
        """Return a copy of the error tags in which disagreement means that the given run predicts something else."""
        other = copy.copy(self)  # keeps the tags found so far
        other._against = (run,)
        for name in ("available", "_models"):
            other.__dict__.pop(name, None)
        return other

    @cached_property
    def _models(self) -> list[str]:
        """Return the runs to compare with that are other models, leaving out other seeds of the same model."""
        record, named = self._table.record, list(dict.fromkeys(self._against))
        others = [self._store.read(name) for name in named if name != record.run]
        return [name for name in named if name in select_models(record, others, self._table.split)]

    def _compare_run(self, run: str) -> np.ndarray:
        if run not in self._apart:
            record, split = self._table.record, self._table.split
            _, other = runs.predictions.align_answers(
                [read_predictions(self._store, name, split) for name in (record.run, run)]
            )
            self._apart[run] = (build_table(other, split).said != self._table.said).any(1)
        return self._apart[run]

    @cached_property
    def _seeds(self) -> Found:
        record, split = self._table.record, self._table.split
        others = find_peers(self._store, record, split, self._store.list())
        found = [self._compare_run(run) for run in select_seeds(record, others)]
        missing = "no other seed of this model has been trained on these data"
        return {"seeds disagree": np.any(found, axis=0) if found else missing}

    @cached_property
    def _texts(self) -> str:
        """Return a cache key of the texts by content, not by file, as a run may read its texts from the data set."""
        return hash_value(self._table.frame["key"].tolist())


def name_tag(tag: str) -> str:
    """Return the display name of an error tag; filter rules use the tag's own name."""
    return {"unsure under dropout": "uncertain under MC dropout"}.get(tag, tag)


def describe_tag(tag: str) -> str:
    """Return a description of the texts that have an error tag; empty for an unknown tag."""
    return f"{tag.removeprefix(WITH)} says something else" if tag.startswith(WITH) else ABOUT.get(tag, "")
