import types

import pytest
import torch
from refused import check_raises

from core.exceptions import ConfigError
from core.training import device as room
from core.training.config import TrainingConfig
from core.training.device import check_precision, choose_device, force_determinism, has_native_bfloat16

CPU = torch.device("cpu")


@pytest.mark.parametrize(("cuda", "mps", "chosen"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")])
def test_auto_selects_cuda_then_mps_then_cpu(monkeypatch, cuda, mps, chosen):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: int(cuda))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert choose_device("auto").type == chosen


@pytest.mark.parametrize("name", ["tpu", "meta", "cpu:x", "cuda:x"])
def test_an_unknown_device_name_is_refused(name):
    check_raises(ConfigError, rf"training\.device='{name}': auto, cpu", TrainingConfig, device=name)


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "mps"])
def test_an_unavailable_device_is_refused(monkeypatch, name):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    check_raises(ConfigError, rf"training\.device={name}: ", choose_device, name)


@pytest.mark.parametrize(
    ("flags", "gains"), [("fma avx2", False), ("avx512f avx512_bf16", True), ("amx_tile amx_bf16", True)]
)
def test_bfloat16_needs_native_cpu_support(tmp_path, monkeypatch, flags, gains):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor : 0\nflags\t\t: {flags}\n")
    assert has_native_bfloat16(cpuinfo) is gains and has_native_bfloat16(tmp_path / "none") is False
    monkeypatch.setattr(room, "has_native_bfloat16", lambda: gains)
    check_precision("float32", CPU)
    if gains:
        check_precision("bfloat16", CPU)
    else:
        check_raises(ConfigError, r"training\.precision=bfloat16.*slower.*float32", check_precision, "bfloat16", CPU)


@pytest.mark.slow
def test_determinism_settings_are_restored():
    before = torch.are_deterministic_algorithms_enabled()
    with pytest.raises(ZeroDivisionError), force_determinism(torch.device("cuda")):
        assert torch.are_deterministic_algorithms_enabled() and not torch.utils.deterministic.fill_uninitialized_memory
        raise ZeroDivisionError
    assert torch.are_deterministic_algorithms_enabled() is before
    assert torch.utils.deterministic.fill_uninitialized_memory


def test_memory_settings_need_glibc(monkeypatch):
    calls = []
    library = types.SimpleNamespace(mallopt=lambda *values: calls.append(values))
    monkeypatch.setattr(room.ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(room.platform, "libc_ver", lambda: ("", ""))
    room.keep_freed_memory()
    assert calls == []
    monkeypatch.setattr(room.platform, "libc_ver", lambda: ("glibc", "2.36"))
    room.keep_freed_memory()
    assert calls == [(-3, 1 << 30), (-1, 2**31 - 1)]


def test_the_random_state_is_restored():
    torch.manual_seed(3)
    states = room.get_random_state(CPU)
    first = torch.rand(3)
    room.restore_random_state(states, CPU)
    assert torch.equal(torch.rand(3), first)
