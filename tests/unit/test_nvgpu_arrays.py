# SPDX-License-Identifier: Apache-2.0
"""Arrays of GPUs and of other libraries are used in place. The driver is a stand-in."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.nvgpu_stand_in import kernel_code, log, stand_in
from tests.unit.nvgpu_support import Kernels
from xtc.core.errors import UserError
from xtc.driver.arguments import bind_arguments, output_arrays
from xtc.interfaces.artifact import Argument, Manifest
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]
GPU = 2  # kDLCUDA


class Library:
    """Another library in this process that uses the same driver."""

    def __init__(self, path: Path, gpu: int = 0) -> None:
        self._cuda = ctypes.CDLL(str(path))
        self._context = ctypes.c_void_p(40 + gpu)

    def tensor(self, values: Any) -> Tensor:
        address = ctypes.c_uint64()
        self._cuda.cuCtxPushCurrent_v2(self._context)
        assert self._cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(values.nbytes)) == 0
        self._cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        ctypes.memmove(address.value or 0, values.ctypes.data, values.nbytes)
        return Tensor(address.value or 0, values.shape, values.dtype)

    def mapped(self, pieces: Any) -> Tensor:
        """Pieces of equal size at consecutive addresses, each of which is an allocation."""
        self._cuda.cuCtxPushCurrent_v2(self._context)
        address = ctypes.c_uint64()
        nbytes = ctypes.c_size_t(pieces[0].nbytes)
        assert self._cuda.stand_in_map(ctypes.byref(address), nbytes, len(pieces)) == 0
        self._cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        ctypes.memmove(address.value or 0, pieces.ctypes.data, pieces.nbytes)
        return Tensor(address.value or 0, (pieces.size,), pieces.dtype)


class Tensor:
    """Device memory with the CUDA array interface."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.address, self.shape, self.dtype = address, shape, dtype
        self.changes: dict[str, Any] = {}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface = {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "stream": 1,
            "version": 3,
        }
        return {**interface, **self.changes}

    def values(self) -> np.ndarray:
        """The stand-in's device is this process."""
        size = int(np.prod(self.shape))
        raw = ctypes.string_at(self.address, size * self.dtype.itemsize)
        return np.frombuffer(raw, self.dtype).reshape(self.shape)


class _Head(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class DlTensor:
    """The same by DLPack only; `code` is the type code of dlpack.h."""

    def __init__(self, tensor: Tensor, code: int, strides: tuple[int, ...] | None = None) -> None:
        rank = len(tensor.shape)
        self._sizes = (ctypes.c_int64 * rank)(*tensor.shape)
        self._strides = (ctypes.c_int64 * rank)(*strides) if strides else None
        self.streams: list[int] = []
        self._head = _Head(
            data=tensor.address,
            device=(GPU, 0),
            rank=rank,
            code=code,
            bits=tensor.dtype.itemsize * 8,
            lanes=1,
            shape=ctypes.addressof(self._sizes),
            strides=ctypes.addressof(self._strides) if self._strides else None,
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return GPU, 0

    def __dlpack__(self, *, stream: int) -> object:
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self._head), b"dltensor", None)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return stand_in(tmp_path, monkeypatch)


@pytest.fixture
def device(library: Path) -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions("hw", driver_library=library)) as gpu:
        yield gpu


VALUES = np.arange(6, dtype=np.int32)


def refused(device: NvgpuDevice, value: Any) -> str:
    with pytest.raises(UserError) as error:
        device.borrowed(value)
    return error.value.what


def test_an_array_of_a_gpu_exports_its_address(device: NvgpuDevice) -> None:
    array: Any = device.array(np.ones((3, 4), np.float32))
    nothing: Any = device.empty(0, "int8")
    assert nothing.__cuda_array_interface__["data"] == (0, False)
    assert array.__cuda_array_interface__ == {
        "shape": (3, 4),
        "typestr": "<f4",
        "data": (array.address, False),
        "strides": None,
        "stream": None,
        "version": 3,
    }
    array.free()
    with pytest.raises(UserError, match="was freed"):
        array.__cuda_array_interface__  # noqa: B018


