# SPDX-License-Identifier: Apache-2.0
"""call-micro-kernels: lowers contractions to calls of functions that accumulate in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders import control, numbers
from xtc.ir.builders.functions import call
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import IndexType, InsertionPoint, Operation, Value, all_operations
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local import _view_layouts as layouts
from xtc_passes.local._functions import declare, functions
from xtc_targets.mppa.passes._micro_kernel_loops import MatmulLoops, matmul_loops, parts

PREFIX = "uk_mma_"
"""The prefix of the names of micro-kernels; `uk_mma_4x16_f32` has 4 rows and 16 columns."""


@dataclass(frozen=True)
class CallMicroKernels(Pass):
    """Cut contractions into tiles that micro-kernels compute.

    Before:
        linalg.matmul ins(%a, %b) outs(%c)         // 8x64 by 64x16
    After:
        scf.for %i = 0 to 8 step 4 {
          call @uk_mma_4x16_f32(%c64, %a_i, %c64, %c1, %b, %c16, %c_i, %c16) : (index, ..) -> () }

    A micro-kernel takes the K extent, then addresses and strides in elements: of a along rows and
    along K, of b along K, of c along rows. Columns are contiguous in b and c. Convolutions are
    handled too, with loops around the calls. Other contractions, such as those with a transposed
    second operand, stay linalg operations. Remainders of dimensions use smaller micro-kernels. The
    C definitions are in `targets/mppa/csrc/uk_mma.h`; define-micro-kernels generates those for
    LLVM.

    Attributes:
        rows: most rows of a micro-kernel.
        columns: most columns; the 4 x 16 accumulators fill 8 of the 48 registers of a PE.
    """

    name: ClassVar[str] = "call-micro-kernels"
    rows: int = 4
    columns: int = 16

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for function in functions(module):
                for op in all_operations(function):
                    found = matmul_loops(op)
                    if found is not None:
                        with op.location, InsertionPoint(op):
                            _Tiling(self, module, found).build()
                        op.erase()


class _Tiling:
    """Writes the calls of one operation."""

    def __init__(self, owner: CallMicroKernels, module: Operation, found: MatmulLoops) -> None:
        self._owner, self._module, self._found = owner, module, found
        operands = list(found.linalg.op.operands)
        self._numbers = (found.a, found.b, 2)
        self._positions = [layouts.layout(operands[number]) for number in self._numbers]
        self._extents = found.linalg.extents() or []

    def build(self) -> None:
        found = self._found
        rows: Offset = 1 if found.rows is None else self._extents[found.rows]
        with self._loops(found.around, [0, 0, 0]) as ahead:
            for first, count, height in parts(rows, self._owner.rows):
                with self._tiles(found.rows, first, count, height, ahead) as moved:
                    self._row(height, moved)

    def _row(self, height: int, ahead: Sequence[Offset]) -> None:
        columns = self._found.columns
        for first, count, width in parts(self._extents[columns], self._owner.columns):
            with self._tiles(columns, first, count, width, ahead) as moved:
                self._call(height, width, moved)

    @contextmanager
    def _loops(self, loops: Sequence[int], ahead: Sequence[Offset]) -> Iterator[Sequence[Offset]]:
        if not loops:
            yield ahead
            return
        with (
            self._tiles(loops[0], 0, self._extents[loops[0]], 1, ahead) as moved,
            self._loops(loops[1:], moved) as all_moved,
        ):
            yield all_moved

    @contextmanager
    def _tiles(
        self, loop: int | None, first: Offset, count: Offset, size: int, ahead: Sequence[Offset]
    ) -> Iterator[Sequence[Offset]]:
        """A loop over tiles; yields the offsets of operands in elements."""
        if count == 1:
            yield self._moved(loop, first, ahead)
            return
        with control.loop(0, count) as tile:
            index = numbers.add(first, numbers.multiply(tile.index, size))
            yield self._moved(loop, index, ahead)

    def _moved(self, loop: int | None, index: Offset, ahead: Sequence[Offset]) -> list[Offset]:
        strides = (self._found.stride(number, loop) for number in self._numbers)
        return [
            numbers.add(elements, numbers.multiply(index, stride))
            for elements, stride in zip(ahead, strides, strict=True)
        ]

    def _call(self, height: int, width: int, ahead: Sequence[Offset]) -> None:
        name = f"{PREFIX}{height}x{width}_{self._found.dtype}"
        declare(self._module, name, [IndexType.get()] * 8)
        call(name, self._arguments(ahead))

    def _arguments(self, ahead: Sequence[Offset]) -> list[Value]:
        found = self._found
        a, b, c = (
            position.address(moved) for position, moved in zip(self._positions, ahead, strict=True)
        )
        a_row, c_row = (found.stride(number, found.rows) for number in (found.a, 2))
        a_k, b_k = (found.stride(number, found.depth) for number in (found.a, found.b))
        values = (self._extents[found.depth], a, a_row, a_k, b, b_k, c, c_row)
        return list(map(numbers.as_value, values))
