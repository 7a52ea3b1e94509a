"""A description of a model without building it: its parts in order, each with its size and its equation.

The sizes are closed formulas, so that pages and the command line can tell them without torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from core.models.attention_config import terms
from core.models.coefficients import combining
from core.models.config import Family, ModelConfig
from core.models.formula import Formula, Line, Term

TAG_ROWS = 14  # Universal parts of speech, one row for unknown ones and one for the class token
PLACES, TYPES = 512, 2  # Learned places of a text, and types of texts, in a table of BERT's
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
class Part:
    """One step from the text to the logits."""

    key: str
    """embedding, ngrams, positions, attention, norm, feedforward, recurrence, convolutions, largest, head-attention,
    pooling, dense, classifier, counts, valences."""
    title: str
    detail: str
    parameters: int = 0  # Of one copy
    times: int = 1  # Copies: layers have their own weights each
    layer: bool = False  # Whether it belongs to the layers that are repeated
    terms: tuple[Term, ...] = ()  # Attention only; their parameters are counted in `parameters`
    mark: str = ""  # What it has besides that of a plain transformer encoder, in a few words
    lines: tuple[Line, ...] = ()  # Of the equation; the attention's are in `terms`


def parameters(config: ModelConfig, *, vocabulary: int, classes: int) -> int:
    """Count the trained numbers of the model that `core.models.build.build` makes.

    `vocabulary` counts token ids, of the TF-IDF families n-grams.
    """
    return sum(part.parameters * part.times for part in parts(config, vocabulary=vocabulary, classes=classes))


def parts(config: ModelConfig, *, vocabulary: int, classes: int) -> tuple[Part, ...]:
    """List the parts of a model, from tokens to logits; arguments as of `parameters`."""
    makers = {"encoder": _encoder, "pretrained": _pretrained, "bilstm": _bilstm, "cnn": _cnn, "lexicon": _lexicon}
    return tuple(makers.get(config.family, _counted)(config, vocabulary, classes))


def equation(config: ModelConfig) -> tuple[Line, ...]:
    """Return a model's equation in LaTeX: exactly the terms that it has, those of attention first.

    out = (sum_i c_i softmax(score_i + bias)) V; what stands in it and nothing else is defined below it.
    """
    found = parts(config, vocabulary=0, classes=2)
    attention = [line for part in found if part.key == "attention" for line in _attention_lines(config, part.terms)]
    return (*attention, *(line for part in found for line in part.lines))


def _attention_lines(config: ModelConfig, terms: Sequence[Term]) -> Iterator[Line]:
    """Yield the equations of the combined map, of a single map, and of the letters in both."""
    part = config.attention
    width = part.qk(config.width) // part.heads
    formula = Formula(f"q_i{part.superscript}", f"k_j{part.superscript}", rf"\sqrt{{{width}}}")
    for term in terms:
        formula = term.write(formula)
    inner = rf"\big({formula.combined}\,V\big)" if formula.norm else rf"{formula.combined}\,V"
    yield Line(rf"\mathrm{{out}} = {formula.norm}{inner}", formula.words)
    content = rf"{formula.before}\frac{{{formula.q}\cdot {formula.k}}}{{{formula.below}}}{formula.factor}"
    yield Line(
        rf"{'A_{n}' if part.components > 1 else 'A'} = "
        rf"\operatorname{{softmax}}_{{{formula.seen}}}\Big({content}{formula.added}\Big)",
        f"How much token i reads token j, by the content of both{' and what is added' if formula.added else ''}.",
    )
    for term in terms:
        yield from term.lines


def marks(config: ModelConfig) -> tuple[str, ...]:
    """List what the model has besides a plain transformer encoder, in a few words each; of a baseline its family."""
    if not config.layered:
        return _OF_FAMILY[config.family]
    found = parts(config, vocabulary=0, classes=2)
    attention = next(part for part in found if part.key == "attention")
    return (
        *_OF_FAMILY.get(config.family, ()),
        *(term.name for term in attention.terms),
        *(part.mark for part in found if part.mark),
    )


def _encoder(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[Part]:
    yield from _input(config, vocabulary)
    yield from _layers(config)
    yield from _output(config, classes)


def _pretrained(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[Part]:
    """Yield the parts of a backbone like BERT, with 512 places and two types; others have slightly other sizes."""
    d, f = config.width, config.ff_width
    line = Line(r"x_i = \operatorname{LayerNorm}(E_i + P_i + S)", "What enters: the token and its place, both learned.")
    detail = f"{_spaced(vocabulary)} tokens × {d}, [CLS] in front and [SEP] behind"
    yield Part("embedding", "Embedding", detail, vocabulary * d)
    size = (PLACES + TYPES + 2) * d
    yield Part("positions", "Places", f"{PLACES} learned ones, added and normed", size, lines=(line,))
    inside = f"GELU, {d} → {f} → {d}"
    for part in (_attention(config), Part("feedforward", "Feed-forward", inside, 2 * d * f + f + d, layer=True)):
        yield replace(part, times=config.layers)
        yield Part("norm", "LayerNorm", "", 2 * d, config.layers, layer=True)
    yield from _output(config, classes)


def _input(config: ModelConfig, vocabulary: int) -> Iterator[Part]:
    d, first = config.width, config.pooling == "cls"
    detail = f"{_spaced(vocabulary)} tokens × {d}{', a class token in front' if first else ''}"
    row = r"\big(E_i + \overline{G}_i\big)" if config.ngram_buckets else "E_i"
    embedded = rf"x_i = \sqrt{{{d}}}\,{row}" if config.initial == "xavier" else f"x_i = {row}"
    alone = (Line(embedded, "What enters the first layer."),) if config.position == "none" else ()
    yield Part("embedding", "Embedding", detail, (vocabulary + first) * d, lines=alone)
    if config.ngram_buckets:
        yield _ngrams(config)
    if config.position == "sinusoidal":
        line = Line(rf"{embedded} + p^{{\sin}}_i", "What enters the first layer: the token and its place.")
        yield Part("positions", "Positions", "sinusoids, nothing learned", lines=(line,))
    if config.position == "polarity-aware":
        yield _polarity_aware(config, embedded)


def _ngrams(config: ModelConfig) -> Part:
    """Describe the character n-grams that are added to a word's row."""
    mean = Line(
        r"\overline{G}_i = \tfrac{1}{K_i}\textstyle\sum_k G_{h(g_{ik})}",
        "The mean over the 3- to 5-grams of the word, each with the row of its bucket.",
    )
    rows = config.ngram_buckets
    detail = f"of 3 to 5 letters, {_spaced(rows)} buckets × {config.width}, their mean added"
    return Part("ngrams", "Character n-grams", detail, rows * config.width, mark="character n-grams", lines=(mean,))


