# SPDX-License-Identifier: Apache-2.0
"""linalg-to-named-loops: lowers operations on memrefs to loops with the names of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.linalg_ops import node_id, remove_attributes
from xtc.ir.attributes import LOOP_DIMS, LOOPS_PREFIX, NODE, loop_path
from xtc.ir.mlir import Operation, StringAttr, UnitAttr, all_operations
from xtc.ir.passes import Pass
from xtc.ir.transform import ANY, apply_script, match_each


@dataclass(frozen=True)
class LinalgToNamedLoops(Pass):
    """Lower every linalg operation to loops that carry their path, as scheduled loops do.

    Before:
        linalg.fill {__xtc_id_c_, loop.dims = ["i"]} ins(%zero) outs(%c : memref<8xf32>)
    After:
        scf.for %i = %c0 to %c8 step %c1 { memref.store %zero, %c[%i] } {"./i", xtc.node = "c"}

    Without `loop.dims` the loops have no path. `xtc.node` on the outermost loop names the graph
    node, or the part of one, that the loops compute.
    """

    name: ClassVar[str] = "linalg-to-named-loops"

    def run(self, module: Operation) -> None:
        found = [op for op in all_operations(module) if op.name.startswith("linalg.")]
        operations = [op for op in found if op.name not in ("linalg.yield", "linalg.index")]
        if not operations:
            return
        names = [(_dims(op), node_id(op)) for op in operations]
        for number, op in enumerate(operations):
            op.attributes[f"{LOOPS_PREFIX}{number}"] = UnitAttr.get(op.context)
        numbers = range(len(operations))
        handles = {f"{LOOPS_PREFIX}{number}": f"%n{number}" for number in numbers}
        matches = match_each(module, handles, f"{LOOPS_PREFIX}all")
        apply_script(module, "\n".join([*matches, *map(_script, numbers)]))
        loops = _loops_by_mark(module)
        for number, (dims, node) in enumerate(names):
            _name(loops.get(f"{LOOPS_PREFIX}{number}", []), dims, node)
        remove_attributes(module, LOOPS_PREFIX)


def _dims(op: Operation) -> list[str]:
    if LOOP_DIMS not in op.attributes:
        return []
    return [StringAttr(name).value for name in op.attributes[LOOP_DIMS]]


def _script(number: int) -> str:
    mark = f"{LOOPS_PREFIX}{number}"
    return (
        f"%l{number} = transform.structured.convert_to_loops %n{number} : ({ANY}) -> {ANY}\n"
        f'transform.annotate %l{number} "{mark}" : {ANY}'
    )


def _loops_by_mark(module: Operation) -> dict[str, list[Operation]]:
    """The loops of each lowered operation, the outermost first."""
    found: dict[str, list[Operation]] = {}
    for op in all_operations(module):
        for mark in [name for name in op.attributes if name.startswith(LOOPS_PREFIX)]:
            found.setdefault(mark, []).append(op)
    return found


def _name(loops: Sequence[Operation], dims: Sequence[str], node: str | None) -> None:
    """Name loops in the order of the axes; a scheduled operation has lost some of these."""
    if loops and node is not None:
        loops[0].attributes[NODE] = StringAttr.get(node, loops[0].context)
    if len(loops) != len(dims):
        return
    for loop, name in zip(loops, dims, strict=True):
        loop.attributes[loop_path(name)] = UnitAttr.get(loop.context)
