"""Special token ids (padding and unknown), which precede every tokenizer's vocabulary."""

PAD, UNKNOWN, FIRST = 0, 1, 2
SPECIALS = ("<pad>", "<unk>")
"""Names of ids 0 and 1, for display. A text that contains these strings is tokenised like any other text."""
