"""The forward pass of one text as a sequence of stages, recomputed from the weights of a run."""

from collections.abc import Iterator
from typing import cast

import numpy as np
import torch

from core.evaluation.inference import get_device
from core.exceptions import InputError, NotAvailable
from core.formatting import count, number
from core.interpret import forward_stages
from core.interpret.encoder_stages import copy_to_float64, stack_windows, yield_encoder_stages
from core.interpret.explain_context import ExplainContext
from core.interpret.forward_stages import ONE, Array, ForwardStage, Names, StageMatrix, Sum, name_dimensions, to_float64
from core.interpret.sentence_inspection import CLASS_TOKEN, LAST_TOKEN, PADDING
from core.models.baselines import BagOfNgrams, BagOfPairs, BiLSTM, ConvolutionClassifier, LexiconClassifier, Plain
from core.models.encoder import EncoderClassifier
from core.models.head import Convolution
from core.models.positions import number_segments
from core.models.trace import Batch, Record
from core.text.lexicon import name_triples
from core.text.pos_tags import TAGS
from core.text.special_ids import UNKNOWN
from core.text.token_table import to_batch
from core.text.tokenizer import Encoding


def yield_plain_stages(model: Plain, batch: Batch, tokens: Names, classes: Names) -> Iterator[ForwardStage]:
    """Yield the forward-pass stages, from embedding or counts to logits, of a model without attention."""
    ids = batch.ids[0].cpu().numpy()
    if isinstance(model, BiLSTM):
        yield from _yield_recurrent(model, batch, tokens, classes)
    elif isinstance(model, ConvolutionClassifier):
        yield from _yield_convolutional(model, batch, tokens, classes)
    elif isinstance(model, LexiconClassifier) and batch.polarity is not None:
        yield from _yield_lexicon(model, to_float64(batch.polarity[0]), tokens, classes)
    elif isinstance(model, BagOfPairs):
        yield from _yield_pair(model, ids, tokens, classes)
    elif isinstance(model, BagOfNgrams):
        grams, found = _weigh_ngrams(model, ids, tokens)
        reading = "Rare n-grams weigh more than common ones; all weights are divided by the length of the vector."
        yield ForwardStage("weights", "Weights", (WEIGHED,), reading, found)
        vector = StageMatrix("x", found[-1].values.T, ONE, found[-1].rows)
        yield forward_stages.build_logits(vector, to_float64(model.weight)[grams], to_float64(model.bias), classes)


def _build_embedding(model: BiLSTM | ConvolutionClassifier, batch: Batch, tokens: Names) -> ForwardStage:
    x = to_float64(model.embedding(batch.ids)[0])
    reading = "Each token is a row of numbers, learned; its place is not in them."
    names = name_dimensions(x.shape[1])
    if model.segments is None:
        return ForwardStage("embedding", "Embedding", ("x_i = E_i",), reading, (StageMatrix("x", x, tokens, names),))
    rows = to_float64(model.segments(batch.ids)[0])
    total = Sum(((x,), (rows,)), x.shape)
    parts = (StageMatrix("E", x, tokens, names), StageMatrix("S", rows, tokens, names))
    reading = "Each token is a row of numbers, learned, and what its text, the first or the second, adds."
    made = StageMatrix("x", total.compute_values(), tokens, names, rule=total)
    return ForwardStage("embedding", "Embedding", ("x_i = E_i + S_{s(i)}",), reading, (*parts, made))


def _yield_recurrent(model: BiLSTM, batch: Batch, tokens: Names, classes: Names) -> Iterator[ForwardStage]:
    yield _build_embedding(model, batch, tokens)
    record = record_forward(model, batch)
    forward, backward = (to_float64(record.values[name].value[0]) for name in "fb")
    size = name_dimensions(forward.shape[1])
    states = (StageMatrix("f", forward, tokens, size), StageMatrix("b", backward, tokens, size))
    above = f", in the top one of {model.lstm.num_layers} layers" if model.lstm.num_layers > 1 else ""
    reading = f"f reads from the first token to the last, b from the last to the first{above}: each row is a memory."
    yield ForwardStage("states", "States", tuple(record.values[name].formula for name in "fb"), reading, states)
    last = to_float64(record.get_part("head").values["p"].value)
    vector = StageMatrix("p", last, ONE, name_dimensions(last.shape[1]))
    reading = "The last state of each direction, side by side."
    yield ForwardStage("pool", "Pool", (r"p = [f_T;\ b_1]",), reading, (vector,))
    yield from forward_stages.yield_classifier(model.head, record.get_part("head"), vector, classes)


