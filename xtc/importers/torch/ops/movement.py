# SPDX-License-Identifier: Apache-2.0
"""Views, copies, gathers and scatters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import (
    constant,
    expanded,
    moved_axis,
    padded,
    part,
    same,
    stacked,
    taken,
)
from xtc.importers.torch.ops.arithmetic import operand, result_type
from xtc.importers.torch.table import writes
from xtc.importers.values import Unsupported, as_tensor

_END = 1 << 62


@writes("view", "reshape", "_unsafe_view")
def view(x: Tensor, shape: Sequence[int]) -> Tensor:
    return O.reshape(x, tuple(shape))


@writes("permute")
def permute(x: Tensor, dims: Sequence[int]) -> Tensor:
    return O.transpose(x, axes=tuple(d % x.type.rank for d in dims))


@writes("unfold")
def unfold(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows along one dimension; positions within a window become the last dimension."""
    axis = dimension % x.type.rank
    count = (x.type.sizes[axis] - size) // step + 1
    numbers = step * np.arange(count)[:, None] + np.arange(size)
    return moved_axis(O.gather(x, constant(numbers), axis=axis), axis + 1, x.type.rank)


@writes("transpose.int")
def transpose(x: Tensor, first: int, second: int) -> Tensor:
    axes = list(range(x.type.rank))
    axes[first], axes[second] = axes[second], axes[first]
    return O.transpose(x, axes=tuple(axes))


@writes("t")
def t(x: Tensor) -> Tensor:
    return O.transpose(x, axes=(1, 0)) if x.type.rank == 2 else same(x)


@writes("unsqueeze")
def unsqueeze(x: Tensor, dim: int) -> Tensor:
    shape = list(x.type.sizes)
    shape.insert(dim % (len(shape) + 1), 1)
    return O.reshape(x, tuple(shape))


@writes("squeeze.dim", "squeeze.dims", "squeeze")
def squeeze(x: Tensor, dims: Any = None) -> Tensor:
    rank = x.type.rank
    given = range(rank) if dims is None else [dims] if isinstance(dims, int) else dims
    chosen = {d % rank for d in given} if rank else set()
    kept = [size for d, size in enumerate(x.type.sizes) if size != 1 or d not in chosen]
    return O.reshape(x, tuple(kept))


@writes("expand")
def expand(x: Tensor, shape: Sequence[int], **_: Any) -> Tensor:
    first = len(shape) - x.type.rank
    sizes = [x.type.sizes[d - first] if size == -1 else size for d, size in enumerate(shape)]
    return expanded(x, sizes)


@writes("repeat")
def repeat(x: Tensor, counts: Sequence[int]) -> Tensor:
    wide = O.reshape(x, ((1,) * (len(counts) - x.type.rank)) + x.type.sizes)
    return O.tile(wide, tuple(counts))


