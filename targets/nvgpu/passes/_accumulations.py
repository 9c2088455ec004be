# SPDX-License-Identifier: Apache-2.0
"""Kernels of contractions and reductions, with the fill of their destination and their epilogue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import Operation
from xtc_targets.nvgpu.passes._epilogue import only_reader
from xtc_targets.nvgpu.passes._marks import mark, own_fill, separate


@dataclass(frozen=True, eq=False)
class Accumulation:
    """A contraction or reduction, the fill of its destination, and its epilogue."""

    op: Operation
    fill: Operation
    epilogue: Operation | None

    def mark(self, number: int) -> list[Operation]:
        """Mark the operations as a kernel, and move them next to each other.

        Returns all but the fill.
        """
        members = [self.op]
        if self.epilogue is not None:
            separate(self.epilogue, number)
            self.op.move_before(self.epilogue)
            members.append(self.epilogue)
        mark([own_fill(self.op, number, self.fill), *members], number)
        return members


def accumulations(
    view: FunctionView,
    filled: Iterable[tuple[Structured, Operation]],
    *,
    permuted: bool = False,
) -> list[Accumulation]:
    """Operations with their fills, and the epilogue of each; no two have the same one.

    Find all before marking one, since changing an operation changes its hash. If `permuted`, the
    dimensions of an epilogue's result may be in another order.
    """
    found: list[Accumulation] = []
    taken: set[Operation] = set()
    for nest, fill in filled:
        reader = only_reader(view, nest, permuted=permuted)
        epilogue = None if reader is None or reader.op in taken else reader.op
        if epilogue is not None:
            taken.add(epilogue)
        found.append(Accumulation(nest.op, fill, epilogue))
    return found
