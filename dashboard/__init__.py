"""The dashboard: pages over the core, one question each. Start it with `sentiscope dashboard`."""
