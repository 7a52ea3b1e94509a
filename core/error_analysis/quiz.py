"""A quiz: sentences that a person judges before a run's prediction is shown, some predicted right and some wrong.

Sentences come from splits that the run was evaluated on. Each has its predictions without every subset of its words, so
that a page answers without a model. A starter run carries its quiz; that of another run is stored in the cache.
"""

from __future__ import annotations

import json
import logging
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, combinations, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core import json_store, runs
from core.cache import get_cache_folder, keep_files
from core.data.dataset import TEST, VALIDATION
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.fingerprint import hash_file, hash_value
from core.formatting import count
from core.interpret.attribution_math import compute_log_odds
from core.runs.predictions import explain_lacking_texts, list_evaluated_splits
from core.runs.record import EVALUATION, PREDICTIONS, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.text.word_spans import Span, find_word_spans, remove_words
from core.text.words import split_words

if TYPE_CHECKING:
    from core.error_analysis.predictions_table import PredictionTable
    from core.runs.load import LoadedRun

MOST = 12  # Words in subsets: 2¹² texts are predicted
FLIPS = 2  # Words that a reason deletes, at most
JOINTS = frozenset("-'’./")  # Marks that join two parts of one word, as in "well-made"
Predict = Callable[[Sequence[str]], np.ndarray]  # Texts → probabilities (n, C)


@dataclass(frozen=True, eq=False)
class SubsetPredictions:
    """The predictions of a text without every subset of its words."""

    text: str
    words: tuple[Span, ...]
    subset: tuple[int, ...]
    """Words that are deleted in subsets, k of them; of a long text those with the largest effect."""
    effects: np.ndarray  # (W,) how far the log-odds of the predicted class fall when one word is deleted
    scores: np.ndarray
    """(2ᵏ, C - 1): log p_c - log p_0 of the other classes; bit i of the row says that word `subset[i]` is deleted."""

    @property
    def predicted(self) -> int:
        """Return the predicted class of the whole text."""
        return int(np.append(0.0, self.scores[0]).argmax())


def find_removable_words(text: str) -> list[Span]:
    """Return the span of each word that can be deleted alone: no marks, and a word with a hyphen is one word."""
    found: list[Span] = []
    for start, end in find_word_spans(text):
        kinds = [unicodedata.category(sign) for sign in text[start:end]]
        if not any(kind[0] in "LN" or kind == "So" for kind in kinds):
            continue
        between = text[found[-1][1] : start] if found else ""
        if between and set(between) <= JOINTS:
            start = found.pop()[0]
        found.append((start, end))
    return found


def iterate_subsets(words: Sequence[Span]) -> Iterator[list[Span]]:
    """Yield every subset of some words in the order of its bits: none, the first, the second, the first two."""
    for bits in range(1 << len(words)):
        yield [word for place, word in enumerate(words) if bits >> place & 1]


def predict_subsets(predict: Predict, text: str, most: int = MOST) -> SubsetPredictions:
    """Predict a text without every subset of its words; of a longer text, of the `most` words with most effect."""
    words = tuple(find_removable_words(text))
    chances = predict([text, *(remove_words(text, [word]) for word in words)])
    odds = compute_log_odds(chances, int(chances[0].argmax()), "single")
    effects = odds[0] - odds[1:]
    subset = tuple(sorted(int(place) for place in np.argsort(-np.abs(effects), kind="stable")[:most]))
    chances = predict([remove_words(text, gone) for gone in iterate_subsets([words[place] for place in subset])])
    logs = np.log(np.asarray(chances, np.float64).clip(np.finfo(np.float32).tiny))
    return SubsetPredictions(text, words, subset, effects, logs[:, 1:] - logs[:, :1])


def compute_probabilities(scores: Sequence[Sequence[float]], row: int = 0) -> list[float]:
    """Return the probability of each class, (C,), from one row of C - 1 columns of scores; row 0 is the whole text."""
    odds = np.exp([0.0, *(column[row] for column in scores)])
    return (odds / odds.sum()).tolist()


def find_flips(
    predict: Predict, texts: Sequence[tuple[str, Sequence[Span]]], common: Collection[str] = ()
) -> list[tuple[int, ...]]:
    """Return for each text the fewest words, one or two, whose deletion changes the predicted class; else ().

    `texts` come with the spans of their words; sets with few `common` words, which give no reason, come first.
    """
    given = predict([text for text, _ in texts]).argmax(1)
    found: list[tuple[int, ...]] = [()] * len(texts)
    for size in range(1, FLIPS + 1):
        asked = [
            (row, places)
            for row, (_, words) in enumerate(texts)
            if not found[row] and len(words) > size
            for places in combinations(range(len(words)), size)
        ]
        gone = [(texts[row][0], [texts[row][1][place] for place in places]) for row, places in asked]
        chances = predict([remove_words(*each) for each in gone])
        flips: dict[int, list[tuple[int, float, tuple[int, ...]]]] = {}
        for (row, places), each in zip(asked, chances, strict=True):
            if each.argmax() != given[row]:
                odds = float(compute_log_odds(each, int(given[row]), "single"))
                flips.setdefault(row, []).append((count_common(*texts[row], places, common), odds, places))
        for row, sets in flips.items():
            found[row] = min(sets)[-1]
    return found


