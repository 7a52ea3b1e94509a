"""Results of the core in the shape that pages show: pure functions, no Streamlit, no cache."""
