"""Conversion of a pretrained encoder as published (`.bin`, vocabulary files) to safetensors and `tokenizer.json`."""

import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tokenizers as hf
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from core.exceptions import DataError, InputError
from core.paths import read_regular
from core.runs.backbones import CONFIG, INDEX, SMALL, TOKENIZER, WEIGHTS, read_object

BIN = "pytorch_model.bin"
LARGEST = 8 * 1024**3  # bytes of a weights file
END = "</w>"
BERTWEET = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
"""Rows before those of vocab.txt where it comes with bpe.codes."""


def convert_backbone(folder: Path, to: Path) -> dict[str, Any]:
    """Write a pretrained encoder with weights as safetensors and its tokenizer as `tokenizer.json` into a new folder.

    The weights are read without running code (`torch.load(weights_only=True)`). Vocabularies are WordPiece (vocab.txt),
    byte-level BPE (vocab.json and merges.txt), or fastBPE as of BERTweet (vocab.txt and bpe.codes).

    Returns:
        `folder`; `weights` and `tokenizer`: the files that each was made from; `tensors`: their number.

    Raises:
        InputError: the target has files already.
        DataError: a file is missing, cannot be read or is of another kind; the message names what was found.
    """
    if to.exists() and any(to.iterdir()):
        raise InputError(f"{to}: has files already; name a new folder")
    config = _read_object(folder / CONFIG)
    weights, tensors = _read_weights(folder)
    source, pipeline, rows = _read_tokenizer(folder, config)
    if rows > config["vocab_size"]:
        from safetensors.torch import load_file

        tensors = _add_rows(tensors or load_file(folder / WEIGHTS), rows, folder)
        config["vocab_size"] = rows
    to.mkdir(parents=True, exist_ok=True)
    (to / CONFIG).write_text(json.dumps(config, indent=1), encoding="utf-8")
    (to / TOKENIZER).write_text(pipeline, encoding="utf-8")
    if tensors is None:
        shutil.copyfile(folder / WEIGHTS, to / WEIGHTS)
    else:
        from safetensors.torch import save_file

        save_file(tensors, to / WEIGHTS, metadata={"format": "pt"})
    return {"folder": str(to), "weights": weights, "tokenizer": source, "tensors": tensors and len(tensors)}


def _read_weights(folder: Path) -> tuple[str, dict[str, Any] | None]:
    """Return the name of the weights file, and its tensors without shared memory; None: it is safetensors already."""
    import torch

    if (folder / WEIGHTS).is_file():
        return WEIGHTS, None
    path = folder / BIN
    if not path.is_file():
        there = ", ".join(sorted(each.name for each in folder.iterdir())[:12]) or "nothing"
        parts = f"; {INDEX} lists parts, which are safetensors already" if (folder / INDEX).is_file() else ""
        raise DataError(f"neither {WEIGHTS} nor {BIN} is there, but {there}{parts}", file=str(folder))
    if path.stat().st_size > LARGEST:
        raise DataError(f"has more than {LARGEST // 1024**3} GB", file=str(path))
    try:
        found = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception as error:  # torch raises errors of many kinds, as that of a pickle with code
        said = str(error).partition("\n")[0]
        raise DataError(
            f"is not read, as it holds more than tensors or is damaged ({said:.160})", file=str(path)
        ) from error
    found = found.get("state_dict", found) if isinstance(found, Mapping) else found
    if not (isinstance(found, Mapping) and found and all(isinstance(each, torch.Tensor) for each in found.values())):
        raise DataError("holds no table of tensors by name", file=str(path))
    # Older exports name the scale and shift of a layer norm gamma and beta.
    renamed = {name.replace(".gamma", ".weight").replace(".beta", ".bias"): each for name, each in found.items()}
    return BIN, {str(name): each.contiguous().clone() for name, each in renamed.items()}


def _add_rows(tensors: dict[str, Any], rows: int, folder: Path) -> dict[str, Any]:
    """Extend the table of word embeddings by copies of the unknown word's row."""
    import torch

    name = next((each for each in tensors if each.endswith("word_embeddings.weight")), "")
    if not name:
        raise DataError("its weights have no word_embeddings.weight", file=str(folder))
    table = tensors[name]  # (V, d)
    more = table[BERTWEET["<unk>"]].expand(rows - len(table), -1)  # (rows - V, d)
    return {**tensors, name: torch.cat([table, more])}


