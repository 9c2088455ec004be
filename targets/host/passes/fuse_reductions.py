# SPDX-License-Identifier: Apache-2.0
"""fuse-reductions: fuses a row reduction with the producer of its operand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import unscheduled_reductions
from xtc.ir.analysis.structured import (
    Structured,
    body_operations,
    combining_operation,
    labels,
    structured,
)
from xtc.ir.attributes import EXTERNAL, KERNEL, LOOP_SCHEDULE
from xtc.ir.builders.generic import generic, yield_
from xtc.ir.fast_math import allows
from xtc.ir.mlir import InsertionPoint, Operation, OpView, RankedTensorType, Value
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class FuseReductions(Pass):
    """Fuse an elementwise operation and a reduction of its result into one with two results.

    The elementwise result has other readers too, such as the exponentials of a softmax; if the
    reduction is the only reader, `fuse-elementwise` has already fused them. The order of the
    reduction must be free (`relax-reductions`), so that it can run on vectors.

    Before:
        %e = linalg.generic ins(%x) outs(%d) { math.exp }
        %s = linalg.generic ins(%e) outs(%zero) { arith.addf fastmath<reassoc> }
    After:
        %e, %s = linalg.generic ins(%x) outs(%d, %zero) { math.exp; arith.addf fastmath<reassoc> }
    """

    name: ClassVar[str] = "fuse-reductions"

    def run(self, module: Operation) -> None:
        with module.context:
            for total in unscheduled_reductions(module):
                source = _source(total)
                if source is not None:
                    with total.op.location:
                        _fuse(source, total)


def _source(total: Structured) -> Structured | None:
    """The elementwise producer of a reduction's only operand, if the two can be fused, or None."""
    combining = combining_operation(total.op)
    if combining is None or not allows(combining, "reassoc") or total.destination != 1:
        return None
    value = total.op.operands[0]
    if not isinstance(value.type, RankedTensorType) or not _is_whole(total, 0):
        return None
    producer = value.owner
    producer = producer.operation if isinstance(producer, OpView) else producer
    if not isinstance(producer, Operation) or producer.parent != total.op.parent:
        return None
    source = structured(producer)
    fits = source is not None and _is_elementwise(source) and source.device == total.device
    return source if fits and _is_read_later(producer, total.op) else None


def _is_whole(nest: Structured, number: int) -> bool:
    """Whether an operand has one element per iteration, in the order of the loops."""
    loops = [index.loop for index in nest.indices[number]]
    return loops == list(range(len(nest.extents)))


def _is_elementwise(nest: Structured) -> bool:
    op = nest.op
    settled = any(name in op.attributes for name in (LOOP_SCHEDULE, KERNEL, EXTERNAL))
    if settled or op.name != "linalg.generic" or nest.reads_destination:
        return False
    plain = all(not inner.regions and inner.name != "linalg.index" for inner in body_operations(op))
    return plain and _is_whole(nest, nest.destination)


def _is_read_later(producer: Operation, total: Operation) -> bool:
    """Whether all other users of the result follow the reduction, in the same block."""
    block = [op.operation for op in total.block.operations]
    after = block[block.index(total) + 1 :]
    users = [use.owner for use in producer.results[0].uses]
    return all(user == total or user.operation in after for user in users)


def _fuse(source: Structured, total: Structured) -> None:
    apart = [number for number in range(source.destination) if not _is_overwritten(source, number)]
    numbers = [*apart, source.destination]
    operands = [(source.op.operands[number], source.indices[number]) for number in numbers]
    operands.append((total.op.operands[total.destination], total.indices[total.destination]))
    attributes = {**labels(source.op), **labels(total.op)}
    ip = InsertionPoint(total.op)
    loops, reductions = len(total.extents), total.reductions
    both = generic(operands, loops, reductions, attributes, ip, destinations=2)
    *arguments, old, sum = both.regions[0].blocks[0].arguments
    read = dict(zip(apart, arguments, strict=True))
    element = _moved(source, [read.get(n, old) for n in range(source.destination + 1)], both)
    added = _moved(total, [element, sum], both)
    yield_([element, added], InsertionPoint(both.regions[0].blocks[0]))
    for nest, result in zip((total, source), reversed(both.results), strict=True):
        nest.result.replace_all_uses_with(result)
        nest.op.erase()


def _is_overwritten(nest: Structured, number: int) -> bool:
    """Whether the result overwrites the operand, element by element.

    It is then read through the destination: bufferization would copy an operand that an operation
    with a reduction overwrites.
    """
    value, to = nest.op.operands[number], nest.op.operands[nest.destination]
    return value == to and _is_whole(nest, number)


def _moved(nest: Structured, values: Sequence[Value], to: Operation) -> Value:
    """Move the body of `nest` to the end of `to`; returns its result on `values`."""
    for argument, value in zip(nest.body.arguments, values, strict=True):
        argument.replace_all_uses_with(value)
    *ops, end = body_operations(nest.op)
    for op in ops:
        to.regions[0].blocks[0].append(op)
    return end.operands[0]