def test_an_array_of_a_simulator_has_no_cuda_interface(library: Path) -> None:
    with NvgpuDevice() as simulator:
        array: Any = simulator.array(VALUES)
        assert not hasattr(array, "__cuda_array_interface__")
        with pytest.raises(AttributeError, match="is on a simulator, not in GPU memory"):
            array.__cuda_array_interface__  # noqa: B018
        assert refused(simulator, Library(library).tensor(VALUES)) == (
            "Tensor is in GPU memory, but nvgpu0 is a simulator"
        )


@pytest.mark.parametrize("by", ["interface", "dlpack"])
def test_a_kernel_uses_another_librarys_memory_in_place(
    device: NvgpuDevice, library: Path, by: str
) -> None:
    tensor = Library(library).tensor(VALUES)
    value: Any = tensor if by == "interface" else DlTensor(tensor, code=0)
    device.launch(Kernels(device, kernel_code()).scale, [value, 6, 7])
    assert tensor.values().tolist() == (7 * VALUES).tolist()
    noted = log(library)
    assert not any(line.startswith(("copy_to", "copy_within")) for line in noted)
    # The library's pending work on it was completed before the kernel began.
    assert noted.index("wait for all") < noted.index("launch 4,2,1 64,1,1 0 kernels")
    assert by == "interface" or value.streams == [-1]


def test_borrowed_memory_is_kept_alive_and_not_freed(device: NvgpuDevice, library: Path) -> None:
    tensor = Library(library).tensor(VALUES)
    alive = weakref.ref(tensor)
    array = device.borrowed(tensor)
    assert array is not None
    assert (array.shape, str(array.dtype), array.address) == ((6,), "int32", tensor.address)
    del tensor
    gc.collect()
    assert alive() is not None
    assert array.numpy().tolist() == VALUES.tolist()
    array.write(VALUES + 1)
    assert array.numpy().tolist() == (VALUES + 1).tolist()
    used = device.memory_info()[0]
    del array
    gc.collect()
    assert alive() is None
    assert device.memory_info()[0] == used == 0


def test_bfloat16_and_bool_are_imported_by_dlpack(device: NvgpuDevice, library: Path) -> None:
    for code, dtype in ((4, ml_dtypes.bfloat16), (6, bool), (2, np.float16)):
        tensor = Library(library).tensor(np.ones((2, 8), dtype))
        array = device.borrowed(DlTensor(tensor, code, strides=(8, 1)))
        assert array is not None
        assert array.dtype == np.dtype(dtype)
        assert (array.numpy() == np.ones((2, 8), dtype)).all()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"strides": (4, 24)}, "Tensor in GPU memory is not dense in row-major order"),
        ({"data": (32, False)}, "Tensor in GPU memory is not aligned to 64 bytes"),
        ({"typestr": "<c8"}, "unknown element type dtype('complex64')"),
        ({"typestr": "nonsense"}, "Tensor has no usable __cuda_array_interface__: data type"),
        ({"data": None}, "Tensor has no usable __cuda_array_interface__: cannot unpack"),
        ({"data": (64, False)}, "Tensor: nvgpu0: 0x40 is not inside an allocation"),
    ],
)
def test_unsuitable_memory_is_refused(
    device: NvgpuDevice, library: Path, changes: dict[str, Any], what: str
) -> None:
    tensor = Library(library).tensor(VALUES.reshape(6, 1).repeat(6, 1))
    tensor.changes = changes
    assert refused(device, tensor).startswith(what)


