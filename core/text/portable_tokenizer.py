"""A tokenizer in forms that need no Sentiscope: a pipeline of the library `tokenizers`, and steps for other programs.

Python's regular expressions are translated to a dialect that the library (Oniguruma) and browsers read alike: classes
of letters and blanks are spelt out, capitals too, and no group is possessive.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import tokenizers as hf

from core.exceptions import NotAvailable
from core.text import normalization as known
from core.text.special_ids import PAD, SPECIALS, UNKNOWN
from core.text.subword_tokenizers import build_pipeline
from core.text.tokenizer import Tokenizer
from core.text.word_spans import compile_span_pattern
from core.text.words import get_word_pattern

Pattern = re.Pattern[str]
Kind = Literal["replace", "keep", "table", "unescape", "entities", "hashtags", "lower", "compose"]
BEFORE = ("keep", "unescape", "entities", "hashtags")  # kinds that the library `tokenizers` lacks
_SPACE = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # content of a class like \s
_WORD, _CASED = r"\p{L}\p{N}_", r"\p{Lu}\p{Ll}\p{Lt}ªºⅠ-ⅿⒶ-ⓩ"
_UNCASED = r"[\p{Mn}\p{Me}\p{Cf}\p{Lm}\p{Sk}'’‘.:·\u0387‧․﹒＇．：]"  # signs that do not end a word with capitals
_CLASSES = {r"[^\W\d_]": r"[\p{L}\p{Nl}\p{No}]", r"[^\W_]": r"[\p{L}\p{N}]"}
_INSIDE = {r"\w": _WORD, r"\s": _SPACE, r"\d": r"\p{Nd}"}
_ALONE = {r"\w": f"[{_WORD}]", r"\d": r"\p{Nd}", r"\S": f"[^{_SPACE}]", r"\s": f"[{_SPACE}]", r"\#": "#"}
_ALONE[r"\b"] = f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
_ESCAPE = r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)"
_TOKEN = re.compile(rf"{_ESCAPE}|\[(?:\\.|[^\]\\])*\]|\(\?i:|[*+?]\+|.", re.DOTALL)
_NOTHING = re.compile("")


def translate_pattern(pattern: Pattern) -> str:
    """Translate a regular expression to one without flags that Oniguruma and browsers (flag `u`) read alike."""
    folds, found = [bool(pattern.flags & re.IGNORECASE)], []
    for token in _TOKEN.findall(pattern.pattern):
        if token in ("(", "(?i:"):
            folds.append(folds[-1] or token != "(")
            token = token.replace("i", "")
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


class PortableStep(NamedTuple):
    """A step of normalisation: the kind, what it finds, and what it puts in its place."""

    kind: Kind
    pattern: Pattern = _NOTHING
    content: Any = ""  # table: character → text · hashtags: pattern of the places where words begin

    def dump(self, write: Callable[[Pattern], str] | None = None) -> list[Any]:
        """Return the step as plain data; `write` gives its patterns, by default for Python's `re`."""
        write = write or (lambda found: "(?i)" * bool(found.flags & re.IGNORECASE) + found.pattern)
        content = write(self.content) if isinstance(self.content, re.Pattern) else self.content
        return [self.kind, write(self.pattern), content]

    def build_normalizers(self) -> list[Any]:
        """Return the step, if its kind is not in `BEFORE`, as normalisers of the library `tokenizers`."""
        if self.kind == "lower":  # the library lower-cases each letter for itself, also a sigma at the end of a word
            before = "|".join(f"[{_CASED}]{_UNCASED * n}" for n in range(4))  # it looks back no further
            sigma = hf.Regex(rf"(?<={before})Σ(?!{_UNCASED}*[{_CASED}])")
            return [hf.normalizers.Replace(sigma, "ς"), hf.normalizers.Lowercase()]
        if self.kind == "compose":
            return [hf.normalizers.NFC()]
        if self.kind == "table":
            return [hf.normalizers.Replace(sign, form) for sign, form in self.content.items()]
        return [hf.normalizers.Replace(hf.Regex(translate_pattern(self.pattern)), self.content)]


