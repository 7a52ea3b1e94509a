"""Training of models: batches, parameter groups, learning-rate schedules, history and checkpoints."""
