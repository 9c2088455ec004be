# SPDX-License-Identifier: Apache-2.0
"""Layouts of global tensors: a shape, and the distance of neighbors in each dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xtc.core.errors import UserError


@dataclass(frozen=True)
class GlobalLayout:
    """Sizes of a global tensor, and strides in elements; both may be of run time."""

    shape: tuple[Any, ...]
    strides: tuple[Any, ...]

    @property
    def size(self) -> Any:
        """The number of elements."""
        return math.prod(self.shape)

    def __call__(self, *indices: Any) -> Any:
        """The offset of an element in elements. Raises UserError for too few or many indices."""
        if len(indices) != len(self.shape):
            raise UserError(f"{self} has {len(self.shape)} dimensions, not {len(indices)}")
        return sum(index * stride for index, stride in zip(indices, self.strides, strict=True))


def global_row_major(*shape: Any) -> GlobalLayout:
    """Elements of a row side by side."""
    return GlobalLayout(shape, tuple(reversed(_products(shape[::-1]))))


def global_column_major(*shape: Any) -> GlobalLayout:
    """Elements of a column side by side."""
    return GlobalLayout(shape, tuple(_products(shape)))


def global_strides(shape: Sequence[Any], strides: Sequence[Any]) -> GlobalLayout:
    """These strides, in elements. Raises UserError unless there is one for each dimension."""
    if len(shape) != len(strides):
        raise UserError(f"global_strides: {len(shape)} sizes and {len(strides)} strides")
    return GlobalLayout(tuple(shape), tuple(strides))


def global_slice(
    layout: GlobalLayout, offsets: Sequence[Any], dims: Sequence[int], shape: Sequence[Any]
) -> GlobalLayout:
    """The layout of a part that spans some dimensions, from its first element on.

    Strides are those of the whole tensor, so that `offsets` do not change them. Raises UserError
    for numbers of offsets, dimensions and sizes that do not fit.
    """
    if len(offsets) != len(layout.shape) or len(dims) != len(shape):
        raise UserError(
            f"global_slice: {len(offsets)} offsets, {len(dims)} dimensions and {len(shape)} sizes "
            f"for {layout}"
        )
    return GlobalLayout(tuple(shape), tuple(layout.strides[dim] for dim in dims))


def _products(sizes: Sequence[Any]) -> list[Any]:
    """For each size the product of those before it."""
    found: list[Any] = []
    for at in range(len(sizes)):
        found.append(found[-1] * sizes[at - 1] if found else 1)
    return found
