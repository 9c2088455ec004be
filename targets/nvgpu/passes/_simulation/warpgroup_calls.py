# SPDX-License-Identifier: Apache-2.0
"""Calls the simulator for warpgroup multiplications, once per chain of accumulations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xtc.core.errors import CompileError
from xtc.ir.builders.llvm import advanced, call, constant
from xtc.ir.mlir import (
    DenseI64ArrayAttr,
    InsertionPoint,
    Operation,
    Type,
    Value,
    VectorType,
    all_operations,
)
from xtc.ir.mlir_llvm import llvm
from xtc_targets.nvgpu.passes._tiles.wgmma_registers import A_WORDS, FROM_REGISTERS, KINDS, PINNED

WGMMA = "nvvm.wgmma.mma_async"
MOST_STEPS = 8
"""Maximum multiplications per call: `STEPS` of `csrc/gpu_wgmma.c`."""

_SHAPE = re.compile(r"m = 64, n = (\d+), k = (?:8|16|32)")
_HEAD, _STEP_BYTES, _SUM_BYTES = 48, 8, 512
_BYTES = _HEAD + 2 * MOST_STEPS * _STEP_BYTES + _SUM_BYTES
"""Bytes of `cuda_wgmma_operands`, of a descriptor, of a lane's accumulators, and in total."""

_A_REGISTERS, _A_POINTER, _B_POINTER = 24, 32, 40  # in `cuda_wgmma_operands`


