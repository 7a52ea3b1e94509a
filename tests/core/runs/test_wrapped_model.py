"""Fine-tuned classifiers of transformers as runs: equal predictions and maps, refused folders, every verb."""

import json
import os
import re
import resource
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from refused import check_raises
from safetensors.torch import load_file, save_file
from tiny_backbones import FAMILIES, changed, classifier

from core import api
from core.exceptions import DataError, InputError, SentiscopeError
from core.interpret.encoder_stages import copy_to_float64
from core.paths import AllowedPaths
from core.runs.backbones import FOLDER
from core.runs.load import load_run
from core.runs.record import TOKENIZER, WEIGHTS
from core.runs.wrapped_model import PublishedClassifier

pytestmark = pytest.mark.slow
MODEL = "model.safetensors"
TEXT, NAMES = "good film, not bad", {0: "bad", 1: "good"}
TEXTS = [TEXT, "awful", "", "a very great plot and the film was awful! " * 2, "zq é, …", "good " * 60]
TEXTS += ["  many   blanks ", "cafe\u0301 film", "a\x00b\u200bc\u00add", " \n\t ", "ΟΔΟΣ İ 👍"]  # read as typed
FILMS = "text,label\n" + "".join(f"good film {a},good\nawful film {a},bad\n" for a in "abcdef")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The folder of a BERT with the classes bad and good."""
    return classifier(tmp_path_factory.mktemp("published") / "tiny", labels=2, id2label=NAMES)


@pytest.fixture
def folder(published, tmp_path):
    """A copy of `published` that a test may change."""
    return shutil.copytree(published, tmp_path / "tiny")


@pytest.mark.parametrize("family", FAMILIES)
def test_probabilities_and_maps_are_those_of_transformers(family, store, tmp_path):
    import transformers

    folder = classifier(tmp_path / family, family, classifier_dropout=0.3)
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    changed(folder, id2label=None)  # as older folders
    opened = api.open_classifier(folder, store=store)
    given = tokenizer(TEXTS, padding=True, truncation=True, max_length=opened["max_length"] + 2, return_tensors="pt")
    with torch.no_grad():
        expected = theirs(**given, output_attentions=True)
    loaded, chances = load_run(store, opened["run"]), expected.logits.softmax(-1).numpy()
    assert np.abs(loaded.predict(TEXTS).probabilities - chances).max() < 1e-6
    assert opened["classes"] == ["label_0", "label_1", "label_2"] and loaded.record.parameters > 1000
    for row, text in enumerate(TEXTS):
        alone, view = loaded.predict([text]).probabilities[0], loaded.inspect(text)
        assert np.abs(alone - chances[row]).max() < 1e-6  # without padding
        places = int(given["attention_mask"][row].sum())
        for layer, maps in zip(view.layers, expected.attentions, strict=True):
            assert np.abs(layer.components[0] - maps[row, :, :places, :places].numpy()).max() < 1e-6
    stages = {each["key"]: each for each in api.steps(opened["run"], TEXT, store=store)["stages"]}
    (formula,) = stages["dense"]["formulas"]
    assert {"bert": "tanh", "distilbert": "ReLU", "electra": "GELU"}.get(family, "tanh") in formula
    assert copy_to_float64(loaded.model.head).dense_norm is None


def test_only_the_head_is_stored_and_an_exported_run_finds_its_encoder(published, store, tmp_path, monkeypatch):
    run = api.open_classifier(published, name="mine", store=store)["run"]
    path = store.get_path(run)
    assert set(load_file(path / WEIGHTS)) == {"head.weight", "head.bias", "head.dense.weight", "head.dense.bias"}
    before = api.predict(run, [TEXT], store=store)["predictions"]
    assert api.runs_list(store)["runs"][0]["status"] == "done" and before[0]["label"] in NAMES.values()
    api.runs_export(run, tmp_path / "mine.zip", store=store)
    again = api.runs_import(tmp_path / "mine.zip", store=store)["run"]
    check_raises(SentiscopeError, "stores no copy of the weights", api.predict, again, [TEXT], store=store)
    monkeypatch.setenv(FOLDER, str(published.parent))
    assert api.predict(again, [TEXT], store=store)["predictions"] == before
    check_raises(InputError, "there is such a run already", api.open_classifier, published, name="mine", store=store)
    assert api.open_classifier(published, store=store)["run"] == "tiny"
    assert api.open_classifier(published, store=store)["run"] == store.read("tiny-2").run == "tiny-2"


def test_verbs_on_sentences_work_and_others_say_what_is_missing(published, store):
    run = api.open_classifier(published, store=store)["run"]
    odds = api.explain(run, TEXT, store=store)["log_odds"]
    assert api.parts(run, TEXT, store=store)["log_odds"] == pytest.approx(odds, abs=1e-5)
    assert api.inspect(run, TEXT, store=store)["tokens"][0] == "[CLS]"
    assert {"deletion", "shapley"} <= {each["method"] for each in api.believe(run, TEXT, store=store)["methods"]}
    assert api.flip(run, "good film", store=store)["label"] in NAMES.values()
    assert api.behave(run, store=store)["suite"]["tests"] > 40
    check_raises(InputError, "not evaluated yet", api.errors, run, store=store)
    check_raises(DataError, "what this model learned from is not known", api.evaluate, run, store=store)


def test_an_opened_classifier_is_evaluated_like_other_data(published, store, tmp_path):
    (tmp_path / "films.csv").write_text(FILMS)
    opened = api.open_classifier(published, data=tmp_path / "films.csv", store=store)
    run, record = opened["run"], store.read(opened["run"])
    measured = api.evaluate(run, data=tmp_path / "films.csv", store=store)
    assert measured["metrics"] == pytest.approx(opened["metrics"])
    assert record.results["metrics"] == {"test": opened["metrics"]}
    assert (opened["n"], opened["split"], measured["n"]) == (12, "all", 12)
    rows = api.runs_predictions(run, store=store)
    assert api.errors(run, store=store)["wrong"] == (rows["label"] != rows["predicted"]).sum()
    other = api.open_classifier(published, data=tmp_path / "films.csv", name="other", store=store)["run"]
    assert api.compare(run, other, store=store)["pairs"][0]["difference"] == 0
    (tmp_path / "odd.csv").write_text(FILMS.replace(",good", ",great"))
    with pytest.raises(InputError, match=r"'great' .*sentiscope open .*tiny --data .*--map great="):
        api.open_classifier(published, data=tmp_path / "odd.csv", store=store)
    assert [each.run for each in store.list()] == [other, run]  # nothing is left of the refused one
    renamed = api.open_classifier(published, data=tmp_path / "odd.csv", rename={"great": "good"}, store=store)
    assert renamed["metrics"] == opened["metrics"]


def test_several_labels_per_text_are_read(store, tmp_path):
    labels = {"problem_type": "multi_label_classification", "id2label": dict(enumerate("abc"))}
    folder, rows = classifier(tmp_path / "multi", "distilbert", **labels), ((x, n % 2) for n, x in enumerate("vwxyz"))
    (tmp_path / "multi.csv").write_text("text,a,b,c\n" + "".join(f"good film {x},{n},{1 - n},1\n" for x, n in rows))
    opened = api.open_classifier(folder, data=tmp_path / "multi.csv", settings={"data.label": "a,b,c"}, store=store)
    found = api.predict(opened["run"], [TEXT], store=store)["predictions"][0]
    logits = load_run(store, opened["run"]).predict([TEXT]).logits[0]
    assert list(found["probabilities"].values()) == pytest.approx(1 / (1 + np.exp(-logits)), abs=1e-6)
    assert (opened["task"], opened["n"]) == ("multi", 5) and "f1_macro" in opened["metrics"]


def only_bin(folder: Path) -> None:
    torch.save(load_file(folder / MODEL), folder / "pytorch_model.bin")
    (folder / MODEL).unlink()


def link_out(name):
    return lambda folder: (folder / name).symlink_to(shutil.move(folder / name, folder.parent / name))


def link_to_itself(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(folder / "config.json")


def inflate(name):
    return lambda folder: os.truncate(folder / name, 4 * 1024**3)  # sparse


def reshape(name, tensor):
    """Replace a tensor of the weights by another one; None: remove it."""

    def spoil(folder: Path) -> None:
        known = load_file(folder / MODEL) | {name: tensor}
        save_file({key: each for key, each in known.items() if each is not None}, folder / MODEL)

    return spoil


def other_ends(folder: Path) -> None:
    tree = json.loads((folder / TOKENIZER).read_text())
    (folder / TOKENIZER).write_text(json.dumps({**tree, "post_processor": None}))


OUT, POOLER = "classifier.weight", "bert.pooler.dense.bias"
CASES = [
    ({"id2label": None}, r"'classes': \['label_0', 'label_1'\]"),
    ({"problem_type": None}, "'task': 'single'"),
    ({"problem_type": "multi_label_classification"}, "'task': 'multi'"),
    (lambda folder: classifier(folder, labels=2, max_position_embeddings=1026), "'max_length': 1024"),
    ({"problem_type": "regression"}, "problem_type='regression': only classifiers are read"),
    ({"problem_type": ["a"]}, r"problem_type=\['a'\]: only classifiers"),
    (reshape(OUT, torch.zeros(1, 24)), "has one output, for a number or a yes-or-no label"),
    ({"id2label": {"0": "a", "1": "a"}}, "id2label has to give each of the 2 outputs a different, short name"),
    ({"id2label": ["a", "b"]}, "id2label has to give"),
    (only_bin, r"only pytorch_model\.bin; `sentiscope backbones convert .*tiny` makes it without running code"),
    (lambda folder: (folder / TOKENIZER).rename(folder / "vocab.txt"), r"only vocab\.txt; `sentiscope backbones conv"),
    (lambda folder: (folder / TOKENIZER).unlink(), r"tokenizer\.json: not there; transformers writes it"),
    (lambda folder: (folder / "config.json").unlink(), r"config\.json: not there"),
    *((link_out(name), f"{name}: is a link out of the folder") for name in ("config.json", TOKENIZER, MODEL)),
    *((inflate(name), f"{name}: it has 4.?096 MB, and at most 64 MB are read") for name in ("config.json", TOKENIZER)),
    (other_ends, r"does not put \[CLS\] or <s> before a text"),
    ({"auto_map": {"AutoModel": "evil.Model"}}, r"names code of its own \(auto_map\), which is never run"),
    ({"is_decoder": True}, "is a decoder"),
    ({"model_type": "llama"}, "of the kind 'llama'; supported are bert"),
    ({"architectures": ["BertForMaskedLM"]}, r"\['BertForMaskedLM'\], not a classifier of texts; `sentiscope train"),
    (reshape(OUT, None), r"model\.safetensors: holds no classifier \(classifier\.weight\)"),
    (reshape(POOLER, None), r"pooler\.dense\.bias is not there, and by config\.json it has \[24\]"),
    (reshape(OUT, torch.zeros(2, 7)), r"has the shape \[2, 7\], and by config\.json it has \[2, 24\]"),
    ({"vocab_size": 5_000_000}, r"has the shape \[48, 24\], and by config\.json it has \[5000000, 24\]"),
    ({"vocab_size": 10**9}, "text.max_vocab=1000000000: 8 to 10000000 are read"),
    ({"num_attention_heads": 5}, r"model\.width=24: must be divisible by 5 heads"),
    (reshape("classifier.bias", torch.tensor([0.0, torch.nan])), "holds a number that is not finite"),
    (reshape("bert.embeddings.LayerNorm.bias", torch.full((24,), torch.nan)), "holds a number that is not finite"),
    ({"hidden_act": "evil"}, "cannot be read: there is no 'evil'"),
    (link_to_itself, r"config\.json: cannot be opened: "),
    (lambda folder: (folder / MODEL).write_bytes(b"\x80\x04pickle"), f"{MODEL}: cannot be read, it may be cut off"),
]
"""Changes of `config.json` or of the folder, and what is read, or why the folder is refused."""


@pytest.mark.parametrize(("spoil", "said"), CASES, ids=[said for _, said in CASES])
def test_folders_are_read_or_refused_with_one_sentence_in_bounded_memory(spoil, said, folder, store):
    changed(folder, **spoil) if isinstance(spoil, dict) else spoil(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        found = repr(api.open_classifier(folder, store=store))
    except SentiscopeError as error:
        found = str(error)
        assert not list(store.folder.glob("*"))
    assert re.search(said, found) and "\n" not in found
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, "kilobytes"


def test_folders_that_others_may_not_read_are_refused_alike(folder, tmp_path):
    shared = AllowedPaths(anywhere=False, roots=(tmp_path / "shared",))
    shutil.copytree(folder, tmp_path / "shared" / "tiny")
    PublishedClassifier(tmp_path / "shared" / "tiny").check(shared)
    for name in ("tiny", "gone"):
        check_raises(DataError, "no file that may be opened", PublishedClassifier(tmp_path / name).check, shared)


def test_a_converted_classifier_can_be_opened(folder, store):
    before = api.predict(api.open_classifier(folder, store=store)["run"], [TEXT], store=store)["predictions"]
    only_bin(folder)
    made = api.backbones_convert(folder)["folder"]
    assert api.predict(api.open_classifier(made, store=store)["run"], [TEXT], store=store)["predictions"] == before
