"""Pretrained encoders (backbones) on this machine: where they are and whether they can be used. Imports no torch.

Nothing is downloaded, and no code or pickle in an encoder's folder is run: only JSON, tokenizer and safetensors files
are read.
"""

import contextlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import safetensors

from core.config import SETTINGS
from core.exceptions import ConfigError, DataError, NotAvailable, RunDamaged, try_call
from core.fingerprint import hash_file
from core.formatting import count
from core.json_store import parse_json, read_tree
from core.models.presets import PRESETS
from core.paths import ELSEWHERE, read_regular
from core.recipes import get_backbone

SETTING = "model.backbone"
FOLDER = "SENTISCOPE_BACKBONES"  # environment variable: a folder that contains a folder for each encoder
CONFIG, WEIGHTS, INDEX, TOKENIZER = "config.json", "model.safetensors", "model.safetensors.index.json", "tokenizer.json"
PICKLES = ("pytorch_model.bin", "tf_model.h5", "flax_model.msgpack")  # could run code, or are for another library
ADAPTER = "adapter_config.json"  # transformers would silently add this adapter to the weights
SMALL = 64 * 1024**2  # bytes of a JSON file: the largest tokenizers have 20 MB
SENTENCEPIECE = "sentencepiece.bpe.model"  # a tokenizer that needs the sentencepiece library
LARGEST_SIZE = 2**31
SPECIALS = 2  # positions of [CLS] and [SEP]


class Family(NamedTuple):
    """The `config.json` keys for sizes in a family of pretrained models, and the files of its tokenizer."""

    width: str = "hidden_size"
    layers: str = "num_hidden_layers"
    heads: str = "num_attention_heads"
    ff_width: str = "intermediate_size"
    vocabulary: tuple[str, ...] = ("vocab.txt",)
    offset: bool = False  # whether positions are counted from the padding token's ID + 1


FAMILIES: dict[str, Family] = {
    "bert": Family(),
    "electra": Family(),
    "distilbert": Family("dim", "n_layers", "n_heads", "hidden_dim"),
    "roberta": Family(vocabulary=("vocab.json", "merges.txt"), offset=True),
    "xlm-roberta": Family(vocabulary=(), offset=True),
}


