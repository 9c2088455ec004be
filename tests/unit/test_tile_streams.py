# SPDX-License-Identifier: Apache-2.0
"""Tile kernels on the arrays of GPU libraries: used in place, in the library's stream, without
waiting.

Libraries and driver are stand-ins; kernels are compiled, and do nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.unit.nvgpu_stand_in import log, stand_in
from tests.unit.test_nvgpu_arrays import DlTensor, Library, Tensor
from tests.unit.tile_kernels import VectorAdd
from xtc import tile
from xtc.core.errors import UserError
from xtc.tile import config
from xtc.tile.launch.code import Compiler
from xtc.tile.program import Program
from xtc.tile.timing import StreamClock
from xtc.tile.utils import benchmark_func
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions, build, hardware

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]
VALUES = np.arange(1000, dtype=np.float32)
GRID = "launch 2,1,1 128,1,1 0"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The driver where programs find it; machine code is left to it."""
    path = stand_in(tmp_path, monkeypatch)
    monkeypatch.setattr(hardware, "LIBRARY", str(path))
    monkeypatch.setattr(build, "find", lambda _: None)
    yield path
    config.close_default()


def tensors(library: Path, streams: list[Any]) -> list[Tensor]:
    found = [Library(library).tensor(VALUES) for _ in streams]
    for tensor, stream in zip(found, streams, strict=True):
        tensor.changes = {"stream": stream}
    return found


def noted(library: Path) -> list[str]:
    """The calls in streams other than the device's own."""
    ours = ("copies", "kernels")
    words = ("launch", "fill", "mark", "record", "follow", "wait")
    return [line for line in log(library) if line.startswith(words) and not line.endswith(ours)]


def test_a_kernel_runs_in_the_stream_of_its_arrays(library: Path) -> None:
    VectorAdd()(1000, *tensors(library, [7, 7, 7]))
    assert noted(library) == [f"{GRID} stream 7"]


def test_streams_of_several_arrays_are_ordered(library: Path) -> None:
    VectorAdd()(1000, *tensors(library, [7, 9, None]))
    ordered = ["record stream 9", "follow stream 7"]
    back = ["record stream 7", "follow stream 9"]
    assert noted(library) == [*ordered, f"{GRID} stream 7", *back]


def test_dlpack_orders_the_librarys_work_before_the_stream(library: Path) -> None:
    values: Any = [DlTensor(tensor, code=2) for tensor in tensors(library, [None] * 3)]
    VectorAdd()(1000, *values)
    assert noted(library) == [f"{GRID} stream 1"]
    assert [value.streams for value in values] == [[1], [1], [1]]


@pytest.mark.parametrize(("name", "handle", "stream"), [("torch", 77, 77), ("cupy", 0, 1)])
def test_libraries_are_asked_for_their_stream(
    library: Path, monkeypatch: pytest.MonkeyPatch, name: str, handle: int, stream: int
) -> None:
    fake: Any = ModuleType(name)
    current = SimpleNamespace(cuda_stream=handle, ptr=handle)
    fake.cuda = SimpleNamespace(
        current_stream=lambda _: current, get_current_stream=lambda: current
    )
    monkeypatch.setitem(sys.modules, name, fake)
    kind = type("Tensor", (DlTensor,), {"__module__": name, "device": 0})
    values = [kind(tensor, code=2) for tensor in tensors(library, [None] * 3)]
    VectorAdd()(1000, *values)
    assert noted(library) == [f"{GRID} stream {stream}"]
    assert [value.streams for value in values] == [[stream]] * 3