def _read_tokenizer(folder: Path, config: Mapping[str, Any]) -> tuple[str, str, int]:
    """Return the files that the tokenizer is made from, the text of its `tokenizer.json`, and the rows it needs."""
    size = config.get("vocab_size")
    if not isinstance(size, int) or size < 1:
        raise DataError("has no vocab_size", file=str(folder / CONFIG))
    makers: dict[tuple[str, ...], Callable[..., hf.Tokenizer]] = {
        ("vocab.txt", "bpe.codes"): _make_fastbpe,
        ("vocab.json", "merges.txt"): _make_bytelevel,
        ("vocab.txt",): _make_wordpiece,
    }
    if (folder / TOKENIZER).is_file():
        return TOKENIZER, read_regular(folder / TOKENIZER, SMALL).decode("utf-8"), size
    for names, make in makers.items():
        if all((folder / name).is_file() for name in names):
            try:
                made = make(size, *(folder / name for name in names))
            except DataError:
                raise
            except Exception as error:  # the tokenizers library raises plain exceptions
                raise DataError(
                    f"its vocabulary cannot be read: {error!s:.200}", file=str(folder / names[0])
                ) from error
            rows = 1 + max(made.get_vocab().values())
            if rows > size and make is not _make_fastbpe:
                raise DataError(f"has {rows} rows, {CONFIG} {size}", file=str(folder / names[0]))
            return " and ".join(names), made.to_str(), max(rows, size)
    there = ", ".join(sorted(each.name for each in folder.iterdir())[:12]) or "nothing"
    wanted = "vocab.txt, vocab.txt and bpe.codes, or vocab.json and merges.txt"
    raise DataError(f"no tokenizer that is read: {wanted} or {TOKENIZER} are; there is {there}", file=str(folder))


def _make_fastbpe(size: int, vocabulary: Path, codes: Path) -> hf.Tokenizer:
    """Make BERTweet's tokenizer: words at blanks, merges of bpe.codes, and `@@` in vocab.txt for an unfinished word.

    Pieces that merges need and vocab.txt lacks have rows from `size` on, which are copies of the unknown word's.
    """
    words = [line.rsplit(" ", 1)[0] for line in _read_lines(vocabulary)]
    closed = (word[:-2] if word.endswith("@@") else word + END for word in words)
    rows = BERTWEET | {word: row for row, word in enumerate(closed, start=len(BERTWEET))}
    merges = [(first, second) for first, second, *_ in (line.split() for line in _read_lines(codes))]
    pieces = dict.fromkeys(piece for pair in merges for piece in (*pair, "".join(pair)))
    lacking = [piece for piece in pieces if piece not in rows]
    rows |= {piece: row for row, piece in enumerate(lacking, start=max(size, len(rows)))}
    made = hf.Tokenizer(models.BPE(rows, merges, unk_token="<unk>", end_of_word_suffix=END))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.decoder = decoders.BPEDecoder(suffix=END)
    return _add_ends(made, "<s>", "</s>", BERTWEET)


def _make_bytelevel(_: int, vocabulary: Path, merges: Path) -> hf.Tokenizer:
    lines = [line.split(" ", 1) for line in _read_lines(merges) if not line.startswith("#version")]
    vocab = _read_object(vocabulary)
    made = hf.Tokenizer(models.BPE(vocab, [(first, second) for first, second in lines], unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return _add_ends(made, "<s>", "</s>", vocab)


def _make_wordpiece(_: int, vocabulary: Path) -> hf.Tokenizer:
    vocab = {word: row for row, word in enumerate(_read_lines(vocabulary))}
    own = vocabulary.parent / "tokenizer_config.json"
    told = _read_object(own) if own.is_file() else {}
    lower = bool(told.get("do_lower_case", "uncased" in str(vocabulary.parent)))
    made = hf.Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=told.get("strip_accents"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    return _add_ends(made, "[CLS]", "[SEP]", vocab)


def _add_ends(made: hf.Tokenizer, begin: str, end: str, vocab: Mapping[str, int]) -> hf.Tokenizer:
    """Let a tokenizer put the special tokens around a text or a pair of texts."""
    lacking = [token for token in (begin, end) if token not in vocab]
    if lacking:
        raise DataError(f"has no {' and no '.join(lacking)}", file="its vocabulary")
    between = f"{end} {end}" if begin == "<s>" else end
    made.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {between} $B:1 {end}:1",
        special_tokens=[(begin, vocab[begin]), (end, vocab[end])],
    )
    specials = "<pad>", "<unk>", "<mask>", "[PAD]", "[UNK]", "[MASK]", begin, end
    made.add_special_tokens([token for token in specials if token in vocab])
    return made


def _read_object(path: Path) -> dict[str, Any]:
    return read_object(path, "it names the kind of encoder")


def _read_lines(path: Path) -> list[str]:
    try:
        return read_regular(path, SMALL).decode("utf-8").rstrip("\n").split("\n")
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {error!s:.200}", file=str(path)) from error
