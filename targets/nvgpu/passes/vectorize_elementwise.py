# SPDX-License-Identifier: Apache-2.0
"""vectorize-elementwise: computes as many contiguous elements per thread as one load has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import Structured, body_operations, element_bits, is_shaped
from xtc.ir.attributes import LOOP_DIMS
from xtc.ir.mlir import ArrayAttr, StringAttr
from xtc.loops import NestLoop
from xtc.loops.nest_attribute import write_loops
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._nest_pass import NestPass

_BUSY = 256  # threads per multiprocessor that hide latency
_PURE = ("arith.", "math.", "linalg.yield")


@dataclass(frozen=True)
class VectorizeElementwise(NestPass):
    """Schedule operations without reductions on vectors, if enough threads remain.

    Before:
        linalg.generic {iterator_types = ["parallel", "parallel"]} ins(%a : tensor<512x1024xf32>)
    After:
        linalg.generic {loop.dims = ["d0", "d1"], loop.schedule = [{axis = "d0", parallelize},
          {axis = "d1", parallelize}, {axis = "d1", tile = 4, vectorize}], ..}

    A vector has 16 bytes of the widest elements. All operands that vary along the vector must be
    contiguous there, and the loop's extent must be a multiple of the vector length.

    Attributes:
        sms: multiprocessors that run a kernel.
    """

    name: ClassVar[str] = "vectorize-elementwise"

    def rewrite(self, nest: Structured) -> None:
        if nest.reductions:
            return
        loop, lanes = nest.vector_loop, _lanes(nest)
        if loop is None or lanes < 2 or nest.extents[loop] % lanes:
            return
        if math.prod(nest.extents) < lanes * _BUSY * self.sms:
            return
        names = [f"d{number}" for number in range(len(nest.extents))]
        nest.op.attributes[LOOP_DIMS] = ArrayAttr.get([StringAttr.get(name) for name in names])
        steps = [lanes if number == loop else 1 for number in range(len(names))]
        sizes = zip(names, nest.extents, steps, strict=True)
        loops = [NestLoop(name, parallelize=True) for name, size, step in sizes if size > step]
        tile = lanes if nest.extents[loop] > lanes else None
        inner = NestLoop(names[loop], tile, vectorize=True)
        write_loops(nest.op, [*loops, inner])


def _lanes(nest: Structured) -> int:
    """The number of elements of a vector; 1 if the body or a type cannot be vectorized."""
    ops = body_operations(nest.op)
    if any(op.regions or not op.name.startswith(_PURE) for op in ops):
        return 1
    widths = [element_bits(value) for value in nest.op.operands if is_shaped(value)]
    return 1 if min(widths) < 8 else 8 * ACCESS_BYTES // max(widths)
