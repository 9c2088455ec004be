# SPDX-License-Identifier: Apache-2.0
"""transpose-operands: transposes operands that are read many times with a stride."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import FunctionView, functions_and_loops
from xtc.ir.analysis.linalg_ops import is_constant, is_from_constants, node_id
from xtc.ir.analysis.structured import Structured, shape_of, structured
from xtc.ir.attributes import DEVICE, LOOP_SCHEDULE, node_id_attribute
from xtc.ir.builders.generic import affine_map_attribute, transpose
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    InsertionPoint,
    Operation,
    UnitAttr,
    Value,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass

_MAPS = "indexing_maps"


@dataclass(frozen=True)
class TransposeOperands(Pass):
    """Read a transposed copy if a contraction would read an operand with a stride.

    The loop over the contiguous dimension of the result cannot be vectorized if it reads an operand
    with a stride. The copy costs about as much as one strided read of the operand.

    Before:
        linalg.matmul indexing_maps = [(i, k), (j, k), (i, j)] ins(%a, %b)
    After:
        %t = linalg.transpose ins(%b)
        linalg.matmul ins(%a, %t)

    Attributes:
        reads: the least number of reads of each element for which the copy pays.
        constants: whether to copy constants in any case, because pack-constants makes the copy at
            build time.
    """

    name: ClassVar[str] = "transpose-operands"
    reads: int = 8
    constants: bool = False

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        known: dict[Value, int] = {}
        with module.context:
            for view in functions_and_loops(module):
                for nest in (*view.nests.values(), *_vectorized(view)):
                    if (nest.reductions or self.constants) and _MAPS in nest.op.attributes:
                        self._rewrite(nest, known)

    def _rewrite(self, nest: Structured, known: dict[Value, int]) -> None:
        loop = nest.last_parallel_loop
        if loop is None or _is_batch(nest, loop):
            return
        rows = list(nest.indices)
        for number in range(nest.destination):
            dimension = nest.position(number, loop)
            if (
                dimension is None
                or nest.is_contiguous(number, loop)
                or not self._is_profitable(nest, number, known)
            ):
                continue
            axes = [axis for axis in range(len(rows[number])) if axis != dimension] + [dimension]
            nest.op.operands[number] = _transposed(nest, nest.op.operands[number], axes)
            rows[number] = tuple(rows[number][axis] for axis in axes)
        if rows != list(nest.indices):
            maps = [affine_map_attribute(row, len(nest.extents)) for row in rows]
            nest.op.attributes[_MAPS] = ArrayAttr.get(maps)

    def _is_profitable(self, nest: Structured, number: int, known: dict[Value, int]) -> bool:
        operand = nest.op.operands[number]
        if self.constants and nest.device is None and is_from_constants(operand, known):
            return is_constant(operand) or bool(nest.reductions)
        elements = math.prod(shape_of(operand))
        return math.prod(nest.extents) >= self.reads * elements


def _is_batch(nest: Structured, loop: int) -> bool:
    """Whether `loop` is a batch loop: all operands of a named operation have its dimension."""
    if nest.op.name == "linalg.generic":
        return False
    return all(nest.uses_loop(number, loop) for number in range(len(nest.indices)))


def _vectorized(view: FunctionView) -> Iterator[Structured]:
    """Operations that the user's schedule vectorizes."""
    for op in view.ops:
        text = str(op.attributes[LOOP_SCHEDULE]) if LOOP_SCHEDULE in op.attributes else ""
        nest = structured(op) if "vectorize" in text and "fuse" not in text else None
        if nest is not None:
            yield nest


def _transposed(nest: Structured, value: Value, axes: list[int]) -> Value:
    """A copy of `value` whose dimension d is dimension axes[d] of `value`."""
    attributes: dict[str, Attribute] = {}
    if (name := node_id(nest.op)) is not None:
        attributes[node_id_attribute(f"{name}.transpose")] = UnitAttr.get()
    if nest.device is not None:
        attributes[DEVICE] = nest.op.attributes[DEVICE]
    ip, shape = InsertionPoint(nest.op), shape_of(value)
    with nest.op.location:
        init = empty([shape[axis] for axis in axes], value, ip)
        return transpose(value, init, axes, attributes, ip).results[0]
