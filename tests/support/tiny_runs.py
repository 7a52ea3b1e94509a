"""Settings of a very short training run."""

TINY = {
    "model.width": 8,
    "model.ff_width": 8,
    "training.epochs": 3,
    "training.batch_size": 8,
    "training.lr": 0.01,
    "training.patience": 0,
    "training.threads": 1,
    "text.min_freq": 1,
}
