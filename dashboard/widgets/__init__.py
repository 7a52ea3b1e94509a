"""Blocks that pages are built from. Every text that comes from outside is escaped or set as text here."""
