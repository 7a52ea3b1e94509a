"""The built-in corpus: a deterministic generator, a challenge set and an everyday set, both written by hand."""

from core.data.sources.builtin.generate import generate
from core.data.sources.builtin.handwritten import class_names

__all__ = ["class_names", "generate"]
