# SPDX-License-Identifier: Apache-2.0
"""Functions of a device module: their blocks, their calls, and the loops that several units share.

A unit is a core of a machine whose cores share one local memory: a processing element, a tasklet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xtc.ir.analysis.views import VIEWS
from xtc.ir.mlir import (
    FlatSymbolRefAttr,
    InsertionPoint,
    Operation,
    Type,
    Value,
    func,
)
from xtc.ir.partition import symbol_of, top_level


def functions(module: Operation) -> list[Operation]:
    """The functions that have a body."""
    return [
        op for op in top_level(module) if op.name == "func.func" and len(op.regions[0].blocks) > 0
    ]


def called_functions(module: Operation, calls: Sequence[Operation]) -> list[Operation]:
    """The functions that the calls name, in their order."""
    by_symbol = {symbol_of(function): function for function in functions(module)}
    return [by_symbol[FlatSymbolRefAttr(call.attributes["callee"]).value] for call in calls]


def function_of(op: Operation) -> Operation:
    """The function around an operation."""
    while op.name != "func.func":
        op = op.parent.operation
    return op


def body(op: Operation) -> list[Operation]:
    """The operations of an operation's first block, in order."""
    return [inner.operation for inner in op.regions[0].blocks[0].operations]


def has_mapping(op: Operation, kind: str) -> bool:
    """Whether an `scf.forall` is mapped to blocks ("block") or to threads ("thread")."""
    return (
        op.name == "scf.forall"
        and "mapping" in op.attributes
        and (f"#gpu.{kind}" in str(op.attributes["mapping"]))
    )


def is_on_unit(op: Operation) -> bool:
    """Whether units run an operation: it is inside a loop that is mapped to threads."""
    around = op.parent
    while around is not None and around.operation.name != "func.func":
        if has_mapping(around.operation, "thread"):
            return True
        around = around.operation.parent
    return False


def users(buffer: Value) -> Iterator[Operation]:
    """The operations, other than views, that use a buffer or a view of it."""
    for use in buffer.uses:
        op = use.owner.operation
        if op.name in VIEWS:
            yield from users(op.results[0])
        else:
            yield op


def ancestor_in(op: Operation, block_owner: Operation) -> Operation | None:
    """`op`, or the operation around it, in the first block of `block_owner`; None if outside."""
    while op.parent is not None and op.parent.operation != block_owner:
        op = op.parent.operation
    return op if op.parent is not None else None


def declare(
    module: Operation, name: str, inputs: Sequence[Type], results: Sequence[Type] = ()
) -> None:
    """Declare an external function, once."""
    if any(op.name == "func.func" and symbol_of(op) == name for op in top_level(module)):
        return
    begin = InsertionPoint.at_block_begin(module.regions[0].blocks[0])
    with module.context, module.location:
        func.FuncOp(name, (list(inputs), list(results)), visibility="private", ip=begin)
