"""The built-in corpus: a deterministic generator, and challenge and everyday sets written by hand."""