def _yield_convolutional(
    model: ConvolutionClassifier, batch: Batch, tokens: Names, classes: Names
) -> Iterator[ForwardStage]:
    embedding, record = _build_embedding(model, batch, tokens), record_forward(model, batch)
    yield embedding
    found: list[StageMatrix] = []
    for width, branch in model.branches.items():
        convolution, (name, made) = cast(Convolution, branch), list(record.values.items())[len(found)]
        weight = to_float64(convolution.weight).transpose(2, 1, 0).reshape(-1, convolution.out_channels)
        windows = stack_windows(embedding.made, int(width))
        rule = forward_stages.Dot(windows, weight, to_float64(convolution.bias), after="relu")
        values, names = to_float64(made.value[0]), name_dimensions(convolution.out_channels)
        found.append(StageMatrix(name, values, tokens, names, rule=rule))
    reading = f"Each column looks for a pattern of {', '.join(model.branches)} tokens; large where it stands."
    yield ForwardStage("convolutions", "Convolutions", (made.formula,), reading, tuple(found))
    joined = np.concatenate([each.values for each in found], 1)
    values = to_float64(record.get_part("head").values["p"].value)
    largest = forward_stages.Largest(joined, tokens)
    vector = StageMatrix("p", values, ONE, name_dimensions(joined.shape[1]), rule=largest)
    reading = "The strongest trace of each pattern, wherever it stands."
    yield ForwardStage("largest", "Largest", (r"p_c = \max_i\ C_{i,c}",), reading, (vector,))
    yield from forward_stages.yield_classifier(model.head, record.get_part("head"), vector, classes)


def record_forward(model: Plain, batch: Batch) -> Record:
    """Run a model without attention in float64 and return the values that it records for a batch."""
    record = Record()
    copy_to_float64(model)(batch, record=record)
    return record


def _yield_lexicon(model: LexiconClassifier, polarity: Array, tokens: Names, classes: Names) -> Iterator[ForwardStage]:
    lexicons = polarity.shape[1] // 3
    apart = [part for k in range(lexicons) for part in ((polarity[:, [3 * k]],), (-1.0, polarity[:, [3 * k + 2]]))]
    rule = Sum(tuple(apart), (len(tokens), 1))
    valence = StageMatrix("v", rule.compute_values(), tokens, ("valence",), rule=rule)
    known = StageMatrix(r"\rho", polarity, tokens, name_triples(lexicons), "weight")
    reading = "How much more positive than negative the lexicon holds each word; 0 where it knows nothing."
    formula = r"v_i = \rho_i^{+} - \rho_i^{-}" if lexicons == 1 else r"v_i = \sum_k (\rho_i^{(k)+} - \rho_i^{(k)-})"
    yield ForwardStage("valences", "Valences", (formula,), reading, (known, valence))
    many = len(tokens)
    both = forward_stages.Dot(valence.values.T, np.stack([np.ones(many), np.full(many, 1 / many)], 1))
    features = StageMatrix("f", both.compute_values(), ONE, ("sum", "mean"), rule=both)
    formula = r"f = \big(\sum_i v_i,\ \tfrac{1}{T}\sum_i v_i\big)"
    yield ForwardStage("pool", "Pool", (formula,), "The sum and the mean of the valences.", (features,))
    yield forward_stages.build_logits(features, to_float64(model.weight), to_float64(model.bias), classes)


WEIGHED = r"x_g = (1+\ln n_g)\cdot\mathrm{idf}_g"
BLOCKS = ("first", "second", "difference", "product")


