"""Results that papers report for their models, for comparison with runs."""
