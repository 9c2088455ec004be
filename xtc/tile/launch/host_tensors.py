# SPDX-License-Identifier: Apache-2.0
"""Tensors of any element type; elements of fewer than 8 bits are packed.

NumPy and PyTorch have no such types. Such a tensor, or its storage, can be passed for a pointer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtc.core.errors import UserError
from xtc.tile.launch.foreign import over
from xtc.tile.types import DataType, float32, int32
from xtc.tile.utils import dtype_from_numpy, dtype_from_torch, dtype_to_torch
from xtc.tile.values import packed_codes as codes
from xtc.tile.values.saturation import converted

Array = np.ndarray[Any, Any]

_RANDOM = np.random.default_rng()


class Tensor:
    """A tensor on the host side: element type, shape and storage.

    `storage` is a NumPy array, or the PyTorch tensor from which it was made.
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
        """Whether the storage is host memory."""
        return isinstance(over(self.storage), np.ndarray)

    def values(self) -> Array:
        """The elements as a NumPy array; small types as float32 or int32."""
        stored = _bytes_of(self.storage)
        if self.dtype.is_packed or self.dtype.is_coded:
            return codes.unpacked(stored, self.dtype, self.shape)
        return stored.view(self.dtype.numpy).reshape(self.shape)

    def numpy(self) -> Array:
        """The storage as a NumPy array, of bytes for packed types."""
        stored = _bytes_of(self.storage)
        return stored if self.dtype.is_packed else stored.view(self.dtype.numpy).reshape(self.shape)

    def torch(self) -> Any:
        """The storage as a PyTorch tensor. Raises UserError if PyTorch lacks the type."""
        import torch

        dtype = dtype_to_torch(self.dtype)
        stored = self.storage
        if not isinstance(stored, torch.Tensor):
            stored = torch.from_numpy(_bytes_of(stored))
        return stored.reshape(-1).view(dtype).reshape(self.shape)

    def to(self, dtype: DataType) -> Tensor:
        """The elements cast to another type, with the rules of kernels, in new memory."""
        values = self.values()
        if dtype.is_packed or dtype.is_coded:
            return Tensor(dtype, self.shape, _like(self.storage, codes.packed(values, dtype)))
        cast = np.ascontiguousarray(converted(values, dtype.numpy))
        return Tensor(dtype, self.shape, _like(self.storage, cast.reshape(-1).view(np.uint8)))

    def view(self, *, dtype: DataType | None = None, shape: Sequence[int] | None = None) -> Tensor:
        """The same storage with another type or shape; the last size follows the type."""
        dtype = dtype or self.dtype
        if shape is None:
            bits = self.shape[-1] * self.dtype.nbits
            if bits % dtype.nbits:
                raise UserError(f"{self.dtype}{list(self.shape)} is not a whole number of {dtype}")
            shape = (*self.shape[:-1], bits // dtype.nbits)
        return Tensor(dtype, shape, self.storage)

    def clone(self) -> Tensor:
        """A copy."""
        stored = self.storage
        copy = stored.clone() if hasattr(stored, "clone") else stored.copy()
        return Tensor(self.dtype, self.shape, copy)

    def fill_from(self, other: Tensor) -> None:
        """Copy the storage of a tensor of the same type and shape."""
        _bytes_of(self.storage)[:] = _bytes_of(other.storage)

    def data_ptr(self) -> int:
        """The address of the storage."""
        return int(_bytes_of(self.storage).ctypes.data)


def from_torch(torch_tensor: Any) -> Tensor:
    """A tensor over the memory of a PyTorch tensor or NumPy array; copied if not contiguous."""
    given = torch_tensor
    if isinstance(given, np.ndarray):
        return Tensor(dtype_from_numpy(given.dtype), given.shape, np.ascontiguousarray(given))
    return Tensor(dtype_from_torch(given.dtype), given.shape, given.contiguous())


def view_torch(torch_tensor: Any, *, dtype: DataType, shape: Sequence[int]) -> Tensor:
    """The memory of a PyTorch tensor as elements of any type."""
    return Tensor(dtype, shape, torch_tensor)


def empty(shape: Sequence[int], dtype: DataType) -> Tensor:
    """A new tensor, filled with zeros."""
    return Tensor(dtype, shape, np.zeros((dtype.nbits * math.prod(shape) + 7) // 8, np.uint8))


def full(shape: Sequence[int], fill_value: float, dtype: DataType) -> Tensor:
    """A new tensor filled with one value."""
    return _of(np.full(shape, fill_value, np.float32), float32, dtype)


def zeros(shape: Sequence[int], dtype: DataType) -> Tensor:
    """A new tensor of zeros."""
    return full(shape, 0, dtype)


def ones(shape: Sequence[int], dtype: DataType) -> Tensor:
    """A new tensor of ones."""
    return full(shape, 1, dtype)


def rand(shape: Sequence[int], dtype: DataType) -> Tensor:
    """A new tensor of random numbers in [0, 1)."""
    return _of(_RANDOM.random(shape, np.float32), float32, dtype)


def randn(shape: Sequence[int], dtype: DataType) -> Tensor:
    """A new tensor of normally distributed numbers."""
    return _of(_RANDOM.standard_normal(shape, np.float32), float32, dtype)


def randint(low: int, high: int, shape: Sequence[int], dtype: DataType) -> Tensor:
    """A new tensor of random integers from `low` to `high - 1`."""
    return _of(_RANDOM.integers(low, high, shape, np.int32), int32, dtype)


def _of(values: Array, source: DataType, dtype: DataType) -> Tensor:
    return Tensor(source, values.shape, values).to(dtype)


def _bytes_of(storage: Any) -> Array:
    """The memory of a tensor as bytes. Raises UserError for device memory."""
    found = over(storage)
    if not isinstance(found, np.ndarray):
        raise UserError(
            "a tensor on a device cannot be read here", hints=["tensor.cpu() copies it to the host"]
        )
    return found.reshape(-1).view(np.uint8)


def _like(storage: Any, stored: Array) -> Any:
    """Bytes in the same kind of storage as another tensor."""
    if isinstance(storage, np.ndarray):
        return stored
    import torch

    return torch.from_numpy(stored)
