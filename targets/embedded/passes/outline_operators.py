# SPDX-License-Identifier: Apache-2.0
"""outline-operators: moves the operations of each graph node into a function."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from xtc.ir.analysis.structured import structured
from xtc.ir.attributes import NODE
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    Block,
    DictAttr,
    Operation,
    StringAttr,
    all_operations,
)
from xtc.ir.partition import symbol_of
from xtc.ir.passes import Pass
from xtc_passes.local._functions import functions
from xtc_passes.lower._outlined import outlined
from xtc_targets.embedded.passes import KEPT, OPERATOR
from xtc_targets.embedded.passes._last_node import last_node

_LEFT = (
    "arith.constant",
    "func.call",
    "func.return",
    "memref.alloc",
    "memref.alloca",
    "memref.dealloc",
    "memref.get_global",
    "memref.cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.reinterpret_cast",
    "memref.subview",
)


@dataclass(frozen=True)
class OutlineOperators(Pass):
    """Move the operations of each node of the graph into a separate function.

    Size, instruction counts and faults can then be attributed to operators by the symbols of the
    image. Arguments are the buffers of other functions; constants are read in place.

    Before:
        linalg.fill {__xtc_id_c.init_} outs(%y)
        linalg.conv_2d_nhwc_hwcf {__xtc_id_c_} ins(%x, %w) outs(%y)
    After:
        call @net.op.c(%x, %y)
        func.func private @net.op.c(%x: memref<..> {llvm.noalias}, %y: memref<..> {llvm.noalias})

    Attributes:
        small: whether LLVM should prefer small code in all functions, rather than only in those
            that it would unroll without benefit.
    """

    name: ClassVar[str] = "outline-operators"
    small: bool = False

    def run(self, module: Operation) -> None:
        with module.context, module.location:
            for entry in functions(module):
                names: set[str] = set()
                for group in _groups(entry):
                    if group.node is not None and not _is_read_elsewhere(group):
                        _outline(group, entry, _unique(group.node, names), small=self.small)


@dataclass
class _Group:
    """Consecutive operations of one node."""

    node: str | None
    operations: list[Operation] = field(default_factory=list)


def _groups(entry: Operation) -> list[_Group]:
    """The operations of a function by node; operations without a node join the previous one."""
    found: list[_Group] = []
    for op in [op.operation for op in entry.regions[0].blocks[0].operations]:
        if op.name in _LEFT:
            continue
        node = next(_nodes(op), None)
        last = found[-1] if found else None
        if last is not None and (node is None or last.node in (None, node)):
            last.node = last.node or node
        else:
            found.append(last := _Group(node))
        last.operations.append(op)
    return found


def _nodes(op: Operation) -> Iterator[str]:
    """The nodes that an operation computes, the node of the result first."""
    for inner in reversed(all_operations(op)):
        name = last_node(inner)
        if name is None and NODE in inner.attributes:
            name = StringAttr(inner.attributes[NODE]).value.partition(".")[0]
        if name is not None:
            yield name


def _is_read_elsewhere(group: _Group) -> bool:
    """Whether an operation outside of the group uses a result."""
    inside = set(group.operations)
    block = group.operations[0].block
    users = (use.owner for op in group.operations for result in op.results for use in result.uses)
    return any(_in_block(user.operation, block) not in inside for user in users)


def _in_block(op: Operation, block: Block) -> Operation:
    """The operation of a block that is, or contains, `op`."""
    while op.block != block and op.parent is not None:
        op = op.parent.operation
    return op


def _unique(name: str, names: set[str]) -> str:
    numbered = (f"{name}.{number}" for number in itertools.count(2))
    found = next(n for n in itertools.chain([name], numbered) if n not in names)
    names.add(found)
    return found


def _without_alignment(attributes: DictAttr) -> dict[str, Attribute]:
    """The attributes of an argument, without the alignment, which `plan-memory` determines."""
    return {entry.name: entry.attr for entry in attributes if entry.name != "llvm.align"}


def _is_small(op: Operation) -> bool:
    """Whether LLVM would unroll without benefit: marked loops, or loops over single elements."""
    nest = structured(op)
    is_elementwise = nest is not None and op.name == "linalg.generic" and not nest.reductions
    return is_elementwise or any(KEPT in inner.attributes for inner in all_operations(op))


def _outline(group: _Group, entry: Operation, node: str, *, small: bool) -> None:
    """Move a group to a function before `entry`, and call it in its place."""
    name = f"{symbol_of(entry)}{OPERATOR}{node}"
    is_small = small or any(map(_is_small, group.operations))
    asked = ["noinline", "nounwind", *(["optsize"] if is_small else [])]
    attributes = {
        "passthrough": ArrayAttr.get([StringAttr.get(word) for word in asked]),
        NODE: StringAttr.get(node),
    }
    created, _ = outlined(name, group.operations, entry, attributes)
    created.attributes["arg_attrs"] = ArrayAttr.get(
        [DictAttr.get(_without_alignment(DictAttr(a))) for a in created.attributes["arg_attrs"]]
    )
