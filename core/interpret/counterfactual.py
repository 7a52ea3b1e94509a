"""Counterfactuals: the smallest set of allowed word edits that changes the prediction.

A move deletes a word or replaces it by a candidate; a set has up to two moves, or three deletions. Smaller sets are
tried first, then the larger summed effects of single moves. The prediction flips when the target is no longer (or
becomes) the predicted class; with several labels, when it crosses its threshold. Natural sets of one size come first:
deletions, then words of the same part of speech, then others.
"""

import dataclasses
import functools
import heapq
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Literal, cast

import numpy as np
import torch

from core.exceptions import InputError
from core.formatting import count
from core.interpret.attribution import MOST_WORDS
from core.interpret.attribution_math import compute_log_odds
from core.interpret.background_thread import choose_batch_size
from core.interpret.explain_context import ExplainContext
from core.interpret.gradients import Embeds
from core.models.trace import Batch
from core.text.config import TextConfig
from core.text.lexicon import VADER, Lexicon
from core.text.normalization import CAPITALS_MARK, LONG_MARK, prepare
from core.text.pos_tags import Tagger, detect_language
from core.text.special_ids import FIRST
from core.text.token_table import TokenTable
from core.text.tokenizer import Tokenizer
from core.text.word_spans import find_word_spans, match_case, remove_words
from core.text.words import get_word_pattern, hash_char_ngrams

MOST = 8  # Candidates of a word, alternately from the lexicon and from the neighbours


def find_candidates(reader: ExplainContext, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return word → replacements that a counterfactual search may try, in the casing of the word.

    From the run's lexicon, else VADER's: opposite sign, similar strength, then frequency; from word embeddings: the
    largest cosine. Only whole words that begin with a letter.
    """
    words = [word for word in dict.fromkeys(words) if _is_word(word)]
    signs, vocabulary = _get_signs(reader.tokenizer), _list_vocabulary(reader.tokenizer)
    near = _find_neighbors(reader, words, signs, vocabulary)
    found = {}
    for word in words:
        by_turns = zip_longest(_find_opposites(word.lower(), signs, vocabulary, reader.tokenizer), near.get(word, ()))
        others = dict.fromkeys(each for pair in by_turns for each in pair if each and each != word.lower())
        found[word] = tuple(match_case(each, word) for each in islice(others, MOST))
    return found


def _is_word(text: str) -> bool:
    marked = text in (LONG_MARK, CAPITALS_MARK)
    return text[:1].isalpha() and not marked and get_word_pattern().fullmatch(text) is not None


def _get_signs(tokenizer: Tokenizer) -> dict[str, float]:
    """Return word → lexicon polarity, positive minus negative; words with polarity 0 are left out."""
    found = (tokenizer.lexicon or _load_vader(tokenizer.config)).entries.items()
    polarity = {entry: sum(counts[0::3]) - sum(counts[2::3]) for entry, counts in found if _is_word(entry)}
    return {entry: value for entry, value in polarity.items() if value}


@functools.lru_cache(4)
def _load_vader(config: TextConfig) -> Lexicon:
    return Lexicon.from_config(dataclasses.replace(config, lexicon=VADER))


def _list_vocabulary(tokenizer: Tokenizer) -> dict[str, int]:
    """Return word → token id of all single-token words, most frequent first; with BPE, tokens that begin a word."""
    names = {tokenizer.name(token): token for token in range(FIRST, tokenizer.size)}
    if tokenizer.known_words is None:
        names = {name[1:]: token for name, token in names.items() if name.startswith(" ")}
    return {name: token for name, token in names.items() if _is_word(name)}


def _find_opposites(
    word: str, signs: Mapping[str, float], vocabulary: Mapping[str, int], tokenizer: Tokenizer
) -> list[str]:
    own, known = signs.get(word, 0.0), tokenizer.known_words
    if not own:
        return []
    opposite = (other for other, value in signs.items() if own * value < 0 and (known is None or other in known))
    last = tokenizer.size
    return sorted(opposite, key=lambda other: (abs(own + signs[other]), vocabulary.get(other, last), other))[:MOST]


def _find_neighbors(
    reader: ExplainContext, words: Iterable[str], signs: Mapping[str, float], vocabulary: Mapping[str, int]
) -> dict[str, list[str]]:
    """Return each word's nearest vocabulary words by embedding, lower-cased; with BPE, only words of the lexicon."""
    tokenizer = reader.tokenizer
    own = {word: vocabulary.get(prepare(word, tokenizer.config)) for word in words}
    places = [token for token in own.values() if token is not None]
    if "embedding" not in reader.model.provides or not places:
        return {}
    whole = {word: token for word, token in vocabulary.items() if tokenizer.known_words is not None or word in signs}
    others, asked = list(whole), _embed_words(reader, {tokenizer.name(t): t for t in places})
    cosines = dict(zip(dict.fromkeys(places), asked @ _embed_words(reader, whole).T, strict=True))
    found = {}
    for word, token in own.items():
        if token is not None:
            nearest = (others[place].lower() for place in np.argsort(-cosines[token], kind="stable")[: 3 * MOST])
            found[word] = list(islice((each for each in nearest if each != word.lower()), MOST))
    return found


def _embed_words(reader: ExplainContext, words: Mapping[str, int]) -> np.ndarray:
    """Return each word's embedding, normalised to length 1 and without position, (words, d) float64."""
    ids = torch.tensor(list(words.values()), dtype=torch.int64)[:, None]
    grams = None
    if many := reader.tokenizer.buckets:
        table = TokenTable.from_ids([hash_char_ngrams(word, many) for word in words])
        grams = torch.from_numpy(table.pad_all().ids)[:, None]
    with torch.inference_mode():
        batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool), grams=grams)
        found = cast(Embeds, reader.model).embed_tokens(batch)[:, 0].double().numpy()
    return found / np.linalg.norm(found, axis=1, keepdims=True).clip(1e-12)