def count_common(text: str, words: Sequence[Span], places: Sequence[int], common: Collection[str]) -> int:
    """Count how many of some words of a text are common words."""
    return sum(text[slice(*words[place])].casefold() in common for place in places)


KIND = "quiz"  # The folder of stored quizzes, in a starter run and in the cache
VERSION = 1  # Raised whenever the same run would give another quiz
RIGHT, WRONG, LARGEST = 2, 3, 20  # Sentences predicted right and wrong in a quiz, and of each kind at most
LEAST, FEW, LONGEST = 3, 10, 88
"""Words of a sentence at least; words that it should have at most; its characters at most."""
CLEAR = 0.2  # Least difference between the two largest probabilities of a sentence
POOL = 30  # Candidates whose words are deleted, predicted right and predicted wrong each
COMMON = 60  # Words that count as common: so many with the most texts
LONGEST_TYPED, TYPED_SUBSET = 60, 10  # Words of a typed sentence at most, and words of it that are deleted in subsets
DIGITS = 3  # Decimal places of stored scores
CHALLENGE, PHENOMENON = "challenge", "phenomenon"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Question:
    """A sentence of a quiz, with its predictions without every subset of its words."""

    text: str
    label: str  # The true class; of a typed sentence what its author means, or empty
    predicted: str
    kind: str  # The kind of sentence, such as irony; empty if unknown
    split: str
    words: tuple[tuple[int, int], ...]  # Span of each word in the text
    unknown: tuple[int, ...]  # Words that the run does not know
    effects: tuple[float, ...]  # Of each word: how far the log-odds of the predicted class fall without it
    flip: tuple[int, ...]  # The fewest words, one or two, whose deletion changes the prediction; empty if none do
    subset: tuple[int, ...]  # Words that are deleted in `scores`, k of them
    scores: tuple[tuple[float, ...], ...]
    """For each class but the first 2ᵏ values log p_c - log p_0; bit i says that word `subset[i]` is deleted."""

    @property
    def right(self) -> bool:
        """Return whether the prediction is the true class."""
        return self.label == self.predicted

    @property
    def gap(self) -> float:
        """Return the difference between the two largest scores of the whole sentence."""
        second, first = sorted([0.0, *(each[0] for each in self.scores)])[-2:]
        return first - second


@dataclass(frozen=True)
class Quiz:
    """A quiz about a run: its questions, and the common words of its data."""

    questions: tuple[Question, ...]
    common: tuple[str, ...]


@dataclass(frozen=True)
class _Candidate:
    text: str
    label: str
    predicted: str
    kind: str
    split: str
    place: int  # Of its split, in the order of preference
    gap: float  # Difference between its two largest probabilities


def make_quiz(
    store: RunStore, run: str, right: int = RIGHT, wrong: int = WRONG, load: Callable[[], LoadedRun] | None = None
) -> Quiz:
    """Return the quiz of a run, stored or computed with `load()`; InputError: bad numbers, NotAvailable: the reason."""
    if not (0 <= right <= LARGEST and 0 <= wrong <= LARGEST and right + wrong):
        raise InputError(f"--right {right} --wrong {wrong}: from 0 to {LARGEST} each, and one sentence at least")
    record, path = store.read(run), locate_file(store, run, right, wrong)
    refuse_run(store, record)
    try:
        return json_store.read(path, Quiz)
    except FileNotFoundError:
        pass
    except RunDamaged as error:
        log.warning("%s; making it again", error)
    quiz = compute_quiz(store, load() if load else runs.load.load_run(store, run), right, wrong)
    if path.parent == get_cache_folder() / KIND:
        keep_files([(path, encode_quiz(quiz))], KIND)
    return quiz


def encode_quiz(quiz: Quiz) -> bytes:
    """Encode a quiz as the content of its file."""
    return json.dumps(asdict(quiz), ensure_ascii=False, separators=(",", ":")).encode()


