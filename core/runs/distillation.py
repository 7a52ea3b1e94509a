"""Distillation: probabilities of a teacher (cross-fitted TF-IDF or a finished run) as soft training targets."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from core.atomic import write_bytes
from core.cache import get_cache_folder, keep_array, pack_array
from core.config import RunConfig, compose
from core.data.dataset import TRAIN, VALIDATION, Dataset
from core.data.mixture import CORPUS
from core.data.sources import PEOPLE
from core.data.sources.builtin.corpus_files import mask_groups
from core.evaluation.inference import predict_texts
from core.fingerprint import hash_file, hash_value
from core.runs.configuration import check_classes, find_teacher
from core.runs.load import load_run
from core.runs.record import RECORD, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.text.config import TextConfig
from core.text.normalization import make_text_keys
from core.training.linear import fit_linear

FOLDS = 5
PRESET = "tfidf-logreg-chars"
PORTION = 2048  # texts that a teacher run predicts between two calls of `pause`
FILE = "teacher.npy"  # file in the directory of a run while it trains, so that it can be resumed without its teacher


def get_soft_labels(
    store: RunStore, folder: Path, config: RunConfig, dataset: Dataset, pause: Callable[[], None]
) -> np.ndarray:
    """Return a teacher's probabilities (n, C) of the training texts, stored in `folder`; work stops in `pause`."""
    path = folder / FILE
    if path.is_file():
        return np.load(path, allow_pickle=False)
    if (run := find_teacher(config, store)) is None:
        found = cross_fit_tfidf(dataset, config.text, config.training.seed, pause)
    else:
        found = _predict_with_run(store, run, dataset, pause)
    write_bytes(path, pack_array(found))
    return found


def describe_doubt(said: np.ndarray, labels: np.ndarray) -> tuple[str, ...]:
    """Return a warning if a teacher agrees with the labels less often than the most frequent class; else nothing."""
    if labels.ndim > 1:
        return ()
    agreed, most = float((said.argmax(1) == labels).mean()), float(np.bincount(labels).max() / len(labels))
    if agreed >= most:
        return ()
    return (
        f"teacher: agrees with {100 * agreed:.0f} % of the training labels, and the most frequent class alone with "
        f"{100 * most:.0f} %: its classes may mean something else",
    )


def _predict_with_run(store: RunStore, run: RunRecord, dataset: Dataset, pause: Callable[[], None]) -> np.ndarray:
    """Predict the training texts with a finished run as teacher, and cache the probabilities (n, C)."""
    check_classes(run, dataset.classes, dataset.task)
    files = [hash_file(store.get_path(run.run) / name) for name in (RECORD, WEIGHTS)]
    depends = {"teacher": files, "data": dataset.fingerprint, "classes": dataset.classes}
    texts = _get_texts(dataset, TRAIN)

    def predict_portions() -> np.ndarray:
        """Predict the training texts in portions, and order the probabilities as the classes of the data set."""
        teacher, portions = load_run(store, run.run), []
        for start in range(0, len(texts), PORTION):
            pause()
            portions.append(teacher.predict(texts[start : start + PORTION]).probabilities)
        return np.concatenate(portions)[:, [run.classes.index(name) for name in dataset.classes]]

    path = get_cache_folder() / f"taught-{hash_value(depends)}.npy"
    said = keep_array(path, (len(texts), len(dataset.classes)), predict_portions)
    return _average_groups(said, dataset.splits[TRAIN])


def _average_groups(said: np.ndarray, rows: pd.DataFrame) -> np.ndarray:
    """Give rows of the data set `people` that differ only in the group the mean of the teacher's probabilities.

    Otherwise a student would learn the teacher's opinion on each group.
    """
    if CORPUS not in rows:
        return said
    alike = rows["text"].map(mask_groups).where(rows[CORPUS] == PEOPLE)
    means = pd.DataFrame(said).groupby(alike.to_numpy()).transform("mean")  # rows of other data sets: missing
    return means.fillna(pd.DataFrame(said)).to_numpy(said.dtype)


def cross_fit_tfidf(
    dataset: Dataset, text: TextConfig, seed: int, pause: Callable[[], None], chosen: float | None = None
) -> np.ndarray:
    """Return TF-IDF probabilities (n, C) of the training texts, each predicted by a model fitted on the other folds.

    `text` are the text settings of the model that learns, by which repeated texts are found. `chosen` is TF-IDF's C;
    None: the first fit chooses it on the validation split. `pause` is called between the fits.
    """
    config = compose(PRESET)
    texts, labels = np.array(_get_texts(dataset, TRAIN), object), dataset.get_targets(TRAIN)
    held = _get_texts(dataset, VALIDATION), dataset.get_targets(VALIDATION)
    places = assign_folds(texts.tolist(), labels, (text, config.text), seed)
    found = np.zeros((len(texts), len(dataset.classes)), np.float32)
    train = partial(fit_linear, config=config.text, classes=len(dataset.classes), family=config.model.family)
    for fold in np.unique(places):
        pause()
        ours = places == fold
        fit = train(texts[~ours].tolist(), labels[~ours], *held, chosen=chosen)
        chosen = fit.settings["C"]
        found[ours] = predict_texts(fit.model, fit.tokenizer, texts[ours].tolist(), task=dataset.task).probabilities
    return found


def assign_folds(texts: Sequence[str], labels: np.ndarray, configs: Sequence[TextConfig], seed: int) -> np.ndarray:
    """Assign texts to seeded, stratified folds, (n,) int; texts equal under any of the text settings share one."""
    rows, links, pairs = np.arange(len(texts)), len(texts), []
    for config in configs:  # texts may be equal via a third one
        keys, which = np.unique(np.array(make_text_keys(texts, config), object), return_inverse=True)
        pairs.append((rows, links + which))
        links += len(keys)
    from_, to = (np.concatenate(side) for side in zip(*pairs, strict=True))
    graph = coo_array((np.ones(len(to), bool), (from_, to)), shape=(links, links))
    _, found = connected_components(graph, directed=False)
    repeats = np.unique(found[: len(texts)], return_inverse=True)[1]
    _, kinds = np.unique(labels, axis=0, return_inverse=True)
    _, first = np.unique(repeats, return_index=True)
    order = np.lexsort((np.random.default_rng(seed).permutation(len(first)), kinds[first]))
    fold = np.empty(len(first), np.int64)
    fold[order] = np.arange(len(first)) % FOLDS
    return fold[repeats]


def _get_texts(dataset: Dataset, split: str) -> list[str]:
    return dataset.splits[split]["text"].tolist()
