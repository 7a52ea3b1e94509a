"""The built-in corpus: a deterministic generator, and challenge and everyday sets written by hand."""

from core.data.sources.builtin.generate import generate_corpus
from core.data.sources.builtin.handwritten import get_class_names

__all__ = ["generate_corpus", "get_class_names"]
