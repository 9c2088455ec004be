# SPDX-License-Identifier: Apache-2.0
"""pack-constants: packed tiles of constants are in memory as they are read, from the beginning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.constants import PACKED
from xtc.core.mlir import (
    ArrayAttr,
    Attribute,
    DenseI64ArrayAttr,
    DictAttr,
    FlatSymbolRefAttr,
    InsertionPoint,
    MemRefType,
    Operation,
    StridedLayoutAttr,
    StringAttr,
    TypeAttr,
    UnitAttr,
    Value,
)
from xtc.core.passes import Pass
from xtc_passes._build import Offset, extract_slice, index_constant, tensor_type
from xtc_passes._linalg import all_operations, owner
from xtc_passes._multiples import divisor
from xtc_passes._structured import shape_of

_READS = ("memref.get_global", "bufferization.to_tensor", "tensor.extract_slice")


@dataclass(frozen=True)
class PackConstants(Pass):
    """Give the tiles that a loop packs of a constant memory of their own, one after the other.

    A constant whose tiles are copied before each use is written down in that order instead: a new
    global, of which the module's attribute `xtc.packed` says what it is a copy of, as a strided
    view of the old one. Who builds the artefact copies it. The old one goes if nothing else reads
    it.

    Before:
        %0 = memref.get_global @w : memref<256x64xf32>
        scf.for %j = 0 to 64 step 32 {
          %tile = tensor.extract_slice %w[0, %j] [256, 32] [1, 1]
          %panel = bufferization.alloc_tensor() copy(%tile) : tensor<256x32xf32>
    After:
        %0 = memref.get_global @w.packed0 : memref<2x256x32xf32>
        scf.for %j = 0 to 64 step 32 {
          %n = arith.divui %j, %c32
          %panel = tensor.extract_slice %packed[%n, 0, 0] [1, 256, 32] [1, 1, 1]
    """

    name: ClassVar[str] = "pack-constants"

    def run(self, module: Operation) -> None:
        globals = {
            StringAttr(op.attributes["sym_name"]).value: op
            for op in all_operations(module)
            if op.name == "memref.global" and _is_plain(op)
        }
        packed: dict[str, Attribute] = {}
        with module.context:
            for op in all_operations(module):
                tiles = _tiles(op, globals)
                if tiles is not None:
                    symbol = f"{tiles.symbol}.packed{len(packed)}"
                    with op.location:
                        packed[symbol] = tiles.origin
                        _replace(op, tiles, globals[tiles.symbol], symbol)
            if packed:
                module.attributes[PACKED] = DictAttr.get(packed)
                _erase_unread(module, globals)


@dataclass(frozen=True)
class _Window:
    """Places along one dimension where a tile can begin: multiples of `step`.

    Attributes:
        offset: the place.
        step: how far it is to the next one, in elements.
        count: how many there are.
        stride: from one element to the next in memory.
    """

    offset: Value
    step: int
    count: int
    stride: int


@dataclass(frozen=True)
class _Tiles:
    """The tiles of a constant that an operation copies.

    Attributes:
        symbol: of the constant.
        loaded: the tensor that it is.
        windows: where a tile begins, in dimensions where that is not always the same place.
        start: of the first tile, in elements.
        shape: of a tile.
        strides: of a tile's elements in the constant.
    """

    symbol: str
    loaded: Value
    windows: tuple[_Window, ...]
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def type(self) -> MemRefType:
        """All tiles, one after the other."""
        counts = [window.count for window in self.windows]
        return MemRefType.get([*counts, *self.shape], self.loaded.type.element_type)

    @property
    def origin(self) -> Attribute:
        """The constant, and the view of it that is copied."""
        steps = [window.step * window.stride for window in self.windows]
        layout = StridedLayoutAttr.get(self.start, [*steps, *self.strides])
        view = MemRefType.get(self.type.shape, self.type.element_type, layout)
        return ArrayAttr.get([FlatSymbolRefAttr.get(self.symbol), TypeAttr.get(view)])


def _is_plain(op: Operation) -> bool:
    """Whether this is a constant in the host's memory, whose values are elsewhere."""
    known = {"sym_name", "type", "constant", "alignment"}
    return "constant" in op.attributes and set(op.attributes) <= known


def _tiles(op: Operation, globals: dict[str, Operation]) -> _Tiles | None:
    """What `op` copies, if it is tiles of a constant that are only read."""
    if op.name != "bufferization.alloc_tensor" or len(op.operands) != 1:
        return None
    slices = []
    value = op.operands[0]
    while (maker := owner(value)) is not None and maker.name == "tensor.extract_slice":
        slices.append(maker)
        value = maker.operands[0]
    if maker is None or maker.name != "bufferization.to_tensor":
        return None
    load = owner(maker.operands[0])
    if load is None or load.name != "memref.get_global":
        return None
    symbol = FlatSymbolRefAttr(load.attributes["name"]).value
    if symbol not in globals or "memory_space" in op.attributes or not _is_only_read(op.results[0]):
        return None
    return _view(symbol, value, slices[::-1])


def _view(symbol: str, loaded: Value, slices: list[Operation]) -> _Tiles | None:
    """The part of a constant that slices of slices are, the first one first."""
    sizes = shape_of(loaded)
    strides = _contiguous(sizes)
    windows: list[_Window] = []
    start = 0
    for op in slices:
        tile = shape_of(op.results[0])
        steps = DenseI64ArrayAttr(op.attributes["static_strides"])
        if len(tile) != len(sizes) or any(step != 1 for step in steps):
            return None
        for offset, size, most, stride in zip(_offsets(op), tile, sizes, strides, strict=True):
            if isinstance(offset, int):
                start += offset * stride
                continue
            step = divisor(offset)
            if step < size:  # tiles that overlap would be there twice
                return None
            windows.append(_Window(offset, step, (most - size) // step + 1, stride))
        sizes = tile
    return _Tiles(symbol, loaded, tuple(windows), start, tuple(sizes), strides)


def _contiguous(sizes: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides[: len(sizes)])


def _offsets(op: Operation) -> Iterator[Offset]:
    dynamic = iter(list(op.operands)[1:])
    for offset in DenseI64ArrayAttr(op.attributes["static_offsets"]):
        yield offset if offset >= 0 else next(dynamic)


def _is_only_read(value: Value) -> bool:
    """Whether neither the tensor nor a part of it is where something else is written."""
    for use in value.uses:
        op = use.owner
        if op.name == "tensor.extract_slice":
            if not _is_only_read(op.results[0]):
                return False
        elif op.name.startswith("linalg."):
            if use.operand_number == len(op.operands) - 1:
                return False
        elif op.name != "vector.transfer_read":
            return False
    return True


def _replace(op: Operation, tiles: _Tiles, old: Operation, symbol: str) -> None:
    """Read tiles of a new global, declared beside the old one, where `op` copies them."""
    attributes = {
        **{name: old.attributes[name] for name in ("alignment",) if name in old.attributes},
        "sym_name": StringAttr.get(symbol),
        "type": TypeAttr.get(tiles.type),
        "constant": UnitAttr.get(),
    }
    Operation.create("memref.global", attributes=attributes, ip=InsertionPoint(old))
    packed = _load(tiles, symbol)
    ip = InsertionPoint(op)
    places: list[Offset] = [_number(window, ip) for window in tiles.windows]
    whole = [1] * len(places)
    offsets = [*places, *(0 for _ in tiles.shape)]
    tile = extract_slice(packed, offsets, [*whole, *tiles.shape], ip, dropped=len(whole))
    op.results[0].replace_all_uses_with(tile)
    op.erase()


def _load(tiles: _Tiles, symbol: str) -> Value:
    """The new global as a tensor, where the old one is."""
    loaded = owner(tiles.loaded)
    assert loaded is not None  # noqa: S101  it was found by its maker
    ip = InsertionPoint(loaded)
    name = {"name": FlatSymbolRefAttr.get(symbol)}
    memref = Operation.create("memref.get_global", [tiles.type], attributes=name, ip=ip).results[0]
    tensor = tensor_type(tiles.type.shape, tiles.loaded)
    return Operation.create(
        "bufferization.to_tensor", [tensor], [memref], {"restrict": UnitAttr.get()}, ip=ip
    ).results[0]


def _number(window: _Window, ip: InsertionPoint) -> Value:
    """Which of the places it is."""
    step = index_constant(window.step, ip)
    return Operation.create(
        "arith.divui", [window.offset.type], [window.offset, step], ip=ip
    ).results[0]


def _erase_unread(module: Operation, globals: dict[str, Operation]) -> None:
    """Drop the constants that nothing reads any more."""
    for op in reversed(all_operations(module)):
        if op.name in _READS and not any(True for _ in op.results[0].uses):
            op.erase()
    read = {
        FlatSymbolRefAttr(op.attributes["name"]).value
        for op in all_operations(module)
        if op.name == "memref.get_global"
    }
    for symbol, op in globals.items():
        if symbol not in read:
            op.erase()
