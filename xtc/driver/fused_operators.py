# SPDX-License-Identifier: Apache-2.0
"""Finds the operators of a graph that are fused, by a schedule or by default."""

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
    """The operators fused with each operator, in the graph's order.

    Runs the stages up to `scheduled` again. Operators are fused if one operation or one outermost
    loop computes them together after one of the passes.
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
    """The graph nodes of each operation in a function's body that computes several.

    Auxiliary steps of a node, such as the zero initialization of a sum, do not count.
    """
    from xtc.ir.analysis.linalg_ops import main_nodes
    from xtc.ir.mlir import all_operations

    for function in module.regions[0].blocks[0].operations:
        for region in function.operation.regions:
            for op in (op.operation for block in region for op in block.operations):
                names = {name for inner in all_operations(op) for name in main_nodes(inner)}
                if len(names) > 1:
                    yield frozenset(names)
