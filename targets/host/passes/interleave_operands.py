# SPDX-License-Identifier: Apache-2.0
"""interleave-operands: gives operands the layout of dot-product instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.linalg_ops import remove_attributes
from xtc.ir.analysis.structured import labels, shape_of, structured
from xtc.ir.attributes import DOT, LOOP_DIMS, LOOP_SCHEDULE, SCHEDULED_PREFIX
from xtc.ir.builders.generic import generic
from xtc.ir.builders.slices import extract_slice
from xtc.ir.mlir import ArrayAttr, InsertionPoint, Operation, StringAttr, UnitAttr, Value, arith
from xtc.ir.passes import Pass
from xtc.loops import Nest
from xtc.loops.nest_attribute import nest_attribute
from xtc_passes.tensor._grouped_reduction import group_loops, refusal
from xtc_passes.tensor._scheduled import Scheduled
from xtc_passes.tensor.apply_schedules import ApplySchedules
from xtc_targets.host.passes._contraction_bodies import write_multiply_add
from xtc_targets.host.passes._dot_instructions import Dot, dot_for
from xtc_targets.host.passes._grouped_schedules import with_inner_loop
from xtc_targets.host.passes._narrow_contraction import NarrowContraction, host_contraction
from xtc_targets.host.passes._offset_reduction import OFFSET, without_offset
from xtc_targets.host.passes._operand_copies import Body, axis, copied, padded, split, untransposed

_LANES = 4  # of the narrowest instruction; rows of the panel are padded to multiples
_PANEL = 1  # the operand with the columns


@dataclass(frozen=True)
class InterleaveOperands(Pass):
    """Put the elements of K that one instruction reduces next to each other.

    The pass is for contractions whose schedule vectorizes some iterations of K. It adds an
    innermost loop over the elements of a group. If those elements of operand a are not contiguous,
    a is copied. Operand b, the panel, is copied in the loop in which the schedule packs it. K is
    padded with zeros to a multiple of the group, and the columns to whole vectors. If the
    instruction takes a as unsigned, 128 is added to a signed a, and 128 times the column's sum is
    subtracted from the initial values.

    Before:
        linalg.matmul {loop.schedule = ["j=pack:1", "i", "k", "j#32=vectorize", "k#2=vectorize"]}
    After:
        %p = linalg.generic ins(%b : 32x2x64xbf16) outs(32x64x2xbf16)
        linalg.generic {xtc.dot, loop.dims = ["i", "j", "k", "t"], loop.schedule =
          ["j=fuse:1", "i", "k", "j#32=vectorize", "t=vectorize"]} ins(%a : 8x32x2xbf16, %p)

    Attributes:
        features: the processor features with such instructions, in LLVM's spelling; the first one
            that suits a contraction is used.
    """

    name: ClassVar[str] = "interleave-operands"
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        dot_for(self.features, "")

    def run(self, module: Operation) -> None:
        found = [
            scheduled for scheduled in ApplySchedules().nests(module) if group_loops(scheduled.nest)
        ]
        with module.context:
            for scheduled in found:
                contraction, dot = self._contraction(scheduled)
                with scheduled.op.location:
                    _Rewrite(contraction, dot, scheduled.nest, InsertionPoint(scheduled.op)).run()
            remove_attributes(module, SCHEDULED_PREFIX)

    def _contraction(self, scheduled: Scheduled) -> tuple[NarrowContraction, Dot]:
        """The contraction and its instruction. Raises UserError if none suits the schedule."""
        nest = structured(scheduled.op)
        contraction = host_contraction(nest) if nest is not None else None
        dot = dot_for(self.features, contraction.element) if contraction is not None else None
        if contraction is None or dot is None or not _is_suitable(dot, contraction, scheduled.nest):
            raise refusal(scheduled)
        return contraction, dot


def _is_suitable(dot: Dot, contraction: NarrowContraction, loops: Nest) -> bool:
    """Whether the instruction implements the schedule's vectors."""
    groups = group_loops(loops)
    tiles = [loop.tile or 0 for loop in loops.loops if loop.axis == groups[0].axis]
    return (
        not loops.segments
        and len(groups) == 1
        and groups[0].tile == dot.group
        and all(tile % dot.group == 0 for tile in tiles)
        and contraction.suits(dot)
    )


