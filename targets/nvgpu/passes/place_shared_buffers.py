# SPDX-License-Identifier: Apache-2.0
"""place-shared-buffers: assigns the buffers of a block offsets in its shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.ir.builders.numbers import index_constant
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    all_operations,
    memref,
)
from xtc.ir.partition import symbol_of
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.description import H100
from xtc_targets.nvgpu.passes._buffer_bytes import bytes_of
from xtc_targets.nvgpu.passes._kernels import SHARED, SHARED_BYTES, SHARED_SYMBOL, kernels
from xtc_targets.nvgpu.passes._shared import declare_shared

_ALIGNMENT = 128  # bytes: one row of all banks, the most that an access needs


@dataclass(frozen=True)
class PlaceSharedBuffers(Pass):
    """Replace each buffer in memory space 3 by a view of one array, and erase deallocations.

    Before:
        %a = memref.alloc() : memref<16x128xf32, 3> ; ... ; memref.dealloc %a
    After, with `nvgpu.shared_bytes = 8192`:
        %s = memref.get_global @xtc_shared : memref<0xi8, 3>
        %a = memref.view %s[%c0][] : memref<0xi8, 3> to memref<16x128xf32, 3>

    The launch sets the size of the array. Raises UserError if the buffers of a block are too large.

    Attributes:
        block_bytes: maximum shared memory per block.
    """

    name: ClassVar[str] = "place-shared-buffers"
    block_bytes: int = H100.shared_bytes_block

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            placed = [kernel for kernel in kernels(module) if self._place(kernel)]
            if placed:
                declare_shared(module)

    def _place(self, kernel: Operation) -> bool:
        shared = [op for op in all_operations(kernel) if _is_shared(op)]
        buffers = [op for op in shared if op.name == "memref.alloc"]
        if not buffers:
            return False
        for op in shared:
            if op not in buffers:
                op.erase()
        ip = InsertionPoint.at_block_begin(kernel.regions[0].blocks[0])
        with kernel.location:
            base = memref.get_global(_bytes_type(), SHARED_SYMBOL, ip=ip)
            offset = 0
            for op in buffers:
                offset = -(-offset // _ALIGNMENT) * _ALIGNMENT
                start = index_constant(offset, ip)
                view = memref.view(op.results[0].type, base, start, [], ip=ip)
                offset += bytes_of(op)
                op.results[0].replace_all_uses_with(view)
                op.erase()
        if offset > self.block_bytes:
            raise UserError(
                f"kernel '{symbol_of(kernel)}' needs {offset} bytes of shared memory",
                notes=[f"a block has {self.block_bytes}"],
                hints=["choose smaller tiles, or pack and buffer further inside"],
            )
        i64 = IntegerType.get_signless(64)
        kernel.attributes[SHARED_BYTES] = IntegerAttr.get(i64, offset)
        return True


def _is_shared(op: Operation) -> bool:
    if op.name not in ("memref.alloc", "memref.dealloc"):
        return False
    value = op.results[0] if len(op.results) else op.operands[0]
    space = MemRefType(value.type).memory_space
    return isinstance(space, IntegerAttr) and space.value == SHARED


def _bytes_type() -> MemRefType:
    i8, space = IntegerType.get_signless(8), IntegerType.get_signless(64)
    return MemRefType.get([0], i8, None, IntegerAttr.get(space, SHARED))
