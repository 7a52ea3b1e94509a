"""Each stage follows from the one before by its formula, is what the model has there, and ends where `predict` does."""

import dataclasses

import numpy as np
import pytest
import torch
from refused import check_raises
from stepping import CLOSE, TEXT, check, lent, reader, traced
from structures import STRUCTURES, encoders
from tiny_backbones import FAMILIES, backbone, changed

from core.config import compose
from core.evaluation.inference import Ensemble, switch_to_eval
from core.exceptions import InputError, NotAvailable
from core.interpret import forward_pass as making
from core.interpret.explain_context import UNCHANGED, ExplainContext
from core.interpret.forward_pass import compute_stages
from core.interpret.forward_stages import Dot, MaskedScores, Norm, Softmax, Sum, format_number
from core.models.attention_config import EquationLine, Term
from core.models.builder import build_model
from core.models.presets import PRESETS
from core.models.score_terms import Terms
from core.models.trace import Batch, Intervention
from core.runs.backbone_weights import read_tokenizer, split_backbone
from core.runs.backbones import Backbone
from core.text import text_pairs
from core.text.config import TextConfig
from core.text.token_table import to_batch
from core.text.tokenizer_factory import fit_tokenizer
from core.training.temperature import Scaling

AROUND = "tokens embedding queries scores terms mask softmax combine mix heads residual feedforward".split()
AROUND += ["pool", "logits", "probabilities"]
BASELINES = [name for name in STRUCTURES if PRESETS[name].model.family not in ("encoder", "pretrained")]
COMPUTED = [*encoders(), *BASELINES]  # Of a backbone nothing is computed anew
STARTERS = "differential inceptive-16 lexical-last ndt-01-n3 ndt-shares sentiformer tweet-v1-p2 vanilla".split()
EVERY = [pytest.param(name, marks=() if name == "bert" else pytest.mark.slow) for name in FAMILIES]


@pytest.mark.slow
@pytest.mark.parametrize("preset", BASELINES)
def test_every_baseline_equals_its_formulas_and_prediction(preset):
    keys = [stage.key for stage in check(reader(preset)).stages]
    assert keys[0] == "tokens" and keys[-2:] == ["logits", "probabilities"]


SOURCES = {"tokens": {r"\mathrm{id}"}, "terms": {r"\rho"}, "logits": {"W"}, "weights": {"n", r"\mathrm{idf}"}}
"""What is given: numbers of tokens, polarities, weights; the embedding's are rows of tables."""


@pytest.mark.parametrize("preset", COMPUTED)
def test_every_stage_starts_with_an_earlier_output(preset):
    family = PRESETS[preset].model.family
    found = compute_stages(reader(preset, layers=1) if family == "encoder" else reader(preset), TEXT)
    made = []
    for stage in found.stages:
        for matrix in stage.matrices:
            given = matrix.rule is None and stage.key not in ("embedding", "valences", "states")
            if given and matrix.name not in SOURCES.get(stage.key, ()) and (stage.key, family) != ("pool", "bilstm"):
                windows = matrix.name == "r" and stage.key == "convolutions"
                before = [np.concatenate([each.values for each in stage.matrices[:-1]], 1)] if windows else made
                either = [each for one in before for each in (one, one.T)]  # TF-IDF weights: a column, then a row
                assert any(np.array_equal(matrix.values, one) for one in either), (stage.key, matrix.name)
        made += [matrix.values for matrix in stage.matrices]


