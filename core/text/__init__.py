"""Normalisers and tokenizers, which turn a string into token ids."""