@dataclass(frozen=True)
class Backbone:
    """A pretrained encoder in a folder, usable if `check()` raises nothing. Properties may raise DataError."""

    name: str
    folder: Path

    @cached_property
    def architecture(self) -> dict[str, Any]:
        """Return the content of the encoder's `config.json`; DataError if its model type is not supported."""
        found = self._read_json(CONFIG)
        if not is_supported(found):
            raise DataError(
                f"is of the kind {found.get('model_type')!r:.40}; supported are {', '.join(FAMILIES)}",
                file=str(self.folder / CONFIG),
            )
        return found

    @property
    def kind(self) -> str:
        """Return the model type of the pretrained encoder, such as bert."""
        return str(self.architecture["model_type"])

    def read_number(self, name: str) -> int:
        """Return a positive whole number from the encoder's `config.json`; DataError if it is not one."""
        least = int(name != "pad_token_id")
        value = self.architecture.get(name, 0 if least == 0 else None)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_SIZE:
            raise DataError(f"{name}={value!r:.40}: a whole number, at least {least}", file=str(self.folder / CONFIG))
        return value

    @property
    def longest(self) -> int:
        """Return the most tokens of a text that the encoder can read, without [CLS] and [SEP]."""
        before = self.read_number("pad_token_id") + 1 if FAMILIES[self.kind].offset else 0
        return self.read_number("max_position_embeddings") - before - SPECIALS

    @property
    def settings(self) -> dict[str, Any]:
        """Return the model settings that an encoder's `config.json` fixes: width, layers, heads and vocabulary size."""
        family = FAMILIES[self.kind]
        return {
            "model.width": self.read_number(family.width),
            "model.layers": self.read_number(family.layers),
            "model.attention.heads": self.read_number(family.heads),
            "model.ff_width": self.read_number(family.ff_width),
            "text.max_vocab": self.read_number("vocab_size"),
        }

    @property
    def weights(self) -> list[Path]:
        """Return the paths of the encoder's weight files: one file, or the parts that its index file lists."""
        if os.path.isfile(self.folder / ADAPTER):
            raise DataError(
                "this folder holds an adapter, whose weights lie on top of another model's; merge the two where you "
                "made it (peft: model.merge_and_unload().save_pretrained) and name that folder",
                file=str(self.folder / ADAPTER),
            )
        whole = self.folder / WEIGHTS
        paths = self._list_parts() if not os.path.isfile(whole) and os.path.isfile(self.folder / INDEX) else [whole]
        missing = [path for path in paths if not os.path.isfile(path)]
        if missing or not paths:
            there = [name for name in PICKLES if os.path.isfile(self.folder / name)]
            beside = (
                f"; {there[0]} is there, which is not read: such a file can run code of others. Save it as safetensors "
                "where you trust it (transformers: model.save_pretrained), or"
                if there
                else ";"
            )
            lacking = missing[0] if missing else whole
            raise DataError(f"not there{beside} {explain_download(self.name)}", file=str(lacking))
        return paths

    def _list_parts(self) -> list[Path]:
        named = self._read_json(INDEX).get("weight_map")
        parts = set[str]()
        for part in named.values() if isinstance(named, dict) else [named]:
            if not isinstance(part, str) or Path(part).name != part:
                said = f"weight_map: {part!r:.60} is no name of a file beside it"
                raise DataError(said, file=str(self.folder / INDEX))
            parts.add(part)
        return [self.folder / part for part in sorted(parts)]

    @property
    def tokenizer(self) -> Path | None:
        """Return the path of the encoder's `tokenizer.json`; None if it must be built from vocabulary files."""
        if os.path.isfile(self.folder / TOKENIZER):
            return self.folder / TOKENIZER
        own = FAMILIES[self.kind].vocabulary
        if not own or not all(os.path.isfile(self.folder / name) for name in own):
            beside = (
                f"; {SENTENCEPIECE} is there, which is not read here. Save it as {TOKENIZER} where sentencepiece is "
                "installed (transformers: tokenizer.save_pretrained), or"
                if os.path.isfile(self.folder / SENTENCEPIECE)
                else ";"
            )
            raise DataError(f"not there{beside} {explain_download(self.name)}", file=str(self.folder / TOKENIZER))
        return None

    def check(self) -> None:
        """Check that the encoder's files exist and are supported; DataError names the file and what to do."""
        _ = self.settings, self.weights, self.tokenizer
        file = str(self.folder / CONFIG)
        if (kind := self.architecture.get("position_embedding_type") or "absolute") != "absolute":
            raise DataError(f"position_embedding_type={kind!r:.40}: only 'absolute' is supported", file=file)
        for name, value in self.settings.items():
            if (within := SETTINGS[name].within) and value not in within:
                raise DataError(f"{name}={value}: {within} are read", file=file)
        if self.longest < 1:
            raise DataError("has no places for tokens", file=file)
        for path in self.weights:
            try:
                with safetensors.safe_open(path, framework="np"):  # reads the header
                    pass
            except (safetensors.SafetensorError, OSError, MemoryError) as error:
                said = f"cannot be read, it may be cut off: {error!s:.200}; get it again"
                raise DataError(said, file=str(path)) from error

    def hash_weights(self) -> dict[str, str]:
        """Return the SHA-256 of each weight file of the pretrained encoder, as file name → digest."""
        return {path.name: hash_file(path) for path in self.weights}

    def _read_json(self, name: str) -> dict[str, Any]:
        return read_object(self.folder / name, explain_download(self.name))


def read_object(path: Path, lacking: str) -> dict[str, Any]:
    """Read the JSON object of an encoder's file; DataError, which says `lacking` if there is no such file."""
    try:
        content = read_regular(path, SMALL)
    except FileNotFoundError:
        raise DataError(f"not there; {lacking}", file=str(path)) from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {error!s:.200}", file=str(path)) from error
    try:
        found = parse_json(content)
    except ValueError:  # its message quotes the file, which may be a link to a private one
        raise DataError("cannot be read: it is no JSON", file=str(path)) from None
    if not isinstance(found, dict):
        raise DataError("is no JSON object", file=str(path))
    return found


