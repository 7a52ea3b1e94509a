"""A description of a model without building it: parts in order, with sizes and equations. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from core.formatting import count, join_names
from core.models.attention_config import list_terms
from core.models.config import Family, ModelConfig
from core.models.latex_terms import EquationLine, Formula, Term
from core.models.mixing_terms import list_mixing_terms

TAG_ROWS = 14  # Universal parts of speech, the unknown one and the class token
PLACES, TYPES = 512, 2  # Learned positions and token types of BERT
_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "swiglu": "SwiGLU"}
_NORMS = {"layer": "LayerNorm", "rms": "RMSNorm", "none": ""}
_OF_FAMILY: dict[Family, tuple[str, ...]] = {
    "pretrained": ("a pretrained encoder",),
    "bilstm": ("LSTM in both directions",),
    "cnn": ("convolutions", "largest values"),
    "tfidf-logreg": ("TF-IDF", "logistic regression"),
    "tfidf-nb": ("TF-IDF", "naive Bayes"),
    "tfidf-svm": ("TF-IDF", "linear SVM"),
    "lexicon": ("valences of a lexicon",),
}


@dataclass(frozen=True)
class ModelPart:
    """One part of a model between text and logits, with title, parameter count and equation lines."""

    key: str
    """embedding, ngrams, positions, attention, norm, feedforward, recurrence, convolutions, largest, head-attention,
    pooling, dense, classifier, counts, valences."""
    title: str
    detail: str
    parameters: int = 0  # Of one copy
    times: int = 1  # Copies: one per layer
    layer: bool = False  # Whether it is part of the repeated layers
    terms: tuple[Term, ...] = ()  # Of attention; `parameters` includes theirs
    mark: str = ""  # Its difference from a plain transformer encoder, in a few words
    lines: tuple[EquationLine, ...] = ()  # Of the equation; those of attention are in `terms`


def count_parameters(config: ModelConfig, *, vocabulary: int, classes: int) -> int:
    """Count the trained parameters of a model without building it; `vocabulary` counts token ids or n-grams."""
    return sum(part.parameters * part.times for part in list_parts(config, vocabulary=vocabulary, classes=classes))


def list_parts(config: ModelConfig, *, vocabulary: int, classes: int) -> tuple[ModelPart, ...]:
    """List the parts of a model with their sizes, from tokens to logits, without building it."""
    makers = {
        "encoder": _yield_encoder,
        "pretrained": _yield_pretrained,
        "bilstm": _yield_bilstm,
        "cnn": _yield_cnn,
        "lexicon": _yield_lexicon,
    }
    return tuple(makers.get(config.family, _yield_ngram_model)(config, vocabulary, classes))


def write_equation(config: ModelConfig) -> tuple[EquationLine, ...]:
    """Return the equation of a model in LaTeX with exactly its terms, and the definitions of its symbols."""
    found = list_parts(config, vocabulary=0, classes=2)
    attention = [
        line for part in found if part.key == "attention" for line in _yield_attention_lines(config, part.terms)
    ]
    return (*attention, *(line for part in found for line in part.lines))


def _yield_attention_lines(config: ModelConfig, terms: Sequence[Term]) -> Iterator[EquationLine]:
    """Yield the LaTeX equations of the combined attention map, of a single map, and of the symbols in them."""
    part = config.attention
    width = part.get_qk_width(config.width) // part.heads
    formula = Formula(f"q_i{part.superscript}", f"k_j{part.superscript}", rf"\sqrt{{{width}}}")
    for term in terms:
        formula = term.write(formula)
    inner = rf"\big({formula.combined}\,V\big)" if formula.norm else rf"{formula.combined}\,V"
    yield EquationLine(rf"\mathrm{{out}} = {formula.norm}{inner}", formula.words)
    content = rf"{formula.before}\frac{{{formula.q}\cdot {formula.k}}}{{{formula.below}}}{formula.factor}"
    yield EquationLine(
        rf"{'A_{n}' if part.components > 1 else 'A'} = "
        rf"\operatorname{{softmax}}_{{{formula.seen}}}\Big({content}{formula.added}\Big)",
        f"How much token i reads token j, by the content of both{' and what is added' if formula.added else ''}.",
    )
    for term in terms:
        yield from term.lines


def list_features(config: ModelConfig) -> tuple[str, ...]:
    """List what a model has beyond a plain transformer encoder, in a few words each; for a baseline, its kind."""
    if not config.layered:
        return _OF_FAMILY[config.family]
    found = list_parts(config, vocabulary=0, classes=2)
    attention = next(part for part in found if part.key == "attention")
    return (
        *_OF_FAMILY.get(config.family, ()),
        *(term.name for term in attention.terms),
        *(part.mark for part in found if part.mark),
    )


def describe_addition(config: ModelConfig) -> str:
    """Describe in a few plain words what a model adds to a plain transformer encoder; for a baseline, its kind."""
    if not config.layered or config.family == "pretrained":
        return ", ".join(_OF_FAMILY[config.family])
    part, found = config.attention, []
    if part.mixing == "additive":
        sign = ", λ of either sign" * (part.constraint in ("pm1", "free"))
        found.append(f"adds {part.components - 1} attention map{'s' * (part.components > 2)}{sign}")
    elif part.mixing != "single":
        found.append("subtracts an attention map")
    if part.lexical != "none":
        found.append("lexicon in the attention")
    if config.position == "polarity-aware":
        found.append("polarity in positions")
    if part.gate:
        found.append("gates")
    if config.head.kernels:
        found.append("convolutions on top")
    if part.rotary:
        found.append("rotary positions")
    return ", ".join(found) or "plain attention"


def _yield_encoder(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    yield from _yield_input(config, vocabulary)
    yield from _yield_layers(config)
    yield from _yield_output(config, classes)


def _yield_pretrained(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    """Yield descriptions of the parts of a pretrained encoder like BERT (512 positions); others differ slightly."""
    d, f = config.width, config.ff_width
    line = EquationLine(
        r"x_i = \operatorname{LayerNorm}(E_i + P_i + S)", "What enters: the token and its place, both learned."
    )
    detail = f"{count(vocabulary)} tokens × {d}, [CLS] in front and [SEP] behind"
    yield ModelPart("embedding", "Embedding", detail, vocabulary * d)
    size = (PLACES + TYPES + 2) * d
    yield ModelPart("positions", "Places", f"{PLACES} learned ones, added and normed", size, lines=(line,))
    inside = f"GELU, {d} → {f} → {d}"
    for part in (
        _describe_attention(config),
        ModelPart("feedforward", "Feed-forward", inside, 2 * d * f + f + d, layer=True),
    ):
        yield replace(part, times=config.layers)
        yield ModelPart("norm", "LayerNorm", "", 2 * d, config.layers, layer=True)
    yield from _yield_output(config, classes)


def _yield_input(config: ModelConfig, vocabulary: int) -> Iterator[ModelPart]:
    d, first = config.width, config.pooling == "cls"
    detail = f"{count(vocabulary)} tokens × {d}{', a class token in front' if first else ''}"
    row = r"\big(E_i + \overline{G}_i\big)" if config.ngram_buckets else "E_i"
    embedded = rf"x_i = \sqrt{{{d}}}\,{row}" if config.initial == "xavier" else f"x_i = {row}"
    alone = (EquationLine(embedded, "What enters the first layer."),) if config.position == "none" else ()
    yield ModelPart("embedding", "Embedding", detail, (vocabulary + first) * d, lines=alone)
    if config.ngram_buckets:
        yield _describe_ngrams(config)
    if config.position == "sinusoidal":
        line = EquationLine(rf"{embedded} + p^{{\sin}}_i", "What enters the first layer: the token and its place.")
        yield ModelPart("positions", "Positions", "sinusoids, nothing learned", lines=(line,))
    if config.position == "polarity-aware":
        yield _describe_positions(config, embedded)


def _describe_ngrams(config: ModelConfig) -> ModelPart:
    """Return the description of the model part that adds character n-grams to word embeddings: size and equation."""
    mean = EquationLine(
        r"\overline{G}_i = \tfrac{1}{K_i}\textstyle\sum_k G_{h(g_{ik})}",
        "The mean over the 3- to 5-grams of the word, each with the row of its bucket.",
    )
    rows = config.ngram_buckets
    detail = f"of 3 to 5 letters, {count(rows)} buckets × {config.width}, their mean added"
    return ModelPart(
        "ngrams", "Character n-grams", detail, rows * config.width, mark="character n-grams", lines=(mean,)
    )


def _describe_positions(config: ModelConfig, embedded: str) -> ModelPart:
    """Return the description of a model's polarity-aware positions: sinusoid, recency and part of speech."""
    named = [("sinusoid", "α", r"\alpha\,p^{\sin}_i")]
    if config.recency:
        named.append(("recency", "β", r"\beta\,[\sin\tfrac{\pi i}{T},\cos\tfrac{\pi i}{T}]"))
    if config.pos_tags:
        named.append(("part of speech", "γ", r"\gamma\,E^{\mathrm{tag}}_i"))
    further = " and ".join(name for name, _, _ in named[1:])
    return ModelPart(
        "positions",
        "Polarity-aware positions",
        ", ".join(f"{factor} · {name}" for name, factor, _ in named),
        len(named) + (TAG_ROWS * config.width if config.pos_tags else 0),
        mark=f"positions with {further}" if further else "learned factor of positions",
        lines=(
            EquationLine(
                f"{embedded} + {' + '.join(latex for _, _, latex in named)}",
                "What enters the first layer: the token and its place among T, each term with a learned factor.",
            ),
        ),
    )


