# SPDX-License-Identifier: Apache-2.0
"""An array in a device's memory."""

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
    """A dense, row-major array whose bytes are on a device; a context manager that frees them.

    `numpy()` copies it to the host. Its memory goes with the object, at the latest. Every use of an
    array that was freed, or whose device was closed, raises UserError.
    """

    def __init__(
        self, device: DriverDevice, shape: tuple[int, ...], dtype: object, shards: int = 0
    ) -> None:
        """New memory; see `DriverDevice.array` for `shards`."""
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
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def address(self) -> int:
        """Where it is in the device's memory. Raises UserError once freed."""
        if not self._free.alive or not self.device.is_open_as(self._open_device):
            raise UserError(f"{self!r} was freed")
        return self._address

    def numpy(self) -> Array:
        """The elements as a new array on the host."""
        array = np.empty(self.shape, self.dtype)
        self.device.memory_copy_from(_bytes(array), self.address)
        return array

    def write(self, values: object) -> None:
        """Replace the elements. Raises UserError unless shape and element type are the same."""
        if self.read_only:
            raise UserError(f"{self!r} is read-only")
        array = _dense(values)
        if array.shape != self.shape or array.dtype != self.dtype:
            raise UserError(
                f"{self!r} cannot be written from an array of shape {array.shape}, {array.dtype}"
            )
        self.device.memory_copy_to(self.address, _bytes(array))

    def free(self) -> None:
        """Release the memory; freeing twice is allowed."""
        self._free()

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        """What `np.asarray` calls; the elements are on the device, so it is always a copy."""
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
    """Another library's memory on a device, used where it is; it stays alive with this object.

    Args:
        device: the device whose memory it is.
        shape: of what is dense and row-major there.
        dtype: of its elements.
        address: of the first one.
        owner: what keeps the memory alive.
        read_only: whether it refuses writes.
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
    """Bytes of a shard: the rows, padded to a multiple of the shards, in equal parts.

    Raises UserError for arrays without rows, and unless it is cut into 1 or more parts.
    """
    if not shape or shards < 1:
        raise UserError(f"an array of shape {shape} has no {shards} shards")
    rows = -(-shape[0] // shards)
    return max(rows * math.prod(shape[1:]) * itemsize, 1)


def from_values(device: DriverDevice, values: object, shards: int = 0) -> DeviceArray:
    """A device array with these values: an array, numbers, or an array of another library."""
    dense = _dense(values)
    array = device.array_type(device, dense.shape, dense.dtype, shards)
    array.write(dense)
    return array


def _dense(values: object) -> Array:
    """`values` on the host, dense; anything that NumPy or DLPack on the host understands."""
    known = isinstance(values, np.ndarray) or hasattr(values, "__array__")
    foreign = not known and hasattr(values, "__dlpack__")
    array = as_array(values, "a value", np.from_dlpack if foreign else np.asanyarray)
    return array if array.flags.c_contiguous else array.copy(order="C")


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _keep() -> None:
    """Memory of another library is not ours to free."""


def _free(open_device: OpenDevice, address: int) -> None:
    """Nothing happens where the device is gone: its memory went with it."""
    open_device.driver.functions["free"](open_device.address, address)
