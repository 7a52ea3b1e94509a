"""Creation of tokenizers: fitted on training texts, extended from another run, or loaded from a file."""

import copy
import dataclasses
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from core import json_store
from core.exceptions import ConfigError, RunDamaged
from core.paths import read_regular
from core.text.config import READING, TextConfig
from core.text.lexicon import Lexicon
from core.text.ngrams import NGramTokenizer, WordTokenizer
from core.text.pos_tags import NAMES, Tagger, detect_language, detect_script
from core.text.subword_tokenizers import BpeTokenizer, PretrainedTokenizer, PublishedTokenizer
from core.text.text_pairs import is_mostly_pairs, split_pair
from core.text.tokenizer import VERSION, GrownTokenizer, State, Tokenizer, compute_max_length

log = logging.getLogger(__name__)

KINDS: dict[str, type[Tokenizer]] = {
    each.kind: each for each in (WordTokenizer, BpeTokenizer, NGramTokenizer, PretrainedTokenizer)
}
LARGEST = 512 * 1024**2  # Bytes of a tokenizer's file, at most: enough for millions of word pairs
LEAK = "the tokenizer was fitted on the texts of all splits (text.tokenizer_fit=all): test words are not unseen"
ALWAYS = {"normaliser", "tokenizer", "max_vocab", "min_freq", "max_length"}


def fit_tokenizer(texts: Iterable[str], config: TextConfig, published: PublishedTokenizer | None = None) -> Tokenizer:
    """Fit the tokenizer of the settings on training texts; `published` is that of a pretrained encoder, if any."""
    texts = list(texts)
    pairs = is_mostly_pairs(texts)
    single = _split_pairs(texts) if pairs else texts
    if published is not None:
        fitted: Tokenizer = PretrainedTokenizer.fit(single, config, published)  # has a mark of its own for pairs
    else:
        of_text = (BpeTokenizer if config.tokenizer == "bpe" else WordTokenizer).fit(single, config)
        fitted = of_text.add_mark() if pairs else of_text
    if pairs:
        fitted.enable_pairs(texts)
    return _add_knowledge(fitted, texts, config)


def _split_pairs(texts: Iterable[str]) -> list[str]:
    return [part for text in texts for part in split_pair(text) or (text,)]


def extend_tokenizer(known: Tokenizer, texts: Iterable[str], config: TextConfig) -> GrownTokenizer:
    """Extend another run's tokenizer by frequent new words; ids stay the same. ConfigError if text settings differ."""
    for name in READING:
        own, wanted = getattr(known.config, name), getattr(config, name)
        if own != wanted:
            raise ConfigError(f"text.{name}={wanted}: the run that this training starts from reads with {own}")
    texts = list(texts)
    if known.pairs != is_mostly_pairs(texts):
        theirs, ours = ("pairs", "single texts") if known.pairs else ("single texts", "pairs")
        raise ConfigError(f"training.start: that run reads {theirs}, and the texts of this training are {ours}")
    adopted = copy.copy(known)
    adopted.config, adopted.tagger, adopted.lexicon, adopted.counts = config, None, None, None
    single = _split_pairs(texts) if known.pairs else texts
    grown = adopted.grow_vocabulary(single, config.grown) if config.grown else GrownTokenizer(adopted, [])
    tokenizer = grown.tokenizer
    tokenizer.max_length, tokenizer.pairs = config.max_length, known.pairs
    if not tokenizer.max_length:
        tokenizer.max_length = compute_max_length([len(ids) for ids in tokenizer.encode_batch(texts)])
    return grown._replace(tokenizer=_add_knowledge(tokenizer, texts, config))


def _add_knowledge(tokenizer: Tokenizer, texts: list[str], config: TextConfig) -> Tokenizer:
    tokenizer.tagger, tokenizer.notes = _choose_tagger(texts, config)
    if config.tokenizer_fit == "all":
        tokenizer.notes += (LEAK,)
    if config.lexicon:
        lexicon = Lexicon.from_config(config)
        known = lexicon.keep_words(tokenizer.list_words()) if isinstance(tokenizer, WordTokenizer) else lexicon
        tokenizer.set_lexicon(known)
    return tokenizer


def _choose_tagger(texts: Sequence[str], config: TextConfig) -> tuple[Tagger | None, tuple[str, ...]]:
    """Return the part-of-speech tagger that the settings choose for training texts, and a note on the choice."""
    if config.tagger == "none":
        return None, ()
    if config.tagger != "auto":
        return Tagger(config.tagger), ()
    if language := detect_language(texts):
        return Tagger(language), (f"parts of speech: the training texts were taken to be {NAMES[language]}",)
    off = "parts of speech are off: no tagger for the language of the training texts"
    there = ", ".join(f"{name} ({code})" for code, name in NAMES.items())
    note = (
        f"{off} (script: {detect_script(texts) or 'no letters'}); there is one for {there}, which text.tagger can name"
    )
    return None, (note,)


def restore_tokenizer(text: str) -> Tokenizer:
    """Restore a tokenizer of any kind from the JSON of `Tokenizer.to_json`; raise RunDamaged if that fails."""
    try:
        tree = json_store.parse_json(text)
        version = tree.get("version") if isinstance(tree, dict) else None
        if version != VERSION:
            raise ValueError(f"version {version!r} was written by another Sentiscope, this one reads {VERSION}")
        state = json_store.convert(tree, State)
        tokenizer = KINDS[state.kind].restore(state, _read_config(state.config), state.max_length)
        if known := state.tagger:
            tokenizer.tagger = Tagger(known.language)
            if tokenizer.tagger.version != known.version:
                log.warning("tags may differ: %s here, %s when it was trained", tokenizer.tagger.version, known.version)
        if state.lexicon is not None:
            tokenizer.set_lexicon(Lexicon.from_state(state.lexicon, max(1, len(tokenizer.config.lexicons))))
        tokenizer.notes, tokenizer.buckets, tokenizer.pairs = state.notes, state.buckets, state.pairs
        return tokenizer
    except ValueError as error:
        raise RunDamaged(f"the tokenizer cannot be read: {error}") from error


def load_tokenizer(path: Path) -> Tokenizer:
    """Load a tokenizer from a file that `Tokenizer.save` wrote; RunDamaged names the file and the reason."""
    try:
        return restore_tokenizer(read_regular(path, LARGEST).decode("utf-8"))
    except (OSError, ValueError, RunDamaged) as error:
        raise RunDamaged(f"{path}: {error}") from error


def _read_config(tree: dict[str, Any]) -> TextConfig:
    """Read a tokenizer's saved text settings; a missing newer setting gets the default that keeps the old behaviour."""
    if missing := sorted(ALWAYS - set(tree)):
        raise ValueError(f"the field config.{missing[0]} is missing")
    if unknown := sorted(set(tree) - {field.name for field in dataclasses.fields(TextConfig)}):
        raise ValueError(f"config.{unknown[0]} is a setting of a newer version, without which texts are cut otherwise")
    try:
        return json_store.convert(tree, TextConfig)
    except ConfigError as error:  # `restore_tokenizer` reports only a ValueError as damage
        raise ValueError(str(error)) from error
