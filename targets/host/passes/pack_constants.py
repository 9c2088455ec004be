# SPDX-License-Identifier: Apache-2.0
"""pack-constants: packs constants at build time instead of in loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import element_bits, is_shaped, shape_of, structured
from xtc.ir.attributes import PACKED
from xtc.ir.builders.numbers import binary
from xtc.ir.builders.slices import Offset, extract_slice, slice_offsets, tensor_type
from xtc.ir.mlir import (
    Attribute,
    DictAttr,
    FlatSymbolRefAttr,
    InsertionPoint,
    Operation,
    StringAttr,
    Value,
    all_operations,
    arith,
    bufferization,
    memref,
    outer_operations,
)
from xtc.ir.passes import Pass
from xtc_targets.host.passes._constant_tiles import Tiles, Window, tiles_of
from xtc_targets.host.passes._packed_reads import Packed, read_packed

_SLICE = "tensor.extract_slice"
_COPIES = ("bufferization.alloc_tensor", "linalg.transpose")
_READS = (
    "memref.get_global",
    "bufferization.to_tensor",
    _SLICE,
    "tensor.collapse_shape",
    "tensor.empty",
    *_COPIES,
)


@dataclass(frozen=True)
class PackConstants(Pass):
    """Store a constant in the order in which a loop packs its tiles.

    A constant that is transposed, or whose tiles are copied or widened before each use, becomes a
    new global in that order. The module's attribute `xtc.packed` describes the new global as a
    strided view of the old one; its contents are copied when the artifact is built. The old global
    is erased if nothing else reads it. If its only other readers look up a few elements, as a
    gather of embeddings that the last contraction reads too, they read the new globals instead.

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
            for op in outer_operations(module)
            if op.name == "memref.global" and _is_plain(op)
        }
        packed: dict[Attribute, Packed] = {}
        with module.context:
            # Copies of transposed tensors come first: then nothing reads the whole transposed
            # tensor.
            for name in (*_COPIES, _SLICE):
                _erase_dead_reads(module)
                for op in [op for op in outer_operations(module) if op.name == name]:
                    tiles = _tiles(op, globals)
                    if tiles is not None:
                        with op.location:
                            _replace(op, tiles, _stored(tiles, packed, globals).symbol)
            if packed:
                origins = {constant.symbol: origin for origin, constant in packed.items()}
                module.attributes[PACKED] = DictAttr.get(origins)
                _look_up_packed(module, list(packed.values()))
                _erase_unread(module, globals)


def _is_plain(op: Operation) -> bool:
    """Whether this is a host constant whose values are stored beside the code."""
    known = {"sym_name", "type", "constant", "alignment"}
    return "constant" in op.attributes and set(op.attributes) <= known


def _tiles(op: Operation, globals: dict[str, Operation]) -> Tiles | None:
    """The tiles that `op` copies, if they are tiles of a constant and only read, or None."""
    if op.name == "linalg.transpose" or (op.name == _SLICE and _is_widened(op)):
        copied = op.results[0]
    elif op.name != _SLICE and len(op.operands) == 1 and "memory_space" not in op.attributes:
        copied = op.operands[0]
    else:
        return None
    is_read = any(True for _ in op.results[0].uses)
    return tiles_of(copied, globals) if is_read and _is_only_read(op.results[0]) else None


def _is_widened(op: Operation) -> bool:
    """Whether the only reader of a tile in a loop is an elementwise operation that widens it.

    It may also widen another operand, if the tile has the scales of quantized weights.
    """
    uses = list(op.results[0].uses)
    nest = structured(uses[0].owner.operation) if len(uses) == 1 else None
    if nest is None or nest.reductions or math.prod(shape_of(op.results[0])) == 1:
        return False
    read = [value for value in list(nest.op.operands)[: nest.destination] if is_shaped(value)]
    return any(not isinstance(offset, int) for offset in slice_offsets(op)) and any(
        element_bits(value) < element_bits(nest.result) for value in read
    )


