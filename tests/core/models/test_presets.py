import re

import pytest
from refused import check_raises
from small_models import example, make, small
from tiny_backbones import hollow_backbone
from typer.testing import CliRunner

from core import api, preset_catalog
from core.api import printing
from core.api.models import list_backbone_recipes
from core.cli import app
from core.config import compose, flatten_config
from core.exceptions import ConfigError, InputError
from core.models.builder import build_model
from core.models.presets import PAPERS, PRESETS
from core.paper_settings import FINE_TUNINGS
from core.recipes import FOR_ALL, RECIPES, apply_recipe
from core.runs import backbones
from core.runs.configuration import configure
from core.runs.sweep import Plan, list_members

FREE = {name for name, preset in PRESETS.items() if name.startswith("tfidf") or name == "lexicon"}


def test_every_preset_lists_deviations_of_only_the_parts_of_its_variant():
    assert {name for name, preset in PRESETS.items() if not preset.departures} == FREE

    def list_names(name: str) -> set[str]:
        return {each.what for each in PRESETS[name].departures}

    assert "gate of the class token" not in list_names("sentiformer-no-gate")
    assert not {"window", "random tokens", "global tokens"} & list_names("sentiformer-full")
    assert "tagger" not in list_names("sentiformer-no-pos") and "tagger" in list_names("sentiformer")
    assert "lexicon" not in list_names("lexical-none")
    assert "statistics of the batch norm" not in list_names("inceptive-mean")
    assert "dropout after the encoder" not in list_names("inceptive-64")


@pytest.mark.slow
def test_listed_deviations_match_the_presets_and_read_their_values_from_them():
    """Each names an existing setting; the paper's value differs and gives a valid model."""
    for name, preset in PRESETS.items():
        own = flatten_config(compose(name))
        for each in preset.departures:
            assert each.what and each.why and bool(each.setting) != bool(each.ours), (name, each)
            assert not each.setting or each.setting in own, (name, each)
            if each.instead:
                assert each.paper, (name, each)
                changed = flatten_config(compose(name, {each.setting: each.instead}))
                # Released normalisers leave look-alikes unchanged.
                other = [key for key in own if own[key] != changed[key] and key != "text.lookalikes"]
                assert other == [each.setting], (name, each)
        said = [each.what for each in preset.departures]
        assert len(said) == len(set(said)), name
    rows = {row["what"]: row for row in preset_catalog.list_deviations("inceptive-64")}
    assert rows["learning rate"]["here"] == f"training.lr={compose('inceptive-64').training.lr}" == "training.lr=0.0005"
    assert rows["learning rate"]["instead"] == "training.lr=1e-5"
    assert rows["two classes"]["here"] == "model.head.one_logit=false"
    assert preset_catalog.describe_preset("inceptive-64")["departures"] == list(rows.values())


def test_gates_start_open_and_are_one_at_class_tokens():
    config = small(PRESETS["sentiformer"].model)
    gates = make(config)(example((5, 3)), trace=True).trace.layers[0].gates
    assert (gates[:, 0] == 1).all() and (gates[:, 1] < 1).all()
    fresh = build_model(config, vocabulary=9, classes=2).state_dict()
    assert [bias.item() for name, bias in fresh.items() if name.endswith("gate.bias")] == [2.0, 2.0]


