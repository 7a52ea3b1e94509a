"""Models before training: presets as tables, a planned training, the diagram of the parts."""

import shlex
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from structures import STRUCTURES

from core.config import SETTINGS, compose, flatten_config
from core.models.capabilities import BASELINES
from core.models.config import READS
from core.models.model_description import count_parameters, list_parts
from core.models.presets import PAPERS, PRESETS
from core.runs.cost_estimate import Estimate, Size
from core.runs.record import RunRecord
from core.settings import GROUPS
from dashboard.figures import model_plan
from dashboard.figures.theme import DARK, LIGHT, Look, compute_contrast

CONFIG = compose("ndt-01-n3", {"training.epochs": 4})
SVG = "{http://www.w3.org/2000/svg}"


def test_baseline_describes_what_it_lacks_and_runs_give_the_sizes_of_parameters():
    said = {model_plan.describe_baseline(family, "heads and layers") for family in BASELINES}
    assert len(said) == 5, "those that read the same say the same"
    assert all(each.startswith("It ") and each.endswith(", without heads and layers.") for each in said)
    sizes = model_plan.read_sizes(run(vocabulary=1_234, classes=("a", "b", "c")))
    assert sizes[:2] == (1_234, 3) and sizes.words == "1\u202f234 tokens and 3 classes, as in r on reviews.csv"
    own = {"model.layers": 3, "model.attention.heads": 4, "model.width": 32}
    record = RunRecord("r", "vanilla", "done", compose("vanilla", own), "", vocabulary=1_234, classes=("a", "b"))
    sizes = model_plan.read_sizes(record)
    table = model_plan.build_preset_frame(model_plan.ALL, sizes, []).set_index("model")["parameters"]
    assert table["vanilla"] == count_parameters(PRESETS["vanilla"].model, vocabulary=1_234, classes=2)
    assert sizes.get_model("vanilla") == record.config.model
    assert sizes.get_model("ndt-01-n3") == PRESETS["ndt-01-n3"].model
    for begun in (None, run(), run(vocabulary=9, classes=("a",))):
        assert model_plan.read_sizes(begun) is None


def parts_of(name):
    return model_plan.build_parts_table(
        list_parts(PRESETS[name].model, vocabulary=model_plan.USUAL.vocabulary, classes=model_plan.USUAL.classes)
    )


def run(preset="vanilla", status="done", **known):
    return RunRecord("r", preset, status, compose(preset, {"data.name": "/some/reviews.csv"}), "", **known)


@pytest.mark.parametrize("paper", PAPERS)
def test_paper_shows_its_presets_with_their_runs(paper):
    own = [name for name, preset in PRESETS.items() if preset.paper == paper]
    records = [run(own[0]), run(own[0], "failed"), run("vanilla")]
    frame = model_plan.build_preset_frame(PAPERS[paper], model_plan.USUAL, records)
    assert frame["model"].tolist() == own == model_plan.list_presets(PAPERS[paper])
    assert frame["runs"].tolist()[0] == (3 if own[0] == "vanilla" else 2) and set(frame["paper"]) == {PAPERS[paper]}


def test_all_presets_have_a_size_and_their_parts_add_up():
    frame = model_plan.build_preset_frame(model_plan.ALL, model_plan.USUAL, []).set_index("model")
    assert len(frame) == len(PRESETS) and frame.loc["tweet-v1-p1", "parameters"] == 4_139_010
    assert frame.loc["vanilla", "parts"] == "plain encoder"
    for name in ("sentiformer", "inceptive-64", "cnn", "tfidf-svm"):
        own = parts_of(name)
        whole = own[own["term"] == ""]
        assert (whole["parameters"] * whole["copies"]).sum() == frame.loc[name, "parameters"], name
    assert parts_of("tweet-v1-p2")["term"].tolist().count("QK-norm") == 1


def test_preset_differences_name_both_models_and_newest_finished_runs_are_linked():
    frame = model_plan.compare_presets("lexical-all", "lexical-last")
    assert frame.columns.tolist() == ["what", "lexical-all", "lexical-last", "setting"]
    assert frame.iloc[0].tolist() == ["heads that sigma reaches", "all", "last", "model.attention.lexical_heads"]
    records = [RunRecord(f"run{i}", "vanilla", "done", compose("vanilla"), "") for i in range(model_plan.LINKED + 2)]
    linked = model_plan.list_preset_runs("vanilla", [run("vanilla", "failed"), run("cnn"), *records])
    assert linked == [f"run{i}" for i in range(model_plan.LINKED)]


