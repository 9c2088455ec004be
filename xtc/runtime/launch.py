# SPDX-License-Identifier: Apache-2.0
"""Kernel launches for the driver table: typed arguments and a grid."""

from __future__ import annotations

import operator
import struct
from collections.abc import Sequence
from ctypes import c_uint8, c_uint32, c_uint64
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.core.errors import UserError
from xtc.runtime.table import ArgumentType, Launch

_WORD = 1 << 64
_MAX_BLOCKS = (1 << 32) - 1
_NUMPY: dict[type[np.generic], tuple[ArgumentType, str]] = {
    np.int32: (ArgumentType.INT32, "<i"),
    np.uint32: (ArgumentType.INT32, "<I"),
    np.float32: (ArgumentType.FLOAT32, "<f"),
    np.float64: (ArgumentType.FLOAT64, "<d"),
}


@dataclass(frozen=True)
class KernelArgument:
    """A kernel argument: its value in the low bits of 64, zero-extended."""

    bits: int
    type: ArgumentType

    @staticmethod
    def of(value: Any) -> KernelArgument:
        """The argument for a number. Raises UserError for other values.

        Python integers, which may be addresses, are 64-bit two's complement; floats have 64 bits.
        """
        if isinstance(value, np.generic) and type(value) in _NUMPY:
            kind, form = _NUMPY[type(value)]
            return KernelArgument(int.from_bytes(struct.pack(form, value), "little"), kind)
        if isinstance(value, float):
            packed = struct.pack("<d", value)
            return KernelArgument(int.from_bytes(packed, "little"), ArgumentType.FLOAT64)
        try:
            number = operator.index(value)
        except TypeError:
            raise UserError(f"{value!r} is neither a number nor an array of the device") from None
        if not -_WORD // 2 <= number < _WORD:
            raise UserError(f"{value} does not fit in 64 bits")
        return KernelArgument(number % _WORD, ArgumentType.INT64)


def launch_of(
    arguments: Sequence[KernelArgument], grid: Sequence[int], cluster: Sequence[int] = ()
) -> Launch:
    """An `xtc_launch` with these arguments.

    Raises UserError for a grid or a cluster unless it has 0 to 3 sizes.
    """
    count = len(arguments)
    values = (c_uint64 * count)(*(argument.bits for argument in arguments))
    types = (c_uint8 * count)(*(argument.type for argument in arguments))
    blocks = (c_uint32 * 3)(*grid_sizes(grid))
    return Launch(blocks, count, values, types, (c_uint32 * 3)(*grid_sizes(cluster, "cluster")))


def grid_sizes(grid: Sequence[int], what: str = "grid") -> tuple[int, ...]:
    """The blocks in x, y and z; zeros if the image defines the grid."""
    sizes = tuple(map(operator.index, grid))
    if not sizes:
        return (0, 0, 0)
    if len(sizes) > 3 or not all(1 <= size <= _MAX_BLOCKS for size in sizes):
        rule = f"a {what} has 1 to 3 sizes, each 1 or more"
        raise UserError(f"{sizes} is not a {what}", notes=[rule])
    return (*sizes, *[1] * (3 - len(sizes)))
