# SPDX-License-Identifier: Apache-2.0
"""What loops and branches hand on of a thread's tiles: fragments and accumulators in registers.

`mma.sync` takes and gives single registers. As one vector, LLVM would put a hundred of them
together at the end of each iteration, to take them apart again at its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xtc.ir.mlir import IntegerType, RankedTensorType, Type, Value, VectorType, vector
from xtc.ir.tile_dialect import known_layout
from xtc_targets.nvgpu.passes._tile_memory import bytes_of
from xtc_targets.nvgpu.passes._tile_mma import has_matrices

_WORD = 4  # bytes of a register


def carried_types(tile: Type, own: Type) -> list[Type]:
    """The types in which a value of type `own`, a thread's part of `tile`, is handed on."""
    registers = _registers(tile, own)
    if registers is None:
        return [own]
    return [registers.element_type] * int(registers.shape[0])


def carried(tile: Type, value: Any) -> list[Any]:
    """A value as it is handed on."""
    registers = _registers(tile, value.type) if isinstance(value, Value) else None
    if registers is None:
        return [value]
    words = value if value.type == registers else vector.bitcast(registers, value)
    return [vector.extract(words, [], [n]) for n in range(registers.shape[0])]


def taken_over(tile: Type, own: Type, parts: Iterator[Value]) -> Value:
    """The value of type `own` that the next of these parts are."""
    registers = _registers(tile, own)
    if registers is None:
        return next(parts)
    given: Sequence[Value] = [next(parts) for _ in range(registers.shape[0])]
    words = vector.from_elements(registers, given)
    return words if own == registers else vector.bitcast(own, words)


def _registers(tile: Type, own: Type) -> VectorType | None:
    """A vector of as many bits as `own` whose elements are registers; None for other tiles."""
    if not isinstance(tile, RankedTensorType) or not has_matrices(known_layout(tile)):
        return None
    whole = VectorType(own)
    nbytes = bytes_of(whole.element_type)
    if nbytes == _WORD:
        return whole
    if nbytes * 2 != _WORD or whole.shape[0] % 2:
        return None
    return VectorType.get([whole.shape[0] // 2], IntegerType.get_signless(8 * _WORD))
