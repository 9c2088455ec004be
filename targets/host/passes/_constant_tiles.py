# SPDX-License-Identifier: Apache-2.0
"""The tiles of a constant that a tensor in loops consists of."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.slices import slice_offsets
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    DenseI64ArrayAttr,
    FlatSymbolRefAttr,
    MemRefType,
    Operation,
    StridedLayoutAttr,
    TypeAttr,
    Value,
)
from xtc_targets.host.passes._multiples import divisor

_SLICE, _TRANSPOSE, _COLLAPSE = "tensor.extract_slice", "linalg.transpose", "tensor.collapse_shape"
_LINKS = (_SLICE, _TRANSPOSE, _COLLAPSE)


@dataclass(frozen=True)
class Window:
    """The possible offsets of a tile along one dimension: multiples of `step`.

    Attributes:
        offset: the offset in the loops.
        step: the distance between offsets, in elements.
        count: the number of offsets.
        stride: the distance between elements in memory.
    """

    offset: Value
    step: int
    count: int
    stride: int


@dataclass(frozen=True)
class Tiles:
    """The tiles of a constant that a tensor in loops takes in turn.

    Attributes:
        symbol: of the constant.
        loaded: the constant as a tensor.
        windows: the offsets of tiles in the dimensions where they vary; those that outer loops move
            come first, so that tiles are read in the order of memory.
        start: offset of the first tile, in elements.
        shape: shape of a tile.
        strides: strides of a tile in the constant.
    """

    symbol: str
    loaded: Value
    windows: tuple[Window, ...]
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def type(self) -> MemRefType:
        """The type of all tiles, one after the other."""
        counts = [window.count for window in self.windows]
        return MemRefType.get([*counts, *self.shape], self.loaded.type.element_type)

    @property
    def origin(self) -> Attribute:
        """The constant and the view of it that is copied, as an attribute."""
        steps = [window.step * window.stride for window in self.windows]
        layout = StridedLayoutAttr.get(self.start, [*steps, *self.strides])
        view = MemRefType.get(self.type.shape, self.type.element_type, layout)
        return ArrayAttr.get([FlatSymbolRefAttr.get(self.symbol), TypeAttr.get(view)])


def tiles_of(value: Value, symbols: Collection[str]) -> Tiles | None:
    """The tiles of one of these constants that a tensor is, by slices and transposes, or None.

    Reshapes may drop dimensions of size 1.
    """
    links = []
    while (producer := owner(value)) is not None and producer.name in _LINKS:
        links.append(producer)
        value = producer.operands[0]
    if producer is None or producer.name != "bufferization.to_tensor":
        return None
    load = owner(producer.operands[0])
    if load is None or load.name != "memref.get_global":
        return None
    symbol = FlatSymbolRefAttr(load.attributes["name"]).value
    return _view(symbol, value, links[::-1]) if symbol in symbols else None


def _view(symbol: str, loaded: Value, links: list[Operation]) -> Tiles | None:
    """The part of a constant that a chain of slices and transposes selects."""
    tiles: Tiles | None = Tiles(symbol, loaded, (), 0, shape_of(loaded), _row_major(loaded))
    for link in links:
        if tiles is not None:
            tiles = _VIEWS[link.name](tiles, link)
    return tiles


def _collapse(tiles: Tiles, op: Operation) -> Tiles | None:
    """The tiles without dimensions of size 1; None if the reshape joins other dimensions."""
    kept = [
        (size, stride) for size, stride in zip(tiles.shape, tiles.strides, strict=True) if size != 1
    ]
    left = list(kept)
    dims = []
    for size in shape_of(op.results[0]):
        if size == 1:
            dims.append((1, 1))
        elif left and left[0][0] == size:
            dims.append(left.pop(0))
        else:
            return None
    shape, strides = tuple(size for size, _ in dims), tuple(stride for _, stride in dims)
    return replace(tiles, shape=shape, strides=strides)


def _transpose(tiles: Tiles, op: Operation) -> Tiles:
    axes = list(DenseI64ArrayAttr(op.attributes["permutation"]))
    shape, strides = (tuple(row[axis] for axis in axes) for row in (tiles.shape, tiles.strides))
    return Tiles(tiles.symbol, tiles.loaded, tiles.windows, tiles.start, shape, strides)


def _slice(tiles: Tiles, op: Operation) -> Tiles | None:
    """The slice, unless it drops dimensions, skips elements, or may overlap with another."""
    shape = shape_of(op.results[0])
    steps = DenseI64ArrayAttr(op.attributes["static_strides"])
    if len(shape) != len(tiles.shape) or any(step != 1 for step in steps):
        return None
    windows, start = list(tiles.windows), tiles.start
    for offset, size, most, stride in zip(
        slice_offsets(op), shape, tiles.shape, tiles.strides, strict=True
    ):
        if isinstance(offset, int):
            start += offset * stride
            continue
        step = divisor(offset)
        if step < size:
            return None
        windows.append(Window(offset, step, (most - size) // step + 1, stride))
    windows.sort(key=lambda window: _depth(window.offset))
    return Tiles(tiles.symbol, tiles.loaded, tuple(windows), start, shape, tiles.strides)


def _depth(value: Value) -> int:
    """The nesting depth of the innermost loop on which an index depends."""
    producer = owner(value)
    if producer is not None:
        return max((_depth(operand) for operand in producer.operands), default=0)
    around, depth = value.owner.owner, 0
    while around is not None:
        around, depth = around.operation.parent, depth + 1
    return depth


def _row_major(value: Value) -> tuple[int, ...]:
    strides = [1]
    for size in reversed(shape_of(value)[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides)


_VIEWS: dict[str, Callable[[Tiles, Operation], Tiles | None]] = {
    _SLICE: _slice,
    _TRANSPOSE: _transpose,
    _COLLAPSE: _collapse,
}
