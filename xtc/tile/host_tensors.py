# SPDX-License-Identifier: Apache-2.0
"""Tensors of any element type, packed where elements have fewer than 8 bits.

NumPy and PyTorch have no such types. A kernel takes such a tensor, or its storage, for a pointer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtc.core.errors import UserError
from xtc.tile import packed_codes as codes
from xtc.tile.foreign import over
from xtc.tile.saturation import converted
from xtc.tile.types import DataType, float32, int32
from xtc.tile.utils import dtype_from_numpy, dtype_from_torch, dtype_to_torch

Array = np.ndarray[Any, Any]

_RANDOM = np.random.default_rng()


class Tensor:
    """A tensor: its element type, shape, and the memory that holds it.

    `storage` is a NumPy array, or the PyTorch tensor that it was made from.
    """

    def __init__(self, dtype: DataType, shape: Sequence[int], storage: Any) -> None:
        self.dtype = dtype
        self.shape = tuple(shape)
        self.storage = storage
        stored, wanted = int(storage.nbytes), (dtype.nbits * math.prod(shape) + 7) // 8
        if stored != wanted:
            raise UserError(
                f"{dtype}{list(self.shape)} takes {wanted} bytes, and its storage has {stored}"
            )

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}:\n{self.values()}"

    @property
    def is_on_host(self) -> bool:
        """Whether the memory is the host's, and no device's."""
        return isinstance(over(self.storage), np.ndarray)

    def values(self) -> Array:
        """The elements, in NumPy's type of them; small ones as float32 or int32."""
        stored = _bytes_of(self.storage)
        if self.dtype.is_packed or self.dtype.is_coded:
            return codes.unpacked(stored, self.dtype, self.shape)
        return stored.view(self.dtype.numpy).reshape(self.shape)

    def numpy(self) -> Array:
        """The memory as a NumPy array, of bytes where elements share one."""
        stored = _bytes_of(self.storage)
        return stored if self.dtype.is_packed else stored.view(self.dtype.numpy).reshape(self.shape)

    def torch(self) -> Any:
        """The memory as a PyTorch tensor. Raises UserError where PyTorch has no such type."""
        import torch

        dtype = dtype_to_torch(self.dtype)
        stored = self.storage
        if not isinstance(stored, torch.Tensor):
            stored = torch.from_numpy(_bytes_of(stored))
        return stored.reshape(-1).view(dtype).reshape(self.shape)

    def to(self, dtype: DataType) -> Tensor:
        """The elements cast to another type, as a kernel casts them, in new memory."""
        values = self.values()
        if dtype.is_packed or dtype.is_coded:
            return Tensor(dtype, self.shape, _like(self.storage, codes.packed(values, dtype)))
        cast = np.ascontiguousarray(converted(values, dtype.numpy))
        return Tensor(dtype, self.shape, _like(self.storage, cast.reshape(-1).view(np.uint8)))

    def view(self, *, dtype: DataType | None = None, shape: Sequence[int] | None = None) -> Tensor:
        """The same memory with another type or shape; the last size follows the type."""
        dtype = dtype or self.dtype
        if shape is None:
            bits = self.shape[-1] * self.dtype.nbits
            if bits % dtype.nbits:
                raise UserError(f"{self.dtype}{list(self.shape)} is no whole number of {dtype}")
            shape = (*self.shape[:-1], bits // dtype.nbits)
        return Tensor(dtype, shape, self.storage)

    def clone(self) -> Tensor:
        """A copy."""
        stored = self.storage
        copy = stored.clone() if hasattr(stored, "clone") else stored.copy()
        return Tensor(self.dtype, self.shape, copy)

    def fill_from(self, other: Tensor) -> None:
        """Copy the memory of a tensor of the same type and shape."""
        _bytes_of(self.storage)[:] = _bytes_of(other.storage)

    def data_ptr(self) -> int:
        """The address of the memory."""
        return int(_bytes_of(self.storage).ctypes.data)


def from_torch(torch_tensor: Any) -> Tensor:
    """A PyTorch tensor, or a NumPy array, over its memory; in new memory unless it is dense."""
    given = torch_tensor
    if isinstance(given, np.ndarray):
        return Tensor(dtype_from_numpy(given.dtype), given.shape, np.ascontiguousarray(given))
    return Tensor(dtype_from_torch(given.dtype), given.shape, given.contiguous())


def view_torch(torch_tensor: Any, *, dtype: DataType, shape: Sequence[int]) -> Tensor:
    """The memory of a PyTorch tensor as elements of any type."""
    return Tensor(dtype, shape, torch_tensor)


def empty(shape: Sequence[int], dtype: DataType) -> Tensor:
    """A tensor in new memory, which is zero."""
    return Tensor(dtype, shape, np.zeros((dtype.nbits * math.prod(shape) + 7) // 8, np.uint8))


def full(shape: Sequence[int], fill_value: float, dtype: DataType) -> Tensor:
    """A tensor of one value."""
    return _of(np.full(shape, fill_value, np.float32), float32, dtype)


def zeros(shape: Sequence[int], dtype: DataType) -> Tensor:
    """A tensor of zeros."""
    return full(shape, 0, dtype)


def ones(shape: Sequence[int], dtype: DataType) -> Tensor:
    """A tensor of ones."""
    return full(shape, 1, dtype)


def rand(shape: Sequence[int], dtype: DataType) -> Tensor:
    """Random numbers from 0 up to 1."""
    return _of(_RANDOM.random(shape, np.float32), float32, dtype)


def randn(shape: Sequence[int], dtype: DataType) -> Tensor:
    """Normally distributed numbers."""
    return _of(_RANDOM.standard_normal(shape, np.float32), float32, dtype)


def randint(low: int, high: int, shape: Sequence[int], dtype: DataType) -> Tensor:
    """Random integers from `low` to `high - 1`."""
    return _of(_RANDOM.integers(low, high, shape, np.int32), int32, dtype)


def _of(values: Array, source: DataType, dtype: DataType) -> Tensor:
    return Tensor(source, values.shape, values).to(dtype)


def _bytes_of(storage: Any) -> Array:
    """The memory of a tensor as bytes. Raises UserError where it is a device's."""
    found = over(storage)
    if not isinstance(found, np.ndarray):
        raise UserError(
            "a tensor on a device cannot be read here", hints=["tensor.cpu() copies it to the host"]
        )
    return found.reshape(-1).view(np.uint8)


def _like(storage: Any, stored: Array) -> Any:
    """Bytes in the kind of storage that another tensor has."""
    if isinstance(storage, np.ndarray):
        return stored
    import torch

    return torch.from_numpy(stored)
