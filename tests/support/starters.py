"""The folder of the starter runs of this checkout."""

from pathlib import Path

STARTERS = Path(__file__).resolve().parents[2] / "trained"
