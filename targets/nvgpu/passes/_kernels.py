# SPDX-License-Identifier: Apache-2.0
"""Kernels of a GPU: their launch attributes, and the special registers of a thread."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.effects import written_memrefs
from xtc.ir.analysis.views import VIEWS
from xtc.ir.attributes import OVERLAPPING, RESIDENT_BLOCKS
from xtc.ir.mlir import (
    ArrayAttr,
    BlockArgument,
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
    all_operations,
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


_TILE_READS = (
    *("tile.load_global", "tile.copy_async", "tile.tma_load", "tile.tma_multicast"),
    "tile.tensor_map",
)
"""Operations of tile kernels that read global memory, and write none of it."""

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
    """Mark the buffers of a kernel as aligned, and those that it only reads as disjoint.

    For LLVM, no barrier or wait changes a disjoint buffer, although other threads may have written
    it: a kernel would not read again what it also writes. A kernel whose arguments may overlap has
    no disjoint buffers: it would read one that another one changes through the cache of constant
    data (ld.global.nc), or only once.
    """
    with kernel.context:
        i64 = IntegerType.get_signless(64)
        aligned = {"llvm.align": IntegerAttr.get(i64, BUFFER_ALIGNMENT)}
        apart = {**aligned, "llvm.noalias": UnitAttr.get()}
        arguments = kernel.regions[0].blocks[0].arguments
        changed = set(arguments) if OVERLAPPING in kernel.attributes else _changed(kernel)
        marks = [aligned if argument in changed else apart for argument in arguments]
        kernel.attributes["arg_attrs"] = ArrayAttr.get(
            [
                DictAttr.get(mark if isinstance(argument.type, MemRefType) else {})
                for argument, mark in zip(arguments, marks, strict=True)
            ]
        )


def _changed(kernel: Operation) -> set[Value]:
    """The buffers that a kernel may write, and other values."""
    ops = [op for op in all_operations(kernel) if op.name not in _TILE_READS and not _is_cast(op)]
    single = [op for op in ops if op.name.startswith("linalg.") or not len(op.regions)]
    found = {_source(value) for op in single for value in written_memrefs(op)}
    arguments = set(kernel.regions[0].blocks[0].arguments)
    carried = (value for value in found - arguments if isinstance(value, BlockArgument))
    return found | arguments if any(carried) else found


def _is_cast(op: Operation) -> bool:
    """Whether an operation only gives a buffer another type."""
    is_cast = op.name == "builtin.unrealized_conversion_cast"
    return is_cast and all(isinstance(result.type, MemRefType) for result in op.results)


def _source(value: Value) -> Value:
    """The buffer that a value is a view of, or a cast of."""
    while not isinstance(value, BlockArgument) and len(value.owner.operands):
        value = value.owner.operands[0]
    return value


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


def resident_blocks(kernel: Operation) -> int:
    """The blocks that the GPU holds at a time; 0 if the kernel does not specify them."""
    given = RESIDENT_BLOCKS in kernel.attributes
    return int(IntegerAttr(kernel.attributes[RESIDENT_BLOCKS]).value) if given else 0


def shared_bytes(kernel: Operation) -> int:
    """Bytes of shared memory per block of the kernel."""
    given = SHARED_BYTES in kernel.attributes
    return int(IntegerAttr(kernel.attributes[SHARED_BYTES]).value) if given else 0
