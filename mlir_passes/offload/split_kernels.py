# SPDX-License-Identifier: Apache-2.0
"""split-kernels: splits device functions into kernels, one per loop nest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.effects import is_allocation, is_view, written_memrefs
from xtc.ir.analysis.views import root
from xtc.ir.attributes import DEVICE, KERNEL, RESULTS
from xtc.ir.builders.functions import call, function
from xtc.ir.mlir import (
    Block,
    FlatSymbolRefAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    OpResult,
    StringAttr,
    Value,
    all_operations,
    func,
)
from xtc.ir.partition import device_of, symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_passes.offload._marked_operations import acts, gather_marked


@dataclass(frozen=True)
class SplitKernels(Pass):
    """Make every loop nest of a device function a kernel that the host launches.

    Before:
        func.func private @f.npu0.0(%a, %r) attributes {xtc.device = "npu0"} {
          %t = memref.alloc() ; scf.forall { ... %a ... %t } ; scf.forall { ... %t ... %r } }
        func.func @f(%a, %r) { call @f.npu0.0(%a, %r) }
    After:
        func.func private @f.npu0.0(%a, %t) attributes {xtc.device = "npu0"} { scf.forall { ... } }
        func.func private @f.npu0.1(%t, %r) attributes {xtc.device = "npu0"} { scf.forall { ... } }
        func.func @f(%a, %r) { %t = memref.alloc(); call @f.npu0.0(%a, %t); call @f.npu0.1(%t, %r) }

    The cores of a device synchronize only between launches. Host code takes over the temporaries
    between kernels, and allocates them on the device. The arguments of a kernel are its inputs,
    then its outputs; `xtc.results` is the number of outputs.

    Operations with equal numbers in `xtc.kernel` are moved together and become one kernel, with the
    buffers that only they use. The pass that set the marks later fuses them. The marks of each
    kernel are numbered from 0, as equal kernels can then be shared.

    Attributes:
        devices: the devices whose functions are split.
        allocating: the devices whose kernels can allocate; for others, host code also allocates the
            buffers that only a marked kernel uses.
    """

    name: ClassVar[str] = "split-kernels"

    devices: tuple[str, ...] = ()
    allocating: tuple[str, ...] | None = None

    def run(self, module: Operation) -> None:
        functions = [op for op in top_level(module) if op.name == "func.func"]
        outlined = {symbol_of(op): op for op in functions if device_of(op) in self.devices}
        calls = [
            call
            for function in functions
            if device_of(function) is None
            for call in all_operations(function)
            if call.name == "func.call" and _callee(call) in outlined
        ]
        for op in outlined.values():
            op.detach_from_parent()
        counts: dict[str, int] = {}
        for op in calls:
            with module.context, op.location:
                function = outlined[_callee(op)]
                allocates = self.allocating is None or device_of(function) in self.allocating
                _replace_call(op, function, counts, allocates=allocates)


def _replace_call(
    call: Operation, function: Operation, counts: dict[str, int], *, allocates: bool
) -> None:
    """Replace `call` by the function's body, with each loop nest as a call of a kernel."""
    prefix = symbol_of(function).rpartition(".")[0]
    gather_marked(function)
    block = function.regions[0].blocks[0]
    for argument, value in zip(block.arguments, list(call.operands), strict=True):
        argument.replace_all_uses_with(value)
    moved = [op.operation for op in block.operations if op.name != "func.return"]
    own = {result for op in moved for result in op.results}
    for op in moved:
        op.move_before(call)
    for nest in _nests(moved):
        number = counts.get(prefix, 0)
        counts[prefix] = number + 1
        private = _private(nest) if allocates else set()
        _outline(nest, own, private, f"{prefix}.{number}", function.attributes[DEVICE])
    for op in reversed(moved):
        if not acts(op) and not any(True for result in op.results for _ in result.uses):
            op.erase()
    call.erase()


def _nests(ops: Sequence[Operation]) -> list[list[Operation]]:
    """The operations of each kernel: usually a single loop nest.

    Values that are loaded outside of a loop, such as vectors, share a kernel with their users and
    with all operations in between that access memory.
    """
    nests: list[list[Operation]] = []
    needed: set[Value] = set()  # values that the current kernel loads from memory
    last = -1  # the position of their last use
    for position, op in enumerate(ops):
        uses = any(value in needed for value in _captured([op]))
        if not uses and not acts(op):
            continue
        if position > last and not (nests and _are_marked(nests[-1][-1], op)):
            nests.append([])
            needed.clear()
        nests[-1].append(op)
        needed.update(op.results)
        last = max([last, *(_last_use(value, ops) for value in op.results)])
    return nests


def _are_marked(first: Operation, next: Operation) -> bool:
    """Whether two operations are marked for the same kernel."""
    marks = [op.attributes[KERNEL] for op in (first, next) if KERNEL in op.attributes]
    return len(marks) == 2 and marks[0] == marks[1]


