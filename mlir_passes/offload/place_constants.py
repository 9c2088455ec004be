# SPDX-License-Identifier: Apache-2.0
"""place-constants: gives each device that reads a constant a resident copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.views import is_reshape
from xtc.ir.attributes import CONTENTS, ON_DEVICE
from xtc.ir.mlir import (
    Block,
    DictAttr,
    FlatSymbolRefAttr,
    InsertionPoint,
    Operation,
    StringAttr,
    Value,
    all_operations,
)
from xtc.ir.partition import device_of, symbol_of, top_level
from xtc.ir.passes import Pass

Use = tuple[Operation, int]
"""An operation and the number of its operand."""


@dataclass(frozen=True)
class PlaceConstants(Pass):
    """Give each device that reads a constant a resident copy.

    Before:
        memref.global constant @w : memref<4xf32>
        call @f.npu0.0(%w, %r) ; call @f.npu1.0(%w, %s)
    After:
        memref.global constant @w.npu0 : memref<4xf32> {memref.on_device = "npu0", ...}
        memref.global constant @w.npu1 : memref<4xf32> {memref.on_device = "npu1", ...}
        call @f.npu0.0(%w0, %r) ; call @f.npu1.0(%w1, %s)

    A copy to a result that is kept on a device counts as a reader on that device. Constants that
    the host reads stay on the host as well. A reader of a reshaped constant reads a reshaped copy.
    Slices of a host constant are still sent at each call. `xtc.contents` of a copy names the
    original constant. If `memref.on_device` names no device, it means the first of `devices`.
    """

    name: ClassVar[str] = "place-constants"

    devices: tuple[str, ...] = ()

    def run(self, module: Operation) -> None:
        globals = {symbol_of(op): op for op in top_level(module) if op.name == "memref.global"}
        functions = [op for op in top_level(module) if op.name == "func.func"]
        kernels = {symbol_of(op): str(device_of(op)) for op in functions if device_of(op)}
        with module.context:
            for function in functions:
                if device_of(function) is None and function.regions[0].blocks:
                    _Placement(globals, kernels, self.devices).place(function)
            _drop_unread(module, globals)


@dataclass
class _Placement:
    """Places the constants of one host function."""

    globals: dict[str, Operation]
    kernels: dict[str, str]
    devices: Sequence[str]

    def place(self, function: Operation) -> None:
        reads = [op for op in all_operations(function) if op.name == "memref.get_global"]
        reads = [op for op in reads if "constant" in self.globals[_symbol(op)].attributes]
        readers = [self._by_device(op) for op in reads]
        for op, found in zip(reads, readers, strict=True):
            attributes = self.globals[_symbol(op)].attributes
            if None in found and ON_DEVICE in attributes:
                del attributes[ON_DEVICE]
        for op, found in zip(reads, readers, strict=True):
            self._place_one(op, found)

    def _by_device(self, op: Operation) -> dict[str | None, list[Use]]:
        """The readers of a constant by device; None stands for the host."""
        found: dict[str | None, list[Use]] = {}
        for owner, number in _readers(op.results[0]):
            found.setdefault(self._device(owner, number), []).append((owner, number))
        return found

    def _place_one(self, op: Operation, readers: dict[str | None, list[Use]]) -> None:
        declared = self.globals[_symbol(op)]
        for device, uses in readers.items():
            if device not in (None, self._device_of(declared.attributes)):
                self._give(op, self._variant(declared, str(device)), uses)
        _erase_unused(op)

    def _device_of(self, attributes: DictAttr) -> str | None:
        """The device that a constant or a result lives on."""
        if ON_DEVICE not in attributes:
            return None
        value = attributes[ON_DEVICE]
        return str(value.value) if isinstance(value, StringAttr) else self._only_device()

    def _only_device(self) -> str:
        return sorted(self.devices or self.kernels.values())[0]

    def _device(self, op: Operation, number: int) -> str | None:
        """The device that reads an operand of a call or a copy; None stands for the host."""
        if op.name == "memref.copy" and number == 0:
            return self._home_of_result(op.operands[1])
        if op.name != "func.call":
            return None
        return self.kernels.get(str(FlatSymbolRefAttr(op.attributes["callee"]).value))

    def _home_of_result(self, value: Value) -> str | None:
        """The device on which the caller keeps `value`, the target of a copy."""
        if not isinstance(value.owner, Block):
            return None
        described = value.owner.owner.attributes
        return (
            self._device_of(described["arg_attrs"][value.arg_number])
            if "arg_attrs" in described
            else None
        )

    def _variant(self, declared: Operation, device: str) -> str:
        """The symbol of the same constant on another device."""
        symbol = f"{symbol_of(declared)}.{device}"
        if symbol not in self.globals:
            copy = declared.clone(ip=InsertionPoint(declared))
            copy.attributes["sym_name"] = StringAttr.get(symbol)
            copy.attributes[CONTENTS] = FlatSymbolRefAttr.get(symbol_of(declared))
            copy.attributes[ON_DEVICE] = StringAttr.get(device)
            self.globals[symbol] = copy
        return symbol

    def _give(self, op: Operation, symbol: str, uses: list[Use]) -> None:
        """Let these uses of a constant, or of a reshape of it, read the variant."""
        copy = op.clone(ip=InsertionPoint(op))
        copy.attributes["name"] = FlatSymbolRefAttr.get(symbol)
        found = {op.results[0]: copy.results[0]}
        for owner, number in uses:
            owner.operands[number] = _same_view(owner.operands[number], found)


def _readers(value: Value) -> Iterator[Use]:
    """The readers of a constant, reshaped or not; a slice counts as a reader on the host."""
    for use in value.uses:
        owner = use.owner.operation
        if is_reshape(owner):
            yield from _readers(owner.results[0])
        else:
            yield owner, use.operand_number


def _same_view(value: Value, found: dict[Value, Value]) -> Value:
    """The view `value` of a constant, applied to another constant of the same type."""
    if value not in found:
        source = _same_view(value.owner.operation.operands[0], found)
        copy = value.owner.operation.clone(ip=InsertionPoint(value.owner.operation))
        copy.operands[0] = source
        found[value] = copy.results[0]
    return found[value]


def _erase_unused(op: Operation) -> None:
    """Erase a constant's operation and its reshapes if nothing reads them."""
    for use in list(op.results[0].uses):
        if is_reshape(use.owner.operation):
            _erase_unused(use.owner.operation)
    if next(iter(op.results[0].uses), None) is None:
        op.erase()


def _drop_unread(module: Operation, globals: dict[str, Operation]) -> None:
    """Erase constants whose readers are all on devices."""
    read = {_symbol(op) for op in all_operations(module) if op.name == "memref.get_global"}
    moved = {
        str(op.attributes[CONTENTS].value) for op in globals.values() if CONTENTS in op.attributes
    }
    for symbol in moved - read:
        globals[symbol].erase()


def _symbol(op: Operation) -> str:
    return str(FlatSymbolRefAttr(op.attributes["name"]).value)