@pytest.mark.slow
@pytest.mark.parametrize("preset", encoders())
def test_every_encoder_equals_its_formulas_and_recorded_values(preset):
    own = reader(preset)
    output = traced(own)
    heads, many = own.model.heads, own.model.components
    for layer in (1, 2):
        seen = output.trace.layers[layer - 1]
        found = check(own, layer=layer, head=heads, component=many - 1)
        assert [stage.key for stage in found.stages if stage.key in AROUND] == AROUND
        for n, matrix in enumerate(found.find_stage("softmax").matrices):
            np.testing.assert_allclose(matrix.values, seen.maps[0, n, -1], **CLOSE)
        np.testing.assert_allclose(found.find_stage("mix").matrices[0].values, seen.combined[0, -1], **CLOSE)
        said = next(each for each in reversed(found.find_stage("heads").matrices) if each.name != "y")
        np.testing.assert_allclose(said.values, seen.head_outputs[0, -1], **CLOSE)
        np.testing.assert_allclose(found.find_stage("feedforward").made, seen.hidden[0], **CLOSE)
        np.testing.assert_allclose(found.find_stage("embedding").made, output.trace.embedded[0], **CLOSE)
        if seen.gates is not None:
            gate = next(each for each in found.find_stage("terms").matrices if each.name == "g")
            np.testing.assert_allclose(gate.values[:, 0], seen.gates[0, -len(gate.rows) :], **CLOSE)
    np.testing.assert_allclose(found.find_stage("logits").made, output.logits, **CLOSE)
    np.testing.assert_allclose(found.find_stage("logits").matrices[0].values, output.pooled, **CLOSE)
    if head := output.trace.head:
        for width, branch in head.branches.items():
            shown = next(one for one in found.find_stage("convolutions").matrices if one.name == f"C_{{{width}}}")
            np.testing.assert_allclose(shown.values, branch[0], **CLOSE)
        if head.maps is not None:
            place = min(heads, head.maps.shape[1]) - 1
            assert found.find_stage("head-attention").matrices[-2].name == "A"
            np.testing.assert_allclose(
                found.find_stage("head-attention").matrices[-2].values, head.maps[0, place], **CLOSE
            )


CROSSED = {
    "token lambda": ("ndt-01-n3", {"lambda_input": True, "lambda_per_head": True}),
    "row norm and head norm": ("ndt-pm1-n2", {"row_norm": True, "head_norm": True}),
    "positive, learned beta": ("ndt-pos-n4", {"learn_beta": True}),
    "sigma in one map": ("ndt-free-n2", {"lexical": "add", "lexical_component": 1, "learn_strength": True}),
    "rotary hadamard": ("ndt-01-n2", {"rotary": True, "qk_norm": True, "lexical": "hadamard", "lexical_strength": 2.0}),
    "two lexicons": ("ndt-free-n2", {"lexical": "add", "lexicons": 2, "learn_strength": True}),
    "two lexicons apart, hadamard": ("vanilla", {"lexical": "hadamard", "lexicons": 2, "lexical_heads": "apart"}),
    "guided gate by two": (
        "sentiformer-sinusoidal",
        {"gate": True, "lexicon_gate": True, "lexical": "add", "lexicons": 2},
    ),
    "guided gate": ("sentiformer-sinusoidal", {"gate": True, "lexicon_gate": True}),
    "lambda per head": ("differential", {"lambda_per_head": True}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CROSSED)
def test_combined_presets_equal_their_formulas(name):
    preset, change = CROSSED[name]
    part = dataclasses.replace(PRESETS[preset].model.attention, **change)
    own = reader(preset, attention=part)
    for layer in (1, 2):
        for component in range(part.components):
            check(own, layer=layer, head=part.heads, component=component)


@pytest.mark.parametrize(
    "change",
    [
        {"pad_mode": "as_released"},
        {"ngram_buckets": 50},
        {"feedforward": "gelu", "norm_place": "post", "norm": "rms"},
        {"norm": "none", "position": "none"},
    ],
    ids=str,
)
def test_other_parts_equal_their_formulas(change):
    found = check(reader("vanilla", **change), "the ending never works")
    if "pad_mode" in change:
        assert found.tokens[3:5] == ("works", "[PAD]") and len(found.tokens) == 15


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "off"), [("vanilla", False), ("vanilla", True), ("bilstm", False), ("cnn", False)])
def test_the_segments_of_a_pair_are_in_the_embedding(preset, off):
    text = text_pairs.join_pair("the ending never works", "it does")
    found = check(reader(preset, text=text, edited=Intervention(segments_off=off)), text)
    embedding = next(stage for stage in found.stages if stage.key == "embedding")
    rows = next(matrix.values for matrix in embedding.matrices if matrix.name == "S")
    assert (rows[:5] == rows[0]).all() and (rows[5:] == rows[5]).all()
    assert (rows[0] != rows[5]).any() == (not off)


@pytest.mark.parametrize(
    ("layer", "said"), [(1, ["Layers 2 to 3 do the same again."]), (2, ["Layer 3 does the same again."]), (3, [])]
)
def test_the_number_of_later_layers_is_shown(layer, said):
    read = [
        each.reading.partition(" again.")
        for each in compute_stages(reader("vanilla", layers=3), TEXT, layer=layer).stages
    ]
    assert [before + again for before, again, _ in read if again] == said