def _yield_pair(model: BagOfPairs, ids: Array, tokens: Names, classes: Names) -> Iterator[ForwardStage]:
    """Yield the bag-of-n-grams stages of a pair of texts: each text alone, then their difference and product."""
    second = number_segments(torch.from_numpy(ids)[None])[0].numpy() == 1
    own = [np.flatnonzero(part & (ids != model.mark)) for part in (~second, second)]
    words = [tuple(tokens[place] for place in places) for places in own]
    texts = [_weigh_ngrams(model, ids[own[i]], words[i], i + 1) for i in (0, 1)]
    reading = "Each text by itself: rare n-grams weigh more, and its weights are divided by the length of its vector."
    shown = tuple(matrix for _, found in texts for matrix in found if len(matrix.rows))
    yield ForwardStage("weights", "Weights", (WEIGHED,), reading, shown)
    names = {int(gram): name for grams, found in texts for gram, name in zip(grams, found[-1].rows, strict=True)}
    every = np.array(list(names), int)
    weights = [dict(zip(grams.tolist(), found[-1].values[:, 0], strict=True)) for grams, found in texts]
    a, b = (np.array([each.get(gram, 0.0) for gram in names])[:, None] for each in weights)
    rules = {"d": Sum(((a,), (-1.0, b)), a.shape, "abs"), "p": Sum(((a, b),), a.shape)}
    rows, one = tuple(names.values()), ("weight",)
    matrices = [StageMatrix(letter, values, rows, one) for letter, values in (("a", a), ("b", b))]
    matrices += [StageMatrix(each, rule.compute_values(), rows, one, rule=rule) for each, rule in rules.items()]
    reading = "What one text has alone stands in the difference, what both have in the product."
    yield ForwardStage("compare", "Compare", (r"d = |a - b|", r"p = a\cdot b"), reading, tuple(matrices))
    values = np.concatenate([matrix.values for matrix in matrices], 1)
    vector = StageMatrix("x", values.reshape(1, -1), ONE, tuple(f"{name} {block}" for name in rows for block in BLOCKS))
    table = to_float64(model.weight).reshape(model.BLOCKS, -1, len(classes))[:, every].swapaxes(0, 1)
    yield forward_stages.build_logits(vector, table.reshape(-1, len(classes)), to_float64(model.bias), classes)


