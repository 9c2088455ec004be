# SPDX-License-Identifier: Apache-2.0
"""Layouts of shared tensors: the offset of each element.

A dimension is factored into modes, outermost first, as in a register layout; each mode has a
stride. `annotate_layout` reads only the shape: the compiler chooses the layout.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xtc.core.errors import LayoutOperationError, UserError
from xtc.core.tile_layout import mode_groups, split_modes

Modes = list[tuple[int, int]]
"""Sizes and strides of modes."""


@dataclass(frozen=True)
class Swizzle:
    """An exclusive or of `bits` bits of an offset, from bit `base`, with those `shift` higher."""

    base: int
    bits: int
    shift: int

    def __call__(self, index: Any) -> Any:
        mask = ((1 << self.bits) - 1) << (self.base + self.shift)
        return index ^ ((index & mask) >> self.shift)

    def to_byte_swizzle(self, nbytes: int) -> Swizzle:
        """The same on offsets in bytes, of elements of `nbytes` bytes, a power of two."""
        return replace(self, base=self.base + nbytes.bit_length() - 1)


@dataclass(frozen=True)
class SharedLayout:
    """The layout of a shared tensor.

    Attributes:
        shape: of the tensor.
        mode_shape: the sizes of all modes, those of the first dimension first.
        mode_strides: the stride of each mode, in elements.
        optional_swizzle: a swizzle of the offset, or None.
    """

    shape: tuple[int, ...]
    mode_shape: tuple[int, ...]
    mode_strides: tuple[int, ...]
    optional_swizzle: Swizzle | None = None

    def __post_init__(self) -> None:
        if len(self.mode_shape) != len(self.mode_strides) or self._groups is None:
            raise UserError(
                f"{self} is not a layout: each mode has a stride, and the modes make up the shape",
                hints=["shared_row_major(*shape) has the strides of contiguous rows"],
            )

    @staticmethod
    def create(
        shape: Sequence[int],
        mode_shape: Sequence[int],
        mode_strides: Sequence[int],
        optional_swizzle: Swizzle | None = None,
    ) -> SharedLayout:
        """A layout with exactly these modes. Raises UserError unless they match the shape."""
        return SharedLayout(tuple(shape), tuple(mode_shape), tuple(mode_strides), optional_swizzle)

    @property
    def _groups(self) -> list[list[int]] | None:
        """The modes of each dimension; None if they do not make up the shape."""
        return mode_groups(self.shape, self.mode_shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def swizzle(self) -> Swizzle:
        """The swizzle. Raises UserError if the layout has none."""
        if self.optional_swizzle is None:
            raise UserError(
                f"{self} has no swizzle", hints=["layout.apply_swizzle(...) gives it one"]
            )
        return self.optional_swizzle

    def __call__(self, *indices: Any) -> Any:
        """The offset of an element in elements. Indices are numbers or arrays."""
        offset = self._offset(indices)
        return offset if self.optional_swizzle is None else self.optional_swizzle(offset)

    def byte_offset(self, *indices: Any, nbytes: int) -> Any:
        """The offset of an element of `nbytes` bytes, in bytes."""
        offset = self._offset(indices) * nbytes
        swizzle = self.optional_swizzle
        return offset if swizzle is None else swizzle.to_byte_swizzle(nbytes)(offset)

    def _offset(self, indices: Sequence[Any]) -> Any:
        """The offset before the swizzle."""
        if len(indices) != len(self.shape):
            raise UserError(
                f"{self} has {len(self.shape)} dimensions, not {len(indices)}",
                hints=["an index for each dimension"],
            )
        total: Any = 0
        for index, modes in zip(indices, self.modes(), strict=True):
            inside = 1
            for size, stride in reversed(modes):
                total = total + index // inside % size * stride
                inside *= size
        return total

    def modes(self) -> list[Modes]:
        """The modes of each dimension."""
        pairs = list(zip(self.mode_shape, self.mode_strides, strict=True))
        return [[pairs[mode] for mode in group] for group in self._groups or []]

    def as_numpy_grid(self) -> np.ndarray[Any, Any]:
        """The offset of each element, in an array of the layout's shape."""
        return np.asarray(self(*np.indices(self.shape)))

    def count_size(self) -> int:
        """The extent in memory, in elements, without the swizzle."""
        pairs = zip(self.mode_shape, self.mode_strides, strict=True)
        return 1 + sum((size - 1) * stride for size, stride in pairs)

    def slice(self, retain_dims: Sequence[int]) -> SharedLayout:
        """The layout of a part with only these dimensions, in this order."""
        kept = [self._dimension(dim) for dim in retain_dims]
        if len(set(kept)) != len(kept):
            raise UserError(
                f"slice: {list(retain_dims)} names a dimension twice", hints=["each dimension once"]
            )
        modes = self.modes()
        return _of_dimensions(
            [self.shape[dim] for dim in kept], [modes[dim] for dim in kept], self.optional_swizzle
        )

    def permute(self, dims: Sequence[int]) -> SharedLayout:
        """The layout whose dimension i is dimension `dims[i]` of this one."""
        if sorted(dims) != list(range(len(self.shape))):
            raise UserError(
                f"permute: {list(dims)} is not an order of the dimensions of {self}",
                hints=["each dimension once: [1, 0] of two"],
            )
        return self.slice(dims)

    def transpose(self) -> SharedLayout:
        """The layout with its two dimensions exchanged."""
        return self.permute([1, 0])

    def unsqueeze(self, dims: Sequence[int]) -> SharedLayout:
        """The layout with dimensions of size 1 inserted at positions `dims` of the result."""
        rank = len(self.shape) + len(dims)
        if len(set(dims)) != len(dims) or any(not 0 <= dim < rank for dim in dims):
            raise UserError(
                f"unsqueeze: {list(dims)} are not dimensions of a tensor of {rank}",
                hints=["dimensions are numbered from 0"],
            )
        sizes = iter(self.shape)
        return replace(self, shape=tuple(1 if d in dims else next(sizes) for d in range(rank)))

    def prepend_dim(self, extent: int) -> SharedLayout:
        """The layout of `extent` such tensors, one after the other."""
        first = [(extent, self.count_size())]
        return _of_dimensions([extent, *self.shape], [first, *self.modes()], self.optional_swizzle)

    def reshape(self, shape: Sequence[int]) -> SharedLayout:
        """The layout of a tensor of another shape with the same elements in order.

        Raises LayoutOperationError if the sizes differ, or if a mode would span two dimensions.
        """
        joined = _merged([pair for modes in self.modes() for pair in modes])
        parts = split_modes([size for size, _ in joined], shape)
        if math.prod(shape) != self.size or parts is None:
            raise LayoutOperationError(
                f"reshape: no layout of shape {list(shape)} keeps the elements of {self} in order"
            )
        pairs: Modes = []
        for (_, stride), sizes in zip(joined, parts, strict=True):
            inside = list(itertools.accumulate(reversed(sizes), operator.mul, initial=1))
            pairs += [(n, stride * m) for n, m in zip(sizes, inside[-2::-1], strict=True)]
        made = SharedLayout(tuple(shape), *_columns(pairs), self.optional_swizzle)
        return made.canonicalized()

    def apply_swizzle(self, swizzle: Swizzle) -> SharedLayout:
        """The layout with a swizzle. Raises UserError if it has one."""
        if self.optional_swizzle is not None:
            raise UserError(
                f"apply_swizzle: {self} already has a swizzle",
                hints=["apply it to the layout without a swizzle"],
            )
        return replace(self, optional_swizzle=swizzle)

    def canonicalized(self) -> SharedLayout:
        """The equivalent layout with the fewest modes."""
        return _of_dimensions(self.shape, self.modes(), self.optional_swizzle)

    def visualize(self) -> str:
        """A picture of a two-dimensional layout: the offset of each element."""
        if len(self.shape) != 2:
            raise UserError(
                f"visualize: {self} is not two-dimensional",
                hints=["slice it first: layout.slice(...)"],
            )
        grid = self.as_numpy_grid()
        width = len(str(grid.max()))
        rows = (" ".join(f"{offset:>{width}}" for offset in row) for row in grid)
        return "\n".join([str(self), *rows])

    def __str__(self) -> str:
        parts = [("shape", self.shape), ("modes", self.mode_shape), ("strides", self.mode_strides)]
        text = " ".join(f"{name}({','.join(map(str, values))})" for name, values in parts)
        swizzle = self.optional_swizzle
        if swizzle is None:
            return text
        return f"{text} swizzle({swizzle.base},{swizzle.bits},{swizzle.shift})"

    def _dimension(self, dim: int) -> int:
        if not 0 <= dim < len(self.shape):
            raise UserError(
                f"there is no dimension {dim} of {self}", hints=["dimensions are numbered from 0"]
            )
        return dim