DELETIONS, REPLACEMENTS = 3, 2  # Most moves of a set of deletions only, and of a set with a replacement
MOST_READINGS = 4000
ALSO = 4  # Other flips of the smallest size that are reported
MOST_SETS = 100_000  # Sets that are tried: in a text of one repeated word, millions of sets give the same few texts

Verdict = Literal["proven", "smallest found", "none, proven", "none found"]
"""proven: all smaller sets of moves and all sets of this size were tried; none, proven: all sets were tried."""


@dataclass(frozen=True)
class Move:
    """An edit of one word in a counterfactual: a deletion or a replacement."""

    word: str
    start: int
    end: int
    instead: str | None = None  # None: it is deleted


@dataclass(frozen=True)
class Flip:
    """A counterfactual: a text with a different prediction, and the word edits that lead to it."""

    text: str
    probabilities: dict[str, float]  # By class name, in label order
    log_odds: float  # Of the target
    moves: tuple[Move, ...]  # In the order of the words


@dataclass(frozen=True)
class AllowedMoves:
    """The word edits that a counterfactual search may make, to repeat its proof that no smaller set suffices."""

    words: int  # Words, from the first, that may be deleted or replaced
    readings: int  # Largest number of predictions
    replacements: tuple[Move, ...]  # Of single words, in their order
    deletions_at_most: int = DELETIONS
    replacements_at_most: int = REPLACEMENTS
    candidates_at_most: int = MOST


@dataclass(frozen=True)
class Search:
    """The state of a counterfactual search: the best result so far, the verdict, and the number of texts predicted."""

    text: str  # Without the truncated end, so that a deletion does not bring it in
    target: str
    probabilities: dict[str, float]
    log_odds: float  # Of the target
    flip: Flip | None  # The smallest so far; of its size the most natural, then the one that moves the log-odds most
    also: tuple[Flip, ...]  # Others of its size, of other words, at most `ALSO`, in the same order
    verdict: Verdict
    readings: int  # Texts that were predicted, including the typed one
    allowed: AllowedMoves
    note: str  # Notes for the reader; empty if there are none


def search_flip(
    reader: ExplainContext,
    text: str,
    target: str = "",
    readings: int = MOST_READINGS,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Search]:
    """Yield states of a search for the fewest edits of the first `MOST_WORDS` words that flip the prediction.

    At most `readings` texts are predicted; `stopped` ends it. InputError: unknown class, edits at tokens, bad number.
    """
    reader.check_class(target)
    if reader.at_tokens:
        raise InputError("a change at a token (g: a gate) cannot follow words that are replaced; leave it out")
    if not 1 <= readings <= MOST_READINGS:
        raise InputError(f"readings {readings}: from 1 to {count(MOST_READINGS)}")
    return _FlipSearch(reader, text, target, readings, stopped).iterate_states()


