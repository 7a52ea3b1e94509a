"""What the papers report, to stand next to what is reached here."""