def test_each_setting_is_offered_once_and_hidden_without_effect_unless_the_user_set_it():
    listed = [name for names in model_plan.list_shown_settings({}, None).values() for name in names]
    assert set(listed) == model_plan.OFFERED and len(listed) == len(set(listed))
    model = {name for name in SETTINGS if name.startswith("model.")}
    assert model <= model_plan.OFFERED
    further = {"training.lambda_lr", "training.diversity", "text.lexicon", "text.lexicon_match", "text.tagger"}
    assert model_plan.OFFERED - model == further and set(SETTINGS) >= model_plan.OFFERED
    everything = model_plan.list_shown_settings({}, None)
    assert tuple(everything) == GROUPS
    assert all(SETTINGS[name].group == title for title, names in everything.items() for name in names)
    plain = offered("vanilla")
    assert "model.attention.gate" in plain and "model.attention.lexicon_gate" not in plain
    assert "model.attention.lexicon_gate" in offered("sentiformer")
    assert "model.attention.lexicon_gate" in offered("vanilla", ["model.attention.lexicon_gate"])
    assert {"model.attention.constraint", "training.diversity"} <= offered("ndt-01-n3") - plain
    assert "Lexicon" in model_plan.list_shown_settings({}, compose("vanilla").model)
    assert "Scores" not in model_plan.list_shown_settings({}, compose("cnn").model)


def offered(preset, own=(), **settings):
    config = compose(preset, settings)
    groups = model_plan.list_shown_settings(dict.fromkeys(own, "x"), config.model).values()
    return {name for names in groups for name in names}


@pytest.mark.parametrize("preset", ["bilstm", "cnn", "tfidf-svm", "lexicon"])
def test_baseline_shows_the_settings_that_its_family_reads(preset):
    read = {f"model.{name}" for name in READS[compose(preset).model.family]}
    assert {name for name in offered(preset) if name.startswith("model.")} - {"model.family"} == read


@pytest.mark.parametrize("preset", STRUCTURES)
def test_settings_that_a_preset_changes_are_never_hidden(preset):
    usual, own = flatten_config(compose("vanilla")), flatten_config(compose(preset))
    assert {name for name in model_plan.OFFERED if own[name] != usual[name]} <= offered(preset)


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (Size(591_107, 1_000, "run"), "0.59 M parameters at 1\u202f000 tokens, as an earlier run counted"),
        (Size(22_000_000, 67_000, "bound"), "22.00 M parameters at 67\u202f000 tokens at most"),
        (Size(836_000, 3_100, "data"), "0.84 M parameters at 3\u202f100 tokens, counted in these texts"),
        (None, "Its size is known when its n-grams are counted"),
    ],
)
def test_size_names_its_basis(size, said):
    assert model_plan.describe_size(size) == said


def test_changed_model_is_described_by_parts_changes_and_implied_settings():
    settings = {"model.attention.gate": "true", "model.attention.lexical": "add", "training.lr": "0.01"}
    along = {"text.lexicon": "vader"}
    assert model_plan.summarize_changes(compose("ndt-01-n3", {**settings, **along}), settings, along) == (
        "It has gate, σ added, 3 maps, λ in [0,1]. 2 changes to the preset. "
        "Also set, because a part needs it: text.lexicon=vader."
    )
    assert model_plan.summarize_changes(compose("vanilla"), {}, {}) == "It has nothing besides a plain encoder."


