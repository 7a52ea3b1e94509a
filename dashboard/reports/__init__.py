"""Reports: a run, a comparison or an annotation session as one HTML file that opens without a network."""
