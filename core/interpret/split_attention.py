"""Measures of attention over many texts: entropy, mass on kinds of tokens, distance of maps, deviation, and gates.

All maps of a text are read from one trace. Texts of equal length form a batch, so that no text has padding and the maps
of two texts can be exchanged. Each measure is a mean over texts with a 95 % percentile bootstrap interval over texts.
"""

import copy
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.evaluation.class_separability import AT_ONCE, PAIRS
from core.evaluation.inference import OnBatch, get_device, ignore_progress, switch_to_eval
from core.evaluation.intervals import TAILS, draw_resamples
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch, LayerTrace, Trace
from core.text.graphemes import clip_text
from core.text.lexicon import VADER, Lexicon
from core.text.pos_tags import MODELS, TAGS, Tagger, detect_language
from core.text.token_table import TokenTable, build_token_table, split_batches
from core.text.tokenizer import Tokenizer

SEED = 0
EXAMPLES, LONGEST = 5, 300  # texts listed for each head, and characters of a text that are kept
POSITIONS = ("class token", "first token")
WORDS = ("punctuation", "polar words", "positive words", "negative words", "unlisted words")
PARTS_OF_SPEECH = {
    tag: name
    for tag, name in zip(
        TAGS,
        (
            *("nouns", "verbs", "adjectives", "adverbs", "pronouns", "determiners", "adpositions", "numerals"),
            *("conjunctions", "particles", "punctuation", "other words"),
        ),
        strict=True,
    )
    if tag != "PUNCT"
}
OF_MAPS = ("entropy", "entropy share", "received entropy", "received entropy share", "effective keys", "tokens")
"""Measures of one map: entropy of its rows in nats, that as a share of uniform attention, the same two of the attention
that keys receive, exp(entropy of a row), and the mean |i − j| between query and key."""


class TokenKinds(NamedTuple):
    """The kinds of tokens of many texts: names, and for each token of a table which kinds it has."""

    names: tuple[str, ...]
    has: np.ndarray  # (all tokens, K) bool
    neutral: np.ndarray | None  # (all tokens,) bool: not in the lexicon; None without a lexicon
    lexicon: str  # name of the lexicon; empty: none for this language


def find_token_kinds(tokenizer: Tokenizer, texts: Sequence[str], table: TokenTable) -> TokenKinds:
    """Find punctuation, polar words and parts of speech among tokens, by the tokenizer's tools or the usual ones."""
    language, reader = detect_language(texts), copy.copy(tokenizer)
    lexicon = tokenizer.config.lexicon if tokenizer.lexicon is not None else VADER if language == "en" else ""
    if reader.tagger is None and language in MODELS:
        reader.tagger = Tagger(language)
    if reader.lexicon is None and lexicon:
        reader.set_lexicon(Lexicon.from_config(dataclasses.replace(tokenizer.config, lexicon=lexicon)))
    known = table if reader.tagger is None and reader.lexicon is None else build_token_table(reader, texts)
    words = {each: any(map(str.isalnum, tokenizer.name(each))) for each in np.unique(table.flat).tolist()}
    found = {"punctuation": ~np.array([words[each] for each in table.flat.tolist()], bool)}
    neutral = None
    if known.polarity is not None:
        positive, _, negative = known.polarity.reshape(len(known.flat), -1, 3).mean(1).T
        neutral = np.isclose(known.polarity, 1 / 3).all(1)
        found |= {"polar words": ~neutral, "positive words": positive > negative, "negative words": negative > positive}
        found["unlisted words"] = neutral & ~found["punctuation"]
    if known.tags is not None:
        found["punctuation"] = known.tags == TAGS.index("PUNCT") + 1
        found |= {name: known.tags == TAGS.index(tag) + 1 for tag, name in PARTS_OF_SPEECH.items()}
    return TokenKinds(tuple(found), np.stack(list(found.values()), 1), neutral, lexicon)


Sums = dict[str, np.ndarray]  # measure → (n, …) of each text; NaN: undefined for the text


