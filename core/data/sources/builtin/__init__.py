"""The built-in corpus: a deterministic generator and a hand-written challenge set."""