def test_time_names_its_basis_and_cost_is_a_sentence_without_what_is_unknown():
    said = model_plan.describe_time(Estimate(1000, 52.0, 0), CONFIG)
    assert said.endswith("a guess: nothing similar has been trained on this machine yet")
    said = model_plan.describe_time(Estimate(1000, 41.7, 2), CONFIG)
    assert said == "About 40 s or less · 1\u202f000 steps in 4 epochs · measured on 2 earlier runs here"
    assert "· up to 1\u202f000 steps" in model_plan.describe_time(Estimate(1000, 41.7, 2, counted=False), CONFIG)
    assert "About 4 min 0 s or less" in model_plan.describe_time(Estimate(9, 228.0, 1), CONFIG)
    assert "About 2 h 0 min or less" in model_plan.describe_time(Estimate(9, 7100.0, 1), CONFIG)
    assert "known after the first steps" in model_plan.describe_time(None, CONFIG)
    assert "in one go" in model_plan.describe_time(None, compose("tfidf-logreg"))
    size, time = Size(4_300_000, 30_000, "bound"), Estimate(1000, 52.0, 0)
    said = model_plan.describe_cost("x", size, time, CONFIG)
    assert said == "x has at most 4.30 M parameters (2 layers, 30\u202f000 tokens) and trains in about 50 s or less."
    assert model_plan.describe_cost("x", None, time, CONFIG) == "x trains in about 50 s or less."
    said = model_plan.describe_cost("x", size, None, CONFIG)
    assert said == "x has at most 4.30 M parameters (2 layers, 30\u202f000 tokens)."
    assert model_plan.describe_cost("x", None, None, compose("tfidf-logreg")) == "x is fitted in one go."
    assert model_plan.describe_cost("x", None, None, CONFIG) == "x can be trained."


def test_command_line_sets_the_same_values_as_typed():
    said = model_plan.write_command("my data.csv", "vanilla", {"data.name": "x", "training.lr": "0.001"}, "first")
    parts = ["sentiscope", "train", "--data=my data.csv", "--model=vanilla", "--set=training.lr=0.001", "--name=first"]
    assert shlex.split(said) == parts and model_plan.format_setting(CONFIG, "model.attention.row_norm") == "false"
    assert model_plan.format_setting(CONFIG, "training.epochs") == "4"
    assert (model_plan.format_millions(6), model_plan.format_millions(9_999), model_plan.format_millions(10_000)) == (
        "6",
        "9\u202f999",
        "0.01 M",
    )


def made(name: str):
    return list_parts(PRESETS[name].model, vocabulary=30_000, classes=2)


def drawn(name: str, look: Look = Look()) -> ElementTree.Element:  # noqa: B008 - frozen
    return ElementTree.fromstring(model_plan.draw_diagram(made(name), look))


@pytest.mark.parametrize("name", STRUCTURES)
def test_parts_and_terms_are_drawn_in_order_without_overlap(name):
    root = drawn(name)
    texts, height = list(root.iter(f"{SVG}text")), float(root.get("viewBox").split()[3])
    words, at = [text.text for text in texts], 0
    for title in (title for part in made(name) for title in (part.title, *(term.name for term in part.terms))):
        at = words.index(title, at) + 1
    boxes = [box for box in root.iter(f"{SVG}rect") if box.get("stroke")]
    edges = [(float(box.get("y")), float(box.get("y")) + float(box.get("height"))) for box in boxes]
    assert all(above[1] < below[0] for above, below in pairwise(edges))
    assert all(0 <= float(text.get("y")) <= height and 0 <= float(text.get("x")) <= model_plan.WIDTH for text in texts)


def test_branches_return_to_their_residual_connection_and_the_diagram_is_described():
    for name in ("sentiformer", "sentiformer-no-norm", "tweet-v1-p1"):
        assert len(list(drawn(name).iter(f"{SVG}circle"))) == 2, name
    assert not list(drawn("bilstm").iter(f"{SVG}circle"))

    def order(name):
        root = drawn(name)
        seen = [(float(each.get("cy")), "+") for each in root.iter(f"{SVG}circle")]
        seen += [(float(t.get("y")), "norm") for t in root.iter(f"{SVG}text") if t.text == "LayerNorm"]
        return [what for _, what in sorted(seen)]

    assert order("tweet-v1-p1") == ["+", "norm", "+", "norm"]
    assert order("vanilla") == ["norm", "+", "norm", "+", "norm"]
    said, root = model_plan.describe_parts(made("sentiformer")), drawn("sentiformer")
    assert (root.get("aria-label"), root.get("role")) == (said, "img")
    assert "in each of 6 layers Attention, 8 heads, queries of 32, values of 32 with gate (each key" in said
    assert float(drawn("sentiformer", Look(projector=True)).get("width")) == 1.3 * float(root.get("width"))


@pytest.mark.parametrize("dark", [False, True])
def test_words_have_contrast_on_their_boxes(dark):
    tokens = DARK if dark else LIGHT
    for text in drawn("sentiformer", Look(dark=dark)).iter(f"{SVG}text"):
        assert min(compute_contrast(text.get("fill"), each) for each in (tokens.paper, tokens.panel)) >= 4.5
