# SPDX-License-Identifier: Apache-2.0
"""outline-kernels: moves operators into functions, which equal operators share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from xtc.ir.analysis.equal_functions import text_without_names
from xtc.ir.analysis.node_names import node_of, nodes_of
from xtc.ir.attributes import DEVICE, NODE, NODES, ON_DEVICE
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    FlatSymbolRefAttr,
    MemRefType,
    Operation,
    StringAttr,
    all_operations,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.lower._outlined import outlined

_COMPUTING = ("linalg.", "scf.for", "memref.copy")
# Operations that may stand between those of an operator, and access no memory.
_PASSIVE = ("arith.constant", "ub.", "memref.alloc", "memref.get_global", "memref.subview")
_VIEWS = ("memref.collapse_shape", "memref.expand_shape", "memref.cast", "memref.reinterpret_cast")


@dataclass(frozen=True)
class OutlineKernels(Pass):
    """Move the operations of each operator into a function, and let equal operators share one.

    Before:
        func.func @net(%x) { linalg.fill; linalg.generic {matmul0}; linalg.fill; linalg.generic .. }
    After:
        func.func @net(%x) { call @net.kernel.matmul0(%x, %w0, %a) {xtc.node = "matmul0"}
                             call @net.kernel.matmul0(%a, %w1, %b) {xtc.node = "matmul1"} }
        func.func private @net.kernel.matmul0(..)

    Arguments are the buffers that a kernel uses, constants included, so that equal layers with
    different weights share a function. Networks have tens of layers of few kinds: later passes work
    on each kind once, and on small functions. LLVM can assume that arguments do not overlap, but
    not that parts of an arena do not: a depthwise convolution took twice the time. Functions for
    devices stay as they are. A call names the operator that its results belong to: the padding that
    is fused into a convolution belongs to the convolution, and the sum of a mean to its division.

    Attributes:
        at_least: the fewest operators of a function that is outlined.
    """

    name: ClassVar[str] = "outline-kernels"
    at_least: int = 2

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        for around in [op.operation for op in module.regions[0].blocks[0].operations]:
            if around.name == "func.func" and _can_be_cut(around):
                kernels = list(_kernels(around))
                if len({kernel.node for kernel in kernels}) >= self.at_least:
                    with module.context:
                        _outline(module, around, kernels)


@dataclass
class _Kernel:
    """The operations of one operator, in order."""

    node: str
    ops: list[Operation]

    @cached_property
    def nodes(self) -> list[str]:
        """The known graph nodes that it computes a part of, in the order of the IR."""
        inside = (
            node
            for outer in self.ops
            for op in all_operations(outer)
            if op.name.startswith((*_COMPUTING, "vector."))
            for node in nodes_of(op)
        )
        return list(dict.fromkeys(node for node in (self.node, *inside) if node))


def _can_be_cut(function: Operation) -> bool:
    """Whether it has one block, buffers of static sizes, and no device operations."""
    described = str(function.attributes.get("arg_attrs", ""))
    if len(function.regions[0].blocks) != 1 or ON_DEVICE in described:
        return False
    ops = all_operations(function)
    buffers = [
        *function.regions[0].blocks[0].arguments,
        *(op.results[0] for op in ops if op.name.startswith("memref.alloc")),
    ]
    return all(_is_dense(value.type) for value in buffers) and not any(
        DEVICE in op.attributes for op in ops
    )


def _is_dense(type: object) -> bool:
    if not isinstance(type, MemRefType):
        return True
    return bool(type.has_static_shape) and "strided" not in str(type)


def _kernels(function: Operation) -> Iterator[_Kernel]:
    """Consecutive operations of the same operator."""
    kernel: _Kernel | None = None
    for op in [op.operation for op in function.regions[0].blocks[0].operations]:
        if op.name.startswith(_COMPUTING) and not op.results:
            node = node_of(op)
            if kernel is None or not node or node != kernel.node:
                if kernel is not None:
                    yield kernel
                kernel = _Kernel(node, [])
            kernel.ops.append(op)
        elif kernel is not None and not op.name.startswith((*_PASSIVE, *_VIEWS)):
            yield kernel
            kernel = None
    if kernel is not None:
        yield kernel


def _outline(module: Operation, around: Operation, kernels: list[_Kernel]) -> None:
    entry = StringAttr(around.attributes["sym_name"]).value
    alignments, owners = _alignments(module), _owners(kernels)
    known: dict[str, str] = {}
    for number, kernel in enumerate(kernels):
        name = f"{entry}.kernel.{kernel.node or number}"
        nodes = kernel.nodes  # before they move
        with kernel.ops[-1].location:
            result, caller = _move(name, kernel.ops, around, alignments)
        if kernel.node:
            caller.attributes[NODE] = StringAttr.get(owners[kernel.node])
            if nodes != [owners[kernel.node]]:
                caller.attributes[NODES] = ArrayAttr.get(list(map(StringAttr.get, nodes)))
        text = text_without_names(result)
        if text in known:
            caller.attributes["callee"] = FlatSymbolRefAttr.get(known[text])
            result.erase()
        else:
            while name in known.values():  # an operator whose operations are not consecutive
                name += "_"
            result.attributes["sym_name"] = StringAttr.get(name)
            caller.attributes["callee"] = FlatSymbolRefAttr.get(name)
            known[text] = name


def _owners(kernels: list[_Kernel]) -> dict[str, str]:
    """For each node, the node of the last kernel that computes a part of it.

    A kernel that computes parts of several nodes merges these.
    """
    owners: dict[str, str] = {}
    for kernel in (kernel for kernel in kernels if kernel.node):
        nodes = kernel.nodes
        joined = {owners[node] for node in nodes if node in owners}
        owners |= {node: kernel.node for node, owner in owners.items() if owner in joined}
        owners |= dict.fromkeys(nodes, kernel.node)
    return owners


def _alignments(module: Operation) -> dict[str, Attribute]:
    """The alignments of constants by symbol."""
    found = (op.operation for op in module.regions[0].blocks[0].operations)
    return {
        str(StringAttr(op.attributes["sym_name"]).value): op.attributes["alignment"]
        for op in found
        if op.name == "memref.global" and "alignment" in op.attributes
    }


def _move(
    name: str, ops: list[Operation], around: Operation, alignments: Mapping[str, Attribute]
) -> tuple[Operation, Operation]:
    """Move these operations into a function, and call it in their place."""
    # `no_inline` of func.func is not passed on to LLVM, and a profile needs the calls.
    attributes = {"passthrough": ArrayAttr.get([StringAttr.get("noinline")])}
    return outlined(name, ops, around, attributes, alignments)