def measure_texts(
    model: EncoderClassifier, table: TokenTable, kinds: TokenKinds, on_batch: OnBatch = ignore_progress
) -> Sums:
    """Measure the attention maps of each text in one traced forward pass; texts without maps have NaN everywhere.

    Letters: n texts, T layers, H heads, N components, P pairs of components, K kinds of `POSITIONS` and `kinds`.

    Returns:
        `maps` (n, T, H, N, 6), in the order of `OF_MAPS`; `mass` (n, T, H, N, K) on each kind; `keys` (n, K): its share
        of the keys; `js` and `exchanged` (n, T, H, P): Jensen–Shannon distance between component maps of one text, and
        of two texts of equal length; `rollout` (n, T): attention rollout on the class token; `deviation` (n, T, 2):
        standard deviation of the attention from and to the class token; `gates` (n, T, K) and `gated` (n, K): sum of
        gates and number of tokens of each kind; `output` (n, T, H): mean norm of a head's output; `head` (n, h, 4):
        received entropy, its share of uniform, received mass of the first token, row entropy share.
    """
    found: Sums = {}
    device, batches = get_device(model), list(split_by_length(table))
    with switch_to_eval(model):
        for number, rows in enumerate(batches):
            on_batch(number / len(batches))
            trace = model(Batch.from_arrays(table.pad_rows(rows)).to(device), trace=True).trace
            if trace.layers[0].maps is None:
                continue
            places = table.offsets[rows][:, None] + np.arange(int(table.lengths[rows[0]]))
            for name, values in _measure_batch(model, trace, torch.from_numpy(kinds.has[places])).items():
                whole = found.setdefault(name, np.full((len(table), *values.shape[1:]), np.nan))
                whole[rows] = values.double().cpu().numpy()
    return found


