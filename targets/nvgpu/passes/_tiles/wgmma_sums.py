# SPDX-License-Identifier: Apache-2.0
"""Accumulators of warpgroup multiplications as structs of registers.

A register holds one float32 or int32, or two float16 of adjacent columns ("PTX ISA", register
fragments for wgmma).
"""

from __future__ import annotations

from xtc.ir.mlir import IntegerType, Type, Value, VectorType, vector
from xtc.ir.mlir_llvm import llvm


def per_register(kind: Type) -> int:
    """The number of accumulators of a type per register."""
    return 2 if str(kind) == "f16" else 1


def packed(elements: list[Value]) -> Value:
    """A thread's accumulators as a struct of registers."""
    held = per_register(elements[0].type)
    if held > 1:
        starts = range(0, len(elements), held)
        elements = [_register(elements[at : at + held]) for at in starts]
    type = Type.parse(f"!llvm.struct<({', '.join([str(elements[0].type)] * len(elements))})>")
    found: Value = llvm.mlir_undef(type)
    for at, element in enumerate(elements):
        found = llvm.insertvalue(found, element, [at])
    return found


def unpacked(total: Value, count: int, kind: Type) -> list[Value]:
    """The `count` accumulators in a struct of registers."""
    held = per_register(kind)
    if held == 1:
        return [llvm.extractvalue(kind, total, [at]) for at in range(count)]
    words = [llvm.extractvalue(_word(), total, [at]) for at in range(count // held)]
    pairs = [_elements(word, held, kind) for word in words]
    return [vector.extract(pair, [], [at]) for pair in pairs for at in range(held)]


def _register(elements: list[Value]) -> Value:
    together = vector.from_elements(VectorType.get([len(elements)], elements[0].type), elements)
    return vector.extract(vector.bitcast(VectorType.get([1], _word()), together), [], [0])


def _elements(word: Value, count: int, kind: Type) -> Value:
    alone = vector.from_elements(VectorType.get([1], _word()), [word])
    return vector.bitcast(VectorType.get([count], kind), alone)


def _word() -> Type:
    return IntegerType.get_signless(32)
