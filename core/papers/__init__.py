"""Results that the papers report, for comparison with runs."""
