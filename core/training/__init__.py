"""The training loop: batches, parameter groups, schedules, history, checkpoints."""