def _polarity_aware(config: ModelConfig, embedded: str) -> Part:
    """Describe sinusoid, recency and part of speech, each with a learned factor."""
    named = [("sinusoid", "α", r"\alpha\,p^{\sin}_i")]
    if config.recency:
        named.append(("recency", "β", r"\beta\,[\sin\tfrac{\pi i}{T},\cos\tfrac{\pi i}{T}]"))
    if config.pos_tags:
        named.append(("part of speech", "γ", r"\gamma\,E^{\mathrm{tag}}_i"))
    further = " and ".join(name for name, _, _ in named[1:])
    return Part(
        "positions",
        "Polarity-aware positions",
        ", ".join(f"{factor} · {name}" for name, factor, _ in named),
        len(named) + (TAG_ROWS * config.width if config.pos_tags else 0),
        mark=f"positions with {further}" if further else "learned factor of positions",
        lines=(
            Line(
                f"{embedded} + {' + '.join(latex for _, _, latex in named)}",
                "What enters the first layer: the token and its place among T, each term with a learned factor.",
            ),
        ),
    )


def _layers(config: ModelConfig) -> Iterator[Part]:
    d, f = config.width, config.ff_width
    size = d * f * 3 + 2 * f + d if config.feedforward == "swiglu" else d * f * 2 + f + d
    inside = f"{_ACTIVATIONS[config.feedforward]}, {d} → {f} → {d}"
    bare = "no norm" if config.norm == "none" else ""
    feedforward = Part("feedforward", "Feed-forward", inside, size, config.layers, layer=True, mark=bare)
    for part in (_attention(config), feedforward):
        norm = Part("norm", _NORMS[config.norm], "", _norm(config), config.layers, layer=True)
        around = [part] if config.norm == "none" else [norm, part] if config.norm_place == "pre" else [part, norm]
        yield from around
    if config.norm_place == "pre" and config.norm != "none":
        yield Part("norm", _NORMS[config.norm], "after the last layer", _norm(config))


