"""A run, a comparison or a coded session as one HTML file that opens without a network."""
