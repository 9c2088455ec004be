# SPDX-License-Identifier: Apache-2.0
"""serialize-parallel-loops: turns parallel loops into sequential ones with the same path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders.control import new_loop
from xtc.ir.mlir import DenseI64ArrayAttr, InsertionPoint, Operation, all_operations, scf
from xtc.ir.passes import Pass
from xtc_targets.host.passes.outline_parallel_loops import copy_paths

_BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")


@dataclass(frozen=True)
class SerializeParallelLoops(Pass):
    """Replace each `scf.forall` on memrefs with one dimension and constant bounds by an `scf.for`.

    Before:
        scf.forall (%i) in (8) { body(%i) } {"./i"}
    After:
        scf.for %i = %c0 to %c8 step %c1 { body(%i) } {"./i"}

    MLIR's `scf-forall-to-for` handles the others, but drops the paths of loops.
    """

    name: ClassVar[str] = "serialize-parallel-loops"

    def run(self, module: Operation) -> None:
        loops = [op for op in all_operations(module) if op.name == "scf.forall"]
        for loop in loops:
            bounds = [list(DenseI64ArrayAttr(loop.attributes[name])) for name in _BOUNDS]
            if len(bounds[0]) == 1 and not len(loop.operands):
                _replace(loop, *(numbers[0] for numbers in bounds))


def _replace(loop: Operation, lower: int, upper: int, step: int) -> None:
    with loop.context, loop.location:
        plain = new_loop(lower, upper, step, ip=InsertionPoint(loop))
        copy_paths(loop, plain.op)
        source = loop.regions[0].blocks[0]
        source.arguments[0].replace_all_uses_with(plain.index)
        end = scf.yield_([], ip=InsertionPoint(plain.op.regions[0].blocks[0])).operation
        for op in list(source.operations)[:-1]:
            op.operation.move_before(end)
    loop.erase()
