"""What the papers report, to stand beside what is reached here."""
