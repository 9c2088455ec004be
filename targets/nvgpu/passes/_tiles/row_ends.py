# SPDX-License-Identifier: Apache-2.0
"""The ends of rows in global memory that divide a thread's vectors."""

from __future__ import annotations

from functools import partial

from xtc.ir.builders import control
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import Number, compare, subtract
from xtc.ir.mlir import Value, VectorType, arith
from xtc_targets.nvgpu.passes._thread_code import as_i32, zeros
from xtc_targets.nvgpu.passes._tiles.bounds import both, chosen, loaded
from xtc_targets.nvgpu.passes._tiles.shared_memory import (
    assembled,
    bytes_of,
    load_vector,
    part,
    store_vector,
)


class RowEnds:
    """The end of a tensor along the last dimension of a tile, for a thread's vectors.

    A vector that the end divides is accessed element by element. The branch to these accesses is
    uniform: only tiles at the end of a tensor take it, and only if a vector is divided there.

    Args:
        size: of the tensor.
        offset: of the tile.
        start: the index of the thread's first element.
        extent: of the tile.
    """

    def __init__(self, size: Number, offset: Number, start: Number, extent: int) -> None:
        self._size, self._extent = size, extent
        self._rest = subtract(size, offset)
        self._left = subtract(size, start)

    def divides(self, count: int) -> Value:
        """Whether the end divides a vector of `count` elements of any thread."""
        here = compare("ult", as_i32(self._rest), self._extent)
        over = arith.andi(as_i32(self._size), as_i32(count - 1))
        return arith.andi(here, compare("ne", over, 0))

    def kept(self, steps: int) -> Value:
        """Elements before the end, from the one `steps` behind the thread's first; any number if
        there are none."""
        return as_i32(subtract(self._left, steps))

    def _is_divided(self, kept: Value, count: int, row: Value | bool) -> Value | bool:
        return both(row, compare("ult", subtract(kept, 1), count - 1))

    def load(self, value: Value, address: Value, steps: int, row: Value | bool) -> Value:
        """A vector with its elements before the end, if the end divides it; else `value`."""
        type, kept = VectorType(value.type), self.kept(steps)
        count, element = type.shape[0], type.element_type
        single = VectorType.get([1], element)

        def elements() -> list[Value]:
            parts = []
            for at in range(count - 1):
                load = partial(load_vector, advanced(address, at * bytes_of(element)), element, 1)
                is_kept = True if at == 0 else compare("ugt", kept, at)
                parts.append(([at], loaded(is_kept, single, load)))
            return [assembled([*parts, ([count - 1], zeros(single))], element, count)]

        return chosen(self._is_divided(kept, count, row), [type], elements, lambda: [value])[0]

    def store(self, value: Value, address: Value, steps: int, row: Value | bool) -> None:
        """Store the elements of a vector before the end, if the end divides it."""
        type, kept = VectorType(value.type), self.kept(steps)
        with control.branch(self._is_divided(kept, type.shape[0], row)):
            for at in range(type.shape[0] - 1):
                with control.branch(True if at == 0 else compare("ugt", kept, at)):
                    store_vector(
                        part(value, [at]), advanced(address, at * bytes_of(type.element_type))
                    )