def locate_file(store: RunStore, run: str, right: int = RIGHT, wrong: int = WRONG) -> Path:
    """Return the file of a quiz, named by all that it depends on: in the starter run that has it, else in the cache."""
    folder, record = store.get_path(run), store.read(run)
    files = [folder / WEIGHTS, *(folder / EVALUATION / split / PREDICTIONS for split in list_splits(folder))]
    read = [hash_file(file) if file.is_file() else "" for file in files]
    name = f"{KIND}-{hash_value([VERSION, read, record.answering, record.classes, right, wrong])}.json"
    own = folder / KIND / name
    return own if own.is_file() else get_cache_folder() / KIND / name


def list_splits(folder: Path) -> list[str]:
    """List the evaluated splits from which a quiz is made, in the order of preference."""
    there = list_evaluated_splits(folder)
    return [split for split in (CHALLENGE, TEST) if split in there] or [each for each in there if each == VALIDATION]


def refuse_run(store: RunStore, record: RunRecord) -> None:
    """Raise NotAvailable with the reason if a run cannot predict single sentences with one class; RunDamaged."""
    folder = store.get_path(record.run)
    if record.status == "damaged":
        raise RunDamaged(record.reason)
    if record.task != "single":
        raise NotAvailable("it predicts " + ("a tag for each word" if record.task == "tokens" else "several labels"))
    if record.pairs:
        raise NotAvailable("it reads two texts at a time")
    if not (folder / WEIGHTS).is_file():
        raise NotAvailable("it has no weights")


def compute_quiz(store: RunStore, loaded: LoadedRun, right: int = RIGHT, wrong: int = WRONG) -> Quiz:
    """Choose the sentences of a quiz from a run's evaluated splits; NotAvailable: no sentence is short and clear."""
    from core.error_analysis.predictions_table import read_table

    run = loaded.record.run
    folder = store.get_path(run)
    if reason := explain_lacking_texts(folder, loaded.record):
        raise NotAvailable(reason)
    tables = [read_table(store, run, split) for split in list_splits(folder)]
    common = find_common_words(table.texts for table in tables)
    candidates = list(_iterate_candidates(tables))
    chosen: list[Question] = []
    for outcome, number in ((False, wrong), (True, right)):
        pool = _draw_pool([each for each in candidates if (each.label == each.predicted) == outcome])
        chosen += _choose_questions(loaded, pool, common, number, chosen)
    if missing := right + wrong - len(chosen):  # a model without errors of this kind
        known = {each.text for each in chosen}
        rest = _draw_pool([each for each in candidates if each.label == each.predicted and each.text not in known])
        chosen += _choose_questions(loaded, rest, common, missing, chosen)
    if not chosen:
        raise NotAvailable("none of its test sentences is short and has a clear answer")
    return Quiz(tuple(order_questions(chosen)), common)


def choose_unanswered() -> tuple[Question, ...]:
    """Return short sentences that come with Sentiscope, each of another kind, without predictions of a run."""
    from core.data.sources.builtin.corpus_files import get_class_names, load_split

    rows, names = load_split(CHALLENGE), get_class_names(2)
    short = rows[rows["text"].map(lambda text: LEAST <= len(find_removable_words(text)) <= FEW)]
    drawn = sorted(short.to_dict("records"), key=lambda row: hash_value(row["text"]))
    kinds = {row[PHENOMENON]: row for row in drawn}
    nothing: dict[str, Any] = dict.fromkeys(("unknown", "effects", "flip", "subset", "scores"), ())
    found = []
    for kind, row in list(kinds.items())[: RIGHT + WRONG]:
        text, words = str(row["text"]), tuple(find_removable_words(row["text"]))
        found.append(Question(text, names[int(row["label"])], "", kind, CHALLENGE, words, **nothing))
    return tuple(found)


