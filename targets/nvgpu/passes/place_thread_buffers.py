# SPDX-License-Identifier: Apache-2.0
"""place-thread-buffers: allocates private buffers of a thread on its stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.ir.mlir import InsertionPoint, Operation, all_operations, memref
from xtc.ir.partition import symbol_of
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._buffer_bytes import bytes_of
from xtc_targets.nvgpu.passes._kernels import kernels


@dataclass(frozen=True)
class PlaceThreadBuffers(Pass):
    """Allocate each buffer of a kernel once, at the entry, and erase deallocations.

    Before:
        scf.for %k = ... { %a = memref.alloc() : memref<50x8xf32> ; ... ; memref.dealloc %a }
    After:
        %a = memref.alloca() : memref<50x8xf32>
        scf.for %k = ... { ... }

    An allocation inside a loop would grow the stack in every iteration. Raises UserError if the
    buffers of a thread are too large, and CompileError if a size is unknown.

    Attributes:
        stack_bytes: maximum bytes of a thread's buffers.
    """

    name: ClassVar[str] = "place-thread-buffers"
    stack_bytes: int = 64 << 10

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in kernels(module):
                self._place(kernel)

    def _place(self, kernel: Operation) -> None:
        buffers = []
        for op in all_operations(kernel):
            if op.name == "memref.dealloc":
                op.erase()
            elif op.name in ("memref.alloc", "memref.alloca"):
                buffers.append(op)
        nbytes = sum(bytes_of(op) for op in buffers)
        if nbytes > self.stack_bytes:
            raise UserError(
                f"kernel '{symbol_of(kernel)}' needs {nbytes} bytes for each thread's buffers",
                notes=[f"a thread has {self.stack_bytes}"],
                hints=["choose smaller tiles, or pack and buffer further inside"],
            )
        ip = InsertionPoint.at_block_begin(kernel.regions[0].blocks[0])
        for op in buffers:
            _move(op, ip)


def _move(buffer: Operation, ip: InsertionPoint) -> None:
    kept = {name: buffer.attributes[name] for name in buffer.attributes}
    kept.pop("operandSegmentSizes")
    with buffer.location:
        moved = memref.alloca(buffer.results[0].type, [], [], ip=ip)
    for name, attribute in kept.items():
        moved.owner.attributes[name] = attribute
    buffer.results[0].replace_all_uses_with(moved)
    buffer.erase()
