# SPDX-License-Identifier: Apache-2.0
"""align-vectors: adds the known alignment to vector accesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.accesses import Access, sum_of
from xtc.ir.analysis.views import root
from xtc.ir.mlir import (
    BlockArgument,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    OpResult,
    Value,
    VectorType,
    all_operations,
)
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.description import ACCESS_BYTES, BUFFER_ALIGNMENT
from xtc_targets.nvgpu.passes._buffer_bytes import element_bytes
from xtc_targets.nvgpu.passes._kernels import kernels


@dataclass(frozen=True)
class AlignVectors(Pass):
    """Add the known alignment of vector accesses to global and shared memory.

    Before:
        %v = vector.load %a[%i, %j] : memref<64x32xf32, 1>, vector<4xf32>
    After, where `%j` is a multiple of 4:
        %v = vector.load %a[%i, %j] {alignment = 16 : i64} : memref<64x32xf32, 1>, vector<4xf32>

    Without it, the code generator emits an access per element. Buffers are aligned to 64 bytes; the
    divisors of an index follow from its arithmetic. An access that has an alignment keeps it.
    """

    name: ClassVar[str] = "align-vectors"

    def run(self, module: Operation) -> None:
        i64 = IntegerType.get_signless(64, module.context)
        for kernel in kernels(module):
            for op in all_operations(kernel):
                access = None if "alignment" in op.attributes else Access.of(op)
                if access and isinstance(access.value.type, VectorType) and _is_placed(access):
                    op.attributes["alignment"] = IntegerAttr.get(i64, _alignment(access))


def _is_placed(access: Access) -> bool:
    """Whether the buffer's alignment is known: it is an argument, or in shared memory."""
    buffer = root(access.memref)
    has_space = MemRefType(buffer.type).memory_space is not None
    return has_space and (isinstance(buffer, BlockArgument) or buffer.owner.name == "memref.alloc")


def _alignment(access: Access) -> int:
    """The known alignment of an address in bytes, up to the widest access."""
    type = MemRefType(access.memref.type)
    nbytes = element_bytes(type.element_type)
    strides, offset = type.get_strides_and_offset()
    if any(number < 0 for number in (*strides, offset)):  # MLIR's marker of a dynamic value
        return nbytes
    steps = [_power_of_two(offset)]
    pairs = zip(access.indices, strides, strict=True)
    steps += [_divisor(index) * _power_of_two(stride) for index, stride in pairs]
    return min(ACCESS_BYTES, *(step * nbytes for step in steps))


def _power_of_two(number: int) -> int:
    """The largest power of two that divides a number; a large one for 0."""
    return number & -number or BUFFER_ALIGNMENT


def _divisor(index: Value) -> int:
    """A power of two that divides an index."""
    total = sum_of(index)
    parts = [_power_of_two(total.constant)]
    parts += [_power_of_two(f) * _own_divisor(value) for value, f in total.terms.items() if f]
    return min(parts)


def _own_divisor(value: Value) -> int:
    """The same for an index that is not a sum."""
    if isinstance(value, OpResult):
        operands: Sequence[Value] = list(value.owner.operands)
        if value.owner.name == "arith.muli":
            return _divisor(operands[0]) * _divisor(operands[1])
        if value.owner.name == "arith.addi":
            return min(_divisor(operands[0]), _divisor(operands[1]))
        return 1
    loop = value.owner.owner.operation
    if loop.name == "scf.for" and value.arg_number == 0:
        return min(_divisor(loop.operands[0]), _divisor(loop.operands[2]))
    return 1
