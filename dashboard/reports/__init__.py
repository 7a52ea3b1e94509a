"""Reports: a run, a comparison or a coding session as one HTML file that opens without a network."""
