"""A tokenizer in forms that need no Sentiscope: a pipeline of the library `tokenizers`, and steps for other programs.

Python's regular expressions are translated to a dialect that the library (Oniguruma) and browsers read alike: classes
of letters and blanks are spelt out, capitals too, and no group is possessive.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, cast

import tokenizers as hf

from core.exceptions import NotAvailable
from core.text.normalization import (
    BREAK,
    CONTROL,
    HASHTAG,
    HUMP,
    INVISIBLE,
    QUOTES,
    TAG,
    apply_steps,
    build_lookalike_forms,
    build_lookalike_steps,
    choose_steps,
)
from core.text.special_ids import FIRST, PAD, SPECIALS, UNKNOWN
from core.text.subword_tokenizers import build_pipeline
from core.text.tokenizer import Tokenizer
from core.text.word_spans import compile_span_pattern
from core.text.words import get_word_pattern

Pattern = re.Pattern[str]
Kind = Literal["replace", "keep", "table", "unescape", "entities", "hashtags", "lower", "compose"]
SPACE = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # content of a class like \s
_CASED = r"\p{Lu}\p{Ll}\p{Lt}"
WORD = r"\p{L}\p{N}_"
_BLANKS, _ENDS = re.compile(f"[{SPACE}]+"), re.compile("^ | $")
_CLASSES = {r"[^\W\d_]": r"[\p{L}\p{Nl}\p{No}]", r"[^\W_]": r"[\p{L}\p{N}]"}
_INSIDE = {r"\w": WORD, r"\s": SPACE, r"\d": r"\p{Nd}"}
_ALONE = {r"\w": f"[{WORD}]", r"\d": r"\p{Nd}", r"\S": f"[^{SPACE}]", r"\s": f"[{SPACE}]", r"\#": "#"}
_ALONE[r"\b"] = f"(?:(?<=[{WORD}])(?![{WORD}])|(?<![{WORD}])(?=[{WORD}]))"
_ESCAPE = r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)"
_TOKEN = re.compile(rf"{_ESCAPE}|\[(?:\\.|[^\]\\])*\]|\(\?i:|[*+?]\+|.", re.DOTALL)


BEFORE = ("keep", "unescape", "entities", "hashtags")  # kinds that the library `tokenizers` lacks


class PortableStep(NamedTuple):
    """A step of normalisation: the kind, and what it finds and puts in its place."""

    kind: Kind
    pattern: Pattern | None = None
    content: Any = ""  # table: character → text · hashtags: pattern of the places where words begin

    def to_python(self) -> list[Any]:
        """Return the step as plain data, with a pattern for Python's `re`."""
        return self._dump(lambda found: "(?i)" * bool(found.flags & re.IGNORECASE) + found.pattern)

    def to_portable(self) -> list[Any]:
        """Return the step as plain data, with a pattern for a browser."""
        return self._dump(translate_pattern)

    def _dump(self, write: Callable[[Pattern], str]) -> list[Any]:
        content = write(self.content) if isinstance(self.content, re.Pattern) else self.content
        return [self.kind, "" if self.pattern is None else write(self.pattern), content]

    def to_normalizers(self) -> list[Any]:
        """Return the step, if its kind is not in `BEFORE`, as normalisers of the library `tokenizers`."""
        if self.kind == "lower":  # the library lower-cases each letter for itself, also a sigma at the end of a word
            sigma = hf.normalizers.Replace(hf.Regex(rf"(?<=[{_CASED}])Σ(?![\p{{M}}'’.:·]*[{_CASED}])"), "ς")
            return [sigma, hf.normalizers.Lowercase()]
        if self.kind == "compose":
            return [hf.normalizers.NFC()]
        if self.kind == "table":
            return [hf.normalizers.Replace(sign, form) for sign, form in self.content.items()]
        return [hf.normalizers.Replace(hf.Regex(translate_pattern(cast(Pattern, self.pattern))), self.content)]


def translate_pattern(pattern: Pattern) -> str:
    """Translate a regular expression to one without flags that Oniguruma and browsers (flag `u`) read alike."""
    folds, found = [bool(pattern.flags & re.IGNORECASE)], []
    for token in _TOKEN.findall(pattern.pattern):
        if token == "(?i:":
            folds.append(True)
            token = "(?:"
        elif token == "(":
            folds.append(folds[-1])
        elif token == ")":
            folds.pop()
        elif token[0] == "[":
            inner = re.sub(_ESCAPE, lambda escape: _INSIDE.get(escape[0]) or _decode_escape(escape[0]), token)
            token = _CLASSES.get(token, inner)
        elif token[0] == "\\":
            token = _ALONE.get(token) or _decode_escape(token)
        elif token[1:] == "+":
            token = token[0]
        elif folds[-1] and token.isascii() and token.isalpha():
            token = f"[{token.lower()}{token.upper()}]"
        found.append(token)
    return "".join(found)


def _decode_escape(escape: str) -> str:
    return chr(int(escape[2:], 16)) if escape[1] in "uUx" else escape


