# SPDX-License-Identifier: Apache-2.0
"""announce-array-accesses: lets device code in C report its loads and stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.analysis.accesses import READS, WRITES, Access
from xtc.ir.analysis.effects import is_view
from xtc.ir.builders import numbers
from xtc.ir.builders.functions import call
from xtc.ir.mlir import (
    Block,
    FlatSymbolRefAttr,
    IndexType,
    InsertionPoint,
    MemRefType,
    Operation,
    Value,
    all_operations,
    arith,
    memref,
)
from xtc.ir.passes import Pass
from xtc_passes.local._functions import declare, functions
from xtc_passes.local._view_layouts import element_bytes
from xtc_targets.mppa.passes import _device_calls as device
from xtc_targets.mppa.passes.call_micro_kernels import PREFIX
from xtc_targets.mppa.passes.define_micro_kernels import micro_kernel

_OPERANDS = (1, 4, 6)  # the address operands of a micro-kernel
_BYTES = {"f16": 2, "f32": 4, "i8": 1, "f64": 8, "i32": 4}


@dataclass(frozen=True)
class AnnounceArrayAccesses(Pass):
    """Call `dev_access` of `csrc/dev.h` before each load and store, except those of the stack.

    Before:
        %v = memref.load %a[%i] : memref<16xf32>
    After:
        %p = memref.extract_aligned_pointer_as_index %a ; %q = arith.addi %p, %i_times_4
        call @dev_access(%p, %q, %c4, %c0) ; %v = memref.load %a[%i] : memref<16xf32>

    The first argument is the start of the buffer in DDR or SMEM. A micro-kernel reports its
    accesses itself; before it, the first element of each operand is reported, which gives its
    buffer. `announce-accesses` does the same for the llvm dialect.
    """

    name: ClassVar[str] = "announce-array-accesses"

    def run(self, module: Operation) -> None:
        operations = [op for function in functions(module) for op in all_operations(function)]
        with module.context:
            index, i64 = IndexType.get(), device.i64()
            declare(module, device.ACCESS, [index, index, i64, device.i32()])
            for op in operations:
                with op.location:
                    _announce(op)


def _announce(op: Operation) -> None:
    if op.name in (*READS, *WRITES):
        access = Access.of(op)
        if access is None:
            raise CompileError(
                f"{op.name} accesses memory in a way that cannot be checked", where=str(op.location)
            )
        _announce_array(access)
    elif op.name == "func.call":
        callee = str(FlatSymbolRefAttr(op.attributes["callee"]).value)
        if callee.startswith(PREFIX):
            nbytes = _BYTES[micro_kernel(callee)[2]]
            for number in _OPERANDS:
                _announce_operand(op, op.operands[number], nbytes)


def _announce_array(access: Access) -> None:
    buffer = _buffer(access.memref)
    if _is_result_of(buffer, "memref.alloca"):
        return
    ip, type = InsertionPoint(access.op), MemRefType(access.memref.type)
    nbytes = element_bytes(access.memref)
    base, start = (
        memref.extract_aligned_pointer_as_index(v, ip=ip) for v in (buffer, access.memref)
    )
    strides, _ = type.get_strides_and_offset()
    for position, stride in zip(access.indices, strides, strict=True):
        start = numbers.as_value(
            numbers.add(start, numbers.multiply(position, stride * nbytes, ip), ip), ip
        )
    _tell(base, start, numbers.multiply(_lanes(access, ip), nbytes, ip), access.is_write, ip)


def _lanes(access: Access, ip: InsertionPoint) -> numbers.Number:
    """The number of accessed elements. Raises CompileError unless a mask selects leading lanes."""
    for mask in access.mask:
        if not _is_result_of(mask, "vector.create_mask"):
            raise CompileError(
                f"the mask of {access.op.name} cannot be checked", where=str(access.op.location)
            )
        (count,) = mask.owner.operation.operands
        all_lanes, none = (numbers.constant(n, ip=ip) for n in (access.lanes, 0))
        return arith.maxsi(arith.minsi(count, all_lanes, ip=ip), none, ip=ip)
    return access.lanes


def _announce_operand(kernel: Operation, address: Value, nbytes: int) -> None:
    """Report the first element of a micro-kernel's operand, with the buffer of its address."""
    base = address
    while _is_result_of(base, "arith.addi"):
        base = base.owner.operation.operands[0]
    _tell(base, address, nbytes, False, InsertionPoint(kernel))


def _tell(
    base: Value, address: Value, nbytes: numbers.Number, writes: bool, ip: InsertionPoint
) -> None:
    size = arith.index_cast(device.i64(), numbers.as_value(nbytes, ip), ip=ip)
    kind = numbers.constant(int(writes), device.i32(), ip)
    call(device.ACCESS, [base, address, size, kind], ip=ip)


def _buffer(value: Value) -> Value:
    """The buffer that a memref is part of: an argument, or a buffer in SMEM."""
    while not isinstance(value.owner, Block) and is_view(value.owner.operation):
        if value.owner.operation.name == "memref.view":
            break
        value = value.owner.operation.operands[0]
    return value


def _is_result_of(value: Value, name: str) -> bool:
    return not isinstance(value.owner, Block) and value.owner.operation.name == name
