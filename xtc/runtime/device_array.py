# SPDX-License-Identifier: Apache-2.0
"""Arrays in a device's memory."""

from __future__ import annotations

import math
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Self

from xtc.core.errors import UserError
from xtc.core.numpy_arrays import as_array
from xtc.core.types import element_type
from xtc.runtime.driver import OpenDevice
from xtc.runtime.table import NOW

if TYPE_CHECKING:
    from xtc.runtime.device import DriverDevice

Array = np.ndarray[Any, Any]


class DeviceArray:
    """A dense, row-major array in device memory; a context manager that frees it.

    `numpy()` copies it to the host. Its memory is freed with the object at the latest. Each use of
    an array that was freed, or whose device was closed, raises UserError.
    """

    def __init__(
        self, device: DriverDevice, shape: tuple[int, ...], dtype: object, shards: int = 0
    ) -> None:
        """Allocate memory; see `DriverDevice.array` for `shards`."""
        self.device = device
        self.shape = shape
        self.dtype = element_type(dtype).numpy
        self.shards = shards
        self._open_device = device.opened()
        self._address = self._allocate()
        self._free: Any = weakref.finalize(self, _free, self._open_device, self._address)
        self.read_only = False

    def _allocate(self) -> int:
        nbytes = max(self.nbytes, 1)
        if not self.shards:
            return self._open_device.number("alloc", NOW, nbytes)
        shard = shard_bytes(self.shape, self.dtype.itemsize, self.shards)
        return self._open_device.number("alloc_sharded", NOW, nbytes, shard)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def address(self) -> int:
        """The address in device memory. Raises UserError once freed."""
        if not self._free.alive or not self.device.is_open_as(self._open_device):
            raise UserError(f"{self!r} was freed")
        return self._address

    def numpy(self) -> Array:
        """A copy of the elements on the host."""
        array = np.empty(self.shape, self.dtype)
        self.device.memory_copy_from(_bytes(array), self.address)
        return array

    def write(self, values: object) -> None:
        """Replace the elements. Raises UserError unless shape and element type match."""
        if self.read_only:
            raise UserError(f"{self!r} is read-only")
        array = _dense(values)
        if array.shape != self.shape or array.dtype != self.dtype:
            raise UserError(
                f"{self!r} cannot be written from an array of shape {array.shape}, {array.dtype}"
            )
        self.device.memory_copy_to(self.address, _bytes(array))

    def free(self) -> None:
        """Free the memory; idempotent."""
        self._free()

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        """A copy of the elements on the host, for `np.asarray`."""
        if copy is False:
            raise ValueError(f"{self!r} has to be copied to the host")
        array = self.numpy()
        return array if dtype is None else array.astype(np.dtype(dtype))  # type: ignore[call-overload]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.free()

    def __repr__(self) -> str:
        sizes = "x".join(map(str, (*self.shape, self.dtype.name)))
        shards = f" in {self.shards} shards" if self.shards else ""
        return f"<device array {sizes}{shards} on {self._open_device.name}>"


class BorrowedArray(DeviceArray):
    """Another library's memory on a device, used without a copy and kept alive by this object.

    Args:
        device: the device whose memory it is.
        shape: the shape of the dense, row-major array.
        dtype: the element type.
        address: the address of the first element.
        owner: the object that keeps the memory alive.
        read_only: whether writes raise UserError.
    """

    def __init__(
        self,
        device: DriverDevice,
        shape: tuple[int, ...],
        dtype: object,
        address: int,
        owner: object,
        read_only: bool = False,
    ) -> None:
        self.device = device
        self.shape = shape
        self.dtype = element_type(dtype).numpy
        self._open_device = device.opened()
        self._address = address
        self._owner = owner
        self.shards = 0
        self._free = weakref.finalize(self, _keep)
        self.read_only = read_only


def shard_bytes(shape: tuple[int, ...], itemsize: int, shards: int) -> int:
    """The bytes of a shard: the rows, padded to a multiple of the shards, in equal parts.

    Raises UserError for arrays of rank 0, and for fewer shards than 1.
    """
    if not shape or shards < 1:
        raise UserError(f"an array of shape {shape} has no {shards} shards")
    rows = -(-shape[0] // shards)
    return max(rows * math.prod(shape[1:]) * itemsize, 1)


def from_values(device: DriverDevice, values: object, shards: int = 0) -> DeviceArray:
    """A device array with these values: a NumPy array, numbers, or another library's array."""
    dense = _dense(values)
    array = device.array_type(device, dense.shape, dense.dtype, shards)
    array.write(dense)
    return array


def _dense(values: object) -> Array:
    """`values` as a dense host array; accepts NumPy's inputs and host arrays with DLPack."""
    known = isinstance(values, np.ndarray) or hasattr(values, "__array__")
    foreign = not known and hasattr(values, "__dlpack__")
    array = as_array(values, "a value", np.from_dlpack if foreign else np.asanyarray)
    return array if array.flags.c_contiguous else array.copy(order="C")


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _keep() -> None:
    """Another library frees its own memory."""


def _free(open_device: OpenDevice, address: int) -> None:
    """No effect on a closed device, whose memory was released with it."""
    open_device.driver.functions["free"](open_device.address, address)
