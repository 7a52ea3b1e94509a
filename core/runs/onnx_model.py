"""The network of a run as an ONNX file, with logits and calibrated probabilities as outputs."""

import copy
import dataclasses
import importlib.util
import io
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.evaluation.inference import compute_probabilities
from core.exceptions import InputError
from core.models.attention_kernels import Support, draw_global_positions
from core.models.dropout import replace_layers
from core.models.encoder import Layer
from core.models.head import Branch
from core.models.trace import Batch
from core.runs.load import LoadedRun
from core.text.pos_tags import TAGS
from core.text.token_table import build_token_table

OPSET = 17
CLOSE = 1e-4  # largest difference of a logit from that of the run, as a share of logits above 1
SIZES = (1, 16)  # texts that are read at once to find it
INPUTS = {
    "ids": "token ids, int64 (texts, tokens), 0 where padded",
    "keep": "bool (texts, tokens), true at the tokens of a text",
    "tags": f"part of speech of each token's word, int64 (texts, tokens); from 1: {', '.join(TAGS)}; 0: none",
    "polarity": "positive, neutral and negative share of each token's word in the lexicon {lexicon}, float32 (texts, "
    "tokens, {wide}); a third each where it lists none",
}
OUTPUTS = ("logits", "probabilities")


def refuse_onnx(run: LoadedRun) -> None:
    """Raise InputError with the reason for a run whose network cannot be written as ONNX, or without the packages."""
    model = run.record.config.model
    if missing := [each for each in ("onnx", "onnxruntime") if importlib.util.find_spec(each) is None]:
        raise InputError(f"--format onnx needs {' and '.join(missing)}: `pip install 'sentiscope[onnx]'`")
    if model.family not in ("encoder", "cnn") or model.ngram_buckets:
        what = "the letters of words" if model.ngram_buckets else f"a model of the family {model.family}"
        raise InputError(f"run '{run.record.run}': --format onnx does not write {what}")


class _SpeltNorm(nn.Module):
    """RMS norm in operations that ONNX has."""

    def __init__(self, norm: nn.RMSNorm) -> None:
        super().__init__()
        self.weight, self.eps = norm.weight, cast(float, norm.eps)

    def forward(self, x: Tensor) -> Tensor:
        """Divide vectors (…, d) by the root of their mean square, and multiply them by the weights."""
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class _SpeltBranch(nn.Module):
    """A convolution of a head that computes padding too and then sets it to 0."""

    def __init__(self, branch: Branch) -> None:
        super().__init__()
        self.convolution, self.norm = branch.convolution, branch.norm

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """Map token vectors x (B, L, d) through convolution, norm and ReLU to (B, L, c), 0 at padding."""
        return F.relu(self.norm(self.convolution(x, keep).transpose(1, 2)).transpose(1, 2)) * keep[..., None]


@dataclasses.dataclass(frozen=True)
class _ListedSupport(Support):
    """A window whose global tokens are listed for each length of a text, as ONNX cannot draw them."""

    longest: int = 0

    def draw_globals(self, keep: Tensor, layer: int) -> Tensor:
        """Return the positions of global tokens, (B, G), from the list of a layer."""
        lengths = torch.arange(self.longest + 1)
        return draw_global_positions(lengths, layer=layer, random=self.random, seed=self.seed)[keep.sum(1)]


class OnnxNetwork(nn.Module):
    """The network of a run with its calibration, in operations that ONNX has."""

    def __init__(self, run: LoadedRun) -> None:
        super().__init__()
        self.task, self.scaling, self.model = run.record.task, run.record.scaling, copy.deepcopy(run.model)
        replace_layers(self.model, nn.RMSNorm, _SpeltNorm)
        replace_layers(self.model, Branch, _SpeltBranch)
        for layer in cast(Iterable[Layer], getattr(self.model, "layers", ())):
            if (area := layer.attention.terms.support) is not None:
                listed = _ListedSupport(area.window, area.random, area.seed, run.tokenizer.max_length + 1)
                layer.attention.terms = dataclasses.replace(layer.attention.terms, support=listed)

    def forward(
        self, ids: Tensor, keep: Tensor, tags: Tensor | None = None, polarity: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return logits and probabilities (B, C) of texts; a trace makes the model compute its maps explicitly."""
        logits = self.model(Batch(ids, keep, tags, polarity), trace=True).logits
        return logits, compute_probabilities(logits, self.task, self.scaling)


def describe_arrays(run: LoadedRun, inputs: Sequence[str]) -> str:
    """Return a Markdown list of the inputs and outputs of a run's ONNX file."""
    text = run.tokenizer.config
    about = {"lexicon": text.lexicon, "wide": 3 * max(1, len(text.lexicons))}
    lines = [f"- `{name}`: {INPUTS[name].format(**about)}" for name in inputs]
    return "\n".join([*lines, *(f"- output `{name}`: float32 (texts, {len(run.record.classes)})" for name in OUTPUTS)])


def export_onnx(run: LoadedRun, texts: Sequence[str]) -> tuple[bytes, list[str], float]:
    """Return a run's network as an ONNX file, the names of its inputs, and the largest difference of a logit on texts.

    The texts are read alone and in padded batches; InputError: the difference is above `CLOSE`.
    """
    import onnxruntime

    table = build_token_table(run.tokenizer, texts)

    def list_arrays(rows: slice, width: int = 0) -> dict[str, np.ndarray]:
        """Return the inputs of some texts by name, padded to at least `width` tokens."""
        padded = table.pad_rows(np.arange(len(texts))[rows], width)._asdict()
        return {name: padded[name] for name in INPUTS if padded[name] is not None}

    window = run.record.config.model.attention.window  # the example is longer, so that it is written
    example = list_arrays(slice(2), window + 2)
    axes = {name: {0: "texts", 1: "tokens"} for name in example} | {name: {0: "texts"} for name in OUTPUTS}
    given: dict[str, Any] = {"kwargs": {name: torch.from_numpy(each) for name, each in example.items()}}
    given |= {"input_names": list(example), "output_names": list(OUTPUTS), "dynamic_axes": axes, "opset_version": OPSET}
    written = io.BytesIO()
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # of branches on lengths; the comparison below covers them
        torch.onnx.export(OnnxNetwork(run).eval(), (), cast(Any, written), **given, dynamo=False)  # without onnxscript
    session: Any = onnxruntime.InferenceSession(written.getvalue(), providers=["CPUExecutionProvider"])
    logits, difference = run.predict(texts).logits, 0.0
    for some in (slice(at, at + size) for size in SIZES for at in range(0, len(texts), size)):
        said = session.run(["logits"], list_arrays(some))[0]
        share = np.abs(said - logits[some]) / np.maximum(1, np.abs(logits[some]))
        difference = max(difference, float(share.max()))
    if difference > CLOSE:
        raise InputError(f"run '{run.record.run}': a logit of its ONNX file differs by {difference:.1g}: not written")
    return written.getvalue(), list(example), difference
