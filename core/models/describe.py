"""A model's parts in the order in which a text passes them, each with its size, without building it.

The sizes are closed formulas, so that pages and the command line can tell them without torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.models.config import AttentionConfig, Constraint, Family, ModelConfig

TAG_ROWS = 14
"""Universal parts of speech, one row for unknown ones and one for the class token."""
RANGES: dict[Constraint, str] = {"01": "[0,1]", "pm1": "[−1,1]", "pos": "[0,∞)", "free": "(−∞,∞)"}
_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "swiglu": "SwiGLU"}
_NORMS = {"layer": "LayerNorm", "rms": "RMSNorm", "none": ""}
_FACTORS = {"sinusoid": "α", "recency": "β", "part of speech": "γ"}
_OF_FAMILY: dict[Family, tuple[str, ...]] = {
    "bilstm": ("LSTM in both directions",),
    "cnn": ("convolutions", "largest values"),
    "tfidf-logreg": ("TF-IDF", "logistic regression"),
    "tfidf-nb": ("TF-IDF", "naive Bayes"),
    "tfidf-svm": ("TF-IDF", "linear SVM"),
    "lexicon": ("valences of a lexicon",),
}


@dataclass(frozen=True)
class Term:
    """Something that an attention has beside queries, keys and values."""

    name: str
    """Short, as it stands in a table: `gate`."""
    detail: str
    """What it does, in a few words."""
    parameters: int = 0


@dataclass(frozen=True)
class Part:
    """One step from the text to the answer."""

    key: str
    """embedding, positions, attention, norm, feedforward, recurrence, convolutions, largest, head-attention, pooling,
    dense, classifier, counts, valences."""
    title: str
    detail: str
    parameters: int = 0
    """Of one copy."""
    times: int = 1
    """Copies: layers have their own weights each."""
    layer: bool = False
    """Whether it belongs to the layers that are repeated."""
    terms: tuple[Term, ...] = ()
    """Attention only; their parameters are counted in `parameters`."""


def parameters(config: ModelConfig, *, vocabulary: int, classes: int) -> int:
    """Trained numbers of the model that `core.models.build.build` makes.

    Args:
        config: any valid one.
        vocabulary: token ids; n-grams for the TF-IDF families.
        classes: C.
    """
    return sum(part.parameters * part.times for part in parts(config, vocabulary=vocabulary, classes=classes))


def parts(config: ModelConfig, *, vocabulary: int, classes: int) -> tuple[Part, ...]:
    """What a text passes, from its tokens to the logits; arguments as of `parameters`."""
    if config.family == "encoder":
        return (*_input(config, vocabulary), *_layers(config), *_output(config, classes))
    if config.family == "lexicon":
        return (
            Part("valences", "Valences", "of the words in the lexicon: sum and mean"),
            Part("classifier", "Classifier", f"2 numbers → {classes} classes", 2 * classes + classes),
        )
    if config.family in ("bilstm", "cnn"):
        return tuple(_vector_parts(config, vocabulary, classes))
    return (
        Part("counts", *_capital(_OF_FAMILY[config.family][0], "of words and of pairs of neighbours")),
        Part("classifier", *_capital(_OF_FAMILY[config.family][1], f"→ {classes} classes"), (vocabulary + 1) * classes),
    )


def marks(config: ModelConfig) -> tuple[str, ...]:
    """What the model has beside a plain transformer encoder, in a few words each; the family of a baseline."""
    if config.family != "encoder":
        return _OF_FAMILY[config.family]
    found = [term.name for term in _terms(config)]
    if config.position == "polarity-aware":
        further = [name for name in _positions(config) if name != "sinusoid"]
        found.append(f"positions with {' and '.join(further)}" if further else "learned factor of positions")
    if config.norm == "none":
        found.append("no norm")
    if config.head.kernels:
        found.append(f"convolutions {config.head.kernels}")
    if config.head.attention_heads:
        found.append("attention in the head")
    if config.head.dense:
        found.append("dense layer")
    if config.head.one_logit:
        found.append("one logit")
    if config.pad_mode == "as_released":
        found.append("padding as released")
    return tuple(found)


def _input(config: ModelConfig, vocabulary: int) -> Iterator[Part]:
    d, first = config.width, config.pooling == "cls"
    detail = f"{_spaced(vocabulary)} tokens × {d}{', a class token in front' if first else ''}"
    yield Part("embedding", "Embedding", detail, (vocabulary + first) * d)
    if config.position == "sinusoidal":
        yield Part("positions", "Positions", "sinusoids, nothing learned")
    if config.position == "polarity-aware":
        named = _positions(config)
        table = TAG_ROWS * d if config.pos_tags else 0
        said = ", ".join(f"{_FACTORS[name]} · {name}" for name in named)
        yield Part("positions", "Polarity-aware positions", said, len(named) + table)


def _positions(config: ModelConfig) -> tuple[str, ...]:
    """Terms of polarity-aware positions."""
    further = {"recency": config.recency, "part of speech": config.pos_tags}
    return ("sinusoid", *(name for name, on in further.items() if on))


def _layers(config: ModelConfig) -> Iterator[Part]:
    attention = _attention(config)
    d, f = config.width, config.ff_width
    size = d * f * 3 + 2 * f + d if config.feedforward == "swiglu" else d * f * 2 + f + d
    inside = f"{_ACTIVATIONS[config.feedforward]}, {d} → {f} → {d}"
    feedforward = Part("feedforward", "Feed-forward", inside, size, config.layers, layer=True)
    for part in (attention, feedforward):
        norm = Part("norm", _NORMS[config.norm], "", _norm(config), config.layers, layer=True)
        around = [part] if config.norm == "none" else [norm, part] if config.norm_place == "pre" else [part, norm]
        yield from around
    if config.norm_place == "pre" and config.norm != "none":
        yield Part("norm", _NORMS[config.norm], "after the last layer", _norm(config))


def _norm(config: ModelConfig) -> int:
    return {"layer": 2, "rms": 1, "none": 0}[config.norm] * config.width


def _attention(config: ModelConfig) -> Part:
    part, d = config.attention, config.width
    qk = qk_width(config)
    terms = tuple(_terms(config))
    projections = 2 * part.components * qk * (d + 1) + 2 * d * (d + 1)
    heads = f"{part.heads} {'head' if part.heads == 1 else 'heads'}"
    sizes = f"queries of {qk // part.heads}, values of {d // part.heads}"
    return Part(
        "attention",
        "Attention",
        f"{heads}, {sizes}",
        projections + sum(term.parameters for term in terms),
        config.layers,
        layer=True,
        terms=terms,
    )


def qk_width(config: ModelConfig) -> int:
    """Total width of the queries of one component."""
    return config.width // 2 if config.attention.qk_width == "half" else config.width


def _terms(config: ModelConfig) -> Iterator[Term]:
    """In the order in which they act: what makes a score, who sees whom, how maps combine, what follows."""
    part, d = config.attention, config.width
    if part.rotary:
        yield Term("rotary", "queries and keys turned by their place")
    if part.qk_norm:
        yield Term("QK-norm", "cosines times a learned temperature τ", 1)
    if part.gate:
        guided = ", wider for words of the lexicon" if part.lexicon_gate else ""
        yield Term(
            "lexicon gate" if part.lexicon_gate else "gate",
            f"each key weighed between 0 and 1{guided}",
            d + 1 + part.lexicon_gate,
        )
    if part.lexical != "none":
        yield _lexical(part)
    if part.window:
        seen = f"{part.window} neighbours; first, last and {part.random_globals} random tokens see all"
        yield Term(f"window {part.window}", seen)
    if part.mixing != "single":
        yield _mixing(config)
    if part.row_norm:
        yield Term("row norm", "weights of the maps divided by the sum of their magnitudes")
    if part.head_norm:
        yield Term("head norm", "RMSNorm of each head's output", d // part.heads)


def _lexical(part: AttentionConfig) -> Term:
    where = "the last head" if part.lexical_heads == "last" else "all heads"
    if part.lexical_component >= 0:
        where += f" of map {part.lexical_component + 1}"
    if part.lexical == "hadamard":
        return Term("σ multiplied", f"content scores times the product of two words' polarities, {where}")
    name = "σ added" + (" in the last head" if part.lexical_heads == "last" else "")
    divided, learned = ", over √(head width)", "; strength learned"
    detail = f"product of two words' polarities, {where}{divided * part.lexical_scaled}{learned * part.learn_strength}"
    return Term(name + ", scaled" * part.lexical_scaled, detail, int(part.learn_strength))


def _start(part: AttentionConfig) -> str:
    return "" if part.start is None else f", starting at {part.start:g}"


def _mixing(config: ModelConfig) -> Term:
    part, d = config.attention, config.width
    sets = part.heads if part.lambda_per_head else 1
    if part.mixing == "differential":
        per = " per head" if part.lambda_per_head else ""
        return Term(
            "A₁ − λA₂", f"two maps subtracted, one λ{per}{_start(part)}", 4 * sets * (qk_width(config) // part.heads)
        )
    if part.mixing == "differential-v2":
        return Term("A₁ − λA₂, λ of the token", "two maps subtracted, λ per token and head", d * part.heads)
    extra = (part.components - 1) * sets
    vectors = extra * (d // 4) * (1 + d if part.lambda_input else 2)
    each = " per token" if part.lambda_input else " per head" if part.lambda_per_head else ""
    maps = "1 map" if part.components == 1 else f"{part.components} maps"
    return Term(
        f"{maps}, λ in {RANGES[part.constraint]}",
        f"further maps added, each with its λ{each}{', β learned' if part.learn_beta else ''}{_start(part)}",
        vectors + (extra if part.learn_beta else 0),
    )


def _output(config: ModelConfig, classes: int) -> Iterator[Part]:
    head, d = config.head, config.width
    kernels = head.widths()
    joined = d + len(kernels) * head.channels
    if kernels:
        size = sum(d * head.channels * k + 3 * head.channels for k in kernels)  # weights, bias, batch norm
        yield Part(
            "convolutions",
            "Convolutions",
            f"{_listed(kernels)} tokens wide, {head.channels} channels each, beside the tokens: {joined}",
            size,
        )
    if head.attention_heads:
        yield Part(
            "head-attention",
            "Attention of the head",
            f"{head.attention_heads} heads over {joined}",
            4 * joined * (joined + 1),
        )
    pooled = "the class token" if config.pooling == "cls" else "mean of the tokens"
    if config.pad_mode == "as_released":
        pooled = "mean of all places, padding too"
    yield Part("pooling", "Pooling", pooled)
    yield from _classifier(config, joined, classes)


def _classifier(config: ModelConfig, width: int, classes: int) -> Iterator[Part]:
    dense, outputs = config.head.dense, 1 if config.head.one_logit else classes
    if dense:
        yield Part("dense", "Dense layer", f"{width} → {dense}, ReLU, LayerNorm", dense * (width + 1) + 2 * dense)
        width = dense
    said = f"{width} → 1, its sigmoid" if config.head.one_logit else f"{width} → {classes} classes"
    yield Part("classifier", "Classifier", said, outputs * (width + 1))


def _vector_parts(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[Part]:
    w = config.width
    yield Part("embedding", "Embedding", f"{_spaced(vocabulary)} tokens × {w}", vocabulary * w)
    if config.family == "bilstm":
        s = config.ff_width
        for layer in range(config.layers):
            inner = w if layer == 0 else 2 * s
            detail = f"{s} states forwards, {s} backwards"
            yield Part("recurrence", "LSTM, both directions", detail, 2 * 4 * s * (inner + s + 2))
        yield Part("pooling", "Last states", "of both directions")
        yield from _classifier(config, 2 * s, classes)
        return
    kernels, channels = config.head.widths(), config.head.channels
    size = sum(w * channels * k + channels for k in kernels)
    yield Part("convolutions", "Convolutions", f"{_listed(kernels)} tokens wide, {channels} filters each", size)
    yield Part("largest", "Largest value", "of each filter over the tokens")
    yield from _classifier(config, len(kernels) * channels, classes)


def _capital(title: str, detail: str) -> tuple[str, str]:
    return title[0].upper() + title[1:], detail


def _listed(numbers: tuple[int, ...]) -> str:
    """2, 3 and 5."""
    *some, last = map(str, numbers)
    return f"{', '.join(some)} and {last}" if some else last


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")