def _yield_layers(config: ModelConfig) -> Iterator[ModelPart]:
    d, f = config.width, config.ff_width
    size = d * f * 3 + 2 * f + d if config.feedforward == "swiglu" else d * f * 2 + f + d
    inside = f"{_ACTIVATIONS[config.feedforward]}, {d} → {f} → {d}"
    bare = "no norm" if config.norm == "none" else ""
    feedforward = ModelPart("feedforward", "Feed-forward", inside, size, config.layers, layer=True, mark=bare)
    for part in (_describe_attention(config), feedforward):
        norm = ModelPart("norm", _NORMS[config.norm], "", _describe_norm(config), config.layers, layer=True)
        around = [part] if config.norm == "none" else [norm, part] if config.norm_place == "pre" else [part, norm]
        yield from around
    if config.norm_place == "pre" and config.norm != "none":
        yield ModelPart("norm", _NORMS[config.norm], "after the last layer", _describe_norm(config))


def _describe_norm(config: ModelConfig) -> int:
    return {"layer": 2, "rms": 1, "none": 0}[config.norm] * config.width


def _describe_attention(config: ModelConfig) -> ModelPart:
    part, d = config.attention, config.width
    qk, found = part.get_qk_width(d), (*list_terms(part, d), *list_mixing_terms(part, d))
    projections = 2 * part.components * qk * (d + 1) + 2 * d * (d + 1)
    heads = f"{part.heads} {'head' if part.heads == 1 else 'heads'}"
    return ModelPart(
        "attention",
        "Attention",
        f"{heads}, queries of {qk // part.heads}, values of {d // part.heads}",
        projections + sum(term.parameters for term in found),
        config.layers,
        layer=True,
        terms=found,
    )


