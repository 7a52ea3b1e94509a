"""The Streamlit dashboard: one page per question about a model. Start it with `sentiscope dashboard`."""