def split_by_length(table: TokenTable) -> Iterator[np.ndarray]:
    """Yield the row numbers of batches of texts with equally many tokens, longest first; texts without are left out."""
    order = np.argsort(-table.lengths, kind="stable")
    for length in sorted(set(table.lengths.tolist()) - {0}, reverse=True):
        yield from split_batches(order[table.lengths[order] == length], max(2, min(AT_ONCE, PAIRS // length**2)))


def _measure_batch(model: EncoderClassifier, trace: Trace, has: Tensor) -> dict[str, Tensor]:
    """Measure the maps of B texts of equal length; `has` (B, tokens, K) are the kinds of their tokens."""
    real, length = int(trace.keep[0].sum()), trace.keep.shape[1]
    first, read = model.first, has.shape[1]
    member = torch.zeros(len(has), length, len(POSITIONS) + has.shape[2], device=trace.keep.device)  # (B, L, K)
    if first:
        member[:, 0, 0] = 1
    member[:, first, 1] = 1
    member[:, first : first + read, len(POSITIONS) :] = has.to(member)
    text = torch.zeros(length, device=member.device)
    text[first : first + read] = 1
    steps = torch.arange(length, device=member.device, dtype=torch.float)
    apart = (steps[:real, None] - steps).abs()  # (R, L)
    layers = [_measure_layer(layer, real, member, apart) for layer in trace.layers]
    found = {name: torch.stack([layer[name] for layer in layers], 1) for name in layers[0]}
    found["keys"] = member.mean(1)
    if first:
        found["rollout"] = torch.stack(list(_compute_rollout(trace.layers, real)), 1)
        found["deviation"] = torch.stack([_measure_deviation(layer, real) for layer in trace.layers], 1)
    gates = [layer.gates for layer in trace.layers if layer.gates is not None]
    if gates:
        own = torch.cat([member[..., len(POSITIONS) :], text.expand(len(has), -1)[..., None]], 2)
        found["gates"] = torch.stack([torch.einsum("bl,blk->bk", gate, own) for gate in gates], 1)
        found["gated"] = own.sum(1)
    if trace.head is not None and trace.head.maps is not None:
        found["head"] = _measure_received(trace.head.maps[:, None, :, :real], None, model.first)
        found["last"] = _measure_received(trace.layers[-1].combined[:, None, :, :real], None, model.first)
    return found


def _measure_layer(layer: LayerTrace, real: int, member: Tensor, apart: Tensor) -> dict[str, Tensor]:
    maps = layer.combined[:, None] if layer.maps is None else layer.maps
    rows = maps.transpose(1, 2)[..., :real, :]  # (B, H, N, R, L)
    entropy = torch.special.entr(rows).sum(-1)
    received = rows.mean(-2)  # (B, H, N, L)
    spread = torch.special.entr(received).sum(-1)
    each = (
        entropy.mean(-1),
        _divide_by_uniform(entropy, layer.support, real, rows.shape[-1]),
        spread,
        spread / math.log(rows.shape[-1]) if rows.shape[-1] > 1 else torch.full_like(spread, torch.nan),
        entropy.exp().mean(-1),
        (rows * apart).sum(-1).mean(-1),
    )
    found = {
        "maps": torch.stack(each, -1),
        "mass": torch.einsum("bhnl,blk->bhnk", received, member),
        "output": layer.head_outputs[:, :, :real].norm(dim=-1).mean(-1),
    }
    pairs = list(combinations(range(rows.shape[2]), 2))
    if pairs:
        one, other = (rows[:, :, [pair[side] for pair in pairs]] for side in (0, 1))
        found["js"] = compute_js_distance(one, other).mean(-1)
        alone = torch.full_like(found["js"], torch.nan)
        found["exchanged"] = compute_js_distance(one, other.roll(1, 0)).mean(-1) if len(rows) > 1 else alone
    return found


def _divide_by_uniform(entropy: Tensor, support: Tensor | None, real: int, length: int) -> Tensor:
    """Return the mean over queries of the entropy as a share of ln(valid keys), for queries with several valid keys."""
    valid = entropy.new_full((len(entropy), real), length) if support is None else support[:, :real].sum(-1)
    several = (valid > 1)[:, None, None]
    most = valid.clamp(min=2).log()[:, None, None]
    return ((entropy / most) * several).sum(-1) / several.sum(-1).where(several.any(-1), torch.nan)


def compute_js_distance(one: Tensor, other: Tensor) -> Tensor:
    """Compute the Jensen–Shannon distance of distributions along the last axis: the root of the divergence in bits."""
    middle = torch.special.entr((one + other) / 2).sum(-1)
    halves = (torch.special.entr(one).sum(-1) + torch.special.entr(other).sum(-1)) / 2
    return ((middle - halves) / math.log(2)).clamp(0, 1).sqrt()


def _compute_rollout(layers: Sequence[LayerTrace], real: int) -> Iterator[Tensor]:
    """Yield, layer by layer, the mass (B,) of attention rollout on the class token, mean over queries.

    Abnar and Zuidema (2020): the product of (I + A) / 2, A the mean over heads. Subtracted maps can make weights
    negative, so that A has their absolute values, divided by the sum of the row.
    """
    whole: Tensor | None = None
    for layer in layers:
        weights = layer.combined.abs().mean(1)
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)
        own = (weights + torch.eye(weights.shape[-1], device=weights.device)) / 2
        whole = own if whole is None else own @ whole
        yield whole[:, :real, 0].mean(1)


def _measure_deviation(layer: LayerTrace, real: int) -> Tensor:
    """Return the deviations (B, 2) of attention from and to the class token, heads averaged first; NaN: one token."""
    weights = layer.combined.mean(1)[:, :real, :real]
    if real < 3:
        return weights.new_full((len(weights), 2), torch.nan)
    return torch.stack([weights[:, 0, 1:].std(-1), weights[:, 1:, 0].std(-1)], 1)


def _measure_received(maps: Tensor, support: Tensor | None, first: int) -> Tensor:
    """Measure the attention that keys receive in maps (B, 1, h, R, L): (B, h, 4)."""
    rows = maps[:, 0].clamp(min=0)
    rows = rows / rows.sum(-1, keepdim=True).clamp(min=1e-12)
    received, real, length = rows.mean(-2), rows.shape[-2], rows.shape[-1]
    spread, most = torch.special.entr(received).sum(-1), math.log(length) if length > 1 else math.nan
    entropy = torch.special.entr(rows).sum(-1)
    shares = _divide_by_uniform(entropy[:, :, None], support, real, length)[..., 0]
    return torch.stack([spread, spread / most, received[..., first], shares], -1)


class Estimates(NamedTuple):
    """Means over texts with the ends of their 95 % bootstrap intervals; NaN where no text defines one."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def describe(self, *place: int) -> dict[str, Any]:
        """Return the value and interval at a place as plain data; None where undefined."""
        value, low, high = (float(each[place]) for each in self)
        known = math.isfinite(value)
        return {"value": value if known else None, "interval": [low, high] if math.isfinite(low) else None}


def estimate_means(values: np.ndarray, weights: np.ndarray | None = None, seed: int = SEED) -> Estimates:
    """Estimate the mean over texts of values (n, …), or the sum of values over that of `weights`, with intervals."""
    shape, flat = values.shape[1:], values.reshape(len(values), -1)
    known = np.isfinite(flat)
    counts = known.astype(float) if weights is None else np.broadcast_to(weights, values.shape).reshape(flat.shape)
    top, below = np.where(known, flat, 0), np.where(known, counts, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = top.sum(0) / below.sum(0)
        drawn = np.concatenate([(w @ top) / (w @ below) for w in draw_resamples(len(flat), seed)])
    low, high = np.full((2, flat.shape[1]), np.nan)
    if flat.shape[1] and (there := np.isfinite(drawn).all(0)).any():
        low[there], high[there] = np.percentile(drawn[:, there], TAILS, axis=0)
    return Estimates(*(each.reshape(shape) for each in (value, low, high)))


def describe_split(
    own: Sums, untrained: Sums, kinds: TokenKinds, texts: Sequence[str], table: TokenTable
) -> dict[str, Any]:
    """Return all measures of a split as plain data, from the measures of the run and of an untrained model.

    Layers and heads count from 1, components from 0, as in edits.

    Returns:
        `entropy`, `mass`, `distance`, `deviation`, `gates`, `received`: lists of rows with `value`, `interval` and,
        where there is one, `control` (`component` None: heads have one map); `neutral`: share of tokens outside the
        lexicon; `examples`: the texts with the largest output of each head; `left_out`: texts without maps; `by_text`:
        deviation of each text.
    """
    there = np.isfinite(own["maps"]).any((1, 2, 3, 4)) if "maps" in own else np.zeros(len(texts), bool)
    if "mass" in own:  # of texts that have a token of the kind
        has = np.where(own["keys"] > 0, 1.0, np.nan)[:, None, None, None]  # (n, 1, 1, 1, K)
        own, untrained = ({**each, "mass": each["mass"] * has} for each in (own, untrained))
    means, controls = (
        {name: estimate_means(values) for name, values in each.items() if name not in ("gates", "gated", "keys")}
        for each in (own, untrained)
    )
    deviation = own.get("deviation", np.zeros(0))
    by_text = np.where(np.isfinite(deviation), deviation.round(6).astype(object), np.array(None)).tolist()
    return {
        "texts": int(there.sum()),
        "left_out": int((~there).sum()),
        "entropy": list(_list_map_rows(means, controls, OF_MAPS[:-1], 0)),
        "mass": [*_list_mass_rows(means, controls, own, kinds), *_list_rollout_rows(means, controls)],
        "distance": [
            *_list_map_rows(means, controls, OF_MAPS[-1:], len(OF_MAPS) - 1),
            *_list_component_rows(means, controls),
        ],
        "deviation": list(_list_deviation_rows(means, controls)),
        "gates": list(_list_gate_rows(own, kinds)),
        "received": list(_list_received_rows(means)),
        "neutral": None if kinds.neutral is None else describe_neutral(kinds.neutral, table, kinds.lexicon),
        "examples": _list_examples(own, texts) if "output" in own else [],
        "by_text": by_text,
    }


def _iterate_maps(values: np.ndarray) -> Iterator[tuple[tuple[int, ...], dict[str, int | None]]]:
    several = values.shape[2] > 1
    for place in np.ndindex(values.shape[:3]):
        yield place, {"layer": place[0] + 1, "head": place[1] + 1, "component": place[2] if several else None}


def _list_map_rows(
    means: Mapping[str, Estimates], controls: Mapping[str, Estimates], names: Sequence[str], start: int
) -> Iterator[dict[str, Any]]:
    for place, about in _iterate_maps(means["maps"].value) if "maps" in means else ():
        for at, name in enumerate(names, start):
            control = {"untrained": controls["maps"].describe(*place, at)}
            yield {**about, "measure": name, **means["maps"].describe(*place, at), "control": control}


def _list_mass_rows(
    means: Mapping[str, Estimates], controls: Mapping[str, Estimates], own: Sums, kinds: TokenKinds
) -> Iterator[dict[str, Any]]:
    """Yield the mass on each kind over the texts that have one, with the share that uniform attention would give."""
    if "mass" not in own:
        return
    names = (*POSITIONS, *kinds.names)
    uniform = estimate_means(np.where(own["keys"] > 0, own["keys"], np.nan))
    for place, about in _iterate_maps(means["mass"].value):
        for at, name in enumerate(names):
            if math.isfinite(uniform.value[at]):
                control = {"uniform": uniform.describe(at), "untrained": controls["mass"].describe(*place, at)}
                yield {**about, "measure": name, **means["mass"].describe(*place, at), "control": control}


def _list_rollout_rows(means: Mapping[str, Estimates], controls: Mapping[str, Estimates]) -> Iterator[dict[str, Any]]:
    for at in range(len(means["rollout"].value) if "rollout" in means else 0):
        control = {"untrained": controls["rollout"].describe(at)}
        about = {"layer": at + 1, "head": None, "component": None, "measure": "rollout on the class token"}
        yield {**about, **means["rollout"].describe(at), "control": control}


def _list_component_rows(means: Mapping[str, Estimates], controls: Mapping[str, Estimates]) -> Iterator[dict[str, Any]]:
    """Yield the Jensen–Shannon distances of component maps; `outside`: above both controls, intervals apart."""
    if "js" not in means:
        return
    count = means["maps"].value.shape[2]
    for layer, head in np.ndindex(means["js"].value.shape[:2]):
        for at, (one, other) in enumerate(combinations(range(count), 2)):
            place = layer, head, at
            found = means["js"].describe(*place)
            control = {"exchanged": means["exchanged"].describe(*place), "untrained": controls["js"].describe(*place)}
            most = max((each["interval"] or [0, 1])[1] for each in control.values())
            yield {
                **{"layer": layer + 1, "head": head + 1, "component": one, "other": other},
                **{"measure": "Jensen–Shannon", **found, "control": control},
                "outside": bool(found["interval"] and found["interval"][0] > most),
            }


def _list_deviation_rows(means: Mapping[str, Estimates], controls: Mapping[str, Estimates]) -> Iterator[dict[str, Any]]:
    for layer in range(len(means["deviation"].value) if "deviation" in means else 0):
        for at, name in enumerate(DEVIATIONS):
            control = {"untrained": controls["deviation"].describe(layer, at)}
            yield {"layer": layer + 1, "measure": name, **means["deviation"].describe(layer, at), "control": control}


DEVIATIONS = ("class token → others", "others → class token")


def _list_gate_rows(own: Sums, kinds: TokenKinds) -> Iterator[dict[str, Any]]:
    """Yield the mean gate of the tokens of each kind in each layer; the control is the mean gate of all tokens."""
    if "gates" not in own:
        return
    counts = own["gated"]
    found = estimate_means(own["gates"], counts[:, None])
    for layer in range(found.value.shape[0]):
        for at, name in enumerate(kinds.names):
            if np.nansum(counts[:, at]):
                about = {"layer": layer + 1, "measure": name, "n": int(np.nansum(counts[:, at]))}
                yield {**about, **found.describe(layer, at), "control": {"all": found.describe(layer, -1)}}


RECEIVED = ("received entropy", "received entropy share", "mass on the first token", "entropy share")


def _list_received_rows(means: Mapping[str, Estimates]) -> Iterator[dict[str, Any]]:
    """Yield what keys receive in each map of the model's own head, and as control the mean in the last layer."""
    if "head" not in means:
        return
    for head in range(means["head"].value.shape[0]):
        for at, name in enumerate(RECEIVED):
            last = float(np.nanmean(means["last"].value[:, at]))
            control = {"last layer": {"value": last, "interval": None}}
            yield {"head": head + 1, "measure": name, **means["head"].describe(head, at), "control": control}


def describe_neutral(neutral: np.ndarray, table: TokenTable, lexicon: str) -> dict[str, Any] | None:
    """Return the share of tokens that a lexicon does not list, with its interval over texts; None without tokens."""
    if not len(neutral):
        return None
    hits = np.bincount(np.repeat(np.arange(len(table)), table.lengths), neutral, len(table))[:, None]
    found = estimate_means(hits, table.lengths[:, None].astype(float)).describe(0)
    return {**found, "tokens": len(neutral), "lexicon": lexicon}


def _list_examples(own: Sums, texts: Sequence[str]) -> list[dict[str, Any]]:
    """List, for each head, the texts in which the mean norm of its output over tokens is largest."""
    found = []
    for layer, head in np.ndindex(own["output"].shape[1:]):
        sizes = np.nan_to_num(own["output"][:, layer, head], nan=-1)
        order = np.argsort(-sizes, kind="stable")[:EXAMPLES]
        order = order[sizes[order] >= 0]
        rows = [{"text": clip_text(texts[row], LONGEST), "norm": round(float(sizes[row]), 4)} for row in order]
        found.append({"layer": layer + 1, "head": head + 1, "texts": rows})
    return found


def measure_split(
    model: EncoderClassifier,
    untrained: EncoderClassifier,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    tell: Callable[[str, float | None], None] = lambda what, share: None,
) -> dict[str, Any]:
    """Measure a model's attention over texts, with an untrained model of its shape as control (`describe_split`)."""
    tell("finding parts of speech and polar words", None)
    table = build_token_table(tokenizer, texts)
    kinds = find_token_kinds(tokenizer, texts, table)
    own = measure_texts(model, table, kinds, lambda share: tell("reading attention maps", share / 2))
    control = measure_texts(untrained, table, kinds, lambda share: tell("reading untrained maps", (1 + share) / 2))
    tell("drawing resamples", None)
    return describe_split(own, control, kinds, texts, table)
