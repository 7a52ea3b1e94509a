"""Widgets that the dashboard's pages are built from. All outside text is escaped here, or set as plain text."""
