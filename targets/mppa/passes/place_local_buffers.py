# SPDX-License-Identifier: Apache-2.0
"""place-local-buffers: every local buffer gets its place in the cluster's SMEM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    Type,
    Value,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.mppa.description import COOLIDGE_V2
from xtc_targets.mppa.passes import _control as control
from xtc_targets.mppa.passes import _device as device
from xtc_targets.mppa.passes._intervals import Buffer, buffers_of, offsets

USED = "mppa.smem_bytes"
"""How much of a cluster's memory a kernel uses; an attribute of the kernel."""


@dataclass(frozen=True)
class PlaceLocalBuffers(Pass):
    """Replace allocations by parts of SMEM; buffers that are never in use together may overlap.

    Before:
        %a = memref.alloc() : memref<16x64xf32>
    After:
        %smem = call @dev_smem() : () -> memref<3932160xi8>
        %a = memref.view %smem[%c4096][] : memref<3932160xi8> to memref<16x64xf32>

    A buffer that a PE's function allocates is private: there is one for each PE that runs it. The
    largest buffer is placed first, at the lowest offset that is free while it is in use. What a
    kernel needs is its attribute `mppa.smem_bytes`.

    Attributes:
        smem_bytes: what buffers may take of a cluster's memory.
        alignment: of each buffer; DDR and DMA like whole lines of 64 bytes.
    """

    name: ClassVar[str] = "place-local-buffers"
    smem_bytes: int = COOLIDGE_V2.smem_usable_bytes
    alignment: int = 64

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context, module.location:
            byte = IntegerType.get_signless(8)
            smem = MemRefType.get([self.smem_bytes], byte)
            device.declare(module, device.SMEM, [], [smem])
            for kernel in device.kernels(module):
                buffers = buffers_of(module, kernel, self.alignment)
                placed = offsets(buffers)
                used = max((at + one.nbytes for one, at in placed.items()), default=0)
                if used > self.smem_bytes:
                    raise self._too_much(kernel, buffers, used)
                kernel.attributes[USED] = IntegerAttr.get(device.i64(), used)
                _replace(placed, smem)

    def _too_much(self, kernel: Operation, buffers: Sequence[Buffer], used: int) -> UserError:
        largest = sorted(buffers, key=lambda one: -one.nbytes)
        return UserError(
            f"kernel '{device.symbol(kernel)}' needs {used} bytes of a cluster's SMEM, "
            f"which has {self.smem_bytes} for buffers",
            where=str(kernel.location) if kernel.location.is_a_file() else None,
            notes=[_described(one) for one in largest],
            hints=["choose smaller tiles", "two slots for transfers: double_buffer=False has one"],
        )


def _described(buffer: Buffer) -> str:
    each = f", one for each of {buffer.copies} PEs" if buffer.copies > 1 else ""
    return f"{buffer.nbytes} bytes: {buffer.alloc.results[0].type}{each}"


def _replace(placed: Mapping[Buffer, int], smem: Type) -> None:
    memories: dict[Operation, Value] = {}
    for buffer, offset in placed.items():
        alloc = buffer.alloc
        function = _function(alloc)
        entry = function.regions[0].blocks[0]
        if function not in memories:
            with alloc.location, InsertionPoint.at_block_begin(entry):
                memories[function] = device.call(device.SMEM, [], [smem]).results[0]
        memory = memories[function]
        with alloc.location, InsertionPoint(alloc):
            start = control.constant(offset)
            if buffer.copies > 1:
                mine = control.multiply(entry.arguments[0], buffer.size)
                start = control.value(control.add(mine, offset))
            view = Operation.create(
                "memref.view", results=[alloc.results[0].type], operands=[memory, start]
            )
            alloc.results[0].replace_all_uses_with(view.results[0])
        alloc.erase()


def _function(op: Operation) -> Operation:
    while op.name != "func.func":
        op = op.parent.operation
    return op
