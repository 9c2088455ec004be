# SPDX-License-Identifier: Apache-2.0
"""slice-constants: makes slices of constants that devices read separate constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xtc.ir.analysis.effects import is_allocation, is_memref, is_view
from xtc.ir.analysis.views import is_reshape, root
from xtc.ir.attributes import PACKED
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    Block,
    DictAttr,
    FlatSymbolRefAttr,
    InsertionPoint,
    MemRefType,
    Operation,
    ShapedType,
    StridedLayoutAttr,
    TypeAttr,
    Value,
    all_operations,
    memref,
)
from xtc.ir.partition import device_of, symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_passes.offload._device_functions import Results, callee, device_results, written_by


@dataclass(frozen=True)
class SliceConstants(Pass):
    """Store the slice, or the transposition, of a constant that a device reads.

    Before:
        %w = memref.get_global @w : memref<64x64xf32>
        %0 = memref.subview %w[0, 32] [64, 32] [1, 1]
        memref.copy %0, %a ; call @f.npu0.0(%a, %r)
    After:
        %a = memref.get_global @w.slice0 : memref<64x32xf32>
        call @f.npu0.0(%a, %r)

    The module's attribute `xtc.packed` describes the new constant as a strided view of the old one;
    its contents are copied when the artifact is built. The old constant is erased if nothing else
    reads it. Slices that only the host reads stay views.
    """

    name: ClassVar[str] = "slice-constants"

    def run(self, module: Operation) -> None:
        functions = [op for op in top_level(module) if op.name == "func.func"]
        with module.context:
            slices = _Slices(module, device_results(module))
            for function in functions:
                if device_of(function) is None and function.regions[0].blocks:
                    slices.store_in(function.regions[0].blocks[0])
            slices.finish()


@dataclass
class _Slices:
    """The slices that become constants of a module."""

    module: Operation
    results: Results
    packed: dict[str, Attribute] = field(default_factory=dict)
    symbols: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.globals = {
            symbol_of(op): op for op in top_level(self.module) if op.name == "memref.global"
        }
        if PACKED in self.module.attributes:
            self.packed = {entry.name: entry.attr for entry in self.module.attributes[PACKED]}

    def store_in(self, block: Block) -> None:
        """Replace the slices that a host function copies for a device or passes to one directly."""
        for op in [op.operation for op in block.operations]:
            with op.location:
                if op.name in _COPIES and self._is_for_device(op):
                    self._replace_copy(op)
                elif callee(op) in self.results:
                    for number in range(len(op.operands) - self.results[str(callee(op))]):
                        self._replace_operand(op, number)

    def finish(self) -> None:
        """Describe the new constants, and drop the old ones that nothing reads."""
        if not self.symbols:
            return
        self.module.attributes[PACKED] = DictAttr.get(self.packed)
        read = {_symbol(op) for op in all_operations(self.module) if op.name == _READ}
        for origin, _ in self.symbols:
            if origin not in read and origin in self.globals:
                self.globals.pop(origin).erase()

    def _is_for_device(self, copy: Operation) -> bool:
        """Whether a copy fills a buffer that nothing else writes, and a device reads it."""
        target = copy.operands[1]
        if isinstance(target.owner, Block) or not is_allocation(target.owner.operation):
            return False
        readers = list(_readers(target, copy))
        is_read = any(callee(op) in self.results for op, _ in readers)
        return is_read and not any(value in written_by(op, self.results) for op, value in readers)

    def _origin(self, value: Value) -> str | None:
        """The host constant that `value` views, if its contents are stored beside the code."""
        found = root(value)
        if isinstance(found.owner, Block) or found.owner.operation.name != _READ:
            return None
        symbol = _symbol(found.owner.operation)
        declared = self.globals.get(symbol)
        is_stored = declared is not None and set(declared.attributes) <= _STORED
        return symbol if is_stored and symbol not in self.packed else None

    def _replace_copy(self, copy: Operation) -> None:
        """Read a new constant instead of the buffer that `copy` fills, if it is part of one."""
        source, buffer = copy.operands
        order = copy.attributes.get("permutation", None)
        read = self._read(source, order, buffer.type, InsertionPoint(copy))
        if read is not None:
            copy.erase()
            buffer.replace_all_uses_with(read)
            buffer.owner.operation.erase()

    def _replace_operand(self, call: Operation, number: int) -> None:
        value = call.operands[number]
        if is_memref(value) and not _is_whole(value):
            read = self._read(value, None, value.type, InsertionPoint(call))
            if read is not None:
                call.operands[number] = read

    def _read(
        self, source: Value, order: Sequence[int] | None, type: MemRefType, ip: InsertionPoint
    ) -> Value | None:
        """A new constant with the elements of `source`, if that is a view of a constant."""
        origin, view = self._origin(source), _strided(source, order)
        if origin is None or view is None:
            return None
        return memref.get_global(type, self._symbol_of(origin, view, type), ip=ip)

    def _symbol_of(self, origin: str, view: MemRefType, type: MemRefType) -> str:
        """The constant with the elements of a view, declared on its first use."""
        key = (origin, str(view))
        if key not in self.symbols:
            symbol = f"{origin}.slice{len(self.symbols)}"
            declared = self.globals[origin]
            alignment = declared.attributes.get("alignment", None)
            ip = InsertionPoint(declared)
            memref.global_(symbol, type, constant=True, alignment=alignment, ip=ip)
            self.packed[symbol] = ArrayAttr.get([FlatSymbolRefAttr.get(origin), TypeAttr.get(view)])
            self.symbols[key] = symbol
        return self.symbols[key]


_READ = "memref.get_global"
_COPIES = ("memref.copy", "linalg.transpose")
_STORED = {"sym_name", "type", "constant", "alignment"}
"""Attributes of a host constant whose contents are stored beside the code."""


def _strided(value: Value, order: Sequence[int] | None) -> MemRefType | None:
    """`value`, with its axes in another order, as a view of its buffer; None if that is dynamic."""
    type = MemRefType(value.type)
    strides, offset = type.get_strides_and_offset()
    if ShapedType.get_dynamic_stride_or_offset() in (*strides, offset):
        return None
    axes = range(type.rank) if order is None else order
    layout = StridedLayoutAttr.get(offset, [strides[axis] for axis in axes])
    return MemRefType.get([type.shape[axis] for axis in axes], type.element_type, layout)


def _is_whole(value: Value) -> bool:
    """Whether `value` is a whole buffer, possibly reshaped."""
    while not isinstance(value.owner, Block) and is_reshape(value.owner.operation):
        value = value.owner.operation.operands[0]
    return bool(root(value) == value)


def _readers(value: Value, copy: Operation) -> Iterator[tuple[Operation, Value]]:
    """The uses of a buffer and of its views, except the copy that fills it."""
    for use in value.uses:
        owner = use.owner.operation
        if is_view(owner):
            yield from _readers(owner.results[0], copy)
        elif owner != copy:
            yield owner, value


def _symbol(op: Operation) -> str:
    return str(FlatSymbolRefAttr(op.attributes["name"]).value)
