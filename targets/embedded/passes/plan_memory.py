# SPDX-License-Identifier: Apache-2.0
"""plan-memory: places every buffer of the program at an offset in one static arena."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError, UserError
from xtc.ir.analysis.effects import written_memrefs
from xtc.ir.analysis.views import root
from xtc.ir.attributes import STATE
from xtc.ir.builders import numbers
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    BlockArgument,
    DictAttr,
    FlatSymbolRefAttr,
    FunctionType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    StringAttr,
    TypeAttr,
    Value,
    all_operations,
    memref,
)
from xtc.ir.partition import symbol_of
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local import _view_layouts as layouts
from xtc_passes.local._functions import functions, users
from xtc_passes.local._placement import Extent, footprint, place
from xtc_targets.embedded.passes import ARENA

PLAN = "xtc.memory_plan"
"""An array on the module: name, offset, bytes, first and last call of each buffer."""
_ALIGN = 16  # alignment of the arena
_SWAPS = 400  # a tenth of a second for a network of 30 buffers
_CARRIERS = ("scf.yield", "scf.condition", "cf.br", "cf.cond_br")


@dataclass(frozen=True)
class PlanMemory(Pass):
    """Replace buffers and arguments by views of an arena, which buffers share by their lifetimes.

    Lifetimes are counted in calls of the entry function, which `outline-operators` created from
    nodes. An input lives from the start of the program to its last use, an output from its first
    use to the end, a state always. First fit is tried in several orders, until the most bytes that
    are live at once are reached. Small buffers inside a loop are on the stack. The entry takes no
    arguments afterwards: callers write and read the arena.

    Before:
        func.func @net(%x: memref<64xi8>, %y: memref<10xi8>) {
          %a = memref.alloc() : memref<128xi8>
          call @net.op.c(%x, %a); call @net.op.d(%a, %y)
    After:
        memref.global @net_arena : memref<192xi8> = uninitialized
        func.func @net() {
          %arena = memref.get_global @net_arena
          %a = memref.view %arena[%c64][] : memref<192xi8> to memref<128xi8>

    Raises UserError for buffers whose size is known only at run time.

    Attributes:
        alignment: alignment of each buffer, in bytes.
        stack: size of the largest buffer inside a loop that is on the stack, in bytes.
    """

    name: ClassVar[str] = "plan-memory"
    alignment: int = 8
    stack: int = 256

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context, module.location:
            for function in functions(module):
                _check_static(function)
            entry = _entry(module)
            for op in all_operations(module):
                if op.name == "memref.dealloc":
                    op.erase()
            self._use_stack(module, entry)
            buffers = [*self._arguments(entry), *self._allocations(module, entry)]
            extents = [buffer.extent for buffer in buffers]
            offsets = place(extents, swaps=_SWAPS)
            nbytes = max(footprint(extents, offsets), self.alignment)
            _Rewrite(module, entry, nbytes).run(list(zip(buffers, offsets, strict=True)))

    def _use_stack(self, module: Operation, entry: Operation) -> None:
        """Small buffers inside loops become `memref.alloca` at the start of their function."""
        for function in functions(module):
            start = function.regions[0].blocks[0]
            for op in [op for op in all_operations(function) if op.name == "memref.alloc"]:
                is_inside = op.parent.operation != function
                if is_inside and layouts.nbytes(MemRefType(op.results[0].type)) <= self.stack:
                    with op.location, InsertionPoint.at_block_begin(start):
                        created = memref.alloca(op.results[0].type, [], [], alignment=8)
                    op.results[0].replace_all_uses_with(created)
                    op.erase()

    def _arguments(self, entry: Operation) -> Iterator[_Buffer]:
        block = entry.regions[0].blocks[0]
        numbers = _numbered(entry)
        written = {root(value) for op in numbers for value in _written(op)}
        for position, argument in enumerate(block.arguments):
            times = [numbers[op] for op in _calls(argument, entry)]
            last = len(numbers)
            if _is_state(entry, position):
                extent = 0, last
            elif argument in written:
                extent = min(times, default=0), last
            else:
                extent = 0, max(times, default=0)
            yield self._buffer(argument, f"argument{position}", *extent)

    def _allocations(self, module: Operation, entry: Operation) -> Iterator[_Buffer]:
        order = _numbered(entry)
        calls = {_name(op): op for op in order if op.name == "func.call"}
        for function in functions(module):
            for op in [op for op in all_operations(function) if op.name == "memref.alloc"]:
                buffer = op.results[0]
                is_own = function == entry
                used = _calls(buffer, entry) if is_own else [calls[symbol_of(function)]]
                if not used:
                    op.erase()
                    continue
                first = min(used, key=lambda user: order[user])
                last = max(order[user] for user in used)
                span = (0, len(order)) if _escapes(buffer) else (order[first], last)
                yield self._buffer(buffer, _name(first), *span)

    def _buffer(self, value: Value, name: str, begin: int, end: int) -> _Buffer:
        nbytes = layouts.nbytes(MemRefType(value.type))
        size = -(-max(1, nbytes) // self.alignment) * self.alignment
        return _Buffer(value, name, nbytes, Extent(begin, end, size))


@dataclass(frozen=True, eq=False)
class _Buffer:
    value: Value
    name: str
    nbytes: int
    extent: Extent


def _is_state(entry: Operation, position: int) -> bool:
    given = entry.attributes.get("arg_attrs", None)
    return given is not None and STATE in DictAttr(given[position])


def _check_static(function: Operation) -> None:
    """Raise UserError for buffers of dynamic size."""
    values = [*function.regions[0].blocks[0].arguments]
    values += [op.results[0] for op in all_operations(function) if op.name == "memref.alloc"]
    for value in values:
        if isinstance(value.type, MemRefType) and not value.type.has_static_shape:
            raise UserError(
                f"a buffer of a board's program has the type {value.type}, whose size is not known "
                "at build",
                hints=["compile for fixed sizes: dims={...}"],
            )


def _entry(module: Operation) -> Operation:
    """The function that no other function calls."""
    found = functions(module)
    called = {
        FlatSymbolRefAttr(op.attributes["callee"]).value
        for op in all_operations(module)
        if op.name == "func.call"
    }
    entries = [function for function in found if symbol_of(function) not in called]
    if len(entries) != 1:
        raise CompileError(f"a board's program has one entry function, not {len(entries)}")
    return entries[0]


def _numbered(entry: Operation) -> dict[Operation, int]:
    """The operations of a function's body, numbered from 0."""
    return {op.operation: n for n, op in enumerate(entry.regions[0].blocks[0].operations)}


def _written(op: Operation) -> list[Value]:
    """The buffers that an operation of the entry writes, or the callee if it is a call."""
    if op.name != "func.call":
        return written_memrefs(op)
    callee = FlatSymbolRefAttr(op.attributes["callee"]).value
    module = op.parent.operation.parent.operation
    (function,) = (f for f in functions(module) if symbol_of(f) == callee)
    written = {root(value) for inner in _body(function) for value in written_memrefs(inner)}
    arguments = function.regions[0].blocks[0].arguments
    pairs = zip(op.operands, arguments, strict=True)
    return [operand for operand, argument in pairs if argument in written]


def _body(function: Operation) -> list[Operation]:
    return [op.operation for op in function.regions[0].blocks[0].operations]


def _calls(buffer: Value, entry: Operation) -> list[Operation]:
    """The operations of the entry's body that use a buffer, or contain one that does."""
    found = []
    for op in users(buffer):
        while op.parent.operation != entry:
            op = op.parent.operation
        found.append(op)
    return found


def _escapes(buffer: Value) -> bool:
    """Whether a loop carries the buffer, or a select chooses it, so that not all uses are known."""
    return any(
        op.name in _CARRIERS or any(isinstance(result.type, MemRefType) for result in op.results)
        for op in users(buffer)
    )


def _name(call: Operation) -> str:
    """The name of a buffer whose first user is this operation of the entry."""
    if call.name != "func.call":
        return str(call.name)
    return str(FlatSymbolRefAttr(call.attributes["callee"]).value)


@dataclass(frozen=True)
class _Rewrite:
    module: Operation
    entry: Operation
    nbytes: int

    def run(self, placed: list[tuple[_Buffer, int]]) -> None:
        begin = InsertionPoint.at_block_begin(self.module.regions[0].blocks[0])
        align = IntegerAttr.get(IntegerType.get_signless(64), _ALIGN)
        nothing = Attribute.parse("unit")
        memref.global_(self.symbol, self.type, initial_value=nothing, alignment=align, ip=begin)
        arenas: dict[Operation, Value] = {}
        plan = []
        for buffer, offset in placed:
            self._replace(buffer.value, offset, arenas)
            plan.append(_described(buffer, offset))
        self.module.attributes[PLAN] = ArrayAttr.get(plan)
        block = self.entry.regions[0].blocks[0]
        while len(block.arguments):
            block.erase_argument(0)
        self.entry.attributes["function_type"] = TypeAttr.get(FunctionType.get([], []))
        if "arg_attrs" in self.entry.attributes:
            del self.entry.attributes["arg_attrs"]

    @property
    def symbol(self) -> str:
        return f"{symbol_of(self.entry)}{ARENA}"

    @property
    def type(self) -> MemRefType:
        return MemRefType.get([self.nbytes], IntegerType.get_signless(8))

    def _replace(self, value: Value, offset: int, arenas: dict[Operation, Value]) -> None:
        alloc = None if isinstance(value, BlockArgument) else value.owner.operation
        around = self.entry if alloc is None else _function_of(alloc)
        start = InsertionPoint.at_block_begin(around.regions[0].blocks[0])
        if around not in arenas:
            arenas[around] = memref.get_global(self.type, self.symbol, ip=start)
        after = InsertionPoint(_next(arenas[around].owner.operation))
        with after:
            view = memref.view(value.type, arenas[around], numbers.constant(offset), [])
        value.replace_all_uses_with(view)
        if alloc is not None:
            alloc.erase()


def _next(op: Operation) -> Operation:
    """The operation after another one in its block."""
    operations = [inner.operation for inner in op.block.operations]
    return operations[operations.index(op) + 1]


def _function_of(op: Operation) -> Operation:
    while op.name != "func.func":
        op = op.parent.operation
    return op


def _described(buffer: _Buffer, offset: int) -> Attribute:
    extent = buffer.extent
    fields = {"offset": offset, "bytes": buffer.nbytes, "begin": extent.begin, "end": extent.end}
    i64 = IntegerType.get_signless(64)
    known = {name: IntegerAttr.get(i64, value) for name, value in fields.items()}
    return DictAttr.get({"name": StringAttr.get(buffer.name), **known})


def planned(module: Operation) -> list[dict[str, int | str]]:
    """The plan of a module's buffers that `plan-memory` wrote."""
    if PLAN not in module.attributes:
        return []
    return [
        {
            entry.name: StringAttr(entry.attr).value
            if isinstance(entry.attr, StringAttr)
            else IntegerAttr(entry.attr).value
            for entry in DictAttr(item)
        }
        for item in ArrayAttr(module.attributes[PLAN])
    ]