@dataclass(frozen=True)
class _Rewrite:
    contraction: NarrowContraction
    dot: Dot
    loops: Nest
    ip: InsertionPoint

    def run(self) -> None:
        nest = self.contraction.nest
        a, panel, results = nest.op.operands
        panel, loops = untransposed(panel, self.contraction.loops(_PANEL))
        if self._offsets_a:
            results = without_offset(self.contraction, panel, loops, results, self.ip)
        results = padded(results, self._sizes(self.contraction.loops(2)), self.ip)
        operands = [self._rows_of_a(a), self._panel(panel, loops), results]
        result = self._dots(operands)
        whole = shape_of(nest.result)
        result = extract_slice(result, [0] * len(whole), whole, self.ip)
        nest.result.replace_all_uses_with(result)
        nest.op.erase()

    def _extent(self, loop: int) -> int:
        """Iterations of a loop, rounded up to whole groups and whole vectors."""
        extent = self.contraction.nest.extents[loop]
        unit = {self.contraction.k: self.dot.group, self.contraction.column: _LANES}.get(loop, 1)
        return -(-extent // unit) * unit

    def _sizes(self, loops: Sequence[int]) -> list[int]:
        return [self._extent(loop) for loop in loops]

    def _rows_of_a(self, value: Value) -> Value:
        """Operand a with the new loop innermost, as a view if that suffices."""
        loops = self.contraction.loops(0)
        position = loops.index(self.contraction.k)
        value = split(padded(value, self._sizes(loops), self.ip), position, self.dot.group, self.ip)
        before = [*loops[: position + 1], self._last, *loops[position + 1 :]]
        wanted = [*loops, self._last]
        if before == wanted and self._body(0) == Body():
            return value
        return copied(value, before, wanted, self._body(0), self.ip)

    def _panel(self, value: Value, loops: Sequence[int]) -> Value:
        """The panel as [..., k / t, columns, t]."""
        position = loops.index(self.contraction.k)
        value = padded(value, self._sizes(loops), self.ip)
        value = split(value, position, self.dot.group, self.ip)
        loops = [*loops[: position + 1], self._last, *loops[position + 1 :]]
        wanted = [*self._panel_loops, self._last]
        return copied(value, loops, wanted, self._body(1), self.ip)

    @property
    def _last(self) -> int:
        """The new loop, over the elements that one instruction reduces."""
        return len(self.contraction.nest.extents)

    @property
    def _offsets_a(self) -> bool:
        """Whether operand a is signed, but the instruction reads it as unsigned."""
        return self.dot.offset and not self.contraction.unsigned

    def _body(self, operand: int) -> Body:
        if self._offsets_a and operand == 0:
            return Body(arith.xori, constant=-OFFSET)
        if self.dot.element != self.contraction.element:
            unsigned = self.contraction.unsigned and operand == 0
            return Body(arith.extui if unsigned else arith.extsi, element=self.dot.element)
        return Body()

    @property
    def _panel_loops(self) -> list[int]:
        return self.contraction.inner_last(_PANEL, self.contraction.k, self.contraction.column)

    def _dots(self, operands: Sequence[Value]) -> Value:
        """The contraction with the new loop innermost."""
        nest, contraction = self.contraction.nest, self.contraction
        a = [*contraction.loops(0), self._last]
        panel = [*self._panel_loops, self._last]
        rows = [[axis(loop) for loop in row] for row in (a, panel, contraction.loops(2))]
        schedule = with_inner_loop(self.loops, group_loops(self.loops)[0], _PANEL)
        names = [StringAttr.get(name) for name in schedule.space.names]
        attributes = labels(nest.op) | {
            DOT: UnitAttr.get(),
            LOOP_DIMS: ArrayAttr.get(names),
            LOOP_SCHEDULE: nest_attribute(schedule),
        }
        reductions = (contraction.k, self._last)
        op = generic(
            list(zip(operands, rows, strict=True)), self._last + 1, reductions, attributes, self.ip
        )
        signed = arith.extf if self.dot.total == "f32" else arith.extsi
        write_multiply_add(op, (arith.extui if self.dot.offset else signed, signed))
        return op.results[0]