NAMED_BY_THE_PAPERS = {
    "lexical": {"ko-electra", "kr-electra", "kc-electra", "kr-bert", "xlm-roberta"},
    "inceptive": {"bertweet", "roberta", "banglabert", "xlm-roberta", "biobert", "biobert-large", "ct-bert"},
    "sentiformer": {"distilbert", "bert"},
    "7ess-xin": {"roberta"},
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """here(hub name): puts a backbone without weights into SENTISCOPE_BACKBONES."""
    monkeypatch.setenv(backbones.FOLDER, str(tmp_path / "own"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))

    def write_backbone(name):
        own = {"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}
        return hollow_backbone(tmp_path / "own" / name, **own)

    return write_backbone


def test_every_backbone_of_a_paper_has_a_recipe_with_sources():
    for paper, named in NAMED_BY_THE_PAPERS.items():
        found = {name for name, each in FINE_TUNINGS.items() if each.paper == paper}
        prefix = {"7ess-xin": "tweet-", "lexical": "lexical-"}.get(paper, f"{paper}-")
        assert found == {prefix + name for name in named}
        assert any(preset.startswith(prefix) and PRESETS[preset].paper == paper for preset in PRESETS)
    assert sum(map(len, NAMED_BY_THE_PAPERS.values())) == len(FINE_TUNINGS)
    for each in FINE_TUNINGS.values():
        assert re.match(r"section (\d|V)", each.source)
        assert all(told.where.startswith(("section ", "not stated")) for told in each.settings.values())
        assert each.settings or "states no" in each.note


def test_inceptive_recipes_match_table_2_and_name_the_head_of_the_preset(here):
    for name, length, decay in (("bertweet", 126, 1e-3), ("biobert", 510, 1e-4), ("ct-bert", 126, 1e-4)):
        made = compose("pretrained", RECIPES[f"inceptive-{name}"].settings)
        assert (made.text.max_length, made.training.weight_decay) == (length, decay)
        found = made.training
        assert (found.lr, found.epochs, found.batch_size, found.schedule, found.clip) == (1e-5, 12, 32, "cosine", 1)
    here("csebuetnlp/banglabert")
    told = dict(re.findall(r"--set ([\w.]+)=([\w,]+)", FINE_TUNINGS["inceptive-banglabert"].note))
    made = configure("built-in", "pretrained", told, recipe="inceptive-banglabert")
    assert (made.model.head, made.model.pooling) == (PRESETS["inceptive-16"].model.head, "mean")
    assert compose("pretrained", RECIPES["sentiformer-bert"].settings).training.lr == 1e-4


def test_recipes_set_the_backbone_sizes_combine_with_heads_and_are_refused_for_others(here):
    here("vinai/bertweet-base")
    mine = {"model.head.kernels": "2,3,5,7", "model.attention.lexical": "add", "text.lexicon": "vader"}
    config = configure("built-in", "pretrained", {**mine, "training.epochs": 2}, recipe="inceptive-bertweet")
    values = flatten_config(config)
    assert (values["model.backbone"], config.model.width, config.model.layers) == ("vinai/bertweet-base", 24, 2)
    assert {name: str(values[name]) for name in mine} == mine
    assert (config.training.lr, config.training.epochs) == (1e-5, 2)
    [cell] = list_members(Plan("study", ("pretrained",), recipe="inceptive-bertweet"))
    assert (cell.config.model.backbone, cell.config.model.width) == ("vinai/bertweet-base", 24)
    folder = here("other")
    config = configure("built-in", "pretrained", {"model.backbone": str(folder)}, recipe="inceptive-roberta")
    assert (config.model.backbone, config.training.epochs) == (str(folder), 12)
    for call in (lambda: apply_recipe("tweet-roberta", "vanilla"), lambda: configure(recipe="tweet-roberta")):
        check_raises(ConfigError, "recipe 'tweet-roberta' is one of pretrained: choose --model pretrained", call)
    with pytest.raises(InputError, match=r"`hf download dmis-lab/biobert-v1\.1 config\.json tokenizer\.json model"):
        configure("built-in", "pretrained", recipe="inceptive-biobert")
    assert FOR_ALL == ("strong", "pretrain")


def test_recipes_show_available_backbones_and_missing_files(here):
    here("vinai/bertweet-base")
    (here("beomi/KcELECTRA-base") / "model.safetensors").unlink()
    states = {each["recipe"]: each for each in list_backbone_recipes()}
    assert states.keys() == FINE_TUNINGS.keys()
    assert states["inceptive-bertweet"]["ok"] and states["inceptive-bertweet"]["paper"] == PAPERS["inceptive"]
    assert states["inceptive-bertweet"]["settings"]["training.lr"] == {"value": 1e-5, "where": "section 4.3, Table 2"}
    lacking = states["lexical-kc-electra"]
    assert (lacking["ok"], lacking["lacks"]) == (False, "model.safetensors")
    assert "hf download beomi/KcELECTRA-base" in lacking["problem"]
    assert (states["sentiformer-bert"]["folder"], states["sentiformer-bert"]["ok"]) == ("", False)
    assert api.backbones_list()["recipes"] == list(states.values())
    assert api.backbones_check("inceptive-bertweet")["name"] == "vinai/bertweet-base"


@pytest.mark.slow
def test_the_command_lists_recipes_with_their_state(here, monkeypatch):
    monkeypatch.setattr(printing.out, "_width", 200)  # COLUMNS is read only once, at import
    here("vinai/bertweet-base")
    (here("beomi/KcELECTRA-base") / "tokenizer.json").unlink()
    (here("snunlp/KR-BERT-char16424") / "model.safetensors").write_bytes(b"half")
    shown = CliRunner().invoke(app, ["backbones", "list"])
    assert shown.exit_code == 0
    lines = {line.split()[0]: line for line in shown.output.splitlines() if line.split()}
    assert "lacks tokenizer.json" in lines["lexical-kc-electra"] and "not here" in lines["sentiformer-bert"]
    assert "lacks model.safetensors" in lines["lexical-kr-bert"] and lines["inceptive-bertweet"].split()[2] == "in"
    assert CliRunner().invoke(app, ["backbones", "check", "lexical-kc-electra"]).exit_code != 0