def explain_download(name: str) -> str:
    """Return a sentence that explains how to download a pretrained encoder."""
    return f"on a machine with a network `{get_download_command(name)}` gets it, and {FOLDER}=FOLDER makes it known"


def get_download_command(name: str) -> str:
    """Return the shell command that downloads a pretrained encoder from the Hugging Face hub."""
    hub = name if "/" in name and not Path(name).is_absolute() and not name.startswith((".", "~")) else "OWNER/NAME"
    return f"hf download {hub} {CONFIG} {TOKENIZER} {WEIGHTS} --local-dir FOLDER/{hub}"


def check_installed() -> None:
    """Raise NotAvailable, with the install command, if the transformers library is missing."""
    if importlib.util.find_spec("transformers") is None:
        raise NotAvailable(
            "a pretrained encoder needs transformers: install it with `pip install 'sentiscope[pretrained]'`"
        )


def find_backbone(name: str) -> Backbone:
    """Find an encoder by name or path; ConfigError, with searched places and download command: not found."""
    called = name.removeprefix(ELSEWHERE)
    for folder in _list_candidates(called):
        if os.path.isfile(folder / CONFIG):
            return Backbone(called, folder)
    if _is_a_name(called) and os.path.isdir(os.path.expanduser(called)):
        raise ConfigError(f"{SETTING}={called:.200}: there is no {CONFIG} in this folder; {explain_download(called)}")
    looked = f"{FOLDER} ({get_own_folder() or 'not set'}), the hub's cache ({get_hub_cache()})"
    raise ConfigError(f"{SETTING}={called:.200}: found neither as a folder nor in {looked}; {explain_download(called)}")


def list_backbones() -> list[Backbone]:
    """List the pretrained encoders found on this machine; those in `SENTISCOPE_BACKBONES` come first."""
    found: dict[str, Backbone] = {}
    if root := get_own_folder():
        for path in sorted((*root.glob(f"*/{CONFIG}"), *root.glob(f"*/*/{CONFIG}"))):
            if path.parent.parent == root or not (path.parent.parent / CONFIG).is_file():  # no part of another encoder
                name = path.parent.relative_to(root).as_posix()
                found[name] = Backbone(name, path.parent)
    for folder in sorted(get_hub_cache().glob("models--*")):
        name = folder.name.removeprefix("models--").replace("--", "/")
        ours = (each for each in _list_snapshots(folder) if os.path.isfile(each / CONFIG) and _is_ours(each / CONFIG))
        if (snapshot := next(ours, None)) is not None:
            found.setdefault(name, Backbone(name, snapshot))
    return list(found.values())


def get_own_folder() -> Path | None:
    """Return the folder of pretrained encoders named by `SENTISCOPE_BACKBONES`; None if it is not set."""
    chosen = os.environ.get(FOLDER)
    return Path(chosen).expanduser() if chosen else None


def get_hub_cache() -> Path:
    """Return the folder where Hugging Face tools cache downloaded models."""
    if chosen := os.environ.get("HF_HUB_CACHE"):
        return Path(chosen).expanduser()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return Path(os.environ.get("HF_HOME") or cache / "huggingface").expanduser() / "hub"


def add_backbone_sizes(preset: str, settings: Mapping[str, Any], recipe: str = "") -> dict[str, Any]:
    """Add to the settings the sizes of the encoder that they or the recipe name; ConfigError: none, or another size."""
    if preset not in PRESETS or PRESETS[preset].model.family != "pretrained":
        return dict(settings)
    name = str(settings.get(SETTING) or get_backbone(recipe, preset).get(SETTING, ""))
    if not name:
        raise ConfigError(
            f"{SETTING}: a pretrained encoder is needed, by name or as a folder; `sentiscope backbones list` shows "
            f"those that are here, --set {SETTING}=NAME chooses one"
        )
    check_installed()
    backbone = find_backbone(name)
    backbone.check()
    own = backbone.settings
    for each in own:
        if each in settings and str(settings[each]) != str(own[each]):
            raise ConfigError(f"{each}={settings[each]!s:.40}: '{name}' has {own[each]}; leave it out")
    return {**settings, **own}


