# SPDX-License-Identifier: Apache-2.0
"""order-loops: moves a loop that compilers can vectorize innermost in reductions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import unscheduled_reductions
from xtc.ir.analysis.structured import FEW_ROWS, SMALL_BYTES, Structured, body_operations, labels
from xtc.ir.attributes import LOOP_DIMS
from xtc.ir.builders.generic import generic
from xtc.ir.mlir import ArrayAttr, InsertionPoint, Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class OrderLoops(Pass):
    """Put a parallel loop of unit stride innermost in contractions, convolutions and poolings.

    Consecutive iterations then write consecutive elements and read consecutive or equal elements,
    and each element is still accumulated in order: vectorization does not reorder reductions. The
    parallel loop before it moves into the reductions too, if each of its iterations would otherwise
    read a large operand again. Reductions along rows have no such loop; there, a loop over a few
    rows, whose accumulations are independent, moves innermost.

    Before:
        linalg.matmul {loop.dims = ["i", "j", "k"]}
    After:
        linalg.generic {loop.dims = ["k", "i", "j"]}

    Attributes:
        bytes: largest part of the result that the two innermost loops accumulate.
    """

    name: ClassVar[str] = "order-loops"
    bytes: int = 65536

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for nest in unscheduled_reductions(module):
                order = _order(nest, self.bytes)
                if order is not None and order != sorted(order):
                    _interchange(nest, order)


def _order(nest: Structured, bytes: int) -> list[int] | None:
    """The best order of the loops of `nest`, outermost first; None to keep the order."""
    inner = nest.last_parallel_loop
    if inner is None or not (nest.vector_loop == inner or _crosses_few_rows(nest, inner)):
        return None
    parallel = [loop for loop in nest.out if loop != inner]
    if parallel and _is_read_again(nest, parallel[-1]):
        tile = nest.touched_bytes(nest.destination, parallel[:-1])
        if tile <= bytes:
            return [*parallel[:-1], *nest.reductions, parallel[-1], inner]
    return [*parallel, *nest.reductions, inner]


def _crosses_few_rows(nest: Structured, inner: int) -> bool:
    return nest.crosses_rows and nest.extents[inner] <= FEW_ROWS


def _is_read_again(nest: Structured, loop: int) -> bool:
    """Whether every iteration of `loop` would read the same large operand."""
    still = nest.out[: nest.out.index(loop) + 1]
    return any(
        not nest.uses_loop(number, loop) and nest.touched_bytes(number, still) > SMALL_BYTES
        for number in range(nest.destination)
    )


def _interchange(nest: Structured, order: list[int]) -> None:
    """Rebuild `nest` with loop `order[n]` at position n."""
    positions = [order.index(loop) for loop in range(len(order))]
    rows = [tuple(index.renamed(positions) for index in row) for row in nest.indices]
    attributes = labels(nest.op)
    names = list(attributes.get(LOOP_DIMS, ()))
    if len(names) == len(order):
        attributes[LOOP_DIMS] = ArrayAttr.get([names[loop] for loop in order])
    with nest.op.location:
        op = generic(
            list(zip(nest.op.operands, rows, strict=True)),
            len(order),
            [positions[loop] for loop in nest.reductions],
            attributes,
            InsertionPoint(nest.op),
        )
    block = op.regions[0].blocks[0]
    for old, new in zip(nest.body.arguments, block.arguments, strict=True):
        old.replace_all_uses_with(new)
    for inner in body_operations(nest.op):
        block.append(inner)
    for result, value in zip(nest.op.results, op.results, strict=True):
        result.replace_all_uses_with(value)
    nest.op.erase()