def shared_layout(
    shape: Sequence[int],
    mode_shape: Sequence[int],
    mode_strides: Sequence[int],
    optional_swizzle: Swizzle | None = None,
) -> SharedLayout:
    """The canonical layout with these modes. Raises UserError unless they match the shape."""
    pairs = [pair for pair in zip(mode_shape, mode_strides, strict=True) if pair[0] != 1]
    return SharedLayout(tuple(shape), *_columns(pairs), optional_swizzle).canonicalized()


def canonicalize_shared_layout(layout: SharedLayout) -> SharedLayout:
    """The equivalent layout with the fewest modes; a canonical form if swizzles are equal."""
    return layout.canonicalized()


def _of_dimensions(
    shape: Sequence[int], modes: Sequence[Modes], swizzle: Swizzle | None
) -> SharedLayout:
    """The canonical layout with these modes of each dimension."""
    pairs = [pair for group in modes for pair in _merged(group)]
    swizzle = None if swizzle is None or swizzle.bits == 0 else swizzle
    return SharedLayout(tuple(shape), *_columns(pairs), swizzle)


def _merged(modes: Modes) -> Modes:
    """Modes without those of size 1; neighboring modes that one stride describes are merged."""
    found: Modes = []
    for size, stride in modes:
        if found and size > 1 and found[-1][1] == stride * size:
            found[-1] = found[-1][0] * size, stride
        elif size > 1:
            found.append((size, stride))
    return found


def _columns(pairs: Modes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(size for size, _ in pairs), tuple(stride for _, stride in pairs)
