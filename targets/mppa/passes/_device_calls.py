# SPDX-License-Identifier: Apache-2.0
"""Kernels of an MPPA, and the functions of `csrc/dev.h` that device code calls."""

from __future__ import annotations

from xtc.ir.mlir import (
    ArrayAttr,
    DictAttr,
    IntegerType,
    MemRefType,
    Operation,
    Type,
    UnitAttr,
)
from xtc_passes.local._functions import functions

KERNEL = "mppa.kernel"
"""Marks the functions that the host launches."""

CLUSTER_ID, SMEM, DMA, WAIT, COUNT, COUNT_DDR, BUFFER, ACCESS = (
    "dev_cluster_id",
    "dev_smem",
    "dev_dma_2d",
    "dev_dma_wait",
    "dev_count_macs",
    "dev_count_ddr",
    "dev_buffer",
    "dev_access",
)


def exported(kernel: str) -> str:
    """The symbol of a kernel in the device image."""
    return kernel.replace(".", "_")


def kernels(module: Operation) -> list[Operation]:
    """The functions that the host launches."""
    return [op for op in functions(module) if KERNEL in op.attributes]


def mark_kernels(module: Operation) -> None:
    """Mark every function with a body as a kernel whose arguments do not overlap."""
    with module.context:
        apart = DictAttr.get({"llvm.noalias": UnitAttr.get()})
        for function in functions(module):
            arguments = function.regions[0].blocks[0].arguments
            function.attributes[KERNEL] = UnitAttr.get()
            function.attributes["arg_attrs"] = ArrayAttr.get(
                [
                    apart if isinstance(argument.type, MemRefType) else DictAttr.get({})
                    for argument in arguments
                ]
            )


def i32() -> Type:
    """The type of transfer numbers, element types and numbers of PEs."""
    return IntegerType.get_signless(32)


def i64() -> Type:
    """The type of counts."""
    return IntegerType.get_signless(64)