def describe_step(name: str, change: Callable[[str], str]) -> list[PortableStep]:
    """Describe a step of normalisation as portable ones; NotAvailable: only Sentiscope does it."""
    if name == "look-alikes":
        entity, line, forms, blank, joiner, hidden, mark = (each for each, _ in known.build_lookalike_steps())
        first = [PortableStep("entities", entity), PortableStep("replace", line, " ")]
        first += [PortableStep("table", forms, known.build_lookalike_forms()), PortableStep("replace", blank, " ")]
        return [
            *first,
            PortableStep("keep", joiner),
            PortableStep("replace", hidden),
            PortableStep("replace", mark, "'"),
        ]
    if isinstance(change, partial):
        pattern, content = change.func.__self__, change.args[0]  # type: ignore[attr-defined]
        return [
            PortableStep("replace", *((re.compile(r"#(?=\w)"), "") if pattern is known.TAG else (pattern, content)))
        ]
    quotes = {chr(code): sign for code, sign in known.QUOTES.items()}
    fold = [(known.CONTROL, " "), (known.INVISIBLE, ""), (re.compile(f"[{_SPACE}]+"), " "), (re.compile("^ | $"), "")]
    found = {
        "blanks folded": [PortableStep("replace", *each) for each in fold],
        "lower case": [PortableStep("lower")],
        "one form per character": [PortableStep("compose")],
        "HTML entities": [PortableStep("unescape")],
        "hashtags split": [PortableStep("hashtags", known.HASHTAG, known.HUMP)],
        "quotes straightened": [PortableStep("table", re.compile(f"[{''.join(quotes)}]"), quotes)],
    }
    if name not in found:
        raise NotAvailable(f"its step “{name}” is only done by Sentiscope")
    return found[name]


class PortableTokenizer:
    """A tokenizer as a pipeline of the library `tokenizers`, after the steps of normalisation that it cannot express.

    Raises NotAvailable with the reason for a tokenizer that cannot be expressed.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        if tokenizer.kind not in ("word", "bpe") or tokenizer.pairs or tokenizer.buckets:
            what = "pairs of texts" if tokenizer.pairs else "letters of words" if tokenizer.buckets else tokenizer.kind
            raise NotAvailable(f"its tokenizer ({what}) is not one of words or byte pairs")
        self.tokenizer, self._state = tokenizer, json.loads(tokenizer.to_json())
        steps = known.choose_steps(tokenizer.config)
        described = [describe_step(name, change) for name, change in steps]
        unknown = [any(each.kind in BEFORE for each in own) for own in described]
        first = max((place for place, each in enumerate(unknown, start=1) if each), default=0)
        self._changes = [change for _, change in steps[:first]]
        self.before, rest = ([each for own in part for each in own] for part in (described[:first], described[first:]))
        self.steps = [*self.before, *rest]
        names = [*SPECIALS, *self._state["vocabulary"]]
        vocabulary = {name: number for number, name in enumerate(names)}
        if len(vocabulary) < len(names):
            raise NotAvailable(f"a word of its vocabulary is called {' or '.join(SPECIALS)}")
        if tokenizer.kind == "bpe":
            self.pipeline = build_pipeline(hf.models.BPE(vocabulary, list(map(tuple, self._state["merges"]))))
        else:
            self.pipeline = hf.Tokenizer(hf.models.WordLevel(vocabulary, SPECIALS[UNKNOWN]))
            words = hf.Regex(translate_pattern(get_word_pattern()))
            self.pipeline.pre_tokenizer = hf.pre_tokenizers.Split(words, "removed", invert=True)
        self.pipeline.normalizer = hf.normalizers.Sequence([each for step in rest for each in step.build_normalizers()])
        if tokenizer.max_length:
            self.pipeline.enable_truncation(tokenizer.max_length)
        self.pipeline.enable_padding(pad_id=PAD, pad_token=SPECIALS[PAD])

    def describe_page(self) -> dict[str, Any]:
        """Return the tokenizer as plain data for a browser: steps, patterns of tokens and words, vocabulary, merges."""
        patterns = {"token": get_word_pattern(), "word": compile_span_pattern(), "line": known.BREAK}
        return {
            "kind": self.tokenizer.kind,
            "steps": [step.dump(translate_pattern) for step in self.steps],
            **{name: translate_pattern(pattern) for name, pattern in patterns.items()},
            "vocabulary": [*SPECIALS, *self._state["vocabulary"]],
            "merges": self._state.get("merges", []),
            "longest": self.tokenizer.max_length,
        }

    def find_differences(self, texts: Sequence[str]) -> list[str]:
        """Return the texts of which the pipeline makes other token ids than the tokenizer."""
        found = self.pipeline.encode_batch([known.apply_steps(text, self._changes) for text in texts])
        read = ([token for token in each.ids if token != PAD] for each in found)
        own = self.tokenizer.encode_batch(texts)
        return [text for text, ids, right in zip(texts, read, own, strict=True) if ids != right]
