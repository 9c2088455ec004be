# SPDX-License-Identifier: Apache-2.0
"""add-default-schedules: gives contractions and poolings schedules for the processor."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import unscheduled_reductions
from xtc.ir.analysis.linalg_ops import dict_of, graph_node, node_in_function, operations_with
from xtc.ir.analysis.structured import Structured, combining_operation, labels
from xtc.ir.attributes import LOOP_DIMS, LOOP_SCHEDULE
from xtc.ir.builders.generic import copy_body, generic
from xtc.ir.fast_math import allow
from xtc.ir.mlir import ArrayAttr, InsertionPoint, Operation, StringAttr
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import SchedulingPass
from xtc.loops import NestLoop
from xtc.loops.nest_attribute import write_loops
from xtc_passes.tensor._scheduled import dims_of, fused_nodes, schedule_line, title_of
from xtc_targets.host.passes._default_contraction import PARTIAL_SUM, contraction_nest
from xtc_targets.host.passes._default_narrow import narrow_nest
from xtc_targets.host.passes._default_window import window_nest
from xtc_targets.host.passes._register_tiles import Processor

_RULES: tuple[Callable[[Structured, Processor], list[NestLoop] | None], ...] = (
    contraction_nest,
    narrow_nest,
    window_nest,
)


@dataclass(frozen=True)
class AddDefaultSchedules(SchedulingPass):
    """Give each contraction and pooling without a schedule the host's default schedule.

    Register tile, cache blocks, packing and threads follow from the extents of the loops and from
    the processor. Small contractions stay unscheduled. The schedule is written to the same
    attribute as a user's schedule, and undergoes the same checks.

    Before:
        linalg.matmul {loop.dims = ["i", "j", "k"]} ...
    After:
        linalg.matmul {loop.dims = ["i", "j", "k"],
                       loop.schedule = [{axis = "j"}, {axis = "i"}, {axis = "k"},
                         {axis = "i", tile = 8, unroll = -1},
                         {axis = "j", tile = 32, vectorize}]} ...

    Attributes:
        vector_bits: width of a vector register.
        registers: number of vector registers.
        l1_bytes: size of a core's first-level data cache.
        l2_bytes: size of a core's second-level cache.
        parallel: whether threads may share loops.
        dots: the processor's features that have dot-product instructions.
    """

    name: ClassVar[str] = "add-default-schedules"
    vector_bits: int = 128
    registers: int = 16
    l1_bytes: int = 32768
    l2_bytes: int = 524288
    parallel: bool = True
    dots: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        processor = Processor(
            self.vector_bits, self.registers, self.l1_bytes, self.l2_bytes, self.parallel, self.dots
        )
        with module.context:
            fused = fused_nodes(module)
            for nest in unscheduled_reductions(module):
                if node_in_function(nest.op) not in fused:
                    _choose(nest, processor)

    def schedules_in(self, module: Operation) -> dict[str, str]:
        return {
            node: schedule_line(op)
            for op in operations_with(module, LOOP_SCHEDULE)
            # An operation in a loop is a tile of a node: its schedule differs from the node's.
            if op.parent.name == "func.func" and (node := graph_node(op)) is not None
        }


def _choose(nest: Structured, processor: Processor) -> None:
    if LOOP_DIMS not in dict_of(nest.op):
        return
    names = dims_of(nest.op, title_of(nest.op), len(nest.extents))
    nest.op.attributes[LOOP_DIMS] = ArrayAttr.get([StringAttr.get(name) for name in names])
    for rule in _RULES:
        loops = rule(nest, processor)
        if loops is not None:
            write_loops(_with_partial_sums(nest), loops)
            return


def _with_partial_sums(nest: Structured) -> Operation:
    """The operation; a very long reduction is allowed to be reassociated.

    It then becomes a generic operation, because named ones have no body to mark.
    """
    length = math.prod(nest.extents[loop] for loop in nest.reductions)
    combine = combining_operation(nest.op)
    if length <= PARTIAL_SUM or combine is None or combine.name != "arith.addf":
        return nest.op
    operands = list(zip(nest.op.operands, nest.indices, strict=True))
    with nest.op.location:
        ip = InsertionPoint(nest.op)
        op = generic(operands, len(nest.extents), nest.reductions, labels(nest.op), ip)
        copy_body(nest.op, op)
    combine = combining_operation(op)
    if combine is not None:
        allow(combine, "reassoc")
    for old, new in zip(nest.op.results, op.results, strict=True):
        old.replace_all_uses_with(new)
    nest.op.erase()
    return op