def _is_only_read(value: Value) -> bool:
    """Whether neither the tensor nor a part of it is a destination."""
    for use in value.uses:
        op = use.owner
        if op.name == _SLICE:
            if not _is_only_read(op.results[0]):
                return False
        elif op.name.startswith("linalg."):
            if use.operand_number == len(op.operands) - 1:
                return False
        elif op.name != "vector.transfer_read":
            return False
    return True


def _stored(tiles: Tiles, packed: dict[Attribute, Packed], globals: dict[str, Operation]) -> Packed:
    """The global with these tiles, which all readers share, declared next to the old one."""
    origin = tiles.origin
    if origin not in packed:
        old, type = globals[tiles.symbol], tiles.type
        symbol = f"{tiles.symbol}.packed{len(packed)}"
        packed[origin] = Packed(symbol, tiles, type)
        alignment = old.attributes.get("alignment", None)
        memref.global_(symbol, type, constant=True, alignment=alignment, ip=InsertionPoint(old))
    return packed[origin]


def _replace(op: Operation, tiles: Tiles, symbol: str) -> None:
    """Read the tiles of a new global instead of the copies that `op` makes."""
    packed = _load(tiles, symbol)
    ip = InsertionPoint(op)
    starts: list[Offset] = [_number(window, ip) for window in tiles.windows]
    whole = [1] * len(starts)
    offsets = [*starts, *(0 for _ in tiles.shape)]
    tile = extract_slice(packed, offsets, [*whole, *tiles.shape], ip, dropped=len(whole))
    op.results[0].replace_all_uses_with(tile)
    op.erase()


def _load(tiles: Tiles, symbol: str) -> Value:
    """The new global as a tensor, next to the old one."""
    loaded = owner(tiles.loaded)
    assert loaded is not None  # noqa: S101  it was found by its maker
    ip = InsertionPoint(loaded)
    buffer = memref.get_global(tiles.type, symbol, ip=ip)
    type = tensor_type(tiles.type.shape, tiles.loaded)
    return bufferization.to_tensor(type, buffer, restrict=True, ip=ip)


def _number(window: Window, ip: InsertionPoint) -> Value:
    """The number of the window's current offset."""
    return binary(arith.divui, window.offset, window.step, ip)


def _look_up_packed(module: Operation, packed: Sequence[Packed]) -> None:
    """Read single elements from packed constants, if nothing else reads the old ones."""
    _erase_dead_reads(module)
    by_symbol: dict[str, list[Packed]] = {}
    for constant in packed:
        by_symbol.setdefault(constant.tiles.symbol, []).append(constant)
    reads: dict[str, list[Operation]] = {}
    for op in all_operations(module):
        if op.name == "memref.get_global":
            symbol = FlatSymbolRefAttr(op.attributes["name"]).value
            if symbol in by_symbol:
                reads.setdefault(symbol, []).extend(_readers(op))
    for symbol, found in reads.items():
        if all(_is_look_up(op) for op in found):
            read_packed(found, by_symbol[symbol])


def _readers(load: Operation) -> list[Operation]:
    """The readers of a constant as a tensor, or else of the global itself."""
    uses = [use.owner.operation for use in load.results[0].uses]
    return [
        reader
        for op in uses
        for reader in (
            [use.owner.operation for use in op.results[0].uses]
            if op.name == "bufferization.to_tensor"
            else [op]
        )
    ]


def _is_look_up(op: Operation) -> bool:
    return bool(op.name == "tensor.extract" and op.parent.operation.name == "linalg.generic")


def _erase_dead_reads(module: Operation) -> None:
    """Erase reads of constants whose results are unused."""
    for op in reversed(outer_operations(module)):
        if op.name in _READS and not any(True for _ in op.results[0].uses):
            op.erase()


def _erase_unread(module: Operation, globals: dict[str, Operation]) -> None:
    """Erase the constants that nothing reads."""
    _erase_dead_reads(module)
    read = {
        FlatSymbolRefAttr(op.attributes["name"]).value
        for op in all_operations(module)
        if op.name == "memref.get_global"
    }
    for symbol, op in globals.items():
        if symbol not in read:
            op.erase()
