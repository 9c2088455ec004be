# SPDX-License-Identifier: Apache-2.0
"""Passes fragments, accumulators and long vectors through loops and branches as single registers.

The operands and results of `mma.sync` are single registers. If a loop carried a vector, LLVM would
assemble it from a hundred of them at the end of each iteration, and split it again in the next.
It also takes seconds to select instructions for a vector of a hundred elements in a phi.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xtc.ir.mlir import IntegerType, RankedTensorType, Type, Value, VectorType, vector
from xtc.ir.tile_dialect import known_layout
from xtc_targets.nvgpu.passes._tiles.mma import has_matrices
from xtc_targets.nvgpu.passes._tiles.shared_memory import bytes_of

_WORD = 4  # bytes of a register
_SHORT = 16  # elements of a vector that LLVM selects as a few registers


def carried_types(tile: Type, own: Type) -> list[Type]:
    """The types that carry a value of type `own`, a thread's elements of `tile`."""
    registers = _registers(tile, own)
    if registers is None:
        return [own]
    return [registers.element_type] * int(registers.shape[0])


def carried(tile: Type, value: Any) -> list[Any]:
    """The carried values of a value."""
    registers = _registers(tile, value.type) if isinstance(value, Value) else None
    if registers is None:
        return [value]
    words = value if value.type == registers else vector.bitcast(registers, value)
    return [vector.extract(words, [], [n]) for n in range(registers.shape[0])]


def taken_over(tile: Type, own: Type, parts: Iterator[Value]) -> Value:
    """The value of type `own` that the next carried values form."""
    registers = _registers(tile, own)
    if registers is None:
        return next(parts)
    given: Sequence[Value] = [next(parts) for _ in range(registers.shape[0])]
    words = vector.from_elements(registers, given)
    return words if own == registers else vector.bitcast(own, words)


def _registers(tile: Type, own: Type) -> VectorType | None:
    """The type of `own` as a vector of 32-bit registers; None unless `tile` has fragments."""
    if not isinstance(tile, RankedTensorType):
        return None
    whole = VectorType(own)
    if whole.shape[0] <= _SHORT and not has_matrices(known_layout(tile)):
        return None
    nbytes = bytes_of(whole.element_type)
    if nbytes >= _WORD:
        return whole
    if nbytes * 2 != _WORD or whole.shape[0] % 2:
        return None
    return VectorType.get([whole.shape[0] // 2], IntegerType.get_signless(8 * _WORD))
