import os
import subprocess
import sys

import pytest
import torch
from refused import full
from safetensors.torch import load_file

from core.exceptions import RunDamaged, StorageError
from core.training.training_stage import FILE, KINDS, Checkpoint, Progress, load_checkpoint, save_checkpoint


def checkpoint(step=3):
    tensors = {"layers.0/odd name": torch.randn(2, 3), "step": torch.tensor(float(step))}
    random = {"cpu": torch.get_rng_state()}
    progress = Progress(step, loss_sum=0.1 + 0.2, best=1 / 3, best_epoch=1, stale=2, seconds=1.5)
    return Checkpoint(progress, {"model": tensors, "random": random})


def test_checkpoints_are_restored_bit_identically(tmp_path):
    assert load_checkpoint(tmp_path / "checkpoint") is None
    saved = checkpoint()
    save_checkpoint(tmp_path / "checkpoint", saved)
    loaded = load_checkpoint(tmp_path / "checkpoint")
    assert loaded.progress == saved.progress
    assert loaded.groups.keys() == saved.groups.keys()
    for group, named in saved.groups.items():
        for name, tensor in named.items():
            assert torch.equal(loaded.groups[group][name], tensor) and loaded.groups[group][name].dtype == tensor.dtype


def test_a_full_disk_keeps_the_previous_checkpoint(tmp_path, monkeypatch):
    save_checkpoint(tmp_path, checkpoint(step=3))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="disk is full"):
        save_checkpoint(tmp_path, checkpoint(step=4))
    assert load_checkpoint(tmp_path).progress.step == 3
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"junk" * 100])
def test_damaged_checkpoints_are_reported_with_file_and_remedy(tmp_path, damage):
    save_checkpoint(tmp_path / "checkpoint", checkpoint())
    file = tmp_path / "checkpoint" / FILE
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(RunDamaged, match=rf"{FILE}: cannot be read.*delete the folder 'checkpoint'"):
        load_checkpoint(tmp_path / "checkpoint")


def test_every_dtype_is_stored_as_safetensors_reads_it(tmp_path):
    whole = torch.arange(-3, 4)
    tensors = {f"{kind}": whole.to(kind) for kind in KINDS} | {"none": torch.empty(0, 3), "one": torch.tensor(2.5)}
    tensors |= {"turned": torch.arange(6.0).view(2, 3).T, "part": torch.arange(6.0).view(2, 3)[1]}
    save_checkpoint(tmp_path, Checkpoint(Progress(), {"model": tensors}))
    found = load_file(tmp_path / FILE)
    assert found.keys() == {f"model/{name}" for name in tensors}
    for name, tensor in tensors.items():
        assert torch.equal(found[f"model/{name}"], tensor) and found[f"model/{name}"].dtype == tensor.dtype


@pytest.mark.slow
def test_saving_does_not_copy_all_weights(tmp_path):
    """Saving 160 MB increases the peak memory of a process by less than a quarter of that."""
    script = (
        "import resource, sys, torch; from pathlib import Path; from core.training.training_stage import *\n"
        "groups = {'model': {str(n): torch.ones(2_000_000) for n in range(20)}}\n"
        "top = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "save_checkpoint(Path(sys.argv[1]), Checkpoint(Progress(), {'model': {'a': torch.ones(1)}})); before = top()\n"
        "save_checkpoint(Path(sys.argv[1]), Checkpoint(Progress(), groups)); print(top() - before)"
    )
    grown = int(subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, check=True).stdout)
    assert grown < 40e6
