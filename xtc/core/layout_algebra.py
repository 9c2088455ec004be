# SPDX-License-Identifier: Apache-2.0
"""Operations on register layouts; `xtc/core/tile_layout.py` defines layouts.

Each raises LayoutOperationError if no layout is the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xtc.core.errors import LayoutOperationError
from xtc.core.tile_layout import RegisterLayout, blocked


def compose(outer: RegisterLayout, inner: RegisterLayout) -> RegisterLayout:
    """`outer * inner`: each element of `outer` becomes a tile of `inner`."""
    return outer * inner


def permute(layout: RegisterLayout, dims: Sequence[int]) -> RegisterLayout:
    """The layout whose dimension i is dimension `dims[i]` of `layout`."""
    if sorted(dims) != list(range(len(layout.shape))):
        raise LayoutOperationError(
            f"permute: {list(dims)} is not a permutation of {len(layout.shape)} dimensions"
        )
    return layout.permuted(dims)


def reshape(layout: RegisterLayout, shape: Sequence[int]) -> RegisterLayout:
    """The layout of a tile of another shape with the same elements in order.

    Raises LayoutOperationError if the sizes differ, or if a mode would span two dimensions.
    """
    if math.prod(shape) != layout.size:
        raise LayoutOperationError(
            f"reshape: a tile of shape {list(layout.shape)} cannot have shape {list(shape)}"
        )
    found = layout.with_shape(shape)
    if found is None:
        raise LayoutOperationError(
            f"reshape: no layout of shape {list(shape)} keeps the elements of {layout} in order"
        )
    return found


def flatten(layout: RegisterLayout, start_dim: int = 0, end_dim: int = -1) -> RegisterLayout:
    """The layout with the dimensions from `start_dim` to `end_dim`, inclusive, merged."""
    rank = len(layout.shape)
    first, last = (_dimension(dim, rank, "flatten") for dim in (start_dim, end_dim))
    merged = math.prod(layout.shape[first : last + 1])
    return reshape(layout, (*layout.shape[:first], merged, *layout.shape[last + 1 :]))


def squeeze(layout: RegisterLayout, dims: Sequence[int]) -> RegisterLayout:
    """The layout without these dimensions, which have size 1."""
    gone = [_dimension(dim, len(layout.shape), "squeeze") for dim in dims]
    if any(layout.shape[dim] != 1 for dim in gone):
        raise LayoutOperationError(
            f"squeeze: not all of {list(dims)} have size 1 in {list(layout.shape)}"
        )
    return reshape(layout, [n for dim, n in enumerate(layout.shape) if dim not in gone])


def unsqueeze(layout: RegisterLayout, dims: Sequence[int]) -> RegisterLayout:
    """The layout with dimensions of size 1 inserted at these positions of the result."""
    rank = len(layout.shape) + len(dims)
    new = {_dimension(dim, rank, "unsqueeze") for dim in dims}
    if len(new) != len(dims):
        raise LayoutOperationError(f"unsqueeze: {list(dims)} names a dimension twice")
    sizes = iter(layout.shape)
    return reshape(layout, [1 if dim in new else next(sizes) for dim in range(rank)])


def reduce_to(layout: RegisterLayout, shape: Sequence[int]) -> RegisterLayout:
    """The layout of a tile that broadcasts to this one; threads along the others replicate."""
    return layout.reduce_to(shape)


def auto_local_spatial(num_threads: int, shape: Sequence[int]) -> RegisterLayout:
    """Threads along rows first; the elements of a thread are as far apart as possible."""
    size = math.prod(shape)
    if size % num_threads and num_threads % size:
        raise LayoutOperationError(
            f"auto_local_spatial: {num_threads} threads cannot share a tile of {list(shape)}"
        )
    return blocked(num_threads, shape, 1)


def _dimension(dim: int, rank: int, name: str) -> int:
    if not -rank <= dim < rank:
        raise LayoutOperationError(f"{name}: there is no dimension {dim} of {rank}")
    return dim % rank
