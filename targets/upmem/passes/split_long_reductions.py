# SPDX-License-Identifier: Apache-2.0
"""split-long-reductions: splits reductions to few elements into partial results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import Structured, combining_operation, structured
from xtc.ir.attributes import LOOP_SCHEDULE
from xtc.ir.mlir import Operation, UnitAttr, all_operations
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc.ir.transform import ANY, apply_script, match_each

_MARK = "upmem.split"
_COMBINING = ("arith.addi", "arith.addf", "arith.maxsi", "arith.minsi")
_WORTH = 64  # least elements of a partial result


@dataclass(frozen=True)
class SplitLongReductions(Pass):
    """Divide a long reduction among all tasklets of all DPUs.

    Before, with 4 DPUs of 16 tasklets:
        %s = linalg.reduce ins(%a : tensor<65536xi32>) outs(%zero : tensor<i32>)
    After:
        %rows = tensor.expand_shape %a : tensor<65536xi32> into tensor<64x1024xi32>
        %parts = linalg.generic {["parallel", "reduction"]} ins(%rows) outs(%zeros : tensor<64xi32>)
        %s = linalg.generic {["reduction"]} ins(%parts) outs(%zero)

    Float sums have another order, and thus other rounding errors. MLIR's
    `structured.split_reduction` does the work. Operations with several reductions, or with a
    schedule, stay.

    Attributes:
        parts: most partial results: the number of all tasklets.
    """

    name: ClassVar[str] = "split-long-reductions"
    parts: int = 16

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        factors: list[int] = []
        for op in all_operations(module):
            nest = structured(op)
            is_free = nest is not None and LOOP_SCHEDULE not in op.attributes
            factor = self._factor(nest) if nest is not None and is_free else 1
            if factor > 1:
                op.attributes[f"{_MARK}{len(factors)}"] = UnitAttr.get(op.context)
                factors.append(factor)
        lines = []
        for number, factor in enumerate(factors):
            lines += [
                f"%i{number}, %f{number}, %p{number}, %c{number} = "
                f"transform.structured.split_reduction %m{number} "
                f"{{split_factor = {factor}, insert_split_dimension = 0}} "
                f": ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})",
            ]
        if lines:
            handles = {f"{_MARK}{number}": f"%m{number}" for number in range(len(factors))}
            matches = match_each(module, handles, f"{_MARK}all")
            apply_script(module, "\n".join(matches + lines))

    def _factor(self, nest: Structured) -> int:
        """The number of partial results, a divisor of the extent; 1 if splitting does not pay."""
        last = combining_operation(nest.op) if nest.op.name == "linalg.generic" else None
        if last is None or last.name not in _COMBINING or len(nest.reductions) != 1:
            return 1
        extent = nest.extents[nest.reductions[0]]
        results = math.prod(nest.extents[loop] for loop in nest.out)
        wanted = self.parts // results
        if wanted < 2 or extent // wanted < _WORTH:
            return 1
        return next(factor for factor in range(wanted, 0, -1) if extent % factor == 0)
