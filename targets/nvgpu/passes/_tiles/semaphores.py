# SPDX-License-Identifier: Apache-2.0
"""Semaphores in global memory, which the first thread of a block polls or writes."""

from __future__ import annotations

from xtc.ir.builders import control
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import compare
from xtc.ir.mlir import Block, InsertionPoint, IntegerType, Operation, Value, arith, scf
from xtc.ir.mlir_llvm import llvm
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._thread_code import as_i32, wide_signed
from xtc_targets.nvgpu.passes._tiles.groups import barrier

_BYTES = 4
_PAUSE = 20  # nanoseconds between polls


def lock(op: Operation, address: Value, offset: Value, value: Value, thread: Value) -> None:
    """Wait until the word has this value, then let all threads continue."""
    word = _word(address, offset)
    with control.branch(compare("eq", thread, 0)):
        loop = scf.WhileOp([], [])
        before, after = (Block.create_at_start(region, []) for region in loop.regions)
        with InsertionPoint(before):
            found = llvm.load(
                IntegerType.get_signless(32),
                word,
                alignment=_BYTES,
                ordering=llvm.AtomicOrdering.acquire,
                syncscope="device",
            )
            scf.condition(arith.cmpi(arith.CmpIPredicate.ne, found, value), [])
        with InsertionPoint(after):
            nvvm.nanosleep(as_i32(_PAUSE))
            scf.yield_([])
    barrier(op)


def release(address: Value, offset: Value, value: Value, thread: Value) -> None:
    """Write the word with release semantics."""
    word = _word(address, offset)
    with control.branch(compare("eq", thread, 0)):
        llvm.store(
            value,
            word,
            alignment=_BYTES,
            ordering=llvm.AtomicOrdering.release,
            syncscope="device",
        )


def _word(address: Value, offset: Value) -> Value:
    return advanced(address, arith.muli(wide_signed(offset), wide_signed(_BYTES)))
