"""The loop: batches, parameter groups, schedules, history, checkpoints."""
