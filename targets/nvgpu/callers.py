# SPDX-License-Identifier: Apache-2.0
"""The streams in which array libraries of this process work: kernels on their arrays go there."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from xtc_targets.nvgpu import hardware
from xtc_targets.nvgpu.gpu_array import has_gpu_memory
from xtc_targets.nvgpu.options import NvgpuOptions

LEGACY = 1
"""CUDA's default stream, as DLPack and the CUDA array interface number it; its own handle is 0."""


def options_holding(array: Any) -> NvgpuOptions | None:
    """The GPU in whose memory an array of another library is. Raises DeviceNotFound."""
    return _gpu(_index_of(array), hardware.LIBRARY) if has_gpu_memory(array) else None


def options_in_use() -> NvgpuOptions | None:
    """The GPU that PyTorch or CuPy uses now; None where neither uses any."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and torch.cuda.is_initialized():
        return _gpu(torch.cuda.current_device(), hardware.LIBRARY)
    return _gpu(cupy.cuda.runtime.getDevice(), hardware.LIBRARY) if cupy is not None else None


@cache
def _gpu(index: int, library: str) -> NvgpuOptions:
    return hardware.gpu_options(index, library)


def _index_of(array: Any) -> int:
    """The number of an array's GPU; what the interface of CUDA leaves open is taken as the first,
    and found wrong where it is not."""
    return int(array.__dlpack_device__()[1]) if hasattr(array, "__dlpack_device__") else 0


def streams_of(arrays: Sequence[Any]) -> list[int]:
    """The streams of arrays in a GPU's memory, each once; [] where there is no such array.

    PyTorch and CuPy are asked for the stream that they use now; arrays of other libraries say it by
    the CUDA array interface, version 3, or follow the first stream that is known.
    """
    foreign = [array for array in arrays if has_gpu_memory(array)]
    known = [stream for array in foreign if (stream := _stream_of(array)) is not None]
    return list(dict.fromkeys(known)) or [LEGACY] * bool(foreign)


def current_stream() -> int:
    """The stream in which PyTorch or CuPy works now; 0, the device's, where neither uses any."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return _number(torch.cuda.current_stream().cuda_stream)
    cupy = sys.modules.get("cupy")
    return 0 if cupy is None else _number(cupy.cuda.get_current_stream().ptr)


def _stream_of(array: Any) -> int | None:
    library = sys.modules.get(type(array).__module__.partition(".")[0])
    name = getattr(library, "__name__", "")
    if name == "torch":
        return _number(library.cuda.current_stream(array.device).cuda_stream)  # type: ignore[union-attr]
    if name == "cupy":
        return _number(library.cuda.get_current_stream().ptr)  # type: ignore[union-attr]
    interface = getattr(array, "__cuda_array_interface__", None)
    stream = interface.get("stream") if isinstance(interface, Mapping) else None
    return None if stream is None else _number(stream)


def _number(handle: int) -> int:
    return int(handle) or LEGACY
