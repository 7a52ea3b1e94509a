"""Tensors in, tensors out. Nothing here knows files, tables or text."""