def find_common_words(splits: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return the words that most texts of each split have, lower-cased and sorted."""
    shares: list[dict[str, float]] = []
    for texts in splits:
        words = [{each.casefold() for each in split_words(text) if each[0].isalpha()} for text in texts]
        shares.append({word: n / len(words) for word, n in Counter(chain.from_iterable(words)).items()})
    least = {word: min(share.get(word, 0) for share in shares) for word in (shares[0] if shares else ())}
    return tuple(sorted(sorted(least, key=lambda word: (-least[word], word))[:COMMON]))


def _iterate_candidates(tables: Iterable[PredictionTable]) -> Iterable[_Candidate]:
    """Yield each short sentence with a known class and a clear prediction once."""
    seen: set[str] = set()
    for place, table in enumerate(tables):
        largest = np.sort(table.probabilities, 1)
        gaps, frame = largest[:, -1] - largest[:, -2], table.frame
        kinds = frame[PHENOMENON].astype(str) if PHENOMENON in table.own else frame["true"]
        known = table.true.any(1)
        for row in np.flatnonzero(known & (gaps >= CLEAR) & (frame["text"].str.len() <= LONGEST).to_numpy()):
            text = str(frame["text"].iloc[row]).strip()
            if text in seen or len(text.splitlines()) != 1 or not LEAST <= len(find_removable_words(text)) <= MOST:
                continue
            seen.add(text)
            label, predicted = str(frame["true"].iloc[row]), str(frame["predicted"].iloc[row])
            yield _Candidate(text, label, predicted, str(kinds.iloc[row]), table.split, place, float(gaps[row]))


def _draw_pool(candidates: Iterable[_Candidate]) -> list[_Candidate]:
    """Return at most `POOL` candidates, of each kind by turns: sure errors first, right answers nearly missed first."""
    by_kind = defaultdict(list)
    for each in candidates:
        by_kind[each.place, each.kind].append(each)
    for found in by_kind.values():
        found.sort(key=lambda each: (each.gap if each.label == each.predicted else -each.gap, each.text))
    turns: list[_Candidate] = []
    for place in sorted({place for place, _ in by_kind}):
        kinds = [by_kind[key] for key in sorted(by_kind) if key[0] == place]
        turns += [each for turn in zip_longest(*kinds) for each in turn if each is not None]
    return list(islice(turns, POOL))


def _choose_questions(
    loaded: LoadedRun, pool: Sequence[_Candidate], common: Collection[str], number: int, chosen: Iterable[Question]
) -> list[Question]:
    """Return the best candidates one by one: first that few words flip, then that it is another kind and label."""
    kinds, labels = Counter(each.kind for each in chosen), Counter(each.label for each in chosen)
    predict, words = make_predict(loaded), [find_removable_words(each.text) for each in pool]
    texts = [(each.text, own) for each, own in zip(pool, words, strict=True)]
    flips = find_flips(predict, texts, common) if number and pool else []

    def rank_candidate(row: int) -> tuple[float, ...]:
        each, flip = pool[row], flips[row]
        rarely = (kinds[each.kind], len(words[row]) > FEW, labels[each.label])
        return not flip, *rarely, count_common(*texts[row], flip, common), each.place, row

    best: list[Question] = []
    left = list(range(len(flips)))
    while left and len(best) < number:
        left.remove(row := min(left, key=rank_candidate))
        each = pool[row]
        question = build_question(loaded, each.text, each.label, common, kind=each.kind, split=each.split)
        if question.predicted == each.predicted:  # as it was when it was evaluated
            best.append(question)
            kinds[each.kind] += 1
            labels[each.label] += 1
    return best


def make_predict(loaded: LoadedRun) -> Predict:
    """Return a function from texts to the probabilities that a run predicts, (n, C)."""
    return lambda texts: loaded.predict(texts).probabilities


def order_questions(questions: Iterable[Question]) -> list[Question]:
    """Order questions so that the order gives no answer away: the surest error with a reason first, then by hash."""
    shuffled = sorted(questions, key=lambda each: hash_value(each.text))
    first = min(shuffled, key=lambda each: (each.right, not each.flip, -each.gap))
    return [first, *(each for each in shuffled if each is not first)]


def build_question(
    loaded: LoadedRun,
    text: str,
    label: str,
    common: Collection[str] = (),
    *,
    most: int = MOST,
    kind: str = "",
    split: str = "",
) -> Question:
    """Return a sentence as a quiz question; of a long one only the `most` words with most effect are in subsets."""
    predict = make_predict(loaded)
    found = predict_subsets(predict, text, most)
    shares = [loaded.tokenizer.compute_unknown_share(text[start:end]) or 0.0 for start, end in found.words]
    unknown = tuple(place for place, share in enumerate(shares) if share > 0)
    [flip] = find_flips(predict, [(text, [found.words[place] for place in found.subset])], common)
    effects, gone = tuple(found.effects.round(DIGITS).tolist()), tuple(found.subset[place] for place in flip)
    scores = tuple(map(tuple, found.scores.T.round(DIGITS).tolist()))
    about = text, label, loaded.record.classes[found.predicted], kind, split
    return Question(*about, found.words, unknown, effects, gone, found.subset, scores)


def ask_sentence(loaded: LoadedRun, text: str, label: str = "", common: Collection[str] = ()) -> Question:
    """Return a typed sentence as a quiz question; InputError: it has no word, too many, or is cut off by the model."""
    text = " ".join(text.split())
    words = len(find_removable_words(text))
    if not words:
        raise InputError("this sentence has no words")
    if words > LONGEST_TYPED:
        raise InputError(f"this sentence has {count(words)} words; {LONGEST_TYPED} are the maximum here")
    [(read, cut)] = loaded.tokenizer.count_read([text])
    if cut:
        raise InputError(f"this model reads only the first {read} tokens of this sentence")
    return build_question(loaded, text, label, common, most=TYPED_SUBSET)
