"""Neural and linear models: tensors in, tensors out, without knowledge of files, tables or text."""
