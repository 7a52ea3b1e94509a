"""What a run gets wrong: predictions as a table, rules that select from it, and what a selection has in common."""
