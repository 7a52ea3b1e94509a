"""A description of a model without building it: parts in order, with sizes and equations. Imports no torch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from core.formatting import count, join_names
from core.models import attention_config
from core.models.attention_config import ADDITIVE, LAMBDA_RANGES, OF_TOKEN, AttentionConfig, EquationLine, Formula, Term
from core.models.config import Family, ModelConfig

TAG_ROWS = 14  # Universal parts of speech, the unknown one and the class token
PLACES, TYPES = 512, 2  # Learned positions and token types of BERT
_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "swiglu": "SwiGLU", "tanh": "tanh"}
_NORMS = {"layer": "LayerNorm", "rms": "RMSNorm", "none": ""}
_OF_FAMILY: dict[Family, tuple[str, ...]] = {
    "pretrained": ("a pretrained encoder",),
    "bilstm": ("LSTM in both directions",),
    "cnn": ("convolutions", "largest values"),
    "tfidf-logreg": ("TF-IDF", "logistic regression"),
    "tfidf-nb": ("TF-IDF", "naive Bayes"),
    "tfidf-svm": ("TF-IDF", "linear SVM"),
    "lexicon": ("valences of a lexicon",),
    "function": ("a function from outside",),
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
    lines = [line for each in found for line in each.lines]
    attention, part = next((each for each in found if each.key == "attention"), None), config.attention
    if attention is None:
        return tuple(lines)
    width = part.get_qk_width(config.width) // part.heads
    formula = Formula(f"q_i{part.superscript}", f"k_j{part.superscript}", rf"\sqrt{{{width}}}")
    for term in attention.terms:
        formula = term.write(formula)
    inner = rf"\big({formula.combined}\,V\big)" if formula.norm else rf"{formula.combined}\,V"
    content = rf"{formula.before}\frac{{{formula.q}\cdot {formula.k}}}{{{formula.below}}}{formula.factor}"
    weights = EquationLine(
        rf"{'A_{n}' if part.components > 1 else 'A'} = "
        rf"\operatorname{{softmax}}_{{{formula.seen}}}\Big({content}{formula.added}\Big)",
        f"How much token i attends to token j, by the content of both{' and what is added' if formula.added else ''}.",
    )
    defined = (line for term in attention.terms for line in term.lines)
    return EquationLine(rf"\mathrm{{out}} = {formula.norm}{inner}", formula.words), weights, *defined, *lines


def list_features(config: ModelConfig) -> tuple[str, ...]:
    """List what a model has beyond a plain transformer encoder, in a few words each; for a baseline, its kind."""
    if not config.layered:
        return _OF_FAMILY[config.family]
    found = list_parts(config, vocabulary=0, classes=2)
    attention = next(part for part in found if part.key == "attention")
    names = *(term.name for term in attention.terms), *(part.mark for part in found if part.mark)
    return *_OF_FAMILY.get(config.family, ()), *names


def describe_addition(config: ModelConfig) -> str:
    """Describe in a few plain words what a model adds to a plain transformer encoder; for a baseline, its kind."""
    if not config.layered or config.family == "pretrained":
        return ", ".join(_OF_FAMILY[config.family])
    part, found = config.attention, []
    if part.mixing == "additive":
        maps, signed = f"map{'s' * (part.components > 2)}", part.constraint in ("pm1", "free")
        found.append(f"adds {part.components - 1} {f'{maps}, signed λ' if signed else f'attention {maps}'}")
    elif part.mixing != "single":
        found.append("subtracts an attention map")
    further = {
        "lexicon in the attention": part.lexical != "none",
        "polarity in positions": config.position == "polarity-aware",
        "gates": part.gate,
        "convolutions on top": config.head.kernels,
        "rotary positions": part.rotary,
    }
    return ", ".join([*found, *(words for words, there in further.items() if there)]) or "plain attention"


def _yield_encoder(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    yield from _yield_input(config, vocabulary)
    yield from _yield_layers(config)
    yield from _yield_output(config, classes)


def _yield_pretrained(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    """Yield descriptions of the parts of a pretrained encoder like BERT (512 positions); others differ slightly."""
    d, f = config.width, config.ff_width
    words = "What enters: the token and its place, both learned."
    line = EquationLine(r"x_i = \operatorname{LayerNorm}(E_i + P_i + S)", words)
    detail = f"{count(vocabulary)} tokens × {d}, [CLS] in front and [SEP] behind"
    yield ModelPart("embedding", "Embedding", detail, vocabulary * d)
    size = (PLACES + TYPES + 2) * d
    yield ModelPart("positions", "Places", f"{PLACES} learned ones, added and normed", size, lines=(line,))
    feedforward = ModelPart("feedforward", "Feed-forward", f"GELU, {d} → {f} → {d}", 2 * d * f + f + d, layer=True)
    for part in (_describe_attention(config), feedforward):
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
        words = "The mean over the 3- to 5-grams of the word, each with the row of its bucket."
        mean = EquationLine(r"\overline{G}_i = \tfrac{1}{K_i}\textstyle\sum_k G_{h(g_{ik})}", words)
        detail = f"of 3 to 5 letters, {count(config.ngram_buckets)} buckets × {d}, their mean added"
        size, mark = config.ngram_buckets * d, "character n-grams"
        yield ModelPart("ngrams", "Character n-grams", detail, size, mark=mark, lines=(mean,))
    if config.position == "sinusoidal":
        line = EquationLine(rf"{embedded} + p^{{\sin}}_i", "What enters the first layer: the token and its place.")
        yield ModelPart("positions", "Positions", "sinusoids, nothing learned", lines=(line,))
    if config.position == "polarity-aware":
        yield _describe_positions(config, embedded)


def _describe_positions(config: ModelConfig, embedded: str) -> ModelPart:
    named = [("sinusoid", "α", r"\alpha\,p^{\sin}_i")]
    if config.recency:
        named.append(("recency", "β", r"\beta\,[\sin\tfrac{\pi i}{T},\cos\tfrac{\pi i}{T}]"))
    if config.pos_tags:
        named.append(("part of speech", "γ", r"\gamma\,E^{\mathrm{tag}}_i"))
    further = " and ".join(name for name, _, _ in named[1:])
    detail = ", ".join(f"{factor} · {name}" for name, factor, _ in named)
    size = len(named) + (TAG_ROWS * config.width if config.pos_tags else 0)
    mark = f"positions with {further}" if further else "learned factor of positions"
    words = "What enters the first layer: the token and its place among T, each term with a learned factor."
    line = EquationLine(f"{embedded} + {' + '.join(latex for _, _, latex in named)}", words)
    return ModelPart("positions", "Polarity-aware positions", detail, size, mark=mark, lines=(line,))


def _yield_layers(config: ModelConfig) -> Iterator[ModelPart]:
    d, f = config.width, config.ff_width
    size = d * f * 3 + 2 * f + d if config.feedforward == "swiglu" else d * f * 2 + f + d
    inside = f"{_ACTIVATIONS[config.feedforward]}, {d} → {f} → {d}"
    bare = "no norm" if config.norm == "none" else ""
    feedforward = ModelPart("feedforward", "Feed-forward", inside, size, config.layers, layer=True, mark=bare)
    for part in (_describe_attention(config), feedforward):
        norm = ModelPart("norm", _NORMS[config.norm], "", _describe_norm(config), config.layers, layer=True)
        yield from ([part] if config.norm == "none" else [norm, part] if config.norm_place == "pre" else [part, norm])
    if config.norm_place == "pre" and config.norm != "none":
        yield ModelPart("norm", _NORMS[config.norm], "after the last layer", _describe_norm(config))


def _describe_norm(config: ModelConfig) -> int:
    return {"layer": 2, "rms": 1, "none": 0}[config.norm] * config.width


def _describe_attention(config: ModelConfig) -> ModelPart:
    part, d = config.attention, config.width
    qk, found = part.get_qk_width(d), (*attention_config.list_terms(part, d), *list_mixing_terms(part, d))
    projections = 2 * part.components * qk * (d + 1) + 2 * d * (d + 1)
    heads = f"{part.heads} {'head' if part.heads == 1 else 'heads'}"
    detail = f"{heads}, queries of {qk // part.heads}, values of {d // part.heads}"
    size = projections + sum(term.parameters for term in found)
    return ModelPart("attention", "Attention", detail, size, config.layers, layer=True, terms=found)


def _yield_output(config: ModelConfig, classes: int) -> Iterator[ModelPart]:
    head, kernels, token = config.head, config.head.parse_widths(), "h_i"
    joined = config.width + len(kernels) * head.channels
    if kernels:
        branches = ";".join(f"C_{{{k}}}(H)_i" for k in kernels)
        beside, widths = "Next to each token, what the convolutions find around it.", join_names([*map(str, kernels)])
        detail = f"{widths} tokens wide, {head.channels} channels each, besides the tokens: {joined}"
        size = sum(config.width * head.channels * k + 3 * head.channels for k in kernels)  # weights, bias, batch norm
        line, mark = EquationLine(rf"r_i = [h_i;\,{branches}]", beside), f"convolutions {head.kernels}"
        yield ModelPart("convolutions", "Convolutions", detail, size, mark=mark, lines=(line,))
        token = "r_i"
    if head.attention_heads:
        heads, mark = f"{head.attention_heads} heads", "attention in the head"
        latex = rf"a_i = \operatorname{{Attention}}({token[0].upper()})_i"
        line = EquationLine(latex, f"One more attention, of {heads}.")
        detail, size = f"{heads} over {joined}", 4 * joined * (joined + 1)
        yield ModelPart("head-attention", "Attention of the head", detail, size, mark=mark, lines=(line,))
        token = "a_i"
    first, released = config.pooling == "cls", config.pad_mode == "as_released"
    places = "mean of all places, padding too" if released else "mean of the tokens"
    pooled = "the class token" if first else places
    yield ModelPart("pooling", "Pooling", pooled, mark="padding as released" if released else "")
    vector = token.replace("_i", "_1") if first else rf"\tfrac{{1}}{{T}}\textstyle\sum_i {token}"
    words = f"The {'class token' if first else 'mean of the T tokens'} and a linear map."
    yield from _yield_classifier(config, joined, classes, vector, words)


def _yield_classifier(config: ModelConfig, width: int, classes: int, vector: str, words: str) -> Iterator[ModelPart]:
    """Yield descriptions of any dense layer and of the classifier; `words` explain `vector`, their input in LaTeX."""
    dense, one = config.head.dense, config.head.one_logit
    if dense:
        name, _, norm = config.head.activation.partition("-")
        latex = rf"\operatorname{{{_ACTIVATIONS[name]}}}(W_1\,{vector} + b_1)"
        latex = rf"\operatorname{{LayerNorm}}\big({latex}\big)" if norm else latex
        line = EquationLine(f"t = {latex}", words.replace("linear map", "dense layer"))
        detail = f"{width} → {dense}, {_ACTIVATIONS[name]}{', LayerNorm' if norm else ''}"
        size = dense * (width + 1) + (2 * dense if norm else 0)
        yield ModelPart("dense", "Dense layer", detail, size, mark="dense layer", lines=(line,))
        width, vector, words = dense, "t", "A linear map."
    said = f"{width} → 1, its sigmoid" if one else f"{width} → {classes} classes"
    line = EquationLine(rf"\mathrm{{logits}} = W\,{vector} + b", words)
    if one:
        line = EquationLine(rf"[0,\,z] = [0,\, w\cdot {vector} + b]", "One number, its sigmoid the second class.")
    size = (1 if one else classes) * (width + 1)
    yield ModelPart("classifier", "Classifier", said, size, mark="one logit" if one else "", lines=(line,))


def _describe_words(config: ModelConfig, vocabulary: int) -> ModelPart:
    detail = f"{count(vocabulary)} tokens × {config.width}"
    return ModelPart("embedding", "Embedding", detail, vocabulary * config.width)


def _yield_bilstm(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    yield _describe_words(config, vocabulary)
    s = config.ff_width
    for layer in range(config.layers):
        inner = config.width if layer == 0 else 2 * s
        detail = f"{s} states forwards, {s} backwards"
        yield ModelPart("recurrence", "LSTM, both directions", detail, 2 * 4 * s * (inner + s + 2))
    above = f", in the top one of {config.layers} layers" if config.layers > 1 else ""
    latex = r"h = \big[\overrightarrow{\mathrm{LSTM}}(x)_T;\ \overleftarrow{\mathrm{LSTM}}(x)_1\big]"
    states = EquationLine(latex, f"The last state of each direction{above}.")
    yield ModelPart("pooling", "Last states", "of both directions", lines=(states,))
    yield from _yield_classifier(config, 2 * s, classes, "h", "A linear map.")


def _yield_cnn(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    yield _describe_words(config, vocabulary)
    w, kernels, channels = config.width, config.head.parse_widths(), config.head.channels
    detail = f"{join_names([*map(str, kernels)])} tokens wide, {channels} filters each"
    yield ModelPart("convolutions", "Convolutions", detail, sum(w * channels * k + channels for k in kernels))
    widths = r",\,".join(map(str, kernels))
    largest = EquationLine(
        r"m_{k,c} = \max_i\ \operatorname{ReLU}\big(w_{k,c}\cdot x_{i:i+k} + b_{k,c}\big),\quad "
        rf"k\in\{{{widths}\}}",
        "The strongest trace of each pattern, wherever it stands.",
    )
    yield ModelPart("largest", "Largest value", "of each filter over the tokens", lines=(largest,))
    yield from _yield_classifier(config, len(kernels) * channels, classes, "m", "A linear map.")


def _yield_lexicon(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    latex = r"f = \big(\textstyle\sum_i v_i,\ \tfrac{1}{T}\sum_i v_i\big),\quad v_i=\rho_i^{+}-\rho_i^{-}"
    valences = (EquationLine(latex, "Valences."),)
    yield ModelPart("valences", "Valences", "of the words in the lexicon: sum and mean", lines=valences)
    line = EquationLine(r"\mathrm{logits} = W f + b", "Logistic regression.")
    yield ModelPart("classifier", "Classifier", f"2 numbers → {classes} classes", 2 * classes + classes, lines=(line,))


def _yield_ngram_model(config: ModelConfig, vocabulary: int, classes: int) -> Iterator[ModelPart]:
    """Yield descriptions of the two parts of a TF-IDF model: n-gram counts, and the linear classifier."""
    counts, solver = (title[0].upper() + title[1:] for title in _OF_FAMILY[config.family])
    words = "The weight of each word, pair of neighbours and character n-gram in a text."
    weights = EquationLine(r"x_g = (1+\ln \mathrm{count}_g)\cdot\mathrm{idf}_g", words)
    detail = "of words and of pairs of neighbours; with text.char_ngrams also of parts of words"
    yield ModelPart("counts", counts, detail, lines=(weights,))
    line = EquationLine(r"\mathrm{logits} = W\,x/\lVert x\rVert + b", "A linear map.")
    yield ModelPart("classifier", solver, f"→ {classes} classes", (vocabulary + 1) * classes, lines=(line,))


COMBINED = "Each map averages the values; λ scales the maps."


def list_mixing_terms(part: AttentionConfig, width: int) -> tuple[Term, ...]:
    """List descriptions of how a head combines and normalises its attention maps, in the order of these steps."""
    found = (describe(part, width) for describe in (_describe_mixing, _describe_row_norm, _describe_head_norm))
    return tuple(filter(None, found))


def _describe_mixing(part: AttentionConfig, width: int) -> Term | None:
    if part.mixing == "single":
        return None
    if part.mixing == "differential-v2":
        line = EquationLine(OF_TOKEN, "One per token i and head h.")
        detail = "two maps subtracted, λ per token and head"
        return Term("A₀ − λA₁, λ of the token", detail, width * part.heads, _write_subtraction(r"\lambda_i"), (line,))
    return _describe_differential(part, width) if part.mixing == "differential" else _describe_addition(part, width)


def _write_subtraction(lam: str) -> Callable[[Formula], Formula]:
    return lambda formula: formula._replace(combined=rf"\Big(A_0 - {lam} A_1\Big)", words=COMBINED)


def _describe_differential(part: AttentionConfig, width: int) -> Term:
    begin = "grows with the layer" if part.start is None else f"is {part.start:g}"
    detail = f"two maps subtracted, one λ{' per head' * part.lambda_per_head}{_describe_start(part)}"
    size = 4 * part.lambda_sets * (part.get_qk_width(width) // part.heads)
    words = f"Four learned vectors; the start {begin}.{' One per head.' * part.lambda_per_head}"
    lines = (EquationLine(attention_config.DIFFERENTIAL, words),)
    return Term("A₀ − λA₁", detail, size, _write_subtraction(r"\lambda"), lines)


def _describe_addition(part: AttentionConfig, width: int) -> Term:
    extra = (part.components - 1) * part.lambda_sets
    each = " per token" if part.lambda_input else " per head" if part.lambda_per_head else ""
    maps = "1 map" if part.components == 1 else f"{part.components} maps"
    token = ",i" * part.lambda_input
    further = "".join(rf" + \lambda_{{{n}{token}}} A_{{{n}}}" for n in range(1, part.components))
    name, lines = f"{maps}, λ in {LAMBDA_RANGES[part.constraint].words}", _define_lambda(part) if extra else ()
    detail = f"further maps added, each with its λ{each}{', β learned' * part.learn_beta}{_describe_start(part)}"
    size = extra * (width // 4) * (1 + width if part.lambda_input else 2) + extra * part.learn_beta
    combined = rf"\Big(A_0{further}\Big)"
    return Term(name, detail, size, lambda formula: formula._replace(combined=combined, words=COMBINED), lines)


def _define_lambda(part: AttentionConfig) -> tuple[EquationLine, EquationLine]:
    between = LAMBDA_RANGES[part.constraint]
    each, key = ("_{n,i}", "W_n x_i") if part.lambda_input else ("_n", "v_n")
    beta = "α is a constant, β is learned" if part.learn_beta else "α and β are constants"
    begin = "fitted to the paper's λ" if part.start is None else f"so that λ starts at {part.start:g}"
    weight = ADDITIVE.replace(r"\lambda_n", rf"\lambda{each}").replace("p_n", f"p{each}")
    words = f"The weight of map n; {beta}, {begin}.{' One per head.' * part.lambda_per_head}"
    mean = rf"p{each} = \operatorname{{mean}}\big({between.function}(u_n)\odot {between.function}({key})\big)"
    source = f"In {between.words}, from two learned vectors{' and the token' * part.lambda_input}."
    return EquationLine(weight, words), EquationLine(mean, source)


def _describe_start(part: AttentionConfig) -> str:
    return "" if part.start is None else f", starting at {part.start:g}"


def _describe_row_norm(part: AttentionConfig, width: int) -> Term | None:
    if not part.row_norm:
        return None
    words = " The weights c of the maps are divided by the sum of their magnitudes."

    def write(formula: Formula) -> Formula:
        return formula._replace(combined=rf"\frac{{1}}{{\sum_n|c_n|}}\,{formula.combined}", words=formula.words + words)

    return Term("row norm", "weights of the maps divided by the sum of their magnitudes", write=write)


def _describe_head_norm(part: AttentionConfig, width: int) -> Term | None:
    if not part.head_norm:
        return None
    scale = ""
    if part.mixing == "differential":
        scale = r"(1-\lambda_{\mathrm{init}})"
    if part.mixing == "additive" and part.components > 1:
        scale = r"\frac{1}{1+\sum_n\lambda_{n,\mathrm{init}}}"
    norm, size = rf"{scale}\,\operatorname{{RMSNorm}}", width // part.heads
    return Term("head norm", "RMSNorm of each head's output", size, lambda formula: formula._replace(norm=norm))
