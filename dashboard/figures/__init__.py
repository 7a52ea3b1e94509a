"""Figures by topic: what a run has is shaped, drawn and worded here, for pages, exports and notebooks. No Streamlit."""