def replace_multiplications(kernel: Operation) -> None:
    """Replace a kernel's warpgroup multiplications."""
    for op in [op for op in all_operations(kernel) if PINNED in op.attributes]:
        _drop(op)
    ops = [op for op in all_operations(kernel) if op.name == WGMMA]
    others = [op for op in all_operations(kernel) if FROM_REGISTERS in op.attributes]
    if not ops and not others:
        return
    with kernel.location:
        ip = InsertionPoint.at_block_begin(kernel.regions[0].blocks[0])
        words = constant(_BYTES // 4, ip)
        memory = llvm.alloca(Type.parse("!llvm.ptr"), words, words.type, alignment=16, ip=ip)
    for chain in _chains(ops):
        with chain[-1].location:
            _call(chain, memory)
    for op in others:
        with op.location:
            _call_from_registers(op, memory)


def _drop(op: Operation) -> None:
    """Replace elements of an operation's result by the operation's operands."""
    for use in list(op.results[0].uses):
        part = use.owner.operation
        (number,) = DenseI64ArrayAttr(part.attributes["position"])
        part.results[0].replace_all_uses_with(op.operands[number])
        part.erase()
    op.erase()


def _chains(ops: list[Operation]) -> list[list[Operation]]:
    """Chains of equal multiplications, each of which accumulates onto the previous result."""
    chains: list[list[Operation]] = []
    for op in ops:
        last = chains[-1] if chains else []
        follows = (
            bool(last)
            and len(last) < MOST_STEPS
            and op.operands[0] == last[-1].results[0]
            and op.block == last[-1].block
            and _kind(op) == _kind(last[-1])
            and not _is_half(op)  # each multiplication rounds
        )
        if follows:
            last.append(op)
        else:
            chains.append([op])
    return chains


def _kind(op: Operation) -> tuple[int, int, bool, bool]:
    """Columns, the number of the operand type, and whether A and B are transposed."""
    shape = _SHAPE.search(str(op.attributes["shape"]))
    type = str(op.attributes["typeA"])
    kinds = [at for at, name in enumerate(KINDS) if f"<{name}>" in type]
    known = bool(kinds) and type == str(op.attributes["typeB"])
    sums = "s32" if kinds and KINDS[kinds[0]] in ("s8", "u8") else "f32"
    right = f"<{sums}>" in str(op.attributes["typeD"]) or (sums == "f32" and _is_half(op))
    if shape is None or not known or not right:
        raise CompileError(f"the simulator has no {op}", where=str(op.location))
    transposed = "col" in str(op.attributes["layoutA"]), "row" in str(op.attributes["layoutB"])
    return int(shape[1]), kinds[0], *transposed


def _is_half(op: Operation) -> bool:
    """Whether the accumulators are float16."""
    return "<f16>" in str(op.attributes["typeD"])


def _call(chain: list[Operation], memory: Value) -> None:
    first, last = chain[0], chain[-1]
    ip = InsertionPoint(last)
    columns, kind, a_transposed, b_transposed = _kind(last)
    numbers = (kind, columns, len(chain), a_transposed, b_transposed, 0)
    tiles = _described(numbers, memory, _A_POINTER, ip)
    for step, op in enumerate(chain):
        for pointer, descriptor in zip(tiles, list(op.operands)[1:3], strict=True):
            llvm.store(descriptor, advanced(pointer, step * _STEP_BYTES, ip), ip=ip)
    sums = advanced(memory, _HEAD + 2 * MOST_STEPS * _STEP_BYTES, ip)
    llvm.store(first.operands[0], sums, ip=ip)
    _add(memory, sums, columns // 2 if _is_half(last) else 0, ip)
    made = llvm.load(last.results[0].type, sums, ip=ip)
    last.results[0].replace_all_uses_with(made)
    for op in reversed(chain):
        op.erase()


def _add(memory: Value, sums: Value, halves: int, ip: InsertionPoint) -> None:
    """Call the simulator, which accumulates onto a lane's float32 or int32 values in memory;
    float16 values are widened before the call and rounded after it."""
    if halves:
        narrow, wide = (VectorType.get([halves], Type.parse(name)) for name in ("f16", "f32"))
        given = llvm.load(narrow, sums, alignment=16, ip=ip)
        llvm.store(llvm.fpext(wide, given, ip=ip), sums, alignment=16, ip=ip)
    call("cuda_wgmma", [memory, sums], [], ip)
    if halves:
        made = llvm.load(wide, sums, alignment=16, ip=ip)
        llvm.store(llvm.fptrunc(narrow, made, ip=ip), sums, alignment=16, ip=ip)


def _described(
    numbers: Sequence[int], memory: Value, a_pointer: int, ip: InsertionPoint
) -> list[Value]:
    """Write the head of `cuda_wgmma_operands`; returns the addresses for A and B."""
    for at, number in enumerate(numbers):
        llvm.store(constant(int(number), ip), advanced(memory, 4 * at, ip), ip=ip)
    tiles = [advanced(memory, _HEAD + n * MOST_STEPS * _STEP_BYTES, ip) for n in (0, 1)]
    for pointer, at in zip(tiles, (a_pointer, _B_POINTER), strict=True):
        llvm.store(pointer, advanced(memory, at, ip), ip=ip)
    return tiles


def _call_from_registers(op: Operation, memory: Value) -> None:
    ip = InsertionPoint(op)
    columns, kind, b_transposed, is_half = DenseI64ArrayAttr(op.attributes[FROM_REGISTERS])
    *given, b = op.operands
    added, words = given[:-A_WORDS], given[-A_WORDS:]
    numbers = (kind, columns, 1, 0, b_transposed, 1)
    a_place, b_place = _described(numbers, memory, _A_REGISTERS, ip)
    for at, word in enumerate(words):
        llvm.store(word, advanced(a_place, 4 * at, ip), ip=ip)
    llvm.store(b, b_place, ip=ip)
    sums = advanced(memory, _HEAD + 2 * MOST_STEPS * _STEP_BYTES, ip)
    for at, number in enumerate(added):
        llvm.store(number, advanced(sums, 4 * at, ip), ip=ip)
    _add(memory, sums, columns // 2 if is_half else 0, ip)
    made = llvm.load(op.results[0].type, sums, ip=ip)
    op.results[0].replace_all_uses_with(made)
    op.erase()
