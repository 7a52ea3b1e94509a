"""Predictions, metrics with intervals, representation quality."""