@writes("slice.Tensor")
def slice_(
    x: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    chosen = [range(size) for size in x.type.sizes]
    chosen[dim] = range(*slice(start, end, step).indices(x.type.sizes[dim]))
    return as_tensor(taken(x, chosen))


@writes("select.int")
def select(x: Tensor, dim: int, index: int) -> Tensor:
    dim, sizes = dim % x.type.rank, x.type.sizes
    index = index % sizes[dim]
    return O.reshape(part(x, dim, index, index + 1), (*sizes[:dim], *sizes[dim + 1 :]))


@writes("slice_scatter")
def slice_scatter(
    x: Tensor,
    source: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    numbers = range(*slice(start, end, step).indices(x.type.sizes[dim]))
    return _along(x, source, dim, numbers)


@writes("select_scatter")
def select_scatter(x: Tensor, source: Tensor, dim: int, index: int) -> Tensor:
    index = index % x.type.sizes[dim]
    return _along(x, unsqueeze(source, dim % x.type.rank), dim, range(index, index + 1))


def _along(x: Tensor, source: Tensor, dim: int, numbers: range) -> Tensor:
    """`x` with slices along one dimension replaced."""
    dim = dim % x.type.rank
    shape = [1] * x.type.rank
    shape[dim] = len(numbers)
    positions = constant(np.array(numbers, np.int64).reshape(shape))
    indices = O.expand(positions, source.type.sizes)
    return O.scatter_elements(x, indices, source, axis=dim)


@writes("cat")
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    dtype = result_type()
    parts = [operand(x, dtype) for x in tensors if isinstance(x, Tensor)]
    return O.concat(*parts, axis=dim) if len(parts) > 1 else same(parts[0])


@writes("stack")
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return stacked(list(tensors), dim % (tensors[0].type.rank + 1))


@writes("split_with_sizes", "split_with_sizes_copy")
def split_with_sizes(x: Tensor, sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    starts = np.cumsum([0, *sizes])
    dim = dim % x.type.rank
    return [part(x, dim, int(a), int(b)) for a, b in itertools.pairwise(starts)]


@writes("split.Tensor")
def split(x: Tensor, size: int, dim: int = 0) -> list[Tensor]:
    total = x.type.sizes[dim]
    sizes = [min(size, total - start) for start in range(0, total, size)]
    return split_with_sizes(x, sizes, dim)


@writes("unbind.int")
def unbind(x: Tensor, dim: int = 0) -> list[Tensor]:
    return [select(x, dim, n) for n in range(x.type.sizes[dim])]


@writes("embedding")
def embedding(weight: Tensor, indices: Tensor, *_: Any) -> Tensor:
    return O.gather(weight, indices, axis=0)


@writes("index_select")
def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    return O.gather(x, index, axis=dim)


@writes("gather")
def gather(x: Tensor, dim: int, index: Tensor, **_: Any) -> Tensor:
    return O.gather_elements(x, index, axis=dim)


@writes("scatter.src")
def scatter(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    parts = [range(size) for size in index.type.sizes]
    return O.scatter_elements(x, index, as_tensor(taken(source, parts)), axis=dim)


@writes("scatter.value")
def scatter_value(x: Tensor, dim: int, index: Tensor, value: float) -> Tensor:
    source = constant(np.full(index.type.sizes, value).astype(x.element.numpy))
    return O.scatter_elements(x, index, source, axis=dim)


@writes("scatter_add")
def scatter_add(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    parts = [range(size) for size in index.type.sizes]
    updates = as_tensor(taken(source, parts))
    return O.scatter_elements(x, index, updates, axis=dim, reduction="add")


@writes("index.Tensor")
def index(x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """NumPy's indexing by integer arrays: adjacent indexed dimensions stay in place."""
    rows, positions, shape = _rows(x, indices)
    if len(positions) == 1:
        return O.gather(x, rows[0], axis=positions[0])
    front = _in_front(x, positions)
    found = O.gather_nd(O.transpose(x, axes=front), _stacked_indices(rows, shape))
    back, first = len(shape), _first(positions)
    order = [*range(back, back + first), *range(back), *range(back + first, found.type.rank)]
    return O.transpose(found, axes=tuple(order))


@writes("index_put", "_unsafe_index_put")
def index_put(
    x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    masks = [given for given in indices if given is not None and given.element.kind == "bool"]
    if masks and values.type.size == 1 and not accumulate:
        return _masked(x, indices, values)
    rows, positions, shape = _rows(x, indices)
    front = _in_front(x, positions)
    others = [x.type.sizes[d] for d in front[len(positions) :]]
    first, back = _first(positions), len(shape)
    laid = expanded(values, (*others[:first], *shape, *others[first:]))
    order = [*range(first, first + back), *range(first), *range(first + back, laid.type.rank)]
    updates = O.transpose(laid, axes=tuple(order))
    how = "add" if accumulate else "none"
    moved = O.scatter_nd(
        O.transpose(x, axes=front), _stacked_indices(rows, shape), updates, reduction=how
    )
    return O.transpose(moved, axes=tuple(front.index(d) for d in range(x.type.rank)))


def _masked(x: Tensor, indices: Sequence[Tensor | None], values: Tensor) -> Tensor:
    """`x` with one value where a mask over adjacent dimensions is true."""
    mask = indices[-1]
    if mask is None or any(given is not None for given in indices[:-1]):
        raise Unsupported("a mix of masks and other indices")
    shape = [1] * x.type.rank
    first = len(indices) - 1
    shape[first : first + mask.type.rank] = mask.type.sizes
    return O.where(O.reshape(mask, tuple(shape)), O.reshape(operand(values, x.dtype), ()), x)


def _in_front(x: Tensor, positions: Sequence[int]) -> tuple[int, ...]:
    """All dimensions, those in `positions` first."""
    return (*positions, *(d for d in range(x.type.rank) if d not in positions))


def _first(positions: Sequence[int]) -> int:
    """The first indexed dimension of a result: 0 unless the indexed dimensions are adjacent."""
    first = positions[0]
    return first if list(positions) == list(range(first, first + len(positions))) else 0


def _rows(
    x: Tensor, indices: Sequence[Tensor | None]
) -> tuple[list[Tensor], list[int], tuple[int, ...]]:
    """The given indices as int64, their dimensions, and their broadcast shape."""
    positions = [d for d, given in enumerate(indices) if given is not None]
    rows = [given for given in indices if given is not None]
    if any(row.element.kind == "bool" for row in rows):
        raise Unsupported("masks as indices, whose results have unknown sizes")
    shape = np.broadcast_shapes(*(row.type.sizes for row in rows))
    sizes = [x.type.sizes[d] for d in positions]
    return [_from_start(row, size) for row, size in zip(rows, sizes, strict=True)], positions, shape


def _from_start(row: Tensor, size: int) -> Tensor:
    """Indices as int64; negative ones count from the end."""
    if row.const is not None:
        numbers = row.const.astype(np.int64)
        return constant(np.where(numbers < 0, numbers + size, numbers))
    wide = O.cast(row, "int64") if row.dtype != "int64" else row
    return O.where(O.less(wide, 0), O.add(wide, size), wide) if row.element.kind == "int" else wide


def _stacked_indices(rows: Sequence[Tensor], shape: tuple[int, ...]) -> Tensor:
    """Stack the indices in a last dimension."""
    return stacked([expanded(row, shape) for row in rows], len(shape))


@writes("constant_pad_nd")
def constant_pad(x: Tensor, pads: Sequence[int], value: float = 0) -> Tensor:
    border = _border(x, pads)
    return as_tensor(padded(x, border, "constant", value))


@writes("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(x: Tensor, pads: Sequence[int]) -> Tensor:
    return as_tensor(padded(x, _border(x, pads), "reflect", 0))


@writes("replication_pad2d", "replication_pad3d")
def replication_pad(x: Tensor, pads: Sequence[int]) -> Tensor:
    return as_tensor(padded(x, _border(x, pads), "edge", 0))


def _border(x: Tensor, pads: Sequence[int]) -> list[tuple[int, int]]:
    """Convert PyTorch's pads, last dimension first."""
    border = [(0, 0)] * x.type.rank
    for n in range(len(pads) // 2):
        border[-1 - n] = (pads[2 * n], pads[2 * n + 1])
    return border


@writes("flip")
def flip(x: Tensor, dims: Sequence[int]) -> Tensor:
    return O.flip(x, axes=tuple(dims))


@writes("tril")
def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    return O.trilu(x, diagonal=diagonal, upper=False)


@writes("triu")
def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    return O.trilu(x, diagonal=diagonal)


@writes("roll")
def roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.type.sizes[dim]
        numbers = (np.arange(size) - shift) % size
        x = O.gather(x, constant(numbers), axis=dim)
    return x


@writes("as_strided")
def as_strided(
    x: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int | None = None
) -> Tensor:
    """Strided elements of a dense operand."""
    grid = np.indices(tuple(shape), sparse=True)
    positions = sum((g * s for g, s in zip(grid, strides, strict=True)), np.asarray(offset or 0))
    numbers = np.broadcast_to(positions, tuple(shape))
    if numbers.size and np.array_equal(numbers.reshape(-1), np.arange(x.type.size)):
        return O.reshape(x, tuple(shape))
    flat = O.reshape(x, (x.type.size,))
    return O.gather(flat, constant(np.array(numbers, np.int64)), axis=0)


@writes("sym_size.int")
def sym_size(x: Tensor, dim: int) -> int:
    return x.type.sizes[dim]


@writes("copy_")
def copy_(x: Tensor, source: Tensor) -> Tensor:
    raise Unsupported("an in-place update that was not functionalized")


@writes("_assert_tensor_metadata", "_assert_async.msg", "_assert_scalar")
def assertion(*_: Any, **__: Any) -> None:
    """A check that PyTorch has already made while tracing."""


@writes("diagonal")
def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions at `offset`, as the last dimension."""
    rank = x.type.rank
    first, second = dim1 % rank, dim2 % rank
    rest = [d for d in range(rank) if d not in (first, second)]
    moved = O.transpose(x, axes=(*rest, first, second))
    lead, (rows, columns) = moved.type.sizes[:-2], moved.type.sizes[-2:]
    count = min(rows - max(-offset, 0), columns - max(offset, 0))
    start = max(-offset, 0) * columns + max(offset, 0)
    positions = start + np.arange(count) * (columns + 1)
    flat = O.reshape(moved, (*lead, rows * columns))
    return O.gather(flat, constant(positions), axis=len(lead))


_REDUCTIONS = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}


@writes("scatter_reduce.two")
def scatter_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """If `include_self` is false, elements that are written to do not contribute."""
    if reduce == "mean" and not x.element.is_float:
        raise Unsupported("means of integers")
    dim = dim % x.type.rank
    start = x if include_self else O.scatter_elements(x, index, _neutral(reduce, source), axis=dim)
    kind = _REDUCTIONS[reduce]
    total = O.scatter_elements(start, index, source, axis=dim, reduction=kind)
    if reduce != "mean":
        return total
    ones = constant(np.ones(source.type.sizes, x.element.numpy))
    counts = constant(np.ones(x.type.sizes, x.element.numpy))
    if not include_self:
        counts = O.scatter_elements(counts, index, O.sub(ones, 1.0), axis=dim)
    return O.div(total, O.scatter_elements(counts, index, ones, axis=dim, reduction="add"))


def _neutral(reduce: str, like: Tensor) -> Tensor:
    """The neutral element of a reduction, in the shape of a tensor."""
    kind = like.element.numpy
    least, most = (-np.inf, np.inf) if like.element.is_float else _limits(kind)
    value = {"prod": 1, "amax": least, "amin": most}.get(reduce, 0)
    return constant(np.full(like.type.sizes, value, kind))


def _limits(kind: Any) -> tuple[int, int]:
    limits = np.iinfo(kind)
    return int(limits.min), int(limits.max)


@writes("empty_permuted")
def empty_permuted(shape: Sequence[int], _: Sequence[int], **__: Any) -> Tensor:
    """A tensor of arbitrary values."""
    return constant(np.zeros(tuple(shape), ELEMENT_TYPES[result_type()].numpy))


@writes("tril_indices")
def tril_indices(rows: int, columns: int, offset: int = 0, **_: Any) -> Tensor:
    return constant(
        np.stack(np.tril_indices(rows, offset, columns)).astype(ELEMENT_TYPES[result_type()].numpy)
    )


@writes("triu_indices")
def triu_indices(rows: int, columns: int, offset: int = 0, **_: Any) -> Tensor:
    return constant(
        np.stack(np.triu_indices(rows, offset, columns)).astype(ELEMENT_TYPES[result_type()].numpy)
    )


@writes("diagonal_scatter")
def diagonal_scatter(
    x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """`x` with a diagonal of a matrix replaced."""
    if x.type.rank != 2 or (dim1 % 2, dim2 % 2) != (0, 1):
        raise Unsupported("diagonals of more dimensions than two")
    start, count = (max(-offset, 0), max(offset, 0)), source.type.sizes[0]
    positions = np.arange(count)[:, None] + np.array([start])
    return O.scatter_nd(x, constant(positions), operand(source, x.dtype))
