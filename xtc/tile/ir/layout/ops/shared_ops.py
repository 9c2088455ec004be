# SPDX-License-Identifier: Apache-2.0
"""Functions that create and transform layouts of shared tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xtc.core.errors import UserError
from xtc.tile.ir.layout.shared_layout import SharedLayout, Swizzle, shared_layout

_CHUNK_BYTES, _ROW_BYTES, _ROWS = 16, 128, 8
"""Of a swizzle: the bytes of a chunk, the bytes of all banks, and the rows of a period."""


def shared_row_major(*shape: int) -> SharedLayout:
    """A dense layout, the last dimension fastest."""
    return shared_layout(shape, shape, _strides(shape))


def shared_column_major(*shape: int) -> SharedLayout:
    """A dense layout, the first dimension fastest."""
    return shared_layout(shape, shape, _strides(shape[::-1])[::-1])


def shared_row_major_swizzle(shape: Sequence[int], dtype_nbytes: int) -> SharedLayout:
    """A layout in which rows and columns of 16 bytes are free of bank conflicts.

    Rows are split into panels of at most 128 bytes, stored in order. Raises UserError unless the
    number of rows is a multiple of 8 and a row a multiple of 16 bytes.
    """
    if len(shape) < 2 or shape[-2] % _ROWS or shape[-1] * dtype_nbytes % _CHUNK_BYTES:
        raise UserError(
            f"shared_row_major_swizzle: {list(shape)} of {dtype_nbytes} bytes",
            notes=[f"rows are a multiple of {_ROWS}, of {_CHUNK_BYTES} bytes each"],
            hints=["pad the rows, or use shared_row_major"],
        )
    *head, rows, columns = shape
    panel = math.gcd(columns, _ROW_BYTES // dtype_nbytes)
    chunks = panel * dtype_nbytes // _CHUNK_BYTES
    swizzle = Swizzle(
        base=(_CHUNK_BYTES // dtype_nbytes).bit_length() - 1, bits=chunks.bit_length() - 1, shift=3
    )
    outer = [stride * rows * columns for stride in _strides(head)]
    return shared_layout(
        shape,
        [*head, rows, columns // panel, panel],
        [*outer, panel, rows * panel, 1],
        swizzle,
    )


def shared_compose(lhs: SharedLayout, rhs: SharedLayout, *others: SharedLayout) -> SharedLayout:
    """The layout of a tensor with a tile of `rhs` for each element of `lhs`, and so on.

    Raises UserError for layouts of different rank, and for swizzled ones.
    """
    if len(lhs.shape) != len(rhs.shape):
        raise UserError(
            f"shared_compose: {lhs} and {rhs} differ in rank",
            hints=["unsqueeze the one of lower rank"],
        )
    if lhs.optional_swizzle or rhs.optional_swizzle:
        raise UserError(f"shared_compose: {lhs} or {rhs} has a swizzle", hints=["apply it last"])
    inside = rhs.count_size()
    pairs = [
        pair
        for outer, inner in zip(lhs.modes(), rhs.modes(), strict=True)
        for pair in [*((size, stride * inside) for size, stride in outer), *inner]
    ]
    made = shared_layout(
        [a * b for a, b in zip(lhs.shape, rhs.shape, strict=True)],
        [size for size, _ in pairs],
        [stride for _, stride in pairs],
    )
    return shared_compose(made, *others) if others else made


def shared_permute(layout: SharedLayout, dims: Sequence[int]) -> SharedLayout:
    """The layout whose dimension i is dimension `dims[i]` of this one."""
    return layout.permute(dims)


def shared_slice(layout: SharedLayout, retain_dims: Sequence[int]) -> SharedLayout:
    """The layout of a part with only these dimensions."""
    return layout.slice(retain_dims)


def shared_unsqueeze(layout: SharedLayout, dims: Sequence[int]) -> SharedLayout:
    """The layout with dimensions of size 1 inserted; `dims` are their positions in the result."""
    return layout.unsqueeze(dims)


def shared_reshape(layout: SharedLayout, shape: Sequence[int]) -> SharedLayout:
    """The layout of a tensor of another shape with the same elements in order."""
    return layout.reshape(shape)


def _strides(shape: Sequence[int]) -> list[int]:
    """Strides of a dense tensor, the last dimension fastest."""
    return [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
