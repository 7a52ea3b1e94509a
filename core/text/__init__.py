"""From a string to token ids: normalisers and tokenizers."""