def _norm(config: ModelConfig) -> int:
    return {"layer": 2, "rms": 1, "none": 0}[config.norm] * config.width


def _attention(config: ModelConfig) -> Part:
    part, d = config.attention, config.width
    qk, found = part.qk(d), (*terms(part, d), *combining(part, d))
    projections = 2 * part.components * qk * (d + 1) + 2 * d * (d + 1)
    heads = f"{part.heads} {'head' if part.heads == 1 else 'heads'}"
    return Part(
        "attention",
        "Attention",
        f"{heads}, queries of {qk // part.heads}, values of {d // part.heads}",
        projections + sum(term.parameters for term in found),
        config.layers,
        layer=True,
        terms=found,
    )


def _output(config: ModelConfig, classes: int) -> Iterator[Part]:
    head, kernels, token = config.head, config.head.widths(), "h_i"
    joined = config.width + len(kernels) * head.channels
    if kernels:
        yield _convolutions(config, joined)
        token = "r_i"
    if head.attention_heads:
        words = f"One more attention, of {head.attention_heads} heads."
        yield Part(
            "head-attention",
            "Attention of the head",
            f"{head.attention_heads} heads over {joined}",
            4 * joined * (joined + 1),
            mark="attention in the head",
            lines=(Line(rf"a_i = \operatorname{{Attention}}({token[0].upper()})_i", words),),
        )
        token = "a_i"
    first, released = config.pooling == "cls", config.pad_mode == "as_released"
    places = "mean of all places, padding too" if released else "mean of the tokens"
    pooled = "the class token" if first else places
    yield Part("pooling", "Pooling", pooled, mark="padding as released" if released else "")
    vector = token.replace("_i", "_1") if first else rf"\tfrac{{1}}{{T}}\textstyle\sum_i {token}"
    words = f"The {'class token' if first else 'mean of the T tokens'} and a linear map."
    yield from _classifier(config, joined, classes, vector, words)


def _convolutions(config: ModelConfig, joined: int) -> Part:
    d, channels, kernels = config.width, config.head.channels, config.head.widths()
    branches = ";".join(f"C_{{{k}}}(H)_i" for k in kernels)
    return Part(
        "convolutions",
        "Convolutions",
        f"{_listed(kernels)} tokens wide, {channels} channels each, besides the tokens: {joined}",
        sum(d * channels * k + 3 * channels for k in kernels),  # weights, bias, batch norm
        mark=f"convolutions {config.head.kernels}",
        lines=(Line(rf"r_i = [h_i;\,{branches}]", "Next to each token, what the convolutions find around it."),),
    )


def _classifier(config: ModelConfig, width: int, classes: int, vector: str, words: str) -> Iterator[Part]:
    """Yield the dense layer, if any, and the classifier, whose input `vector` (LaTeX) `words` describe."""
    dense, one = config.head.dense, config.head.one_logit
    if dense:
        yield Part(
            "dense",
            "Dense layer",
            f"{width} → {dense}, ReLU, LayerNorm",
            dense * (width + 1) + 2 * dense,
            mark="dense layer",
            lines=(
                Line(
                    rf"t = \operatorname{{LayerNorm}}\big(\operatorname{{ReLU}}(W_1\,{vector} + b_1)\big)",
                    words.replace("linear map", "dense layer"),
                ),
            ),
        )
        width, vector, words = dense, "t", "A linear map."
    said = f"{width} → 1, its sigmoid" if one else f"{width} → {classes} classes"
    line = Line(rf"\mathrm{{logits}} = W\,{vector} + b", words)
    if one:
        line = Line(rf"[0,\,z] = [0,\, w\cdot {vector} + b]", "One number, its sigmoid the second class.")
    size = (1 if one else classes) * (width + 1)
    yield Part("classifier", "Classifier", said, size, mark="one logit" if one else "", lines=(line,))