def _yield_output(config: ModelConfig, classes: int) -> Iterator[ModelPart]:
    head, kernels, token = config.head, config.head.parse_widths(), "h_i"
    joined = config.width + len(kernels) * head.channels
    if kernels:
        yield _yield_convolutions(config, joined)
        token = "r_i"
    if head.attention_heads:
        words = f"One more attention, of {head.attention_heads} heads."
        yield ModelPart(
            "head-attention",
            "Attention of the head",
            f"{head.attention_heads} heads over {joined}",
            4 * joined * (joined + 1),
            mark="attention in the head",
            lines=(EquationLine(rf"a_i = \operatorname{{Attention}}({token[0].upper()})_i", words),),
        )
        token = "a_i"
    first, released = config.pooling == "cls", config.pad_mode == "as_released"
    places = "mean of all places, padding too" if released else "mean of the tokens"
    pooled = "the class token" if first else places
    yield ModelPart("pooling", "Pooling", pooled, mark="padding as released" if released else "")
    vector = token.replace("_i", "_1") if first else rf"\tfrac{{1}}{{T}}\textstyle\sum_i {token}"
    words = f"The {'class token' if first else 'mean of the T tokens'} and a linear map."
    yield from _yield_classifier(config, joined, classes, vector, words)


def _yield_convolutions(config: ModelConfig, joined: int) -> ModelPart:
    d, channels, kernels = config.width, config.head.channels, config.head.parse_widths()
    branches = ";".join(f"C_{{{k}}}(H)_i" for k in kernels)
    return ModelPart(
        "convolutions",
        "Convolutions",
        f"{join_names([*map(str, kernels)])} tokens wide, {channels} channels each, besides the tokens: {joined}",
        sum(d * channels * k + 3 * channels for k in kernels),  # weights, bias, batch norm
        mark=f"convolutions {config.head.kernels}",
        lines=(
            EquationLine(rf"r_i = [h_i;\,{branches}]", "Next to each token, what the convolutions find around it."),
        ),
    )


