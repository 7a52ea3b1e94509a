"""The pretrained encoder (backbone) of a run: its architecture, and its weights, which the run does not copy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import json_store
from core.atomic import write_text
from core.exceptions import RunDamaged
from core.paths import ELSEWHERE
from core.runs.backbones import FAMILIES, SMALL, Backbone, find_backbone, find_run_backbone, is_supported
from core.runs.record import CHECKPOINT

if TYPE_CHECKING:
    from core.models.builder import Model
    from core.models.config import ModelConfig
    from core.models.pretrained import Body
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
    architecture: dict[str, Any]
    """The content of its `config.json`, which has no paths."""
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
        tables = [known.get(name, 1) for name in TABLES]
        sane = all(type(rows) is int and 0 < rows <= LARGEST_TABLE for rows in tables)
        if not sane or own != (model.width, model.layers, model.attention.heads, model.ff_width):
            raise RunDamaged(f"{BACKBONE} of run '{run}': its sizes are not those of the run's settings")

    def strip_path(self) -> BackboneRecord:
        """Return a copy of the encoder's record without paths of this machine, for export."""
        return replace(self, name=strip_location(self.name), folder="")

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
        from core.runs.backbone_builder import split_backbone

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
    return {
        "name": known.name,
        "digests": known.files,
        "unchanged": sum(sizes[name] for name in names),
        "of": sum(sizes.values()),
    }
