"""The pretrained encoder (backbone) of a run: its architecture, its weights, which the run does not copy, and modules.

Imports torch and transformers only to build the modules, which have Sentiscope's attention.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import json_store
from core.atomic import write_text
from core.exceptions import DataError, RunDamaged, SentiscopeError
from core.paths import ELSEWHERE, read_regular
from core.runs.backbones import (
    CONFIG,
    FAMILIES,
    SMALL,
    Backbone,
    check_installed,
    find_backbone,
    find_run_backbone,
    is_supported,
)
from core.runs.record import CHECKPOINT

if TYPE_CHECKING:
    from core.models.builder import Model
    from core.models.config import ModelConfig
    from core.models.pretrained import Body
    from core.text.subword_tokenizers import PretrainedTokenizer, PublishedTokenizer
    from core.text.tokenizer import Tokenizer

BACKBONE = "backbone.json"
VERSION = 1
TABLES = ("vocab_size", "max_position_embeddings", "type_vocab_size", "embedding_size")
_OF_THE_HUB = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
LARGEST_TABLE = 5_000_000  # rows of an embedding table: the largest vocabularies have a million


@dataclass(frozen=True)
class BackboneRecord:
    """Facts about the pretrained encoder of a run, as stored in `backbone.json`."""

    name: str
    folder: str
    files: dict[str, str]
    architecture: dict[str, Any]  # the content of its `config.json`, which has no paths
    version: int = field(default=VERSION)

    @classmethod
    def from_backbone(cls, backbone: Backbone) -> BackboneRecord:
        """Return the record that a run stores of a pretrained encoder: name, folder, digests, architecture."""
        return cls(backbone.name, str(backbone.folder.absolute()), backbone.hash_weights(), backbone.architecture)

    @classmethod
    def read(cls, folder: Path) -> BackboneRecord:
        """Read `backbone.json` of a run directory; RunDamaged: it is missing or cannot be read."""
        path = folder / BACKBONE
        try:
            found = json_store.read(path, cls, limit=SMALL)
        except FileNotFoundError:
            raise RunDamaged(f"{path}: missing; without it the parts of the model are unknown") from None
        if found.version != VERSION or not is_supported(found.architecture):
            raise RunDamaged(f"{path}: was written by another Sentiscope")
        if lead := [file for file in found.files if Path(file).name != file]:
            raise RunDamaged(f"{path}: {lead[0]!r:.60} is not the name of a weight file")
        return found

    def check(self, model: ModelConfig, run: str) -> None:
        """Refuse a `backbone.json` whose sizes differ from the run's settings, as an imported file may be wrong."""
        known, family = self.architecture, FAMILIES[self.architecture["model_type"]]
        own = tuple(known.get(name) for name in (family.width, family.layers, family.heads, family.ff_width))
        sane = all(type(rows) is int and 0 < rows <= LARGEST_TABLE for rows in [known.get(name, 1) for name in TABLES])
        if not sane or own != (model.width, model.layers, model.attention.heads, model.ff_width):
            raise RunDamaged(f"{BACKBONE} of run '{run}': its sizes are not those of the run's settings")

    def strip_path(self) -> BackboneRecord:
        """Return a copy of the encoder's record without paths of this machine, for export."""
        known = {name: value for name, value in self.architecture.items() if name != "_name_or_path"}
        return replace(self, name=strip_location(self.name), folder="", architecture=known)

    def write(self, folder: Path) -> None:
        """Write the encoder's record as `backbone.json` into a run directory."""
        write_text(folder / BACKBONE, self.to_json())

    def to_json(self) -> str:
        """Return the encoder's record as JSON text, the content of `backbone.json`."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)

    def find_backbone(self, run: str) -> Backbone:
        """Return the pretrained encoder with exactly the recorded weights; RunDamaged: not found, or other sizes."""
        found = find_run_backbone(self.name, self.folder, self.files, run)
        own = FAMILIES[self.architecture["model_type"]]
        for name in ("model_type", *TABLES, own.width, own.layers, own.heads, own.ff_width):
            if found.architecture.get(name) != self.architecture.get(name):
                raise RunDamaged(f"{BACKBONE} of run '{run}': {name} is not that of {found.folder}")
        return found

    def build_body(self, dropout: float, tokenizer: Tokenizer, folder: Path | None) -> Body:
        """Build the modules of the recorded encoder, with weights from a folder, or random ones without a folder."""
        from core.text.subword_tokenizers import PretrainedTokenizer

        if not isinstance(tokenizer, PretrainedTokenizer):
            raise RunDamaged(f"{self.name}: the tokenizer of this run is not that of a backbone")
        return split_backbone(self.architecture, dropout, tokenizer, folder)


def strip_location(name: str) -> str:
    """Return a pretrained encoder's name without its location: OWNER/NAME as on the hub, else the folder's name."""
    called = name.removeprefix(ELSEWHERE)
    if name == called and _OF_THE_HUB.fullmatch(name):
        return name
    last = re.split(r"[/\\]", called.rstrip("/\\"))[-1]
    return ELSEWHERE + (last if last.strip(".") else "a folder")


def resolve_backbone(name: str, folder: Path) -> tuple[BackboneRecord, Backbone]:
    """Return the pretrained encoder of a training: the recorded one, or else one found now, which is then recorded.

    Raises RunDamaged if a resumed training lacks its encoder, and InputError if no encoder can be used.
    """
    # Without a checkpoint nothing depends on the recorded encoder, which may have been replaced since.
    if (folder / BACKBONE).is_file() and (folder / CHECKPOINT).is_dir():
        known = BackboneRecord.read(folder)
        return known, known.find_backbone(folder.name)
    backbone = find_backbone(name)
    backbone.check()
    known = BackboneRecord.from_backbone(backbone)
    known.write(folder)
    return known, backbone


def list_frozen(model: Model) -> frozenset[str]:
    """Return the names of the pretrained parameters that a run does not train and reads from the encoder's files."""
    named = ((name, each) for name, each in model.named_parameters() if not name.startswith("head."))
    return frozenset(name for name, each in named if not each.requires_grad)