def _last_use(value: Value, ops: Sequence[Operation]) -> int:
    """The position of the last of `ops` that uses `value`; -1 if none does."""
    users = [number for number, op in enumerate(ops) if value in _captured([op])]
    return max(users, default=-1)


def _outline(
    nest: Sequence[Operation], own: set[Value], private: set[Value], name: str, device: StringAttr
) -> None:
    """Move a loop nest into a kernel, with the views and constants that it uses, and call it.

    `own` are the values that the function defines: others come from the caller and are never
    recreated. `private` are the buffers that the kernel allocates.
    """
    prelude = _prelude(nest, own, private)
    created = {result for op in prelude for result in op.results}
    used = [*(value for op in prelude for value in _captured([op])), *_captured(nest)]
    buffers = list(dict.fromkeys(value for value in used if value not in created))
    written = {_buffer(value, buffers) for op in nest for value in written_memrefs(op)}
    order = [*(b for b in buffers if b not in written), *(b for b in buffers if b in written)]
    call(name, order, attributes={DEVICE: device}, ip=InsertionPoint(nest[-1]))
    block = _new_kernel(nest[0].parent, name, device, order, len(written & set(buffers)))
    end = func.ReturnOp([], ip=InsertionPoint(block)).operation
    _number_marks(nest)
    values: dict[Value, Value] = dict(zip(order, block.arguments, strict=True))
    for op in prelude:
        copy = op.clone(InsertionPoint(end))
        _replace(copy, values)
        values.update(zip(op.results, copy.results, strict=True))
    for member in nest:
        member.move_before(end)
        for op in all_operations(member):
            _replace(op, values)


def _number_marks(nest: Sequence[Operation]) -> None:
    numbers: dict[str, int] = {}
    for op in (op for op in nest if KERNEL in op.attributes):
        number = numbers.setdefault(str(op.attributes[KERNEL]), len(numbers))
        op.attributes[KERNEL] = IntegerAttr.get(IntegerType.get_signless(64), number)


def _prelude(nest: Sequence[Operation], own: set[Value], private: set[Value]) -> list[Operation]:
    """The views, constants and private buffers that `nest` uses, in the order of the IR."""
    found: list[Operation] = []

    def visit(ops: Sequence[Operation]) -> None:
        for value in _captured(ops):
            if value in own and (not is_allocation(value.owner.operation) or value in private):
                producer = value.owner.operation
                if not any(producer == known for known in found):
                    visit([producer])
                    found.append(producer)

    visit(nest)
    return found


def _private(nest: Sequence[Operation]) -> set[Value]:
    """Buffers that only a marked kernel uses."""
    if not _are_marked(nest[0], nest[-1]):
        return set()
    inside = [inner for op in nest for inner in all_operations(op)]
    return {
        buffer
        for buffer in map(root, _captured(nest))
        if isinstance(buffer, OpResult) and is_allocation(buffer.owner.operation)
        if all(op in inside for op in _users(buffer))
    }


def _users(buffer: Value) -> Iterator[Operation]:
    """The operations that use a buffer or a view of it, without views."""
    for use in buffer.uses:
        op = use.owner.operation
        if is_view(op):
            yield from _users(op.results[0])
        else:
            yield op


def _buffer(value: Value, buffers: Sequence[Value]) -> Value:
    """The member of `buffers` that `value` is a view of, else the root of `value`."""
    while value not in buffers and isinstance(value, OpResult) and is_view(value.owner.operation):
        value = value.owner.operation.operands[0]
    return value


def _captured(ops: Sequence[Operation]) -> list[Value]:
    """Values from outside that these operations, or those nested in them, use."""
    every = [inner for op in ops for inner in all_operations(op)]
    inside = {value for inner in every for value in _defined(inner)}
    return [v for inner in every for v in inner.operands if v not in inside]


def _defined(op: Operation) -> list[Value]:
    arguments = (list(block.arguments) for region in op.regions for block in region.blocks)
    return [*op.results, *(value for block in arguments for value in block)]


def _new_kernel(
    before: Operation, name: str, device: StringAttr, buffers: Sequence[Value], results: int
) -> Block:
    """Add a private function before the host's; returns its empty body."""
    number = IntegerAttr.get(IntegerType.get_signless(64), results)
    _, body = function(
        name,
        [value.type for value in buffers],
        private=True,
        attributes={DEVICE: device, RESULTS: number},
        ip=InsertionPoint(before),
    )
    return body


def _replace(op: Operation, values: dict[Value, Value]) -> None:
    for number, value in enumerate(op.operands):
        if value in values:
            op.operands[number] = values[value]


def _callee(call: Operation) -> str:
    return str(FlatSymbolRefAttr(call.attributes["callee"]).value)
