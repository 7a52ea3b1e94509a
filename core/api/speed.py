"""Inference speed and memory of presets on this machine, next to what papers report."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from core.api.options import CliArgument, OnProgress, split_names
from core.api.printing import say, tabulate
from core.exceptions import InputError
from core.formatting import count

MODELS = ("vanilla", "differential", "ndt-01-n2", "ndt-01-n3", "ndt-01-n4", "sentiformer", "bilstm", "cnn")
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
LONGEST, LARGEST = 65_536, 4_096  # tokens of a text, texts of a batch


def _parse_lengths(text: str) -> list[int]:
    try:
        return [int(each) for each in split_names(text)]
    except ValueError:
        raise InputError(f"--lengths: {text[:40]!r} are not whole numbers with commas, as in 128,1024,4096") from None


def efficiency(
    *,
    models: Annotated[Sequence[str], CliArgument(metavar="PRESET,…", kind=str, parse=split_names)] = MODELS,
    length: Annotated[int, CliArgument("Tokens of each text.", least=1)] = 128,
    batch: Annotated[int, CliArgument("Texts that are predicted together.", least=1)] = 128,
    lengths: Annotated[
        Sequence[int],
        CliArgument("Lengths at which sparse and full attention are compared.", kind=str, parse=_parse_lengths),
    ] = LENGTHS,
    device: str = "cpu",
    on_progress: OnProgress = None,
) -> dict[str, Any]:
    """Measure sentences per second and memory of presets, and how both grow with the length of a text.

    The first preset is the baseline. Weights and texts are random. The default takes minutes on two processor cores.

    Returns:
        As `core.papers.speed.measure_efficiency`.
    """
    from core.papers import speed
    from core.training.device import choose_device

    wrong = [each for each in lengths if not 1 <= each <= LONGEST]
    if wrong or not 1 <= length <= LONGEST or not 1 <= batch <= LARGEST:
        raise InputError(f"texts have 1 to {count(LONGEST)} tokens, and a batch 1 to {count(LARGEST)} texts")
    tell = on_progress or (lambda what, share: None)
    return speed.measure_efficiency(
        models, length=length, batch=batch, lengths=lengths, device=str(choose_device(device)), tell=tell
    )


def print_efficiency(result: dict[str, Any]) -> None:
    """Print a row for each preset, a row for each length, and the fitted slopes."""
    say(f"{result['processor']}, {result['threads']} threads, {result['batch']} texts of {result['length']} tokens")
    tabulate(
        result["models"],
        {
            "model": "model",
            "sentences/s": lambda row: count(round(row["sentences_per_second"])),
            "ms per batch": lambda row: f"{row['milliseconds']:.0f}",
            "× first": lambda row: f"{row['ratio']:.2f}",
            "MB": lambda row: count(round(row["memory"] / 1e6)),
            "reported": lambda row: "; ".join(filter(None, map(_write_reported, row["reported"]))),
        },
        "model",
    )
    if result["lengths"]:
        say("")
        tabulate([{**row, **_flatten(row)} for row in result["lengths"]], LENGTH_COLUMNS, "tokens")
    for way, slopes in result["slopes"].items():
        if slopes["milliseconds"] is not None:
            grows = f"time ~ length^{slopes['milliseconds']:.2f}, memory ~ length^{slopes['memory']:.2f}"
            say(f"{way}: {grows}, from 1 024 tokens")


LENGTH_COLUMNS: dict[str, str | Callable[[Any], Any]] = {
    "tokens": lambda row: count(row["tokens"]),
    "sparse, ms": "sparse",
    "full, ms": "full",
    "times faster": lambda row: f"{row['faster']:.2f}",
    "n/(k+s)": lambda row: f"{row['theory']:.2f}",
    "sparse, MB": "sparse MB",
    "full, MB": "full MB",
}


def _flatten(row: Mapping[str, Any]) -> dict[str, str]:
    ways = ("sparse", "full")
    times = {way: f"{row[way]['milliseconds']:.1f}" for way in ways}
    return times | {f"{way} MB": count(round(row[way]["memory"] / 1e6)) for way in ways}


def _write_reported(told: Mapping[str, Any]) -> str:
    """Write a reported ratio or throughput; nothing for times that are a tick of the timer."""
    if told["unit"] == "ms":
        return f"{told['dataset']} × {told['ratio']:.2f}" if told["ratio"] is not None else ""
    return f"{count(round(told['value']))} {told['unit']}"
