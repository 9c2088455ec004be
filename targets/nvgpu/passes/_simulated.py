# SPDX-License-Identifier: Apache-2.0
"""What threads do together or with shared memory, as calls of `csrc/cuda_sim.h`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from xtc.core.mlir import InsertionPoint, IntegerAttr, Operation, Type, TypeAttr, Value
from xtc_targets.nvgpu.passes import _llvm as llvm

DECLARATIONS = """
llvm.func @cuda_barrier()
llvm.func @cuda_copy_async(!llvm.ptr, !llvm.ptr, i32, i32)
llvm.func @cuda_copy_async_commit()
llvm.func @cuda_copy_async_wait(i32)
llvm.func @cuda_load_matrix(!llvm.ptr, !llvm.ptr, i32, i32)
llvm.func @cuda_mma(i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
llvm.func @cuda_shared() -> !llvm.ptr
llvm.func @cuda_to_tf32(f32) -> i32
"""
"""A flag is an i32 of 0 or 1: in a register that is a C `bool` too."""

_MMA_KINDS = MappingProxyType({"f16": 0, "bf16": 2, "tf32": 6})
"""The numbers in `CUDA_MMA_KINDS` of m16n8k16 for 16 bits and m16n8k8 for TF32."""

_SCRATCH_WORDS = 16
_WORD = 4

Replacement: TypeAlias = Callable[[Operation, InsertionPoint, Value], "Value | None"]


def scratch(ip: InsertionPoint) -> Value:
    """A thread's memory for the registers of one instruction."""
    i32 = llvm.constant(_SCRATCH_WORDS, ip)
    attributes = {"elem_type": TypeAttr.get(i32.type)}
    pointer = Type.parse("!llvm.ptr")
    return Operation.create("llvm.alloca", [pointer], [i32], attributes, ip=ip).results[0]


def _barrier(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    llvm.call("cuda_barrier", [], [], ip)


def _copy(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    to, source = (llvm.plain_address(value, ip) for value in list(op.operands)[:2])
    nbytes = llvm.constant(int(IntegerAttr(op.attributes["size"]).value), ip)
    given = op.operands[2] if len(op.operands) > 2 else nbytes
    llvm.call("cuda_copy_async", [to, source, nbytes, given], [], ip)


def _commit(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    llvm.call("cuda_copy_async_commit", [], [], ip)


def _wait(op: Operation, ip: InsertionPoint, memory: Value) -> None:
    groups = int(IntegerAttr(op.attributes["n"]).value)
    llvm.call("cuda_copy_async_wait", [llvm.constant(groups, ip)], [], ip)


def _load_matrix(op: Operation, ip: InsertionPoint, memory: Value) -> Value:
    row = llvm.plain_address(op.operands[0], ip)
    count = llvm.constant(int(IntegerAttr(op.attributes["num"]).value), ip)
    transposed = llvm.constant(int("col" in str(op.attributes["layout"])), ip)
    llvm.call("cuda_load_matrix", [memory, row, count, transposed], [], ip)
    return Operation.create("llvm.load", [op.results[0].type], [memory], ip=ip).results[0]


def _mma(op: Operation, ip: InsertionPoint, memory: Value) -> Value:
    a, b, c = (llvm.moved(memory, words * _WORD, ip) for words in (0, 4, 6))
    for number, value in enumerate(op.operands):
        place = llvm.moved(memory, number * _WORD, ip)
        Operation.create("llvm.store", [], [value, place], ip=ip)
    type = str(op.attributes["multiplicandAPtxType"])
    kind = llvm.constant(next(_MMA_KINDS[name] for name in _MMA_KINDS if f"<{name}>" in type), ip)
    llvm.call("cuda_mma", [kind, c, a, b, c], [], ip)
    return Operation.create("llvm.load", [op.results[0].type], [c], ip=ip).results[0]


def _to_tf32(op: Operation, ip: InsertionPoint, memory: Value) -> Value:
    made = llvm.call("cuda_to_tf32", [op.operands[0]], [op.results[0].type], ip)
    return made.results[0]


CALLS: Mapping[str, Replacement] = MappingProxyType(
    {
        "nvvm.barrier0": _barrier,
        "nvvm.cp.async.shared.global": _copy,
        "nvvm.cp.async.commit.group": _commit,
        "nvvm.cp.async.wait.group": _wait,
        "nvvm.ldmatrix": _load_matrix,
        "nvvm.mma.sync": _mma,
        "nvvm.convert.float.to.tf32": _to_tf32,
    }
)