def find_run_backbone(name: str, folder: str, digests: Mapping[str, str], run: str) -> Backbone:
    """Find the encoder of a run, with identical weights, at its recorded folder or by name; RunDamaged: not there."""
    called = name.removeprefix(ELSEWHERE)
    root = get_own_folder()
    places = (Path(folder), *_list_candidates(called)) if folder else tuple(_find_by_name(called))
    last = Path(called).name
    for place in (*places, *([root / last] if root and last not in ("", "..") else [])):
        found = Backbone(called, place)
        there = all(os.path.isfile(place / file) for file in (*digests, CONFIG))
        if there and found.hash_weights() == dict(digests):
            return found
    told = ", ".join(f"{file} (SHA-256 {digest[:12]}…)" for file, digest in digests.items())
    raise RunDamaged(
        f"run '{run}' stores no copy of the weights that it did not change: they are those of the backbone '{called}', "
        f"{told}, which is {f'not at {folder} any more and found nowhere else; put it back' if folder else 'not here'}"
        f", or {explain_download(called)}"
    )


def is_supported(architecture: Mapping[str, Any]) -> bool:
    """Return whether a model's `config.json` belongs to a supported family of pretrained encoders."""
    kind = architecture.get("model_type")
    return isinstance(kind, str) and kind in FAMILIES


def _list_candidates(name: str) -> Iterator[Path]:
    if _is_a_name(name):
        yield from _find_by_name(name)
        yield Path(os.path.expanduser(name))


def _find_by_name(name: str) -> Iterator[Path]:
    """Yield folders where a pretrained encoder of this name may be, never outside the known folders."""
    if not _is_a_name(name) or Path(name).is_absolute() or ".." in Path(name).parts:
        return
    if root := get_own_folder():
        yield from (root / name, root / name.replace("/", "--"), root / Path(name).name)
    yield from _list_snapshots(get_hub_cache() / f"models--{name.replace('/', '--')}")


def _is_a_name(text: str) -> bool:
    """Return whether a model name is safe to look up as a file path."""
    return (
        "\0" not in text and 0 < len(text.encode("utf-8", "replace")) <= 1000 and max(map(len, text.split("/"))) <= 200
    )


def _list_snapshots(folder: Path) -> Iterator[Path]:
    main = folder / "refs" / "main"
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(main):
            yield folder / "snapshots" / main.read_text(encoding="utf-8").strip()
    with contextlib.suppress(OSError):
        if os.path.isdir(folder / "snapshots"):
            yield from sorted((folder / "snapshots").iterdir())


def _is_ours(config: Path) -> bool:
    """Return whether a `config.json` in the Hugging Face cache belongs to a supported family of encoders."""
    found = try_call((OSError, ValueError, RunDamaged), None, read_tree, config)
    return isinstance(found, dict) and is_supported(found)


def describe_backbone(backbone: Backbone) -> dict[str, Any]:
    """Describe a pretrained encoder as plain data, with `ok`, `problem` (a sentence) and `lacks` (a file)."""
    found: dict[str, Any] = {"name": backbone.name, "folder": str(backbone.folder)}
    found |= {"ok": True, "problem": "", "lacks": ""}
    try:
        own = backbone.settings
        found |= {"kind": backbone.kind, "longest": backbone.longest}
        found |= {name.rpartition(".")[2].replace("max_vocab", "vocabulary"): value for name, value in own.items()}
        backbone.check()
        found["bytes"] = sum(path.stat().st_size for path in backbone.weights)
    except DataError as error:
        found |= {"ok": False, "problem": str(error), "lacks": Path(error.file or "").name}
    return found


def format_size(size: int) -> str:
    """Format a size in bytes as whole megabytes, such as `438 MB`."""
    return f"{count(round(size / 1e6))} MB"
