"""Pretrained encoders of every family, tiny and with random weights, saved in the published formats."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers as hf
from safetensors.numpy import save

WORDS = ("good", "bad", "not", "film", "was", "the", "and", "very", "awful", "great", "plot", "##s", "un", "##ed")
FAMILIES = ("bert", "roberta", "distilbert", "electra", "xlm-roberta")
PLACES = 40
SIZES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 32}
OWN: dict[str, dict[str, Any]] = {
    "distilbert": {"dim": 24, "n_layers": 2, "n_heads": 3, "hidden_dim": 32},
    "electra": {**SIZES, "embedding_size": 16},
    "roberta": {**SIZES, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
    "xlm-roberta": {**SIZES, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
}


WHOLE = save({"embeddings.word_embeddings.weight": np.zeros((46, 24), np.float32)})  # a file of weights


def backbone(folder: Path, family: str = "bert", seed: int = 0) -> Path:
    """A folder with config.json, tokenizer.json and model.safetensors of a family."""
    import torch
    import transformers

    tokenizer = byte_pairs() if "roberta" in family else word_pieces()
    places = PLACES + 2 if "roberta" in family else PLACES
    sizes = {**OWN.get(family, SIZES), "vocab_size": tokenizer.get_vocab_size(), "max_position_embeddings": places}
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(family, initializer_range=0.3, **sizes)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def classifier(folder: Path, family: str = "bert", labels: int = 3, seed: int = 0, **settings: Any) -> Path:
    """A folder of a fine-tuned classifier, as transformers saves one, with random weights and its tokenizer."""
    import torch
    import transformers

    pipeline, roberta = byte_pairs() if "roberta" in family else word_pieces(), "roberta" in family
    first, last, pad, unknown = ("<s>", "</s>", "<pad>", "<unk>") if roberta else ("[CLS]", "[SEP]", "[PAD]", "[UNK]")
    ends = [(name, pipeline.token_to_id(name)) for name in (first, last)]
    pipeline.post_processor = hf.processors.TemplateProcessing(single=f"{first} $A {last}", special_tokens=ends)
    sizes = {**OWN.get(family, SIZES), "vocab_size": pipeline.get_vocab_size(), "num_labels": labels}
    sizes |= {"max_position_embeddings": PLACES + 2 if roberta else PLACES}
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(family, initializer_range=0.3, **{**sizes, **settings})
    transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    named = {"cls_token": first, "sep_token": last, "pad_token": pad, "unk_token": unknown}
    transformers.PreTrainedTokenizerFast(tokenizer_object=pipeline, **named).save_pretrained(folder)
    return folder


def hollow_backbone(folder: Path, **settings: Any) -> Path:
    """A folder like a backbone, but without weights."""
    folder.mkdir(parents=True)
    own = {**SIZES, "model_type": "bert", "vocab_size": 46, "max_position_embeddings": PLACES, **settings}
    (folder / "config.json").write_text(json.dumps(own))
    word_pieces().save(str(folder / "tokenizer.json"))
    (folder / "model.safetensors").write_bytes(WHOLE)
    return folder


def word_pieces() -> hf.Tokenizer:
    """Like BERT's tokenizer: lower case, whole words and ##pieces."""
    names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *"abcdefghijklmnopqrstuvwxyz.,!")
    pipeline = hf.Tokenizer(hf.models.WordPiece({name: row for row, name in enumerate(names)}, unk_token="[UNK]"))
    pipeline.normalizer = hf.normalizers.BertNormalizer(lowercase=True)
    pipeline.pre_tokenizer = hf.pre_tokenizers.BertPreTokenizer()
    return pipeline


def byte_pairs() -> hf.Tokenizer:
    """Like RoBERTa's tokenizer: bytes, some merged."""
    alphabet = sorted(hf.pre_tokenizers.ByteLevel.alphabet())
    names = ("<s>", "<pad>", "</s>", "<unk>", "<mask>", *alphabet, "Ġg", "oo", "Ġgoo", "Ġgood")
    merges = [("Ġ", "g"), ("o", "o"), ("Ġg", "oo"), ("Ġgoo", "d")]
    pipeline = hf.Tokenizer(hf.models.BPE({name: row for row, name in enumerate(names)}, merges, unk_token="<unk>"))
    pipeline.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=True)
    pipeline.decoder = hf.decoders.ByteLevel()
    return pipeline


def changed(folder: Path, **settings: Any) -> None:
    """Change settings in the config.json of a folder."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
