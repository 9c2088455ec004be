# SPDX-License-Identifier: Apache-2.0
"""Finds out which operators of a graph share their loops, by a schedule's wish or by default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xtc.ir.pipeline import PassRunner

if TYPE_CHECKING:
    from xtc.driver.compilation import Compilation
    from xtc.ir.mlir import Operation
    from xtc.ir.passes import Pass

Groups = dict[str, frozenset[str]]


def fused_operators(compilation: Compilation) -> dict[str, tuple[str, ...]]:
    """For each operator those that share its loops, in the graph's order.

    Runs the stages up to `scheduled` once more. Operators share loops where an operation, or an
    outermost loop, computes them together after one of the passes.
    """
    from xtc.ir import mlir

    order = [node.name for node in compilation.graph.nodes]
    groups: Groups = {name: frozenset({name}) for name in order}

    def read(_step: Pass, module: Operation) -> None:
        for names in _together(module):
            known = names & groups.keys()
            union = frozenset().union(*(groups[name] for name in known))
            groups.update(dict.fromkeys(union, union))

    with mlir.Context():
        module = mlir.Module.parse(compilation.source()).operation
        PassRunner(observe=read).run(module, compilation.pipeline().until("scheduled"))
    return {
        name: tuple(other for other in order if other in groups[name] and other != name)
        for name in order
    }


def _together(module: Operation) -> Iterator[frozenset[str]]:
    """The graph nodes that each operation of a function's body computes, where there are several.

    Steps of a node, as the zeros that a sum begins with, do not count.
    """
    from xtc.ir.analysis.linalg_ops import main_nodes
    from xtc.ir.mlir import all_operations

    for function in module.regions[0].blocks[0].operations:
        for region in function.operation.regions:
            for op in (op.operation for block in region for op in block.operations):
                names = {name for inner in all_operations(op) for name in main_nodes(inner)}
                if len(names) > 1:
                    yield frozenset(names)