@pytest.mark.parametrize(
    "text", [("good good film", "film was bad"), ("good", "good"), ("good", "zzz"), ("zzz", "good")]
)
def test_tfidf_compares_the_texts_of_a_pair(text):
    own = reader("tfidf-logreg", text=text_pairs.join_pair("good good film", "film was bad"))
    torch.manual_seed(3)
    for value in own.model.parameters():
        torch.nn.init.normal_(value)
    found = check(own, text_pairs.join_pair(*text))
    assert [each.key for each in found.stages[1:4]] == ["weights", "compare", "logits"]
    a, b, d, p = (each.values[:, 0] for each in found.find_stage("compare").matrices)
    np.testing.assert_allclose(d, np.abs(a - b))
    np.testing.assert_allclose(p, a * b)


def test_the_last_stages_show_one_logit_temperature_and_multi_label():
    check(reader("vanilla", scaling=Scaling(1.7)))
    assert "sigmoid" in check(reader("vanilla", scaling=Scaling(0.6), task="multi")).stages[-1].formulas[-1]


@pytest.mark.parametrize("temperature", [0.6, 1.7])
@pytest.mark.parametrize(
    ("task", "doubt"), [("single", r"\ln \pi"), ("multi", r"\ln\tfrac{\pi}{1-\pi}")], ids=["single", "multi"]
)
def test_temperature_towards_the_prior_shows_its_formula(task, doubt, temperature):
    prior = (0.7, 0.2, 0.1)
    last = check(reader("vanilla", scaling=Scaling(temperature, prior), task=task)).stages[-1]
    shown = {each.name: each for each in last.matrices}
    assert list(shown) == ["l", r"\pi", "z", "P"] and shown[r"\pi"].values.tolist() == [list(prior)]
    assert last.formulas == (
        rf"z = l/T + (1 - 1/T)\,{doubt}",
        rf"P = \operatorname{{{'softmax' if task == 'single' else 'sigmoid'}}}(z)",
    )
    assert f"moves the logits {'towards' if temperature > 1 else 'away from'} π" in last.reading
    odds = np.log(prior) - (np.log1p(-np.array(prior)) if task == "multi" else 0)
    np.testing.assert_allclose(shown["z"].values, shown["l"].values / temperature + (1 - 1 / temperature) * odds)


@pytest.mark.parametrize("scaling", [Scaling(1.4), Scaling(1.4, (0.5, 0.3, 0.2))])
@pytest.mark.parametrize("task", ["single", "multi"])
def test_a_tfidf_mixture_is_shown_in_the_last_stage(task, scaling):
    network, yardstick = reader("vanilla", task=task), reader("tfidf-logreg", task=task)
    mix = Ensemble(yardstick.model, yardstick.tokenizer, 0.7)

    def predict(texts):
        return mix.blend_predictions(network.predict(texts), texts, task).apply_scaling(scaling, task)

    own = dataclasses.replace(network, predict=predict, mix_weight=0.7, scaling=scaling)
    assert check(own).stages[-1].formulas[0] == "m = 0.70\\,n + 0.30\\,k"


def test_missing_parts_further_maps_and_windows_are_explained():
    found = compute_stages(reader("vanilla"), TEXT)
    for key in ("terms", "mask", "combine"):
        stage = found.find_stage(key)
        assert stage.reading.startswith("This model has none: ") and stage.matrices == ()
        assert stage.reading.count(".") == 1
    for preset, sign, words in (("differential", "-", "taken away"), ("ndt-01-n3", "+", "added")):
        stage = compute_stages(reader(preset), TEXT).find_stage("combine")
        assert stage.formulas[0].startswith(f"P = A_0 {sign} ") and f"further maps are {words}" in stage.reading
    (matrix,) = compute_stages(reader("sentiformer"), TEXT).find_stage("mask").matrices
    assert isinstance(matrix.rule, MaskedScores) and np.isneginf(matrix.values).any()
    assert matrix.format_cell(*np.argwhere(np.isneginf(matrix.values))[0]) == "hidden = −∞"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "words", "letters"),
    [
        ("sentiformer", "gate", {"s", "g", "s'"}),
        ("tweet-v1-p2", "temperature τ", {"s", r"\cos", "s'"}),
        ("lexical-all", "is added", {"s", r"\rho", r"\sigma", "s'"}),
        ("lexical-hadamard", "multiplied by σ", {"s", r"\rho", r"\sigma", "s'"}),
    ],
)
def test_the_terms_of_each_paper_are_shown(preset, words, letters):
    stage = compute_stages(reader(preset), TEXT, head=1).find_stage("terms")
    assert words in stage.reading and {each.name for each in stage.matrices} == letters