Sets = Iterator[tuple[Move, ...]]  # Sets of moves of one size


class _FlipSearch:
    """A running counterfactual search, with the texts predicted and the counterfactuals found so far."""

    def __init__(
        self, reader: ExplainContext, text: str, target: str, readings: int, stopped: Callable[[], bool]
    ) -> None:
        typed, text = text, reader.read_part(text)
        self.reader, self.text, self.stopped = reader, text, stopped
        said = reader.predict_texts([text], reader.intervene)
        self.place = reader.find_class(target, said)
        [self.given] = reader.is_predicted(self.place, said)
        [self.odds] = compute_log_odds(said.probabilities, self.place, reader.task)
        self.probabilities = reader.name_probabilities(said)
        every = find_word_spans(text)
        words = [Move(text[start:end], start, end) for start, end in every[:MOST_WORDS]]
        self.rated = functools.cache(functools.partial(rank_move, tuple(text[start:end] for start, end in every)))
        self.places = {start: place for place, (start, _) in enumerate(every)}
        instead = find_candidates(reader, [each.word for each in words])
        self.deletions = words
        self.replacements = [
            Move(each.word, each.start, each.end, other) for each in words for other in instead.get(each.word, ())
        ]
        self.allowed = AllowedMoves(len(words), readings, tuple(self.replacements))
        notes = reader.write_notes(typed, reader.tokenizer.encode(typed))
        if len(every) > len(words):
            notes.append(f"Moves are of the first {count(len(words))} of {count(len(every))} words.")
        self.note = " ".join(notes)
        self.change = {text: 0.0}  # Predicted text → change of its log-odds towards a flip
        self.at_once = choose_batch_size(len(text), reader.tokenizer.max_length)
        self.sets = 0
        self.flips: dict[tuple[int, ...], Flip] = {}
        """Starts of the edited words → the first flip in order; only those of the smallest size."""
        self.whole = [False] * DELETIONS  # By size from 1: whether all sets were tried

    @property
    def left(self) -> int:
        """Return how many more texts a counterfactual search may predict."""
        return self.allowed.readings - len(self.change)

    def iterate_states(self) -> Iterator[Search]:
        """Yield the state of a counterfactual search at its start, after each batch of texts, and at its end."""
        yield self.build_state()
        unread = yield from self._read_sets((each,) for each in self.deletions)
        if unread is None:
            # Words with the largest effects come first, with their candidates in the order of `find_candidates`.
            pushed = {each.start: self._get_effect(each) for each in self.deletions}
            ordered = sorted(self.replacements, key=lambda each: -pushed[each.start])
            self.whole[0] = (yield from self._read_sets((each,) for each in ordered)) is None
        if not self.flips and self.whole[0]:
            yield from self._try_move_sets()
        yield self.build_state()

    def _try_move_sets(self) -> Iterator[Search]:
        both = self._order_sets(self.deletions + self.replacements, 2)
        pairs = (pair for pair in both if pair[0].start != pair[1].start)
        # A long text has too many pairs: half of the readings are reserved for triples, or less if there are fewer.
        number = len(self.deletions)
        keep = min(self.left // 2, number * (number - 1) * (number - 2) // 6)
        unread = yield from self._read_sets(pairs, keep)
        if not self.flips:
            self.whole[2] = (yield from self._read_sets(self._order_sets(self.deletions, 3))) is None
        if unread is not None:
            unread = yield from self._read_sets(unread)
        self.whole[1] = unread is None

    def _order_sets(self, moves: Sequence[Move], size: int) -> Iterator[tuple[Move, ...]]:
        for places in order_index_sets([self._get_effect(each) for each in moves], size):
            yield tuple(moves[place] for place in places)

    def _get_effect(self, move: Move) -> float:
        return self.change[apply_moves(self.text, (move,))]

    def _read_sets(self, sets: Sets, keep: int = 0) -> Generator[Search, None, Sets | None]:
        """Predict the text with each set of word edits until stopped or near the limit; return the sets not tried."""
        unread: Sets | None = sets
        while unread is not None and not self.stopped():
            texts, unread = self._take_unread(unread, max(0, min(self.at_once, self.left - keep)))
            if not texts:
                break
            self._predict_texts(texts)
            yield self.build_state()
        return unread

    def _take_unread(self, sets: Sets, most: int) -> tuple[dict[str, tuple[Move, ...]], Sets | None]:
        """Return at most `most` edited texts not yet predicted, with their edits, and the remaining sets, if any."""
        texts: dict[str, tuple[Move, ...]] = {}
        for moves in sets:
            text = apply_moves(self.text, moves)
            known = text in self.change or text in texts
            if self.sets == MOST_SETS or (not known and len(texts) == most):
                return texts, chain([moves], sets)
            self.sets += 1
            if not known:
                texts[text] = moves
        return texts, None

    def _predict_texts(self, texts: Mapping[str, tuple[Move, ...]]) -> None:
        said = self.reader.predict_texts(list(texts), self.reader.intervene)
        odds = compute_log_odds(said.probabilities, self.place, self.reader.task)
        given = self.reader.is_predicted(self.place, said)
        for row, (text, moves) in enumerate(texts.items()):
            self.change[text] = float(self.odds - odds[row]) * (1 if self.given else -1)
            if given[row] != self.given:
                chances = dict(zip(self.reader.classes, map(float, said.probabilities[row]), strict=True))
                ordered = tuple(sorted(moves, key=lambda each: each.start))
                self._keep_flip(Flip(text, chances, float(odds[row]), ordered))

    def _keep_flip(self, flip: Flip) -> None:
        size = min((len(each.moves) for each in self.flips.values()), default=len(flip.moves))
        if len(flip.moves) > size:
            return
        if len(flip.moves) < size:
            self.flips.clear()
        words = tuple(each.start for each in flip.moves)
        other = self.flips.get(words)
        if other is None or self._make_key(flip) < self._make_key(other):
            self.flips[words] = flip

    def _make_key(self, flip: Flip) -> tuple[list[int], float]:
        """Return the sort key of a counterfactual: natural ones first, then those that move the log-odds most."""
        rated = (self.rated(each.instead, self.places[each.start]) for each in flip.moves)
        return sorted(rated, reverse=True), -self.change[flip.text]

    def build_state(self) -> Search:
        """Return the current state of the counterfactual search."""
        ranked = sorted(self.flips.values(), key=self._make_key)
        verdict: Verdict = "none, proven" if all(self.whole) else "none found"
        if ranked:
            verdict = "proven" if all(self.whole[: len(ranked[0].moves)]) else "smallest found"
        return Search(
            text=self.text,
            target=self.reader.classes[self.place],
            probabilities=self.probabilities,
            log_odds=float(self.odds),
            flip=ranked[0] if ranked else None,
            also=tuple(ranked[1 : 1 + ALSO]),
            verdict=verdict,
            readings=len(self.change),
            allowed=self.allowed,
            note=self.note,
        )


def rank_move(words: Sequence[str], instead: str | None, place: int) -> int:
    """Rank how unnatural an edit is: 0 a deletion, 1 the same part of speech, 2 another word (if there is a tagger)."""
    if instead is None:
        return 0
    language = detect_language([" ".join(words)])
    if not language:
        return 1
    tagger, edited = _load_tagger(language), [*words[:place], instead, *words[place + 1 :]]
    return 1 if tagger.tag(words)[place] == tagger.tag(edited)[place] else 2


_load_tagger = functools.cache(Tagger)


def apply_moves(text: str, moves: Sequence[Move]) -> str:
    """Return a text after deletions and replacements of different words."""
    for each in sorted(moves, key=lambda move: -move.start):
        if each.instead is None:
            text = remove_words(text, [(each.start, each.end)])
        else:
            text = text[: each.start] + each.instead + text[each.end :]
    return text


def order_index_sets(values: Sequence[float], size: int) -> Iterator[tuple[int, ...]]:
    """Yield every set of `size` indices, in order of falling sum of their values."""
    order = sorted(range(len(values)), key=lambda place: -values[place])
    last = len(order)

    def make_entry(ranks: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        return -sum(values[order[rank]] for rank in ranks), ranks

    heap = [make_entry(tuple(range(size)))] if size <= last else []
    while heap:
        _, ranks = heapq.heappop(heap)
        yield tuple(order[rank] for rank in ranks)
        # A rank increases only while all before it have their first value, so that each set is reached once.
        for place in range(size):
            if ranks[:place] != tuple(range(place)):
                break
            if ranks[place] + 1 < (*ranks[1:], last)[place]:
                heapq.heappush(heap, make_entry((*ranks[:place], ranks[place] + 1, *ranks[place + 1 :])))
