# SPDX-License-Identifier: Apache-2.0
"""Kernels of a GPU: their launch attributes, and the special registers of a thread."""

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
"""Attributes of a kernel: blocks per grid and threads per block, in x, y and z."""

SHARED_BYTES = "nvgpu.shared_bytes"
"""Attribute of a kernel: bytes of shared memory per block, 0 without it."""

REGISTERS = "nvvm.maxnreg"
"""Attribute of a kernel: registers per thread, which warpgroups may redistribute."""

RESIDENT = "nvvm.minctasm"
"""Attribute of a kernel: minimum resident blocks per multiprocessor. Without it, ptxas may use more
registers than these have, or spill some so that more blocks fit."""

SHARED = 3
"""The memory space of shared memory."""

SHARED_SYMBOL = "xtc_shared"
"""The symbol of a block's shared memory."""

BARRIER = "nvvm.barrier"
"""The barrier of all threads of a block."""

SHUFFLE = "nvvm.shfl.sync"
"""The exchange of values between the threads of a warp."""

WARP = 32

BLOCK_ID, THREAD_ID = "nvvm.read.ptx.sreg.ctaid.x", "nvvm.read.ptx.sreg.tid.x"
"""The block index and the thread index in x: operations with an i32 result."""

GRID_SIZE = "nvvm.read.ptx.sreg.nctaid.x"
"""The number of blocks in x, likewise."""


_WITHOUT_EFFECTS = ("arith.", "affine.", "math.", "ub.", "memref.dim", "memref.get_global", *VIEWS)


def acting_operations(kernel: Operation) -> list[Operation]:
    """The operations of a kernel that access memory."""
    ops = [op.operation for op in kernel.regions[0].blocks[0].operations]
    return [op for op in ops[:-1] if not op.name.startswith(_WITHOUT_EFFECTS)]


def only_operation(kernel: Operation) -> Operation | None:
    """The only operation of a kernel that accesses memory; None if there are several."""
    acting = acting_operations(kernel)
    return acting[0] if len(acting) == 1 else None


def only_loop(kernel: Operation) -> Operation | None:
    """The only operation of a kernel that accesses memory, if it is a parallel loop."""
    op = only_operation(kernel)
    return op if op is not None and op.name == "scf.parallel" and not len(op.results) else None


def kernels(module: Operation) -> list[Operation]:
    """The functions of a device module that the host launches: those with a grid."""
    return [op for op in top_level(module) if GRID in op.attributes]


def add_argument(kernel: Operation, type: Type) -> Value:
    """Append an argument to a kernel."""
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
    """The grid and the block of a kernel."""
    grid, block = (DenseI64ArrayAttr(kernel.attributes[name]) for name in (GRID, BLOCK))
    return list(grid), list(block)


def first_registers(kernel: Operation) -> int:
    """The initial registers per thread; 0 if the kernel does not specify them."""
    given = REGISTERS in kernel.attributes
    return int(IntegerAttr(kernel.attributes[REGISTERS]).value) if given else 0


def shared_bytes(kernel: Operation) -> int:
    """Bytes of shared memory per block of the kernel."""
    given = SHARED_BYTES in kernel.attributes
    return int(IntegerAttr(kernel.attributes[SHARED_BYTES]).value) if given else 0