def _yield_classifier(config: ModelConfig, width: int, classes: int, vector: str, words: str) -> Iterator[ModelPart]:
    """Yield descriptions of any dense layer and of the classifier; `words` explain `vector`, their input in LaTeX."""
    dense, one = config.head.dense, config.head.one_logit
    if dense:
        yield ModelPart(
            "dense",
            "Dense layer",
            f"{width} → {dense}, ReLU, LayerNorm",
            dense * (width + 1) + 2 * dense,
            mark="dense layer",
            lines=(
                EquationLine(
                    rf"t = \operatorname{{LayerNorm}}\big(\operatorname{{ReLU}}(W_1\,{vector} + b_1)\big)",
                    words.replace("linear map", "dense layer"),
                ),
            ),
        )
        width, vector, words = dense, "t", "A linear map."
    said = f"{width} → 1, its sigmoid" if one else f"{width} → {classes} classes"
    line = EquationLine(rf"\mathrm{{logits}} = W\,{vector} + b", words)
    if one:
        line = EquationLine(rf"[0,\,z] = [0,\, w\cdot {vector} + b]", "One number, its sigmoid the second class.")
    size = (1 if one else classes) * (width + 1)
    yield ModelPart("classifier", "Classifier", said, size, mark="one logit" if one else "", lines=(line,))


def _describe_words(config: ModelConfig, vocabulary: int) -> ModelPart:
    """Return the description of a baseline model's word embeddings: their number, width and parameters."""
    return ModelPart(
        "embedding", "Embedding", f"{count(vocabulary)} tokens × {config.width}", vocabulary * config.width
    )


def _yield_bilstm(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    yield _describe_words(config, vocabulary)
    s = config.ff_width
    for layer in range(config.layers):
        inner = config.width if layer == 0 else 2 * s
        detail = f"{s} states forwards, {s} backwards"
        yield ModelPart("recurrence", "LSTM, both directions", detail, 2 * 4 * s * (inner + s + 2))
    above = f", in the top one of {config.layers} layers" if config.layers > 1 else ""
    states = EquationLine(
        r"h = \big[\overrightarrow{\mathrm{LSTM}}(x)_T;\ \overleftarrow{\mathrm{LSTM}}(x)_1\big]",
        f"The last state of each direction{above}.",
    )
    yield ModelPart("pooling", "Last states", "of both directions", lines=(states,))
    yield from _yield_classifier(config, 2 * s, classes, "h", "A linear map.")


def _yield_cnn(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    yield _describe_words(config, vocabulary)
    w, kernels, channels = config.width, config.head.parse_widths(), config.head.channels
    size = sum(w * channels * k + channels for k in kernels)
    yield ModelPart(
        "convolutions", "Convolutions", f"{join_names([*map(str, kernels)])} tokens wide, {channels} filters each", size
    )
    widths = r",\,".join(map(str, kernels))
    largest = EquationLine(
        r"m_{k,c} = \max_i\ \operatorname{ReLU}\big(w_{k,c}\cdot x_{i:i+k} + b_{k,c}\big),\quad "
        rf"k\in\{{{widths}\}}",
        "The strongest trace of each pattern, wherever it stands.",
    )
    yield ModelPart("largest", "Largest value", "of each filter over the tokens", lines=(largest,))
    yield from _yield_classifier(config, len(kernels) * channels, classes, "m", "A linear map.")


def _yield_lexicon(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    valences = EquationLine(
        r"f = \big(\textstyle\sum_i v_i,\ \tfrac{1}{T}\sum_i v_i\big),\quad v_i=\rho_i^{+}-\rho_i^{-}", "Valences."
    )
    yield ModelPart("valences", "Valences", "of the words in the lexicon: sum and mean", lines=(valences,))
    line = EquationLine(r"\mathrm{logits} = W f + b", "Logistic regression.")
    yield ModelPart("classifier", "Classifier", f"2 numbers → {classes} classes", 2 * classes + classes, lines=(line,))


def _yield_ngram_model(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    """Yield descriptions of the two parts of a TF-IDF model: n-gram counts, and the linear classifier."""
    counts, solver = (title[0].upper() + title[1:] for title in _OF_FAMILY[config.family])
    weights = EquationLine(
        r"x_g = (1+\ln \mathrm{count}_g)\cdot\mathrm{idf}_g",
        "The weight of each word, pair of neighbours and character n-gram in a text.",
    )
    detail = "of words and of pairs of neighbours; with text.char_ngrams also of parts of words"
    yield ModelPart("counts", counts, detail, lines=(weights,))
    line = EquationLine(r"\mathrm{logits} = W\,x/\lVert x\rVert + b", "A linear map.")
    yield ModelPart("classifier", solver, f"→ {classes} classes", (vocabulary + 1) * classes, lines=(line,))