def test_a_run_time_number_does_not_recompile(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    image = Compiler.image

    def counted(self: Compiler, text: str, context: Any, symbol: str) -> bytes:
        made.append(symbol)
        return image(self, text, context, symbol)

    monkeypatch.setattr(Compiler, "image", counted)
    add, arrays = VectorAdd(block=256), tensors(library, [7, 7, 7])
    for n in (1000, 7, 999, 513):
        add(n, *arrays)
    assert len(made) <= 1  # none on a cache hit
    grids = [line.split()[1] for line in noted(library)]
    assert grids == ["4,1,1", "1,1,1", "4,1,1", "3,1,1"]
    assert sum(line.startswith("copy_from 32") for line in log(library)) == 1  # loaded once


class Torch(DlTensor):
    """A PyTorch tensor, as seen by launches."""

    __module__ = "torch"
    is_cuda, dtype = True, "torch.float32"
    device = SimpleNamespace(index=0)

    def __init__(self, tensor: Tensor) -> None:
        super().__init__(tensor, code=2)
        self.shape = tensor.shape

    def data_ptr(self) -> int:
        return int(self._head.data)

    def stride(self) -> tuple[int, ...]:
        return (1,)


def test_an_equal_call_repeats_its_launch(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the current stream, without checking arguments again; any other call is checked."""
    streams, bound = [7], Program._bound
    fake: Any = ModuleType("torch")
    fake._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda _: streams[0])
    monkeypatch.setitem(sys.modules, "torch", fake)
    add, checked = VectorAdd(), []

    def counted(self: Program, *arguments: Any) -> dict[str, Any]:
        checked.append(self)
        return bound(self, *arguments)

    monkeypatch.setattr(Program, "_bound", counted)
    values: Any = [Torch(tensor) for tensor in tensors(library, [None] * 4)]
    add(1000, *values[:3])
    streams[0] = 9
    add(1000, *values[:3])
    assert (len(checked), noted(library)) == (1, [f"{GRID} stream 7", f"{GRID} stream 9"])
    add(1000, *values[1:])
    add(999, *values[:3])
    add(1000.0, *values[:3])
    assert len(checked) == 4
    options = NvgpuOptions("hw", driver_library=library, cubins="none")
    with NvgpuDevice(options) as device:
        there = [device.array(VALUES) for _ in range(3)]
        for _ in range(3):
            add(1000, *there)
        assert len(checked) == 5
        monkeypatch.setattr(VectorAdd, "debug_schedule", {"block": 128})
        add(1000, *there)
        add(1000, *there)
        assert len(checked) == 6
        monkeypatch.setattr(VectorAdd, "debug_schedule", None)
        tile.use_device(device)
        try:
            add(1000, *values[:3])
            assert len(checked) == 7
        finally:
            tile.use_device(None)
        there[1].free()
        with pytest.raises(UserError, match="was freed"):
            add(1000, *there)
    config.close_default()
    add(1000, *values[:3])
    assert len(checked) == 9


def test_copies_to_the_host_are_awaited(library: Path) -> None:
    x, y = tensors(library, [7, 7])
    z = np.zeros_like(VALUES)
    with NvgpuDevice(NvgpuOptions("hw", driver_library=library, cubins="none")) as device:
        tile.use_device(device)
        try:
            VectorAdd()(1000, x, y, z)
        finally:
            tile.use_device(None)
        assert device.memory_info()[0] == 0
    assert noted(library) == [f"{GRID} stream 7", "mark stream 7"]
    assert log(library)[-2:-1] == ["copy_from 4000 copies"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"typestr": "<i4"}, "has elements of int32, and the kernel takes float32"),
        ({"data": None}, "Tensor has no usable __cuda_array_interface__"),
        ({"strides": (8,)}, "Tensor in GPU memory is not dense in row-major order"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    library: Path, changes: dict[str, Any], what: str
) -> None:
    x, y, z = tensors(library, [7, 7, 7])
    x.changes |= changes
    with pytest.raises(UserError, match=what):
        VectorAdd()(1000, x, y, z)
    assert noted(library) == []


def test_written_arrays_must_be_writable(library: Path) -> None:
    x, y, z = tensors(library, [7, 7, 7])
    x.changes["data"] = (x.address, True)
    VectorAdd()(1000, x, y, z)
    z.changes["data"] = (z.address, True)
    with pytest.raises(UserError, match="VectorAdd writes an array that is read-only"):
        VectorAdd()(1000, x, y, z)


def test_calls_are_timed_by_the_gpu_with_a_cold_cache(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake: Any = ModuleType("torch")
    fake.cuda = SimpleNamespace(
        current_stream=lambda *_: SimpleNamespace(cuda_stream=77),
        current_device=lambda: 0,
        is_initialized=lambda: True,
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    add, arrays = VectorAdd(), tensors(library, [77, 77, 77])
    milliseconds = benchmark_func(lambda: add(1000, *arrays), warmup=1, repeat=2)
    assert milliseconds == pytest.approx(2e-3)  # 2 blocks of 128 threads, by the stand-in's clock
    launch = f"{GRID} stream 77"
    sample = [f"fill 0 {100 << 20} stream 77", "mark stream 77", launch, "mark stream 77"]
    found = noted(library)
    assert found[:4] == [launch] * 4  # to warm up, and by the host's clock
    assert found[-4:] == sample
    assert found[found.index(launch, 4) - 2 :][:4] == sample


def test_the_device_is_kept_busy_while_the_host_prepares_a_call(library: Path) -> None:
    """A call that takes the host 2 ms is measured after 4 ms of device work."""
    with (
        NvgpuDevice(NvgpuOptions("hw", driver_library=library)) as device,
        StreamClock(device, 0) as clock,
    ):
        ((seconds,),) = clock.samples([lambda: time.sleep(0.002)], 1)
        fills = [line for line in log(library) if line.startswith("fill")][2:]
    assert seconds == 0  # of the device
    assert sum(int(line.split()[2]) for line in fills) >= 4000 * 1e6  # 1e6 bytes a microsecond