def summarize_backbone(known: BackboneRecord, model: Model, names: frozenset[str]) -> Mapping[str, Any]:
    """Summarise the encoder for the run record: name, weight digests, and counts of unchanged and of all parameters."""
    sizes = {name: each.numel() for name, each in model.named_parameters()}
    numbers = {"unchanged": sum(sizes[name] for name in names), "of": sum(sizes.values())}
    return {"name": known.name, "digests": known.files, **numbers}


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
    from torch import nn

    from core.models.pretrained import Body, Specials, compute_attention

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


def list_shapes(architecture: Mapping[str, Any], classes: int) -> dict[str, list[int]]:
    """Return the shape of each tensor of a sequence classifier by its `config.json`, without making one; DataError."""
    import torch

    with _silence_transformers() as hf, torch.device("meta"):
        try:
            given = {name: value for name, value in architecture.items() if name in USED}
            config = hf.AutoConfig.for_model(**given, num_labels=classes)
            made = hf.AutoModelForSequenceClassification.from_config(config)
        except Exception as error:  # transformers raises many kinds of errors for invalid settings
            lacking = "there is no " * isinstance(error, KeyError)
            raise DataError(f"cannot be read: {lacking}{' '.join(str(error).split()):.300}", file=CONFIG) from error
    return {name: list(tensor.shape) for name, tensor in made.state_dict().items()}


def _read_model(hf: Any, folder: Path, config: Any) -> Any:
    """Read a pretrained model from a folder's safetensors files only; DataError: the weights do not fit `config`."""
    import torch

    safely = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    kind = {"config": config, "attn_implementation": NAME, "dtype": torch.float32}
    model, found = hf.AutoModel.from_pretrained(folder, **kind, **safely, output_loading_info=True)
    missing = sorted(name for name in found["missing_keys"] if not name.startswith("pooler."))
    if missing or found["mismatched_keys"]:
        why = f"{', '.join(missing[:3])} missing" if missing else "some have another shape"
        raise DataError(f"the weights are not those of the architecture in its config.json: {why}", file=str(folder))
    return model


def read_tokenizer(backbone: Backbone) -> PublishedTokenizer:
    """Read the tokenizer of a pretrained encoder; DataError: unreadable, NotAvailable: it needs transformers."""
    from core.text.subword_tokenizers import PublishedTokenizer, convert_panics

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