def _weigh_ngrams(
    model: BagOfNgrams, ids: Array, tokens: Names, number: int = 0
) -> tuple[Array, tuple[StageMatrix, ...]]:
    """Return the n-grams of a text in order of first occurrence, and the matrices of their TF-IDF weights."""
    grams, first, counts = np.unique(ids, return_index=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    grams, counts, names = grams[order], counts[order].astype(float), tuple(tokens[i] for i in first[order])
    mark = rf"^{{({number})}}" if number else ""
    idf = to_float64(model.get_buffer("idf"))[grams]
    rule = Sum((((1 + np.log(counts))[:, None], idf[:, None]),), (len(grams), 1))
    weighed = StageMatrix(f"x{mark}", rule.compute_values(), names, ("weight",), rule=rule)
    size = max(float(np.sqrt((weighed.values**2).sum())), 1e-12)
    divided: forward_stages.Rule = Sum(((weighed.values, 1 / size),), weighed.values.shape)
    name = ("a", "b")[number - 1] if number else r"x/\lVert x\rVert"
    return grams, (
        StageMatrix(f"n{mark}", counts[:, None], names, ("count",), "count"),
        StageMatrix(rf"\mathrm{{idf}}{mark}", idf[:, None], names, ("idf",)),
        weighed,
        StageMatrix(name, divided.compute_values(), names, ("weight",), rule=divided),
    )


MOST_TOKENS = 512  # Tokens of a text, at most, as float64 maps of longer texts would be too large
TOLERANCE = 1e-4  # Largest difference between the probabilities of the last stage and the model, rounded to float32


def compute_stages(
    reader: ExplainContext, text: str, layer: int | None = None, head: int | None = None, component: int | None = None
) -> forward_stages.ForwardStages:
    """Compute all forward-pass stages of a text under the context's intervention; the model stays unchanged.

    Layer and head are counted from 1 (default: last layer, first head), components from 0, the first map. Raises
    InputError if the layer, head, component or intervention does not fit the model, and NotAvailable if the text has no
    token or too many, or the last stage differs from the model's prediction.
    """
    encoding, model = reader.tokenizer.encode(text), reader.model
    if reader.change.positions or reader.change.temperature != 1:
        raise NotAvailable("Steps computes scores and positions as trained; Sentence shows this change")
    if not encoding.tokens:
        raise NotAvailable("the model knows no word of this text; type another one")
    batch = Batch.from_arrays(to_batch(encoding)).to(get_device(model))
    encoder = model if isinstance(model, EncoderClassifier) else None
    if max(len(encoding.tokens), encoder.fill if encoder else 0) > MOST_TOKENS:
        most = f"a text of more than {count(MOST_TOKENS)} tokens"
        raise NotAvailable(f"{most} is too long for its steps; type a shorter one")
    own = reader.predict_texts([text], reader.intervene)
    tokens, read = list(encoding.tokens), batch
    sizes = (len(encoder.layers), encoder.heads, encoder.components) if encoder else (0, 0, 0)
    place = _check_place((layer, head, component), sizes)
    with torch.inference_mode():
        if isinstance(model, EncoderClassifier):
            tokens = [CLASS_TOKEN] * model.first + tokens + [LAST_TOKEN] * model.last
            tokens += [PADDING] * max(0, model.fill - len(tokens))
            read = model.complete_batch(batch)[0]
            inside = list(yield_encoder_stages(model, batch, tuple(tokens), place, reader.classes, reader.change))
        else:
            read = batch._replace(tags=None)
            inside = list(yield_plain_stages(model, batch, tuple(tokens), reader.classes))
    first = _build_tokens(encoding, read, tuple(tokens), reader.tokenizer.size, counted=isinstance(model, BagOfNgrams))
    mixed = None
    if reader.mix_weight is not None and own.parts is not None:
        mixed = reader.mix_weight, np.asarray(own.parts.tfidf, np.float64)
    last = forward_stages.build_probabilities(inside[-1].matrices[-1], reader.task, reader.scaling, mixed)
    computed, answer = last.matrices[-1].values[0], own.probabilities[0]
    worst = int(np.abs(computed - answer).argmax())
    if not abs(computed[worst] - answer[worst]) <= TOLERANCE:  # the recomputation lacks a part
        raise NotAvailable(
            f"Steps computes P({reader.classes[worst]}) = {number(float(computed[worst]), 4)}, but the model answers "
            f"{number(float(answer[worst]), 4)}: Steps does not know every part of this model, so it shows nothing"
        )
    at = (place[0] + 1, place[1] + 1, place[2]) if encoder else (0, 0, 0)
    stages, notes = (first, *inside, last), tuple(reader.write_notes(text, encoding))
    return forward_stages.ForwardStages(text, tuple(tokens), stages, *at, *sizes, notes)


def _check_place(asked: tuple[int | None, int | None, int | None], sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    """Convert the chosen layer, head and attention map to indices from 0; InputError if the model lacks one."""
    if not sizes[0]:
        if any(each is not None for each in asked):
            raise InputError("this model has no attention, so it has no layer, head or component to choose")
        return 0, 0, 0
    names, usual, found = ("layer", "head", "component"), (sizes[0], 1, 0), []
    for name, value, default, first, many in zip(names, asked, usual, (1, 1, 0), sizes, strict=True):
        chosen = default if value is None else value
        if not first <= chosen < first + many:
            raise InputError(f"{name} {chosen}: this model has {name}s {first} to {first + many - 1}")
        found.append(chosen - first)
    return found[0], found[1], found[2]


def _build_tokens(encoding: Encoding, read: Batch, tokens: Names, size: int, *, counted: bool) -> ForwardStage:
    words: tuple[Names, ...] = ()
    columns: Names = ("id",)
    ids = read.ids[0].cpu().numpy()
    if read.tags is not None:
        names = ("–", *TAGS, "class")
        words, columns = tuple((names[tag],) for tag in read.tags[0].tolist()), ("id", "part of speech")
    matrix = StageMatrix(r"\mathrm{id}", ids[:, None].astype(float), tokens, columns, "count", words=words)
    what = "n-grams, words and pairs of them," if counted else "pieces,"
    reading = f"The text is split into {what} each with its number in a vocabulary of {count(size)}."
    if not counted and UNKNOWN in encoding.ids:
        reading += f" Number {UNKNOWN} is for all that the vocabulary lacks."
    return ForwardStage("tokens", "Tokens", (r"\mathrm{text} \to t_1,\dots,t_T",), reading, (matrix,))
