import dataclasses
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import safetensors.torch
import yaml
from exported import SENTENCES, draw_run, small
from starters import STARTERS
from structures import STRUCTURES

from core import api
from core.exceptions import InputError
from core.models.presets import PRESETS
from core.runs import model_export
from core.runs.load import load_run
from core.runs.model_export import CLOSE, TEXTS, build_files, export_model, export_onnx
from core.runs.store import RunStore

WORDS, TWEETS = "starter-ndt-small", "starter-tweet-v1-p2"
BLOCKED = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("core", "sentiscope", "dashboard", "torch", "transformers"):
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
"""
ENCODERS = [name for name in STRUCTURES if PRESETS[name].model.family == "encoder"]


@pytest.fixture
def store():
    return RunStore(STARTERS)


def run_card(folder, texts):
    """Run the lines of a card in a process that cannot import Sentiscope, then classify texts."""
    (lines,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    assert len(lines.splitlines()) <= 40
    code = f"{BLOCKED}{lines}\nprint(json.dumps(classify(json.load(sys.stdin))))"
    given = {"input": json.dumps(texts), "capture_output": True, "text": True, "cwd": folder, "check": True}
    return json.loads(subprocess.run([sys.executable, "-c", f"import json\n{code}"], **given).stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("run", [WORDS, TWEETS, "starter-vanilla"])
def test_lines_of_the_onnx_card_answer_like_the_command(run, store, tmp_path):
    made = api.export(run, tmp_path / "out", format="onnx", store=store)
    assert made["difference"] < 1e-5 and {"README.md", "model.onnx", "tokenizer.json"} <= made["files"].keys()
    expected = [each["probabilities"] for each in api.predict(run, SENTENCES, store=store)["predictions"]]
    found = [*run_card(tmp_path / "out", SENTENCES[:1]), *run_card(tmp_path / "out", SENTENCES)[1:]]
    classes = store.read(run).classes
    assert np.abs([[a[c] - b[c] for c in classes] for a, b in zip(found, expected, strict=True)]).max() < CLOSE


@pytest.mark.slow
@pytest.mark.parametrize("preset", [*ENCODERS, "cnn", "padded"])
def test_onnx_file_of_each_structure_has_the_logits_of_the_run(preset):
    model = PRESETS["cnn"].model
    if preset != "cnn":
        model = small("vanilla" if preset == "padded" else preset)
        padded = {"pad_mode": "as_released"} if preset == "padded" else {}
        part = dataclasses.replace(model.attention, window=4) if model.attention.window else model.attention
        model = dataclasses.replace(model, attention=part, **padded)
    text = ({"tagger": "en"} if model.needs_tags else {}) | ({"lexicon": "vader"} if model.needs_lexicon else {})
    content, inputs, difference = export_onnx(draw_run(STARTERS, model, **text), SENTENCES)
    assert content and difference < CLOSE
    assert inputs == ["ids", "keep", *["tags"] * model.needs_tags, *["polarity"] * model.needs_lexicon]


@pytest.mark.slow
def test_hub_folder_has_metadata_weights_tokenizer_and_the_run(store, tmp_path):
    from transformers import PreTrainedTokenizerFast

    api.export(TWEETS, tmp_path / "out", format="huggingface", store=store)
    folder, run = tmp_path / "out", load_run(store, TWEETS)
    _, front, body = (folder / "README.md").read_text().split("---\n", 2)
    metadata = yaml.safe_load(front)
    assert metadata["license"] == "mit" and metadata["language"] == ["en"]
    results = metadata["model-index"][0]["results"]
    tested = {each["metrics"][0]["type"]: each["metrics"][0]["value"] for each in results[:2]}
    measured = run.record.results["metrics"]["test"]
    assert tested == {"accuracy": round(measured["accuracy"], 4), "f1": round(measured["f1_macro"], 4)}
    assert "$" not in body and f"| test | Accuracy | {measured['accuracy']:.3f} |" in body
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    assert all((weights[name] == own).all() for name, own in run.model.state_dict().items())
    assert json.loads((folder / "config.json").read_text())["id2label"] == {"0": "negative", "1": "positive"}
    fast = PreTrainedTokenizerFast.from_pretrained(folder)
    assert [fast.encode(text, truncation=True) for text in TEXTS] == run.tokenizer.encode_batch(TEXTS)
    mine = RunStore(tmp_path / "runs")
    name = api.runs_import(folder / "sentiscope", store=mine)["run"]
    probabilities = (load_run(at, known).predict(TEXTS).probabilities for at, known in ((store, TWEETS), (mine, name)))
    assert np.array_equal(*probabilities)


@pytest.mark.slow
def test_model_with_further_inputs_lists_them_and_has_no_lines(store, tmp_path):
    run = draw_run(STARTERS, small("lexical-last"), lexicon="vader")
    _, inputs, _ = export_onnx(run, SENTENCES[:9])
    listed = model_export.describe_arrays(run, inputs)
    assert "`polarity`: positive, neutral and negative share" in listed and "lexicon vader, float32" in listed


def test_wrong_requests_are_refused_with_a_sentence(store, tmp_path, monkeypatch):
    def refuse(match, run=WORDS, form="onnx", to=tmp_path / "new", runs=store):
        with pytest.raises(InputError, match=match) as refused:
            export_model(runs, run, form, to, lambda run, tokenizer: "")
        assert refused.value.exit_code == 2 and not (tmp_path / "new").exists()

    refuse("one of zip, huggingface, onnx, html", form="pdf")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    refuse("is there already; name a new folder", to=tmp_path / "full")
    refuse("no run 'none'", run="none")
    mine = RunStore(tmp_path / "runs")
    refuse("has no weights", run=mine.create(store.read(WORDS).config, "vanilla", "first").run, runs=mine)
    monkeypatch.setattr(model_export.importlib.util, "find_spec", lambda name: None)
    refuse(re.escape("onnx and onnxruntime: `pip install 'sentiscope[onnx]'`"))
    monkeypatch.undo()
    mixed = dataclasses.replace(load_run(store, WORDS).record, results={"mix": {"weight": 0.5}})
    monkeypatch.setattr(type(store), "read", lambda self, run: mixed)
    refuse("mixes TF-IDF into its answers, which --format onnx does not write")
    monkeypatch.undo()
    run = load_run(store, WORDS)
    training = dataclasses.replace(run.record.config.training, passages=64)
    record = dataclasses.replace(run.record, config=dataclasses.replace(run.record.config, training=training))
    with pytest.raises(InputError, match="reads long texts in passages, which --format html does not write"):
        build_files(store, dataclasses.replace(run, record=record), "html", lambda run, tokenizer: "")


def test_families_that_onnx_does_not_write_are_refused():
    lstm = draw_run(STARTERS, PRESETS["bilstm"].model)
    with pytest.raises(InputError, match="does not write a model of the family bilstm"):
        model_export.refuse_onnx(lstm)
    with pytest.raises(InputError, match="the letters of words"):
        model_export.refuse_onnx(draw_run(STARTERS, small("vanilla", ngram_buckets=50)))


def test_zip_is_what_runs_import_reads(store, tmp_path):
    made = api.export(WORDS, tmp_path / "run.zip", store=store)
    assert made["format"] == "zip" and made["files"] == {"run.zip": (tmp_path / "run.zip").stat().st_size}
    assert api.runs_import(tmp_path / "run.zip", store=RunStore(tmp_path / "in"))["run"]
