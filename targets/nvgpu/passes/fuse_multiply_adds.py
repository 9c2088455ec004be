# SPDX-License-Identifier: Apache-2.0
"""fuse-multiply-adds: fuses multiplications and additions in tile kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import WARPS
from xtc.ir.mlir import (
    F32Type,
    F64Type,
    InsertionPoint,
    Operation,
    RankedTensorType,
    all_operations,
)
from xtc.ir.mlir_math import math
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class FuseMultiplyAdds(Pass):
    """Fuse a float32 or float64 `mulf` and the `addf` that is its only user into `math.fma`.

    Before:
        %p = arith.mulf %a, %b : tensor<64x64xf32, #layout>
        %s = arith.addf %t, %p : tensor<64x64xf32, #layout>
    After:
        %s = math.fma %a, %b, %t : tensor<64x64xf32, #layout>

    A fused multiply-add rounds once, the pair rounds twice. If the code generator decided, rounding
    would depend on the machine and on other optimizations; this way, every machine and the
    interpreter round alike. Narrower floats are not fused, since not every machine can do so.
    """

    name: ClassVar[str] = "fuse-multiply-adds"

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in top_level(module):
                if WARPS in kernel.attributes:
                    for op in all_operations(kernel):
                        if op.name == "arith.mulf" and _is_wide(op):
                            _fuse(op)


def _is_wide(op: Operation) -> bool:
    type = op.results[0].type
    element = type.element_type if isinstance(type, RankedTensorType) else type
    return isinstance(element, F32Type | F64Type)


def _fuse(product: Operation) -> None:
    """Fuse a multiplication if its only user is an addition."""
    uses = list(product.results[0].uses)
    if len(uses) != 1 or uses[0].owner.name != "arith.addf":
        return
    total = uses[0].owner.operation
    other = total.operands[1 - uses[0].operand_number]
    with total.location, InsertionPoint(total):
        made = math.fma(product.operands[0], product.operands[1], other)
    total.results[0].replace_all_uses_with(made)
    total.erase()
    product.erase()
