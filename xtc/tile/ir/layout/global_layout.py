# SPDX-License-Identifier: Apache-2.0
"""Layouts of global tensors: a shape and a stride for each dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xtc.core.errors import UserError


@dataclass(frozen=True)
class GlobalLayout:
    """Sizes of a global tensor, and strides in elements; both may be run-time numbers."""

    shape: tuple[Any, ...]
    strides: tuple[Any, ...]

    @property
    def size(self) -> Any:
        """The number of elements."""
        return math.prod(self.shape)

    def __call__(self, *indices: Any) -> Any:
        """The offset of an element in elements. Raises UserError for too few or many indices."""
        if len(indices) != len(self.shape):
            raise UserError(
                f"{self} has {len(self.shape)} dimensions, not {len(indices)}",
                hints=["an index for each dimension"],
            )
        return sum(index * stride for index, stride in zip(indices, self.strides, strict=True))


def global_row_major(*shape: Any) -> GlobalLayout:
    """A dense row-major layout."""
    return GlobalLayout(shape, tuple(reversed(_products(shape[::-1]))))


def global_column_major(*shape: Any) -> GlobalLayout:
    """A dense column-major layout."""
    return GlobalLayout(shape, tuple(_products(shape)))


def global_strides(shape: Sequence[Any], strides: Sequence[Any]) -> GlobalLayout:
    """A layout with these strides, in elements. Raises UserError for too few or too many."""
    if len(shape) != len(strides):
        raise UserError(
            f"global_strides: {len(shape)} sizes and {len(strides)} strides",
            hints=["a stride for each size"],
        )
    return GlobalLayout(tuple(shape), tuple(strides))


def global_slice(
    layout: GlobalLayout, offsets: Sequence[Any], dims: Sequence[int], shape: Sequence[Any]
) -> GlobalLayout:
    """The layout of a part that spans some dimensions, relative to its first element.

    It has the strides of the whole tensor and does not depend on `offsets`. Raises UserError
    for numbers of offsets, dimensions and sizes that do not match.
    """
    if len(offsets) != len(layout.shape) or len(dims) != len(shape):
        raise UserError(
            f"global_slice: {len(offsets)} offsets, {len(dims)} dimensions and {len(shape)} sizes "
            f"for {layout}",
            hints=["an offset for each dimension of the layout, and a size for each of dims"],
        )
    return GlobalLayout(tuple(shape), tuple(layout.strides[dim] for dim in dims))


def _products(sizes: Sequence[Any]) -> list[Any]:
    """The exclusive prefix products of the sizes."""
    found: list[Any] = []
    for at in range(len(sizes)):
        found.append(found[-1] * sizes[at - 1] if found else 1)
    return found
