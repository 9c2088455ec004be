# SPDX-License-Identifier: Apache-2.0
"""split-contractions: divides K among blocks if a contraction has too few tiles for all SMs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.ir.analysis.function_view import functions
from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.node_names import node_attributes
from xtc.ir.analysis.structured import shape_of
from xtc.ir.attributes import DEVICE
from xtc.ir.builders.generic import copy_body, generic
from xtc.ir.mlir import InsertionPoint, Operation, Value, arith
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.description import H100, MACHINES
from xtc_targets.nvgpu.passes._contractions.k_parts import k_parts
from xtc_targets.nvgpu.passes._contractions.mma_contraction import MmaContraction, mma_contraction
from xtc_targets.nvgpu.passes._loop_parts import combined_parts, cut, cut_row, wider
from xtc_targets.nvgpu.passes.group_contractions import zeros_of


@dataclass(frozen=True)
class SplitContractions(Pass):
    """Compute parts of K as a batch of contractions, then add the partial sums in order.

    Before:
        %c = linalg.matmul ins(%a, %b : tensor<64x8192xf16>, tensor<8192x512xf16>) outs(%zeros)
    After:
        %x = tensor.expand_shape %a : tensor<64x8x1024xf16>
        %y = tensor.expand_shape %b : tensor<8x1024x512xf16>
        %parts = linalg.generic ins(%x, %y) outs(%z : tensor<8x64x512xf32>) { mulf ; addf }
        %c = linalg.generic ins(%parts, %parts, .. : at 0, 1, .., 7) { addf ; addf ; .. }

    The additions are elementwise and in fixed order; fuse-elementwise appends the epilogue to them.
    Contractions that group-contractions would not group stay whole, and so do those that are hardly
    faster by a static model, which counts the rounds of blocks, the bytes in flight per SM, and the
    traffic and the launch of the sum.

    Attributes:
        tf32: whether float32 operands may be rounded to TF32.
        arch: the architecture of the GPU, which has the rates of the model.
        sms: multiprocessors that run a kernel.
        bulk_copies: whether warpgroups multiply operands that bulk copies load.
    """

    name: ClassVar[str] = "split-contractions"
    tf32: bool = False
    arch: str = H100.arch
    sms: int = H100.sms
    bulk_copies: bool = False

    def __post_init__(self) -> None:
        require_positive(self)
        if self.arch not in MACHINES:
            raise UserError(
                f"option 'arch' of pass '{self.name}' is '{self.arch}'",
                hints=[f"the architectures are {', '.join(MACHINES)}"],
            )

    def run(self, module: Operation) -> None:
        machine = replace(MACHINES[self.arch], sms=self.sms)
        with module.context:
            for view in functions(module):
                found = [mma_contraction(op, self.tf32) for op in view.nests]
                for contraction in found:
                    if contraction is None or zeros_of(view, contraction) is None:
                        continue
                    by_bulk = self.bulk_copies and contraction.suits_warpgroups
                    parts = k_parts(contraction.sizes, machine, bulk_copies=by_bulk)
                    if parts > 1:
                        with contraction.nest.op.location:
                            _split(contraction, parts)
                        contraction.nest.op.erase()


def _split(contraction: MmaContraction, parts: int) -> None:
    """Insert the contractions of the parts and their sum, and replace the result."""
    nest, ip = contraction.nest, InsertionPoint(contraction.nest.op)
    count = len(nest.extents)
    part = Index(((count, 1),), 0)
    k = contraction.k
    operands: list[tuple[Value, list[Index]]] = [
        (cut(value, row, k, parts, ip), cut_row(row, k, part))
        for value, row in list(zip(nest.op.operands, nest.indices, strict=True))[:2]
    ]
    start, own = nest.op.operands[nest.destination], list(nest.indices[nest.destination])
    zeros = wider(start, (parts, *shape_of(start)), ip)
    named = node_attributes(nest.op)
    device = {name: value for name, value in named.items() if name == DEVICE}
    sums = generic([*operands, (zeros, [part, *own])], count + 1, nest.reductions, device, ip)
    copy_body(nest.op, sums)
    total = combined_parts(sums.results[0], named, _sum, ip)
    nest.result.replace_all_uses_with(total)


def _sum(a: Value, b: Value, ip: InsertionPoint) -> Value:
    return arith.addf(a, b, ip=ip)
