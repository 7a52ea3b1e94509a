"""Figures by topic: the data, drawing and text of each one for pages, exported files and notebooks; no Streamlit."""
