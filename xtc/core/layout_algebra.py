# SPDX-License-Identifier: Apache-2.0
"""Operations on register layouts; `xtc/core/tile_layout.py` defines layouts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xtc.core.errors import UserError
from xtc.core.tile_layout import RegisterLayout, blocked, reduce


def compose(outer: RegisterLayout, inner: RegisterLayout) -> RegisterLayout:
    """`outer * inner`: each element of `outer` becomes a tile of `inner`."""
    return outer * inner


def permute(layout: RegisterLayout, dims: Sequence[int]) -> RegisterLayout:
    """Dimension i of the result is dimension `dims[i]`. Raises UserError unless they permute."""
    if sorted(dims) != list(range(len(layout.shape))):
        raise UserError(f"permute: {list(dims)} does not permute {len(layout.shape)} dimensions")
    return layout.permuted(dims)


def reshape(layout: RegisterLayout, shape: Sequence[int]) -> RegisterLayout:
    """The layout of a tile of another shape with the same elements in order.

    Raises UserError if the sizes differ, or if a mode would span two dimensions.
    """
    if math.prod(shape) != layout.size:
        raise UserError(
            f"reshape: a tile of shape {list(layout.shape)} cannot have shape {list(shape)}"
        )
    found = layout.with_shape(shape)
    if found is None:
        raise UserError(
            f"reshape: no layout of shape {list(shape)} keeps the elements of {layout} in order"
        )
    return found


def flatten(layout: RegisterLayout, start_dim: int = 0, end_dim: int = -1) -> RegisterLayout:
    """The layout with dimensions from `start_dim` to `end_dim`, both included, made into one."""
    rank = len(layout.shape)
    first, last = (_dimension(dim, rank, "flatten") for dim in (start_dim, end_dim))
    merged = math.prod(layout.shape[first : last + 1])
    return reshape(layout, (*layout.shape[:first], merged, *layout.shape[last + 1 :]))


def squeeze(layout: RegisterLayout, dims: Sequence[int]) -> RegisterLayout:
    """The layout without these dimensions. Raises UserError for one of another size than 1."""
    gone = [_dimension(dim, len(layout.shape), "squeeze") for dim in dims]
    if any(layout.shape[dim] != 1 for dim in gone):
        raise UserError(f"squeeze: not all of {list(dims)} have size 1 in {list(layout.shape)}")
    return reshape(layout, [n for dim, n in enumerate(layout.shape) if dim not in gone])


def unsqueeze(layout: RegisterLayout, dims: Sequence[int]) -> RegisterLayout:
    """The layout with further dimensions of size 1, numbered as in the result."""
    rank = len(layout.shape) + len(dims)
    new = {_dimension(dim, rank, "unsqueeze") for dim in dims}
    if len(new) != len(dims):
        raise UserError(f"unsqueeze: {list(dims)} names a dimension twice")
    sizes = iter(layout.shape)
    return reshape(layout, [1 if dim in new else next(sizes) for dim in range(rank)])


def reduce_to(layout: RegisterLayout, shape: Sequence[int]) -> RegisterLayout:
    """The layout of a tile that broadcasts to this one: threads along what it lacks replicate."""
    lead = len(layout.shape) - len(shape)
    sizes = (1,) * lead + tuple(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(sizes, layout.shape, strict=True)):
        raise UserError(f"reduce_to: {list(shape)} does not broadcast to {list(layout.shape)}")
    dims = [d for d, (n, m) in enumerate(zip(sizes, layout.shape, strict=True)) if n != m]
    return squeeze(reduce(layout, dims, keepdims=True), range(lead))


def auto_local_spatial(num_threads: int, shape: Sequence[int]) -> RegisterLayout:
    """Threads along rows first, each with elements that are as far apart as possible."""
    size = math.prod(shape)
    if size % num_threads and num_threads % size:
        raise UserError(
            f"auto_local_spatial: {num_threads} threads cannot share a tile of {list(shape)}"
        )
    return blocked(num_threads, shape, 1)


def divided(layout: RegisterLayout, inner: RegisterLayout) -> RegisterLayout:
    """The layout whose product with `inner` is `layout`. Raises UserError if there is none."""
    rank = max(len(layout.shape), len(inner.shape))
    whole, part = layout.of_rank(rank), inner.of_rank(rank)
    found = _halves(whole, part.shape, part.spatial_size)
    if found is None or found[1].merged() != part.merged():
        raise UserError(f"{layout} is not a product of a layout and {inner}")
    return found[0].merged()


def left_divided(layout: RegisterLayout, outer: RegisterLayout) -> RegisterLayout:
    """The layout whose product with `outer` on the left is `layout`. Raises UserError if there
    is none."""
    rank = max(len(layout.shape), len(outer.shape))
    whole, part = layout.of_rank(rank), outer.of_rank(rank)
    sizes = tuple(a // b for a, b in zip(whole.shape, part.shape, strict=True))
    found = _halves(whole, sizes, whole.spatial_size // part.spatial_size)
    if found is None or found[0].merged() != part.merged():
        raise UserError(f"{layout} is not a product of {outer} and a layout")
    return found[1].merged()


def _halves(
    layout: RegisterLayout, shape: Sequence[int], threads: int
) -> tuple[RegisterLayout, RegisterLayout] | None:
    """A layout as two factors, the inner one with this shape and thread count; or None."""
    if any(size < 1 or whole % size for whole, size in zip(layout.shape, shape, strict=True)):
        return None
    both = [n for a, b in zip(layout.shape, shape, strict=True) for n in (a // b, b)]
    split = layout.with_shape(both)
    if split is None:
        return None
    cut = len(split.spatial_modes)
    inside = 1
    while cut and inside < threads:
        cut -= 1
        inside *= split.spatial_shape[cut]
    ahead, behind = list(split.spatial_modes[:cut]), list(split.spatial_modes[cut:])
    if inside > threads and behind[0] < 0 and inside % threads == 0:  # replications side by side
        ahead.append(-(inside // threads))
        behind[0] //= inside // threads
    outer = _of_dimensions(split, 0, ahead)
    inner = _of_dimensions(split, 1, behind)
    if outer is None or inner is None or (outer * inner).merged() != layout.merged():
        return None
    return outer, inner


def _of_dimensions(
    layout: RegisterLayout, first: int, spatial_modes: Sequence[int]
) -> RegisterLayout | None:
    """Every second dimension of a layout from `first` on; None if threads index the others."""
    modes = [mode for group in layout.groups[first::2] for mode in group]
    rank_of = {mode: number for number, mode in enumerate(modes)}
    local_modes = tuple(rank_of[mode] for mode in layout.local_modes if mode in rank_of)
    if sum(mode >= 0 for mode in spatial_modes) + len(local_modes) != len(modes):
        return None
    if any(mode >= 0 and mode not in rank_of for mode in spatial_modes):
        return None
    return RegisterLayout(
        layout.shape[first::2],
        tuple(layout.modes[mode] for mode in modes),
        tuple(mode if mode < 0 else rank_of[mode] for mode in spatial_modes),
        local_modes,
    )


def _dimension(dim: int, rank: int, name: str) -> int:
    if not -rank <= dim < rank:
        raise UserError(f"{name}: there is no dimension {dim} of {rank}")
    return dim % rank