def describe_step(name: str, change: Callable[[str], str]) -> list[PortableStep]:
    """Describe a step of normalisation as one or more portable ones; NotAvailable: only Sentiscope does it."""
    fold = [(CONTROL, " "), (INVISIBLE, ""), (_BLANKS, " "), (_ENDS, "")]
    quotes = {chr(code): sign for code, sign in QUOTES.items()}
    known: dict[str, list[PortableStep]] = {
        "blanks folded": [PortableStep("replace", *each) for each in fold],
        "lower case": [PortableStep("lower")],
        "one form per character": [PortableStep("compose")],
        "HTML entities": [PortableStep("unescape")],
        "hashtags split": [PortableStep("hashtags", HASHTAG, HUMP)],
        "quotes straightened": [PortableStep("table", re.compile(f"[{''.join(quotes)}]"), quotes)],
    }
    if name == "look-alikes":
        entity, line, forms, blank, joiner, hidden, mark = (pattern for pattern, _ in build_lookalike_steps())
        table = PortableStep("table", forms, build_lookalike_forms())
        first = [PortableStep("entities", entity), PortableStep("replace", line, " "), table]
        rest = [PortableStep("keep", joiner), PortableStep("replace", hidden), PortableStep("replace", mark, "'")]
        return [*first, PortableStep("replace", blank, " "), *rest]
    if isinstance(change, partial):
        pattern, content = change.func.__self__, change.args[0]  # type: ignore[attr-defined]
        return [PortableStep("replace", *((re.compile(r"#(?=\w)"), "") if pattern is TAG else (pattern, content)))]
    if name not in known:
        raise NotAvailable(f"its step “{name}” is only done by Sentiscope")
    return known[name]


class PortableTokenizer:
    """A tokenizer as a pipeline of the library `tokenizers`, after the steps of normalisation that it cannot express.

    Raises NotAvailable with the reason for a tokenizer that cannot be expressed.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.state: dict[str, Any] = json.loads(tokenizer.to_json())
        if tokenizer.kind not in ("word", "bpe") or tokenizer.pairs or tokenizer.buckets:
            what = "pairs of texts" if tokenizer.pairs else "letters of words" if tokenizer.buckets else "a backbone"
            raise NotAvailable(f"it reads {what}, which only Sentiscope's own tokenizer does")
        self.tokenizer = tokenizer
        steps = choose_steps(tokenizer.config)
        described = [describe_step(name, change) for name, change in steps]
        unknown = [any(each.kind in BEFORE for each in own) for own in described]
        first = max((place for place, each in enumerate(unknown, start=1) if each), default=0)
        self._changes = [change for _, change in steps[:first]]
        self.before, rest = ([each for own in part for each in own] for part in (described[:first], described[first:]))
        self.steps = [*self.before, *rest]
        vocabulary = {name: number for number, name in enumerate((*SPECIALS, *self.state["vocabulary"]))}
        if len(vocabulary) < FIRST + len(self.state["vocabulary"]):
            raise NotAvailable(f"a word of its vocabulary is called {SPECIALS[PAD]} or {SPECIALS[UNKNOWN]}")
        if tokenizer.kind == "bpe":
            self.pipeline = build_pipeline(hf.models.BPE(vocabulary, list(map(tuple, self.state["merges"]))))
        else:
            self.pipeline = hf.Tokenizer(hf.models.WordLevel(vocabulary, SPECIALS[UNKNOWN]))
            words = hf.Regex(translate_pattern(get_word_pattern()))
            self.pipeline.pre_tokenizer = hf.pre_tokenizers.Split(words, "removed", invert=True)
        self.pipeline.normalizer = hf.normalizers.Sequence([each for step in rest for each in step.to_normalizers()])
        if tokenizer.max_length:
            self.pipeline.enable_truncation(tokenizer.max_length)
        self.pipeline.enable_padding(pad_id=PAD, pad_token=SPECIALS[PAD])

    def to_page(self) -> dict[str, Any]:
        """Return the tokenizer as plain data for a browser: steps, patterns of tokens and words, vocabulary, merges."""
        return {
            "kind": self.tokenizer.kind,
            "steps": [step.to_portable() for step in self.steps],
            "token": translate_pattern(get_word_pattern()),
            "word": translate_pattern(compile_span_pattern()),
            "line": translate_pattern(BREAK),
            "vocabulary": [*SPECIALS, *self.state["vocabulary"]],
            "merges": self.state.get("merges", []),
            "longest": self.tokenizer.max_length,
        }

    def prepare(self, text: str) -> str:
        """Apply the steps of normalisation before the pipeline to a text."""
        return apply_steps(text, self._changes)

    def find_differences(self, texts: Sequence[str]) -> list[str]:
        """Return the texts of which the pipeline makes other token ids than the tokenizer."""
        found = self.pipeline.encode_batch(list(map(self.prepare, texts)))
        read = ([token for token in each.ids if token != PAD] for each in found)
        own = self.tokenizer.encode_batch(texts)
        return [text for text, ids, right in zip(texts, read, own, strict=True) if ids != right]
