# SPDX-License-Identifier: Apache-2.0
"""Shares arrays in GPU memory with other libraries, in both directions, without copies.

The protocols are the CUDA array interface, version 3, and DLPack.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.core.errors import DeviceMemoryError, UserError
from xtc.core.types import element_type
from xtc.runtime import BorrowedArray, DeviceArray, DriverDevice
from xtc.runtime.dlpack import GPU, tensor_in
from xtc_targets.nvgpu.description import BUFFER_ALIGNMENT


class GpuArray(DeviceArray):
    """An array on a GPU that other libraries can use without a copy."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The array as described by the CUDA array interface, without a stream to wait for.

        Raises AttributeError on the simulator, whose addresses are not GPU addresses.
        """
        if self.device.is_modelled:
            raise AttributeError(f"{self!r} is on a simulator, not in GPU memory")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address if self.size else 0, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }


@dataclass(frozen=True)
class _Foreign:
    """An array described by a protocol: address, sizes, strides in bytes, element type."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    owner: object
    read_only: bool = False

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_dense(self) -> bool:
        if self.strides is None or self.nbytes == 0:
            return True
        expected = self.dtype.itemsize
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True


def borrowed(
    device: DriverDevice, value: Any, simulated: bool, stream: int | None = None
) -> BorrowedArray | None:
    """An array over the GPU memory of `value`; None if it is not in GPU memory.

    Waits for pending work of its library on the array, or orders that work before later work in
    `stream`.

    Raises UserError for memory that is not on `device`, not dense or not aligned, and for an
    unsupported element type.
    """
    if not has_gpu_memory(value):
        return None
    kind = type(value).__name__
    if simulated:
        raise UserError(
            f"{kind} is in GPU memory, but {device.device_name} is a simulator",
            hints=[f"copy it through the host: {device.device_name}.array(a NumPy array)"],
        )
    found = _described(value, stream)
    element_type(found.dtype)
    _check(found, kind)
    if found.nbytes:
        _check_extent(device, found, kind)
    if found.nbytes and stream is None and device.streams is not None:
        device.streams.settle()
    return BorrowedArray(
        device, found.shape, found.dtype, found.address, found.owner, found.read_only
    )


def has_gpu_memory(value: Any) -> bool:
    """Whether `value` reports that its elements are in GPU memory."""
    if isinstance(value, np.ndarray | DeviceArray | int | float):
        return False
    if isinstance(on_gpu := getattr(value, "is_cuda", None), bool):  # PyTorch's; it costs least
        return on_gpu
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[0]) == GPU
    return isinstance(getattr(value, "__cuda_array_interface__", None), Mapping)


def _described(value: Any, stream: int | None) -> _Foreign:
    if not hasattr(value, "__dlpack__"):
        return _by_interface(value, value.__cuda_array_interface__)
    try:
        # Without a stream, a later wait covers the library's pending work: -1 requests no order.
        capsule = _plain(value).__dlpack__(stream=-1 if stream is None else stream)
        tensor = tensor_in(capsule)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise UserError(f"{type(value).__name__} does not export its memory: {error}") from None
    dtype, strides = tensor.dtype, tensor.element_strides
    return _Foreign(
        tensor.address,
        tensor.sizes,
        strides and tuple(stride * dtype.itemsize for stride in strides),
        dtype,
        (capsule, value),
    )


def _plain(value: Any) -> Any:
    """A tensor for DLPack: without its gradient, and as bytes if DLPack lacks its type."""
    plain = value.detach() if hasattr(value, "detach") else value
    if str(getattr(plain, "dtype", "")).startswith("torch.float8"):
        return plain.view(sys.modules["torch"].uint8)
    return plain


def _by_interface(value: Any, interface: Mapping[str, Any]) -> _Foreign:
    try:
        address, read_only = interface["data"]
        strides = interface.get("strides")
        return _Foreign(
            int(address),
            tuple(interface["shape"]),
            None if strides is None else tuple(strides),
            np.dtype(interface["typestr"]),
            value,
            bool(read_only),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{type(value).__name__} has no usable __cuda_array_interface__: {error}"
        ) from None


def _check(found: _Foreign, kind: str) -> None:
    problems = {
        "not dense in row-major order": not found.is_dense,
        f"not aligned to {BUFFER_ALIGNMENT} bytes": (
            found.nbytes and found.address % BUFFER_ALIGNMENT
        ),
    }
    for problem, present in problems.items():
        if present:
            raise UserError(
                f"{kind} in GPU memory is {problem}",
                hints=["pass a dense, newly allocated copy of it"],
            )


def _check_extent(device: DriverDevice, found: _Foreign, kind: str) -> None:
    """Raise UserError unless the array is in memory on this GPU.

    It may extend over several allocations that its library has mapped to consecutive addresses,
    as PyTorch does with `expandable_segments`.
    """
    reached = found.address
    while reached < found.address + found.nbytes:
        try:
            reached = sum(device.opened().two_numbers("span", reached))
        except DeviceMemoryError as error:
            if reached == found.address:
                raise UserError(f"{kind}: {error.what}", notes=error.notes) from None
            raise UserError(
                f"{kind} reports {found.nbytes} bytes at {found.address:#x}, more than its "
                f"allocation on {device.device_name} has"
            ) from None
