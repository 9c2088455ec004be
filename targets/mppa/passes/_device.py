# SPDX-License-Identifier: Apache-2.0
"""Device modules: their kernels, the calls of `csrc/dev.h`, and where a buffer is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xtc.ir.analysis.views import VIEWS, root
from xtc.ir.mlir import (
    ArrayAttr,
    BlockArgument,
    DictAttr,
    FlatSymbolRefAttr,
    FunctionType,
    InsertionPoint,
    IntegerType,
    MemRefType,
    Operation,
    OpResult,
    StringAttr,
    Type,
    TypeAttr,
    UnitAttr,
    Value,
    all_operations,
)

KERNEL = "mppa.kernel"
"""Marks the functions that the host launches."""

PES = "mppa.pes"
"""The number of PEs that run a call; marks the call."""

CLUSTER_ID, SMEM, DMA, WAIT, COUNT = (
    "dev_cluster_id",
    "dev_smem",
    "dev_dma_2d",
    "dev_dma_wait",
    "dev_count_macs",
)


def top_level(module: Operation) -> list[Operation]:
    """The operations of a module's only block."""
    return [op.operation for op in module.regions[0].blocks[0].operations]


def symbol(function: Operation) -> str:
    """The name of a function."""
    return str(StringAttr(function.attributes["sym_name"]).value)


def exported(kernel: str) -> str:
    """The symbol of a kernel in the device image."""
    return kernel.replace(".", "_")


def functions(module: Operation) -> list[Operation]:
    """The functions that have a body."""
    return [
        op for op in top_level(module) if op.name == "func.func" and len(op.regions[0].blocks) > 0
    ]


def kernels(module: Operation) -> list[Operation]:
    """The functions that the host launches."""
    return [op for op in functions(module) if KERNEL in op.attributes]


def mark_kernels(module: Operation) -> None:
    """Say of every function with a body that it is a kernel, whose arguments are apart."""
    with module.context:
        apart = DictAttr.get({"llvm.noalias": UnitAttr.get()})
        for function in functions(module):
            types = function.regions[0].blocks[0].arguments
            function.attributes[KERNEL] = UnitAttr.get()
            function.attributes["arg_attrs"] = ArrayAttr.get(
                [apart if isinstance(one.type, MemRefType) else DictAttr.get({}) for one in types]
            )


def body(op: Operation) -> list[Operation]:
    """The operations of an operation's first block, in order."""
    return [one.operation for one in op.regions[0].blocks[0].operations]


def has_mapping(op: Operation, kind: str) -> bool:
    """Whether a forall runs on clusters ("block") or on PEs ("thread")."""
    return (
        op.name == "scf.forall"
        and "mapping" in op.attributes
        and (f"#gpu.{kind}" in str(op.attributes["mapping"]))
    )


def is_on_pe(op: Operation) -> bool:
    """Whether PEs run an operation: it is inside a loop over them."""
    around = op.parent
    while around is not None and around.operation.name != "func.func":
        if has_mapping(around.operation, "thread"):
            return True
        around = around.operation.parent
    return False


def is_local(memref: Value) -> bool:
    """Whether a buffer, or the one that a view looks at, is in SMEM: kernels allocate it there."""
    found = root(memref)
    return isinstance(found, OpResult) and found.owner.name in ("memref.alloc", "memref.view")


def is_global(memref: Value) -> bool:
    """Whether a buffer, or the one that a view looks at, is an argument of a kernel: in DDR."""
    found = root(memref)
    return isinstance(found, BlockArgument) and found.owner.owner.operation.name == "func.func"


def local_buffers(function: Operation) -> list[Operation]:
    """Allocations, in the order of the text."""
    return [op for op in all_operations(function) if op.name == "memref.alloc"]


def users(buffer: Value) -> Iterator[Operation]:
    """The operations that use a buffer or a view of it, the views left away."""
    for use in buffer.uses:
        op = use.owner.operation
        if op.name in VIEWS:
            yield from users(op.results[0])
        else:
            yield op


def ancestor_in(op: Operation, block_owner: Operation) -> Operation | None:
    """`op`, or what is around it, in the first block of `block_owner`; None where it is outside."""
    while op.parent is not None and op.parent.operation != block_owner:
        op = op.parent.operation
    return op if op.parent is not None else None


def declare(
    module: Operation, name: str, inputs: Sequence[Type], results: Sequence[Type] = ()
) -> None:
    """Declare a function that is defined elsewhere, once."""
    if any(op.name == "func.func" and symbol(op) == name for op in top_level(module)):
        return
    with module.context, module.location:
        Operation.create(
            "func.func",
            regions=1,
            attributes={
                "sym_name": StringAttr.get(name),
                "sym_visibility": StringAttr.get("private"),
                "function_type": TypeAttr.get(FunctionType.get(list(inputs), list(results))),
            },
            ip=InsertionPoint.at_block_begin(module.regions[0].blocks[0]),
        )


def call(name: str, operands: Sequence[Value], results: Sequence[Type] = ()) -> Operation:
    """A call at the current insertion point."""
    return Operation.create(
        "func.call",
        results=list(results),
        operands=list(operands),
        attributes={"callee": FlatSymbolRefAttr.get(name)},
    )


def i32() -> Type:
    """The type of numbers of transfers, types and PEs."""
    return IntegerType.get_signless(32)


def i64() -> Type:
    """The type of counts."""
    return IntegerType.get_signless(64)
