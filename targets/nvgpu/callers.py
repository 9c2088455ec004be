# SPDX-License-Identifier: Apache-2.0
"""Finds the streams of array libraries in this process, for kernels on their arrays."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from xtc_targets.nvgpu import hardware
from xtc_targets.nvgpu.gpu_array import has_gpu_memory
from xtc_targets.nvgpu.options import NvgpuOptions

LEGACY = 1
"""The legacy default stream in DLPack and the CUDA array interface; CUDA itself uses 0."""


def options_holding(array: Any) -> NvgpuOptions | None:
    """The GPU that stores an array of another library. Raises DeviceNotFound."""
    return _gpu(_index_of(array), hardware.LIBRARY) if has_gpu_memory(array) else None


def options_in_use() -> NvgpuOptions | None:
    """The GPU that PyTorch or CuPy currently uses; None if neither uses one."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and torch.cuda.is_initialized():
        return _gpu(torch.cuda.current_device(), hardware.LIBRARY)
    return _gpu(cupy.cuda.runtime.getDevice(), hardware.LIBRARY) if cupy is not None else None


@cache
def _gpu(index: int, library: str) -> NvgpuOptions:
    return hardware.gpu_options(index, library)


def _index_of(array: Any) -> int:
    """The index of an array's GPU.

    The CUDA array interface does not report it: the first GPU is assumed, and a wrong assumption
    is detected later.
    """
    return int(array.__dlpack_device__()[1]) if hasattr(array, "__dlpack_device__") else 0


def streams_of(arrays: Sequence[Any]) -> list[int]:
    """The streams of arrays in GPU memory, without duplicates; [] if there is no such array.

    PyTorch and CuPy report their current stream. Arrays of other libraries report theirs by the
    CUDA array interface, version 3, or else use the first known stream.
    """
    foreign = [array for array in arrays if has_gpu_memory(array)]
    known = [stream for array in foreign if (stream := _stream_of(array)) is not None]
    return list(dict.fromkeys(known)) or [LEGACY] * bool(foreign)


def current_stream() -> int:
    """The current stream of PyTorch or CuPy; 0, the device's stream, if neither is in use."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return _number(torch.cuda.current_stream().cuda_stream)
    cupy = sys.modules.get("cupy")
    return 0 if cupy is None else _number(cupy.cuda.get_current_stream().ptr)


def _stream_of(array: Any) -> int | None:
    library = sys.modules.get(type(array).__module__.partition(".")[0])
    name = getattr(library, "__name__", "")
    if name == "torch":
        return _number(_stream_of_torch(library, array.device))
    if name == "cupy":
        return _number(library.cuda.get_current_stream().ptr)  # type: ignore[union-attr]
    interface = getattr(array, "__cuda_array_interface__", None)
    stream = interface.get("stream") if isinstance(interface, Mapping) else None
    return None if stream is None else _number(stream)


def _stream_of_torch(torch: Any, device: Any) -> int:
    """PyTorch's current stream on a device, by the function that costs least where there is it."""
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    index = getattr(device, "index", None)
    if raw is None or index is None:
        return int(torch.cuda.current_stream(device).cuda_stream)
    return int(raw(index))


def _number(handle: int) -> int:
    return int(handle) or LEGACY