def _words(config: ModelConfig, vocabulary: int) -> Part:
    """Describe the word vectors of a baseline."""
    return Part("embedding", "Embedding", f"{_spaced(vocabulary)} tokens × {config.width}", vocabulary * config.width)


def _bilstm(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[Part]:
    yield _words(config, vocabulary)
    s = config.ff_width
    for layer in range(config.layers):
        inner = config.width if layer == 0 else 2 * s
        detail = f"{s} states forwards, {s} backwards"
        yield Part("recurrence", "LSTM, both directions", detail, 2 * 4 * s * (inner + s + 2))
    above = f", in the top one of {config.layers} layers" if config.layers > 1 else ""
    states = Line(
        r"h = \big[\overrightarrow{\mathrm{LSTM}}(x)_T;\ \overleftarrow{\mathrm{LSTM}}(x)_1\big]",
        f"The last state of each direction{above}.",
    )
    yield Part("pooling", "Last states", "of both directions", lines=(states,))
    yield from _classifier(config, 2 * s, classes, "h", "A linear map.")


def _cnn(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[Part]:
    yield _words(config, vocabulary)
    w, kernels, channels = config.width, config.head.widths(), config.head.channels
    size = sum(w * channels * k + channels for k in kernels)
    yield Part("convolutions", "Convolutions", f"{_listed(kernels)} tokens wide, {channels} filters each", size)
    widths = r",\,".join(map(str, kernels))
    largest = Line(
        r"m_{k,c} = \max_i\ \operatorname{ReLU}\big(w_{k,c}\cdot x_{i:i+k} + b_{k,c}\big),\quad "
        rf"k\in\{{{widths}\}}",
        "The strongest trace of each pattern, wherever it stands.",
    )
    yield Part("largest", "Largest value", "of each filter over the tokens", lines=(largest,))
    yield from _classifier(config, len(kernels) * channels, classes, "m", "A linear map.")


def _lexicon(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[Part]:
    valences = Line(
        r"f = \big(\textstyle\sum_i v_i,\ \tfrac{1}{T}\sum_i v_i\big),\quad v_i=\rho_i^{+}-\rho_i^{-}", "Valences."
    )
    yield Part("valences", "Valences", "of the words in the lexicon: sum and mean", lines=(valences,))
    line = Line(r"\mathrm{logits} = W f + b", "Logistic regression.")
    yield Part("classifier", "Classifier", f"2 numbers → {classes} classes", 2 * classes + classes, lines=(line,))


def _counted(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[Part]:
    """Yield the parts of a TF-IDF model of n-grams."""
    counts, solver = (title[0].upper() + title[1:] for title in _OF_FAMILY[config.family])
    weights = Line(
        r"x_g = (1+\ln \mathrm{count}_g)\cdot\mathrm{idf}_g",
        "The weight of each word, pair of neighbours and character n-gram in a text.",
    )
    detail = "of words and of pairs of neighbours; with text.char_ngrams also of parts of words"
    yield Part("counts", counts, detail, lines=(weights,))
    line = Line(r"\mathrm{logits} = W\,x/\lVert x\rVert + b", "A linear map.")
    yield Part("classifier", solver, f"→ {classes} classes", (vocabulary + 1) * classes, lines=(line,))


def _listed(numbers: tuple[int, ...]) -> str:
    """Join numbers as `2, 3 and 5`."""
    *some, last = map(str, numbers)
    return f"{', '.join(some)} and {last}" if some else last


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")
