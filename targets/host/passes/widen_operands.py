# SPDX-License-Identifier: Apache-2.0
"""widen-operands: widens the operands of narrow contractions before the loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.linalg_ops import remove_attributes
from xtc.ir.analysis.structured import labels, structured
from xtc.ir.attributes import LOOP_SCHEDULE, SCHEDULED_PREFIX
from xtc.ir.builders.generic import generic
from xtc.ir.mlir import InsertionPoint, Operation, arith
from xtc.ir.passes import Pass
from xtc.loops import Nest
from xtc.loops.nest_attribute import nest_attribute
from xtc_passes.tensor._grouped_reduction import group_loops
from xtc_passes.tensor._scheduled import Scheduled
from xtc_passes.tensor.apply_schedules import ApplySchedules
from xtc_targets.host.passes._contraction_bodies import write_multiply_add
from xtc_targets.host.passes._grouped_schedules import computing
from xtc_targets.host.passes._narrow_contraction import NarrowContraction, host_contraction
from xtc_targets.host.passes._operand_copies import Body, axis, copied, untransposed

_ROWS, _PANEL = 0, 1
_WIDE = "f32"


@dataclass(frozen=True)
class WidenOperands(Pass):
    """Convert each operand of a scheduled contraction once, instead of at each read.

    The pass is for vectorized contractions of float16, and of bfloat16 without dot-product
    instructions. An operand is converted in the loop that packs it, or else before all loops.

    Before:
        linalg.matmul {loop.schedule = ["j=pack:1", "i", "k", "j#32=vectorize"]}
            ins(%a, %b : 8x64xf16, 64x64xf16) outs(%c : 8x64xf32)
    After:
        %x = linalg.generic ins(%a : 8x64xf16) outs(8x64xf32) { arith.extf }
        %y = linalg.generic ins(%b : 64x64xf16) outs(64x64xf32) { arith.extf }
        linalg.generic {loop.schedule = ["j=fuse:1", "i", "k", "j#32=vectorize"]} ins(%x, %y)
    """

    name: ClassVar[str] = "widen-operands"

    def run(self, module: Operation) -> None:
        found = ApplySchedules().nests(module)
        with module.context:
            for scheduled in found:
                nest = structured(scheduled.op)
                contraction = host_contraction(nest) if nest is not None else None
                if contraction is not None and _is_suitable(contraction, scheduled):
                    with scheduled.op.location:
                        _rewrite(contraction, scheduled.nest, InsertionPoint(scheduled.op))
            remove_attributes(module, SCHEDULED_PREFIX)


def _is_suitable(contraction: NarrowContraction, scheduled: Scheduled) -> bool:
    """Whether floats are vectorized, and the schedule does not fuse their producers anyway."""
    loops = [loop for nest in scheduled.nest.walk() for loop in nest.loops]
    return (
        contraction.total == _WIDE
        and any(loop.vectorize for loop in loops)
        and not group_loops(scheduled.nest)
        and not any(loop.fuse or loop.distribute or loop.shard for loop in loops)
        and not scheduled.nest.segments
    )


def _rewrite(contraction: NarrowContraction, loops: Nest, ip: InsertionPoint) -> None:
    nest = contraction.nest
    a, panel, results = nest.op.operands
    orders = [
        contraction.loops(_ROWS),
        contraction.inner_last(_PANEL, contraction.k, contraction.column),
    ]
    panel, before = untransposed(panel, contraction.loops(_PANEL))
    widening = Body(arith.extf, element=_WIDE)
    operands = [
        copied(a, orders[_ROWS], orders[_ROWS], widening, ip),
        copied(panel, before, orders[_PANEL], widening, ip),
        results,
    ]
    rows = [[axis(loop) for loop in row] for row in (*orders, contraction.loops(2))]
    schedule = nest_attribute(computing(computing(loops, _PANEL), _ROWS))
    op = generic(
        list(zip(operands, rows, strict=True)),
        len(nest.extents),
        nest.reductions,
        labels(nest.op) | {LOOP_SCHEDULE: schedule},
        ip,
    )
    write_multiply_add(op)
    nest.result.replace_all_uses_with(op.results[0])
    nest.op.erase()
