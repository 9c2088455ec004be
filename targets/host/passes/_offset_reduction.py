# SPDX-License-Identifier: Apache-2.0
"""Initial values of contractions whose operand a is offset by 128 and read as unsigned.

The offset adds 128 times the sum of the panel's column to each result. Subtracting it is exact,
because both wrap around at 32 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.generic import generic
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import InsertionPoint, Value, arith
from xtc_targets.host.passes._contraction_bodies import BodyWriter
from xtc_targets.host.passes._narrow_contraction import NarrowContraction
from xtc_targets.host.passes._operand_copies import axis, constant, zeros

OFFSET = 128


def without_offset(
    contraction: NarrowContraction,
    panel: Value,
    loops: Sequence[int],
    accumulated: Value,
    ip: InsertionPoint,
) -> Value:
    """`accumulated` minus the contribution of the offset; `loops` index the panel's dimensions."""
    kept = [loop for loop in loops if loop != contraction.k]
    column_sums = _column_sums(contraction, panel, loops, kept, ip)
    out = contraction.loops(2)
    producer = owner(accumulated)
    filled = (
        producer.operands[0] if producer is not None and producer.name == "linalg.fill" else None
    )
    target = accumulated if filled is None else empty(shape_of(accumulated), accumulated, ip)
    rows = [axis(out.index(loop)) for loop in kept], [axis(n) for n in range(len(out))]
    op = generic(list(zip((column_sums, target), rows, strict=True)), len(out), (), {}, ip)
    write = BodyWriter.of(op)
    total, old = write.block.arguments
    times = constant(total.type, -OFFSET, write.end)
    less = write.op(arith.muli, total, times)
    write.finish(write.op(arith.addi, old if filled is None else filled, less))
    return op.results[0]


def _column_sums(
    contraction: NarrowContraction,
    panel: Value,
    loops: Sequence[int],
    kept: Sequence[int],
    ip: InsertionPoint,
) -> Value:
    """The sums of the panel's elements over K."""
    sizes = dict(zip(loops, shape_of(panel), strict=True))
    start = zeros([sizes[loop] for loop in kept], contraction.nest.op.operands[2], ip)
    order = [*kept, contraction.k]
    rows = [axis(order.index(loop)) for loop in loops], [axis(n) for n in range(len(kept))]
    operands = list(zip((panel, start), rows, strict=True))
    op = generic(operands, len(order), [len(kept)], {}, ip)
    write = BodyWriter.of(op)
    element, total = write.block.arguments
    wide = write.op(arith.extsi, total.type, element)
    write.finish(write.op(arith.addi, total, wide))
    return op.results[0]