@pytest.mark.slow
def test_heads_without_sigma_say_which_heads_have_it():
    own = reader("lexical-last-scaled")
    assert "does not reach this map; it reaches head 4" in compute_stages(own, TEXT, head=1).find_stage("terms").reading
    last = compute_stages(own, TEXT, head=4).find_stage("terms")
    assert {each.name for each in last.matrices} == {"s", r"\rho", r"\sigma", "s'"}


def test_missing_layers_and_long_texts_are_refused(monkeypatch):
    own = reader("ndt-01-n3")
    for place, words in (({"layer": 3}, "layers 1 to 2"), ({"head": 0}, "heads 1 to 2"), ({"component": 3}, "0 to 2")):
        check_raises(InputError, words, compute_stages, own, TEXT, **place)
    check_raises(InputError, "no attention", compute_stages, reader("cnn"), TEXT, layer=1)
    check_raises(NotAvailable, "no word", compute_stages, own, "  ")
    monkeypatch.setattr(making, "MOST_TOKENS", 5)
    check_raises(NotAvailable, "more than 5 tokens", compute_stages, own, TEXT)


class Recency(torch.nn.Module):
    """Add r · j / L to the score of key j: the example of CONTRIBUTING."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor([factor]))

    def build_columns(self, keep):
        place = keep.cumsum(1) / keep.sum(1, keepdim=True).clamp(min=1)
        return self.factor, place[:, None, None, :, None].to(self.factor.dtype)


@dataclasses.dataclass(frozen=True)
class WithRecency(Terms):
    recency: Recency | None = None

    def build_columns(self, reading, log_gate, change):
        return super().build_columns(reading, log_gate, change) | {"recency": self.recency.build_columns(reading.keep)}


def add_recency(own, *said):
    """Return a context whose model has the term in each layer, with factors 0.5 and 1 and this description."""
    for number, layer in enumerate(own.model.layers, start=1):
        attention, term = layer.attention, Recency(number / 2)
        known = {each.name: getattr(attention.terms, each.name) for each in dataclasses.fields(Terms)}
        attention.terms = WithRecency(**{**known, "said": (*known["said"], *said)}, recency=term)
        attention.add_module("recency", term)
    return own


@pytest.mark.parametrize("preset", ["ndt-01-n3", "sentiformer", pytest.param("lexical-all", marks=pytest.mark.slow)])
def test_a_new_attention_term_is_shown_with_its_description(preset):
    formula = EquationLine("L = T", "The length.")
    said = Term(
        *("recency", "later words are favoured by a learned factor", 1),
        lambda formula: formula._replace(added=rf"{formula.added} + r\,j/L"),
        (formula,),
    )
    known, plain = compute_stages(reader(preset), TEXT), compute_stages(reader(preset), TEXT).find_stage("terms")
    for layer, factor in ((1, 0.5), (2, 1.0)):
        found = check(add_recency(reader(preset), said), layer=layer)
        stage, many = found.find_stage("terms"), len(found.tokens)
        shown = {matrix.name: matrix for matrix in stage.matrices}
        bias = factor * np.arange(1, many + 1) / many
        np.testing.assert_allclose(shown[r"r\,j/L"].values, np.broadcast_to(bias, (many, many)), rtol=1e-6)
        assert shown[r"r\,j/L"].format_cell(0, many - 1) == f"{format_number(factor)}·1.00 = {format_number(factor)}"
        assert r" + r\,j/L" in stage.formulas[0] and stage.formulas[-1] == "L = T"
        assert "Later words are favoured by a learned factor." in stage.reading
    assert r"r\,j/L" not in {matrix.name for matrix in plain.matrices}
    assert np.abs(found.stages[-1].made - known.stages[-1].made).max() > 1e-4


def test_an_undescribed_attention_term_is_shown_by_name():
    stage = compute_stages(add_recency(reader("vanilla")), TEXT).find_stage("terms")
    assert stage.formulas == (r"s'_{ij} = s_{ij} + \mathrm{recency}_{ij}",)
    assert stage.reading == "The term recency is added to every score."


def test_stages_that_differ_from_the_model_are_refused(monkeypatch):
    own = reader("ndt-01-n3")
    other = dataclasses.replace(own, predict=reader("vanilla").predict)
    check_raises(NotAvailable, r"^Steps computes P\(\w+\) = 0\.\d{4}, but .* 0\.\d{4}", compute_stages, other, TEXT)
    monkeypatch.setattr(Terms, "apply_factors", lambda terms, q, k, reading, change=None: (2 * q, k))
    check_raises(NotAvailable, "every part of the scores", compute_stages, own, TEXT)


def test_cell_formulas_have_short_numbers():
    left, right = np.array([[1.0, -2.0], [0.5, 0.02]]), np.array([[3.0], [4.0]])
    assert Dot(left, right, np.array([-1.5]), 0.5).format_cell(0, 0) == "0.50 · (1.00·3.00 + (−2.00)·4.00) + (−1.50)"
    assert Dot(left, right, after="relu").format_cell(1, 0) == "max(0, 0.50·3.00 + 0.020·4.00)"
    many = np.arange(1.0, 7.0)[None]
    assert Dot(many, many.T).format_cell(0, 0) == "6.00·6.00 + 5.00·5.00 + 4.00·4.00 + … 3 more"
    assert Sum(((left, 0.1), (-1.0, left)), (2, 2)).format_cell(0, 1) == "(−2.00)·0.10 + (−1.00)·(−2.00)"
    assert Softmax(np.array([[1.0, 0.0]])).format_cell(0, 0) == "exp(1.00) / Σ = 2.72 / 3.72"
    assert Softmax(np.array([[90.0, 89.0]])).format_cell(0, 1) == "exp(89.00 − 90.00) / Σ = 0.37 / 1.37"
    norm = Norm(left, np.array([2.0, 1.0]), None, 0.0, centered=True)
    assert norm.format_cell(0, 0) == "2.00·(1.00 − (−0.50)) / 1.50"
    assert [format_number(x) for x in (0, 2.345, -0.5, 0.0123, 0.00001, 123456.0)] == [
        *("0", "2.35", "−0.50", "0.012", "1.0e−05", "1.2e+05")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("run", STARTERS)
def test_stages_of_every_starter_end_at_its_prediction(starter, run):
    loaded = starter(run)
    found = compute_stages(loaded.make_reader(), "The plot was not good, but the ending was never dull.")
    np.testing.assert_allclose(found.stages[-1].made[0], loaded.predict([found.text]).probabilities[0], **CLOSE)
    assert all(stage.reading.endswith(".") and "  " not in stage.reading for stage in found.stages)


EDITED = {
    "a head off": ("vanilla", Intervention(heads_off=frozenset({(0, 0), (1, 1)}))),
    "a head at its mean": ("differential", Intervention(heads_mean=frozenset({(0, 1), (1, 0)}))),
    "components": ("ndt-01-n3", Intervention(components_off=frozenset({(0, 0)}), components_mean=frozenset({(1, 1)}))),
    "one in one head": ("tweet-v1-p2", Intervention(heads_mean=frozenset({(0, 0)}))),
    "maps": ("ndt-pm1-n2", Intervention(maps_off=frozenset({(0, 0, 1)}), maps_mean=frozenset({(1, 1, 0)}))),
    "lambdas": ("ndt-pm1-n3", Intervention(lambdas=((0, 1, 0.9), (1, 2, -0.5)), lambda_scale=0.5)),
    "gates": ("sentiformer", Intervention(gates=((0, 2, 0.0), (1, 1, 0.25), (1, 3, 1.0)))),
    "all gates closed": ("sentiformer", Intervention(gates=tuple((0, at, 0.0) for at in range(12)))),
    "an added term": ("lexical-all-scaled", Intervention(lexical_scale=0.5, lexical_off=frozenset({1}))),
    "a factor": ("lexical-hadamard", Intervention(lexical_off=frozenset({0}))),
    "a factor at its mean": ("lexical-hadamard", Intervention(lexical_mean=frozenset({0, 1}))),
}
SAID = {
    "a head off": [(1, "heads", "As edited, head 1 is off.")],
    "a head at its mean": [(2, "heads", "As edited, head 1 is at its mean.")],
    "components": [
        (1, "combine", "As edited, A₀ is off."),
        (2, "combine", "at its mean, so that it weighs nothing here"),
        (2, "mix", "What is at its mean gives every token the same."),
    ],
    "gates": [(1, "mask", "whose gate is closed is hidden from all"), (2, "terms", "is 0.25")],
    "a factor": [(1, "terms", "as edited, it is off")],
    "a factor at its mean": [(1, "terms", "multiplied by the mean of σ")],
}  # Layer, stage and what its reading says of the edit


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITED)
def test_stages_of_an_edited_model_equal_its_formulas_and_prediction(name):
    preset, change = EDITED[name]
    own = reader(preset, edited=change)
    batch = Batch.from_arrays(to_batch(own.tokenizer.encode(TEXT)))
    with switch_to_eval(own.model):
        output, plain = (own.model(batch, trace=True, intervene=each) for each in (change, None))
    assert not torch.allclose(output.logits, plain.logits, rtol=1e-6)
    for layer, seen in enumerate(output.trace.layers, start=1):
        found = check(own, layer=layer)
        np.testing.assert_allclose(found.find_stage("feedforward").made, seen.hidden[0], **CLOSE)
        np.testing.assert_allclose(found.find_stage("mix").matrices[0].values, seen.combined[0, 0], **CLOSE)
        last = [each for each in found.find_stage("heads").matrices if each.name != "y"][-1]
        np.testing.assert_allclose(last.values, seen.head_outputs[0, 0], **CLOSE)
        assert all(words in found.find_stage(key).reading for at, key, words in SAID.get(name, ()) if at == layer)


SENTENCE = "the plot was not bad and very great"
SIGMA = {"model.attention.lexical": "add", "text.lexicon": "vader", "model.attention.lexical_strength": 3}
KINDS = {
    "linear": {},
    "sigma in the last head": {
        **SIGMA,
        "model.attention.lexical_heads": "last",
        "model.attention.lexical_scaled": True,
    },
    "Inceptive": {"model.head.kernels": "2,3", "model.head.channels": 4, "model.head.attention_heads": 2},
    "mean": {"model.pooling": "mean"},
}


def make_reader(folder, text=SENTENCE, change=UNCHANGED, **settings) -> ExplainContext:
    found = Backbone("tiny", folder)
    config = TextConfig(tokenizer="pretrained", normaliser="none", lexicon=settings.get("text.lexicon", ""))
    tokenizer = fit_tokenizer([text], config, read_tokenizer(found))
    given = {"model.backbone": str(folder), "model.dropout": 0, **found.settings, **settings}
    chosen = compose("pretrained", given).model
    body = split_backbone(found.architecture, 0.0, tokenizer, folder)
    torch.manual_seed(1)
    model = build_model(chosen, vocabulary=0, classes=3, body=body, pairs=tokenizer.pairs).eval()
    return lent(model, tokenizer, change)


@pytest.fixture(scope="module", params=EVERY)
def folder(request, tmp_path_factory):
    return backbone(tmp_path_factory.mktemp(request.param), request.param)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_stage_equals_its_formula_and_the_pretrained_encoder(folder, kind):
    own = make_reader(folder, **KINDS[kind])
    seen = traced(own, SENTENCE).trace
    for layer in (1, 2):
        found = check(own, SENTENCE, layer=layer, head=3)
        assert (found.tokens[0], found.tokens[-1]) == ("[CLS]", "[SEP]")
        np.testing.assert_allclose(found.find_stage("embedding").made, seen.embedded[0], **CLOSE)
        shown = found.find_stage("softmax").matrices[0].values
        np.testing.assert_allclose(shown, seen.layers[layer - 1].maps[0, 0, 2], **CLOSE)
        np.testing.assert_allclose(found.find_stage("feedforward").made, seen.layers[layer - 1].hidden[0], **CLOSE)


def test_text_pairs_have_two_segment_types(folder):
    text = text_pairs.join_pair("good film", "not bad")
    own = make_reader(folder, text)
    found = check(own, text)
    np.testing.assert_allclose(found.find_stage("embedding").made, traced(own, text).trace.embedded[0], **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["bert"], indirect=True)
@pytest.mark.parametrize(
    "change",
    [Intervention(heads_off=frozenset({(0, 1)})), Intervention(lexical_scale=0.5, lexical_off=frozenset({1}))],
    ids=["a head", "half of sigma and none of a layer"],
)
def test_stages_of_an_edited_encoder_end_at_its_prediction(folder, change):
    check(make_reader(folder, change=change, **SIGMA), SENTENCE)


@pytest.mark.slow
def test_unknown_activations_are_refused(tmp_path):
    folder = backbone(tmp_path / "tiny", "bert")
    changed(folder, hidden_act="gelu_new")
    with pytest.raises(NotAvailable, match="NewGELUActivation, which Steps cannot compute"):
        compute_stages(make_reader(folder), SENTENCE)
    changed(folder, hidden_act="relu")
    check(make_reader(folder), SENTENCE)
