# SPDX-License-Identifier: Apache-2.0
"""Layouts of shared tensors: their shapes. Where elements lie the compiler decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xtc.core.errors import UserError


@dataclass(frozen=True)
class SharedLayout:
    """The shape of a shared tensor.

    The compiler chooses where its elements are, so that rows and columns of 16 bytes are free of
    bank conflicts.
    """

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


def shared_layout(shape: Sequence[int], *_: Any, **__: Any) -> SharedLayout:
    """A layout of this shape; modes, strides and swizzles are ignored."""
    return SharedLayout(tuple(shape))


def shared_row_major(*shape: int) -> SharedLayout:
    """A layout of a shared tensor of this shape."""
    return SharedLayout(shape)


def shared_column_major(*shape: int) -> SharedLayout:
    """A layout of a shared tensor of this shape."""
    return SharedLayout(shape)


def shared_row_major_swizzle(shape: Sequence[int], dtype_nbytes: int = 1) -> SharedLayout:
    """A layout of a shared tensor of this shape, whose elements have `dtype_nbytes` bytes."""
    return SharedLayout(tuple(shape))


def shared_compose(lhs: SharedLayout, rhs: SharedLayout) -> SharedLayout:
    """A layout of a tensor with a tile of `rhs` for each element of `lhs`."""
    if len(lhs.shape) != len(rhs.shape):
        raise UserError(f"shared_compose: {lhs} and {rhs} differ in rank")
    return SharedLayout(tuple(a * b for a, b in zip(lhs.shape, rhs.shape, strict=True)))


def shared_permute(layout: SharedLayout, dims: Sequence[int]) -> SharedLayout:
    """The layout with dimension `dims[i]` as its dimension i."""
    if sorted(dims) != list(range(len(layout.shape))):
        raise UserError(f"shared_permute: {list(dims)} is no order of {layout}'s dimensions")
    return SharedLayout(tuple(layout.shape[dim] for dim in dims))
