"""Labelled tables: sources, inspection, splits, data cards."""
