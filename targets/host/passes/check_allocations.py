# SPDX-License-Identifier: Apache-2.0
"""check-allocations: lets functions that run out of memory free their buffers and return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.views import root
from xtc.ir.attributes import BEFORE_FAILURE, MAY_FAIL
from xtc.ir.builders.numbers import compare, constant
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.mlir import (
    Attribute,
    Block,
    FlatSymbolRefAttr,
    FunctionType,
    InsertionPoint,
    IntegerType,
    Operation,
    OpResult,
    StringAttr,
    TypeAttr,
    Value,
    all_operations,
    cf,
    func,
    memref,
)
from xtc.ir.passes import Pass

OUT_OF_MEMORY = 1

Live = tuple[Value, ...]
"""Live allocations, in order."""


@dataclass(frozen=True)
class CheckAllocations(Pass):
    """Return a status from functions without results that allocate, or call one that does.

    Before:
        func.func @f() { %b = memref.alloc() : memref<8xf32> ... return }
    After:
        func.func @f() -> i32 { %b = memref.alloc() ... cf.cond_br %null, ^failed, ^go_on
          ^go_on: ... return %zero ^failed: (frees the live buffers) return %one }

    The pass runs on branches, after loops are lowered. Functions with results stay as they are. A
    function with the attribute `xtc.before_failure` first calls the function that the attribute
    names, before it frees anything. A declaration with `xtc.may_fail` returns a status, too.
    """

    name: ClassVar[str] = "check-allocations"

    def run(self, module: Operation) -> None:
        found = (op.operation for op in module.regions[0].blocks[0].operations)
        functions = {
            str(StringAttr(op.attributes["sym_name"]).value): op
            for op in found
            if op.name == "func.func" and not op.attributes["function_type"].value.results
        }
        checked = _fallible(functions)
        for name in (name for name in functions if name in checked):
            with module.context, functions[name].location:
                _check(functions[name], checked)


def _fallible(functions: Mapping[str, Operation]) -> frozenset[str]:
    """Names of the functions that allocate, or call one that does."""
    found = {name for name, function in functions.items() if MAY_FAIL in function.attributes}
    called: dict[str, set[str]] = {}
    for name, function in functions.items():
        calls = [op for op in all_operations(function) if op.name in ("memref.alloc", "func.call")]
        called[name] = {_callee(op) for op in calls} - {""}
        if any(op.name == "memref.alloc" for op in calls):
            found.add(name)
    size = -1
    while size != len(found):
        size = len(found)
        found |= {name for name, callees in called.items() if callees & found}
    return frozenset(found)


def _check(function: Operation, checked: frozenset[str]) -> None:
    status = IntegerType.get_signless(32)
    points = _allocations(function, checked) if function.regions[0].blocks else []
    for op in [op.operation for block in function.regions[0] for op in block.operations]:
        if op.name == "func.return":
            with InsertionPoint(op):
                func.return_([constant(0, status)])
            op.erase()
    inputs = function.attributes["function_type"].value.inputs
    function.attributes["function_type"] = TypeAttr.get(FunctionType.get(inputs, [status]))
    for op, live in reversed(points):  # the last first, so that each operation moves once
        with op.location:
            _branch(op, live, function.attributes)


def _allocations(function: Operation, checked: frozenset[str]) -> list[tuple[Operation, Live]]:
    """The operations that may run out of memory, each with the live buffers before it."""
    blocks = list(function.regions[0])
    ops = (op.operation for block in blocks for op in block.operations)
    # A buffer that some branch may have freed is leaked after a failure, rather than freed twice.
    known = all(_is_allocated(op.operands[0]) for op in ops if op.name == "memref.dealloc")
    entry: dict[Block, Live] = {blocks[0]: ()}
    waiting, found = [blocks[0]], []
    while waiting:
        block = waiting.pop()
        live = entry[block]
        for op in (op.operation for op in block.operations):
            if op.name == "memref.alloc" or _callee(op) in checked:
                found.append((op, live if known else ()))
            live = _after(op, live)
        for successor in block.successors:
            if successor not in entry:
                entry[successor] = live
                waiting.append(successor)
    return found


def _after(op: Operation, live: Live) -> Live:
    if op.name == "memref.alloc":
        return (*live, op.results[0])
    if op.name == "memref.dealloc":
        freed = root(op.operands[0])
        return tuple(buffer for buffer in live if buffer != freed)
    return live


def _branch(op: Operation, live: Live, described: Mapping[str, Attribute]) -> None:
    """Branch after `op` to the failure block if it found no memory."""
    go_on = op.block.create_after()
    following = list(op.block.operations)
    for moved in following[following.index(op.opview) + 1 :]:
        go_on.append(moved.operation)
    with InsertionPoint(op.block):
        failed = _is_null(op.results[0]) if op.name == "memref.alloc" else _has_failed(op)
        cf.cond_br(failed, [], [], _failure(go_on, live, described), go_on)


def _failure(block: Block, live: Live, described: Mapping[str, Attribute]) -> Block:
    """A new block that frees buffers and returns."""
    failure = block.create_after()
    with InsertionPoint(failure):
        if BEFORE_FAILURE in described:
            func.call([], FlatSymbolRefAttr(described[BEFORE_FAILURE]).value, [])
        for buffer in reversed(live):
            memref.dealloc(buffer)
        func.return_([constant(OUT_OF_MEMORY, IntegerType.get_signless(32))])
    return failure


def _is_null(buffer: Value) -> Value:
    return compare("eq", memref.extract_aligned_pointer_as_index(buffer), 0)


def _has_failed(call: Operation) -> Value:
    """Whether a call's status differs from 0; the call is recreated with this result."""
    result = rebuilt(call, call.operands, [IntegerType.get_signless(32)])
    call.erase()
    return compare("ne", result.results[0], 0)


def _callee(op: Operation) -> str:
    return FlatSymbolRefAttr(op.attributes["callee"]).value if op.name == "func.call" else ""


def _is_allocated(view: Value) -> bool:
    buffer = root(view)
    return isinstance(buffer, OpResult) and buffer.owner.name == "memref.alloc"
