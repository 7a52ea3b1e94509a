"""Conversion of published encoders: ids as of transformers' own BertweetTokenizer, weights without running code."""

import json
import pickle

import pytest
import torch
from refused import check_raises
from safetensors.torch import load_file

from core.api.models import backbones_convert
from core.config import TextConfig
from core.exceptions import DataError, InputError
from core.runs.backbone_weights import read_tokenizer
from core.runs.backbones import find_backbone
from core.text.subword_tokenizers import PretrainedTokenizer

WORDS = "the th@@ hel@@ lo at c@@ cat s@@ o@@ n m@@ e r@@ a x@@".split()
CODES = ["t h", "th e</w>", "h e", "he l", "l o</w>", "a t</w>", "th e", "c at</w>", "the r"]
ROWS, WIDTH = 30, 8
SHAPE = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 40}


@pytest.fixture
def published(tmp_path):
    """A folder in the layout of BERTweet, with a table of words only."""
    folder = tmp_path / "bertweet"
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{word} {100 - row}\n" for row, word in enumerate(WORDS)))
    (folder / "bpe.codes").write_text("".join(f"{pair} 9\n" for pair in CODES))
    config = {"model_type": "roberta", "hidden_size": WIDTH, "vocab_size": ROWS, "pad_token_id": 1, **SHAPE}
    (folder / "config.json").write_text(json.dumps(config))
    table = torch.arange(ROWS * WIDTH, dtype=torch.float32).view(ROWS, WIDTH)
    names = {"roberta.embeddings.word_embeddings.weight": table, "roberta.layer_norm.gamma": torch.ones(2)}
    torch.save(names, folder / "pytorch_model.bin")
    return folder


def test_bertweet_reads_the_ids_and_rows_that_transformers_reads(published):
    found = backbones_convert(published)
    assert (found["weights"], found["tokenizer"]) == ("pytorch_model.bin", "vocab.txt and bpe.codes")
    backbone = find_backbone(found["folder"])
    backbone.check()
    reader = PretrainedTokenizer.fit(["the cat"], TextConfig(max_length=20), read_tokenizer(backbone))
    table = load_file(f"{found['folder']}/model.safetensors")["roberta.embeddings.word_embeddings.weight"]
    assert table.shape[0] == json.loads((backbone.folder / "config.json").read_text())["vocab_size"] == reader.rows
    # transformers 5.24, BertweetTokenizer on these two files; 3 is the unknown word.
    for text, ids in {
        "the cat sat on the mat": [4, 10, 11, 8, 12, 13, 4, 14, 8],
        "there hello e x them zebra a": [3, 15, 6, 7, 15, 3, 3, 3, 3, 3, 3, 16, 17, 17],
    }.items():
        assert torch.equal(table[reader._model.encode(text, add_special_tokens=False).ids], table[ids]), text
    assert load_file(f"{found['folder']}/model.safetensors").keys() >= {"roberta.layer_norm.weight"}


def test_a_pickle_that_runs_code_is_refused(published):
    class Harm:
        def __reduce__(self):
            return exec, ("raise SystemExit('run')",)

    torch.save({"a": Harm()}, published / "pytorch_model.bin")
    check_raises(DataError, "holds more than tensors", backbones_convert, published)
    (published / "pytorch_model.bin").write_bytes(pickle.dumps({"a": [1]}))
    check_raises(DataError, r"pytorch_model\.bin", backbones_convert, published)
    assert not published.with_name("bertweet-converted").exists()


def test_a_refusal_names_what_it_found(published, tmp_path):
    check_raises(InputError, "has files already", backbones_convert, published, published)
    check_raises(InputError, "is no folder", backbones_convert, tmp_path / "gone")
    (published / "bpe.codes").write_text("only-one-column\n")
    check_raises(DataError, "vocabulary cannot be read", backbones_convert, published)
    for name in ("vocab.txt", "bpe.codes"):
        (published / name).unlink()
    (published / "sentencepiece.bpe.model").touch()
    with pytest.raises(DataError, match=r"there is config\.json, pytorch_model\.bin, sentencepiece\.bpe\.model"):
        backbones_convert(published)
    (published / "pytorch_model.bin").unlink()
    check_raises(DataError, r"nor pytorch_model\.bin is there, but config\.json", backbones_convert, published)


def test_wordpieces_are_read_from_their_vocabulary(published):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "##s"]
    (published / "bpe.codes").unlink()
    (published / "vocab.txt").write_text("\n".join(pieces) + "\n")
    (published / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    found = backbones_convert(published)
    reader = PretrainedTokenizer.fit(["x"], TextConfig(max_length=9), read_tokenizer(find_backbone(found["folder"])))
    assert reader._model.encode("The cats zoo").ids == [2, 4, 5, 6, 1, 3]
