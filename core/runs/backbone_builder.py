"""Pretrained encoders (backbones) as transformers modules with Sentiscope's attention. Imports transformers."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from core.exceptions import DataError, SentiscopeError
from core.models.pretrained import Body, Specials, compute_attention
from core.paths import read_regular
from core.runs.backbones import SMALL, Backbone, check_installed
from core.text.subword_tokenizers import PretrainedTokenizer, PublishedTokenizer, convert_panics

NAME = "sentiscope"  # under which Sentiscope's attention is registered with transformers
USED = {
    *("model_type", "vocab_size", "max_position_embeddings", "type_vocab_size", "pad_token_id", "embedding_size"),
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act", "layer_norm_eps"),
    *("dim", "n_layers", "n_heads", "hidden_dim", "activation", "sinusoidal_pos_embds", "initializer_range"),
}
"""Keys of `config.json` that are used; others may name code, another precision or another kind of model."""


def split_backbone(
    architecture: dict[str, Any], dropout: float, tokenizer: PretrainedTokenizer, folder: Path | None = None
) -> Body:
    """Split a pretrained encoder into modules; `dropout` applies to hidden states, not to attention weights.

    The weights are read from `folder`; None: random weights, to be overwritten. `architecture` is the content of
    `config.json`. Raises NotAvailable without transformers, DataError for unreadable files or weights that do not fit.
    """
    with _silence_transformers() as hf:
        hf.AttentionInterface.register(NAME, compute_attention)
        rates = ("hidden_dropout_prob", "dropout"), ("attention_probs_dropout_prob", "attention_dropout")
        given = {name: value for name, value in architecture.items() if name in USED}
        given |= {**dict.fromkeys(rates[0], dropout), **dict.fromkeys(rates[1], 0.0)}
        try:
            config = hf.AutoConfig.for_model(**given)
            if folder:
                model = _read_model(hf, folder, config)
            else:
                model = hf.AutoModel.from_config(config, attn_implementation=NAME)
        except SentiscopeError:
            raise
        except Exception as error:  # transformers raises many kinds of errors for invalid files
            said = " ".join(str(error).split())
            raise DataError(f"cannot be read: {said:.300}", file=str(folder or "the backbone")) from error
    if config.vocab_size < tokenizer.rows:
        said = f"its tokenizer has {tokenizer.rows} tokens, and its table of words {config.vocab_size}"
        raise DataError(said, file=str(folder))
    blocks = (model.transformer if hasattr(model, "transformer") else model.encoder).layer
    project = getattr(model, "embeddings_project", nn.Identity())
    return Body(model.embeddings, project, list(blocks), Specials(*tokenizer.specials))


def _read_model(hf: Any, folder: Path, config: Any) -> Any:
    """Read a pretrained model from a folder's safetensors files only; DataError: the weights do not fit `config`."""
    model, found = hf.AutoModel.from_pretrained(
        folder,
        config=config,
        attn_implementation=NAME,
        dtype=torch.float32,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
    )
    missing = sorted(name for name in found["missing_keys"] if not name.startswith("pooler."))
    if missing or found["mismatched_keys"]:
        why = f"{', '.join(missing[:3])} missing" if missing else "some have another shape"
        raise DataError(f"the weights are not those of the architecture in its config.json: {why}", file=str(folder))
    return model


def read_tokenizer(backbone: Backbone) -> PublishedTokenizer:
    """Read the tokenizer of a pretrained encoder from its folder; DataError if it cannot be read.

    Raises NotAvailable if it must be built from vocabulary files and transformers is missing.
    """
    path = backbone.tokenizer
    try:
        if path is not None:
            return PublishedTokenizer(read_regular(path, SMALL).decode("utf-8"), backbone.longest, backbone.name)
        with _silence_transformers() as hf, convert_panics():
            made = hf.AutoTokenizer.from_pretrained(backbone.folder, local_files_only=True, trust_remote_code=False)
            return PublishedTokenizer(made.backend_tokenizer.to_str(), backbone.longest, backbone.name)
    except SentiscopeError:
        raise
    except Exception as error:  # the tokenizers library raises plain exceptions
        raise DataError(f"its tokenizer cannot be read: {error!s:.200}", file=str(backbone.folder)) from error


@contextlib.contextmanager
def _silence_transformers() -> Iterator[Any]:
    """Yield the transformers library with its log messages and progress bars silenced."""
    check_installed()
    import transformers as hf

    library = logging.getLogger("transformers")
    before = library.level
    library.setLevel(logging.ERROR)
    hf.utils.logging.disable_progress_bar()
    try:
        yield hf
    finally:
        library.setLevel(before)
