"""Models: tensors in, tensors out, without knowledge of files, tables or text."""
