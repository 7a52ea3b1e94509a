"""The built-in corpus: a deterministic generator and a hand-written challenge set."""

from core.data.sources.builtin.generate import class_names, generate

__all__ = ["class_names", "generate"]
