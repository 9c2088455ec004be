# SPDX-License-Identifier: Apache-2.0
"""Contractions of narrow operands with wider accumulators."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xtc.ir.analysis.contractions import narrow_contraction
from xtc.ir.analysis.structured import Structured, body_operations
from xtc_targets.host.passes._dot_instructions import Dot

SMALL_WORK = 16384  # multiply-adds; smaller contractions read their operands in place
FEW_ROWS = 4  # with fewer rows, a copy of the panel, read once per row, does not pay
FEW_COLUMNS = 4  # with fewer columns, most lanes of an accumulator would be empty


@dataclass(frozen=True)
class NarrowContraction:
    """result[..., row, column] += wide(a[..., row, k]) * wide(panel[..., k, column]).

    Attributes:
        nest: the operation.
        column: the loop over contiguous elements of the result.
        k: the reduction loop.
    """

    nest: Structured
    column: int
    k: int

    @property
    def pays(self) -> bool:
        """Whether copies of the operands save more than they cost."""
        extents, panel = self.nest.extents, self.loops(1)
        rows = math.prod(extents[loop] for loop in self.loops(0) if loop not in panel)
        enough = rows >= FEW_ROWS and self.columns >= FEW_COLUMNS
        return enough and math.prod(extents) >= SMALL_WORK

    @property
    def element(self) -> str:
        """The element type of a and of the panel, in MLIR's spelling."""
        return str(self.nest.op.operands[0].type.element_type)

    @property
    def unsigned(self) -> bool:
        """Whether a is unsigned; the panel never is."""
        return str(body_operations(self.nest.op)[0].name) == "arith.extui"

    def suits(self, dot: Dot) -> bool:
        """Whether the instruction takes these elements, directly or after widening."""
        takes = not self.unsigned or dot.offset or dot.element != self.element
        return takes and dot.total == self.total

    @property
    def total(self) -> str:
        """The element type of the result, in MLIR's spelling."""
        return str(self.nest.op.operands[2].type.element_type)

    @property
    def k_extent(self) -> int:
        """The K extent."""
        return self.nest.extents[self.k]

    @property
    def columns(self) -> int:
        """Number of elements in a row of the result."""
        return self.nest.extents[self.column]

    def loops(self, operand: int) -> list[int]:
        """The loop over each dimension of an operand."""
        rows = self.nest.indices[operand]
        return [loop for index in rows if (loop := index.loop) is not None]

    def inner_last(self, operand: int, *inner: int) -> list[int]:
        """The loops over an operand's dimensions, with `inner` last."""
        return [loop for loop in self.loops(operand) if loop not in inner] + list(inner)


def host_contraction(nest: Structured) -> NarrowContraction | None:
    """The operation as a narrow contraction; None for other operations."""
    found = narrow_contraction(nest)
    return None if found is None else NarrowContraction(nest, nest.out[-1], found.roles.k[0])
