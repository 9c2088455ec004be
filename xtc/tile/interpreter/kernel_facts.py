# SPDX-License-Identifier: Apache-2.0
"""Static properties of a kernel: its groups, its views, and whether blocks wait."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.builders.tile import number_of
from xtc.ir.mlir import BlockArgument, MemRefType, Operation, Value
from xtc.tile.interpreter.values import numpy_type


def grains(arguments: Sequence[Value], ops: Sequence[Operation]) -> list[int]:
    """The size in bytes of the smallest element of any view of each argument."""
    found = {argument: _element_bytes(argument) for argument in arguments}
    for op in ops:
        if op.name in ("memref.reinterpret_cast", "builtin.unrealized_conversion_cast"):
            root = op.operands[0]
            while root not in found and not _is_root(root):
                root = root.owner.operands[0]
            if root in found:
                found[root] = min(found[root], _element_bytes(op.results[0]))
    return [found[argument] for argument in arguments]


def _is_root(value: Value) -> bool:
    """Whether a value is an allocation or an argument, not a view."""
    return isinstance(value, BlockArgument) or not len(value.owner.operands)


def _element_bytes(value: Value) -> int:
    if not isinstance(value.type, MemRefType):
        return 1
    return int(numpy_type(value.type.element_type).itemsize)


def cuts(threads: int, ops: Sequence[Operation]) -> list[int]:
    """The threads at which thread groups begin and end."""
    found = {0, threads}
    for op in ops:
        if op.name == "tile.in_group":
            begin = number_of(op, "begin")
            found |= {begin, begin + number_of(op, "size")}
    return sorted(found)


def spins(op: Operation) -> bool:
    """Whether it is an atomic instruction that a loop may repeat until another thread changes the
    value that it reads."""
    around = op if op.name == "tile.atomic" else None
    while around is not None and around.name != "func.func":
        if around.name == "scf.while":
            return True
        around = around.parent.operation
    return False


def blocks_wait(ops: Sequence[Operation]) -> bool:
    """Whether blocks may wait for others that run at the same time."""
    return any(op.name == "tile.lock" or spins(op) for op in ops)


def orders_blocks(op: Operation) -> bool:
    """Whether an operation can make a block wait for others or observe their writes."""
    orders = "order" in op.attributes and "relaxed" not in str(op.attributes["order"])
    return op.name == "tile.lock" or (op.name == "tile.atomic" and orders)
