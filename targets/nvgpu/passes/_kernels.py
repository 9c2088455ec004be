# SPDX-License-Identifier: Apache-2.0
"""Kernels of a GPU: the attributes of their launch, and the registers of a thread's position."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.views import VIEWS
from xtc.ir.mlir import (
    ArrayAttr,
    DenseI64ArrayAttr,
    DictAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    Type,
    TypeAttr,
    UnitAttr,
    Value,
)
from xtc.ir.partition import top_level
from xtc_targets.nvgpu.description import BUFFER_ALIGNMENT

GRID, BLOCK = "nvgpu.grid", "nvgpu.block"
"""Attributes of a kernel: blocks of its grid and threads of a block, in x, y and z."""

SHARED_BYTES = "nvgpu.shared_bytes"
"""Attribute of a kernel: bytes of shared memory of a block; without it a block has none."""

REGISTERS = "nvvm.maxnreg"
"""Attribute of a kernel: the registers of a thread, which warpgroups may hand on."""

SHARED = 3
"""The memory space of the memory that the threads of a block share."""

SHARED_SYMBOL = "xtc_shared"
"""Names the first byte of a block's shared memory."""

BARRIER = "nvvm.barrier"
"""All threads of a block wait for each other."""

SHUFFLE = "nvvm.shfl.sync"
"""The threads of a warp exchange values."""

WARP = 32

BLOCK_ID, THREAD_ID = "nvvm.read.ptx.sreg.ctaid.x", "nvvm.read.ptx.sreg.tid.x"
"""The position of a thread in x: operations whose result is an i32."""

GRID_SIZE = "nvvm.read.ptx.sreg.nctaid.x"
"""The blocks of the grid in x, likewise."""


_WITHOUT_EFFECTS = ("arith.", "affine.", "math.", "ub.", "memref.dim", "memref.get_global", *VIEWS)


def only_operation(kernel: Operation) -> Operation | None:
    """The only operation of a kernel that accesses memory; None where there are several."""
    ops = [op.operation for op in kernel.regions[0].blocks[0].operations]
    acting = [op for op in ops[:-1] if not op.name.startswith(_WITHOUT_EFFECTS)]
    return acting[0] if len(acting) == 1 else None


def only_loop(kernel: Operation) -> Operation | None:
    """The parallel loop that is the only such operation of a kernel."""
    op = only_operation(kernel)
    return op if op is not None and op.name == "scf.parallel" and not len(op.results) else None


def kernels(module: Operation) -> list[Operation]:
    """The functions of a device's module that the host launches: those that have a grid."""
    return [op for op in top_level(module) if GRID in op.attributes]


def add_argument(kernel: Operation, type: Type) -> Value:
    """A new argument of a kernel, behind the others."""
    block = kernel.regions[0].blocks[0]
    argument: Value = block.add_argument(type, kernel.location)
    kinds = [each.type for each in block.arguments]
    kernel.attributes["function_type"] = TypeAttr.get(FunctionType.get(kinds, []))
    if "arg_attrs" in kernel.attributes:
        known = list(ArrayAttr(kernel.attributes["arg_attrs"]))
        kernel.attributes["arg_attrs"] = ArrayAttr.get([*known, DictAttr.get({})])
    return argument


def set_apart(kernel: Operation) -> None:
    """Mark the buffers of a kernel as disjoint, as on the host, and as aligned."""
    with kernel.context:
        i64 = IntegerType.get_signless(64)
        aligned = IntegerAttr.get(i64, BUFFER_ALIGNMENT)
        apart = DictAttr.get({"llvm.noalias": UnitAttr.get(), "llvm.align": aligned})
        kernel.attributes["arg_attrs"] = ArrayAttr.get(
            [
                apart if isinstance(argument.type, MemRefType) else DictAttr.get({})
                for argument in kernel.regions[0].blocks[0].arguments
            ]
        )


def set_shape(kernel: Operation, grid: Sequence[int], block: Sequence[int]) -> None:
    """Set the grid and the block of a kernel; sizes in z, or in y and z, may be omitted."""
    with kernel.context:
        for name, sizes in ((GRID, grid), (BLOCK, block)):
            whole = [*sizes, 1, 1][:3]
            kernel.attributes[name] = DenseI64ArrayAttr.get(whole)


def shape(kernel: Operation) -> tuple[list[int], list[int]]:
    """A kernel's grid and its blocks."""
    grid, block = (DenseI64ArrayAttr(kernel.attributes[name]) for name in (GRID, BLOCK))
    return list(grid), list(block)


def first_registers(kernel: Operation) -> int:
    """The registers with which a thread begins; 0 where the kernel does not say."""
    given = REGISTERS in kernel.attributes
    return int(IntegerAttr(kernel.attributes[REGISTERS]).value) if given else 0


def shared_bytes(kernel: Operation) -> int:
    """The bytes of shared memory of a block of the kernel."""
    given = SHARED_BYTES in kernel.attributes
    return int(IntegerAttr(kernel.attributes[SHARED_BYTES]).value) if given else 0
