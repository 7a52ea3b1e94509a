"""Figures by topic: a run's results are shaped, drawn and worded here for pages, exports, notebooks. No Streamlit."""
