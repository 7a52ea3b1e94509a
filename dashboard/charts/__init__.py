"""Data in, Plotly figure out. Nothing here imports Streamlit, reads a file or changes its input."""