def test_an_array_extends_over_consecutive_mappings(device: NvgpuDevice, library: Path) -> None:
    """The driver shows one mapping at a time, as it does for memory of cuMemMap."""
    numbers = np.arange(3 * 256, dtype=np.int32)
    pieces = Library(library).mapped(numbers.reshape(3, 256))
    array = device.borrowed(pieces)
    assert array is not None
    assert (array.numpy() == numbers).all()
    pieces.changes = {"shape": (numbers.size + 1,)}
    assert "more than its allocation on nvgpu0 has" in refused(device, pieces)


def test_memory_beyond_the_allocation_is_refused(device: NvgpuDevice, library: Path) -> None:
    tensor = Library(library).tensor(VALUES)
    tensor.changes = {"shape": (7,)}
    assert refused(device, tensor) == (
        f"Tensor reports 28 bytes at {tensor.address:#x}, more than its allocation on nvgpu0 has"
    )


def test_memory_of_another_gpu_is_refused(device: NvgpuDevice, library: Path) -> None:
    tensor = Library(library, gpu=1).tensor(VALUES)
    assert refused(device, tensor) == (
        f"Tensor: nvgpu0: {tensor.address:#x} is in the memory of GPU 1, not of GPU 0"
    )


def test_a_tensor_that_refuses_to_export_is_refused(device: NvgpuDevice, library: Path) -> None:
    class Grows(DlTensor):
        def __dlpack__(self, *, stream: int) -> object:
            raise BufferError("its gradient is being recorded")

    value = Grows(Library(library).tensor(VALUES), code=0)
    assert (
        refused(device, value) == "Grows does not export its memory: its gradient is being recorded"
    )


def test_other_objects_are_refused(device: NvgpuDevice) -> None:
    for value in (VALUES, [1], 3, None, device.array(VALUES), "text"):
        assert device.borrowed(value) is None


MANIFEST = Manifest(
    "f",
    "host",
    (
        Argument("X", "int32", (6,), "input", "nvgpu0"),
        Argument("Y", "int32", (6,), "output", "nvgpu0"),
    ),
    {},
)


def test_arguments_of_a_call_may_be_another_librarys(device: NvgpuDevice, library: Path) -> None:
    x, y = Library(library).tensor(VALUES), Library(library).tensor(VALUES)
    places = {"nvgpu0": device}
    inputs = bind_arguments(MANIFEST, (x,), {}, places)
    with ExitStack() as undo:
        (output,) = output_arrays(MANIFEST, y, inputs, places, undo)
        found: Any = (*inputs, output)
        assert [array.address for array in found] == [x.address, y.address]
        with pytest.raises(UserError, match="out= for 'Y' overlaps another argument"):
            output_arrays(MANIFEST, x, inputs, places, undo)
    x.changes = {"shape": (2, 3)}
    with pytest.raises(UserError, match=r"'X' has shape \(6,\), not \(2, 3\)"):
        bind_arguments(MANIFEST, (x,), {}, places)


def test_read_only_memory_is_not_written(device: NvgpuDevice, library: Path) -> None:
    x, places = Library(library).tensor(VALUES), {"nvgpu0": device}
    x.changes = {"data": (x.address, True)}
    found: Any = bind_arguments(MANIFEST, (x,), {}, places)
    with pytest.raises(UserError, match="is read-only"):
        found[0].write(VALUES)
    with ExitStack() as undo, pytest.raises(UserError, match="out= for 'Y' is read-only"):
        output_arrays(MANIFEST, x, [], places, undo)


def test_a_simulator_refuses_a_call_with_memory_of_a_gpu(library: Path) -> None:
    x = O.tensor((6,), "int32", name="X", device="nvgpu0")
    with O.graph(name="f") as graph:
        O.relu(x, name="Y", device="nvgpu0")
    what = pytest.raises(UserError, match="'X': Tensor is in GPU memory, but nvgpu0 is a")
    with NvgpuDevice() as simulator, xtc.compile(graph, simulator) as module, what:
        module(Library(library).tensor(VALUES))
