# SPDX-License-Identifier: Apache-2.0
"""group-contractions: groups a contraction, its initial zeros and its epilogue in a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import FunctionView, functions
from xtc.ir.analysis.linalg_ops import is_zero
from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import Operation
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._accumulations import accumulations
from xtc_targets.nvgpu.passes._contractions.mma_contraction import MmaContraction, mma_contraction


@dataclass(frozen=True)
class GroupContractions(Pass):
    """Mark the operations of a tensor-core kernel, and move them next to each other.

    Before:
        %z = linalg.fill 0.0 ; %m = linalg.matmul ins(%a, %b) outs(%z) ; %x = ...
        %r = linalg.generic ins(%m, %x)
    After:
        %x = ... ; %z = linalg.fill {xtc.kernel = 0} ; %m = linalg.matmul {xtc.kernel = 0} ..
        %r = linalg.generic {xtc.kernel = 0} ins(%m, %x)

    The contraction must accumulate onto zeros and have no user schedule. Its consumer joins if it
    is the only one and computes each element from the same element of the contraction. The result
    gets a separate tensor, since some blocks still read the operands while others write the result.

    Attributes:
        tf32: whether float32 operands may be rounded to TF32.
    """

    name: ClassVar[str] = "group-contractions"
    tf32: bool = False

    def run(self, module: Operation) -> None:
        with module.context:
            for view in functions(module):
                for number, group in enumerate(accumulations(view, self._filled(view))):
                    group.mark(number)

    def _filled(self, view: FunctionView) -> Iterator[tuple[Structured, Operation]]:
        """The contractions that begin with zeros, with the fill."""
        for contraction in (mma_contraction(op, self.tf32) for op in view.nests):
            zeros = None if contraction is None else zeros_of(view, contraction)
            if contraction is not None and zeros is not None:
                yield contraction.nest, zeros


def zeros_of(view: FunctionView, contraction: MmaContraction) -> Operation | None:
    """The operation that fills the contraction's destination with zeros."""
    nest = view.nest_of(contraction.nest.op.operands[contraction.nest.destination])
    if nest is None or nest.op.name != "linalg.fill":
        return None
    return nest.op if is_zero(nest.op.operands[0]) else None
