# SPDX-License-Identifier: Apache-2.0
"""fill-borders: fills only the border of a padded tensor; threads share large copies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.affine import digits
from xtc.ir.builders.control import forall
from xtc.ir.builders.numbers import linear_offset
from xtc.ir.builders.slices import extract_slice
from xtc.ir.mlir import Block, InsertionPoint, Operation, Value, outer_operations
from xtc.ir.passes import Pass
from xtc_passes.tensor._padding import Padding, filled, is_stored, padding_of, slabs

_PARALLEL_ELEMENTS = 1 << 18  # size of an inside from which on a parallel copy pays
_PARTS = 32  # enough parts to balance the load among threads
_Key = tuple[Value, Value, tuple[int, ...], str, Block]


@dataclass(frozen=True)
class FillBorders(Pass):
    """Fill only the border around an inserted tensor, instead of the whole tensor before.

    Each dimension has one slab before the inside and one after it. The slabs above and below an
    image are as wide as the padded image, so that they are contiguous.

    Before:
        %f = linalg.fill ins(%v) outs(%e : tensor<6x10xf32>)
        %p = tensor.insert_slice %x into %f[1, 1] [4, 8] [1, 1]
    After:
        %s = tensor.extract_slice %e[0, 0] [1, 10] [1, 1]
        %t = linalg.fill ins(%v) outs(%s)
        %u = tensor.insert_slice %t into %e[0, 0] [1, 10] [1, 1]  (and three more)
        %p = tensor.insert_slice %x into %w[1, 1] [4, 8] [1, 1]

    An inside that is already in a buffer is copied; a large one by an `scf.forall` over its rows.

    Attributes:
        parallel: whether threads share loops.
        once: whether equal paddings for several operators are computed once; the result then lives
            until its last reader.
    """

    name: ClassVar[str] = "fill-borders"
    parallel: bool = False
    once: bool = False

    def run(self, module: Operation) -> None:
        known: dict[_Key, Value] = {}
        with module.context:
            for op in outer_operations(module):
                padding = padding_of(op)
                if padding is not None:
                    if self.once and _is_known(padding, known):
                        continue
                    _narrow(padding)
                    if self.parallel and _is_long_copy(padding):
                        _share(padding)


def _is_known(padding: Padding, known: dict[_Key, Value]) -> bool:
    """Whether an earlier padding of the block is equal; its result is then used instead."""
    op, result = padding.op, padding.result
    key = (padding.inside, padding.fill.operands[0], padding.offsets, str(result.type), op.block)
    same = known.setdefault(key, result)
    if same == result:
        return False
    result.replace_all_uses_with(same)
    op.erase()
    padding.fill.erase()
    return True


def _narrow(padding: Padding) -> None:
    """Fill only the slabs around the inside."""
    around = padding.fill.operands[1]
    ip = InsertionPoint(padding.op)
    with padding.fill.location:
        for slab in slabs(shape_of(around), padding.offsets, shape_of(padding.inside)):
            around = filled(padding, around, slab.offsets, slab.sizes, ip)
    padding.op.operands[1] = around
    padding.fill.erase()


def _is_long_copy(padding: Padding) -> bool:
    """Whether the inside is large and already in a buffer."""
    return math.prod(shape_of(padding.inside)) >= _PARALLEL_ELEMENTS and is_stored(padding.inside)


def _share(padding: Padding) -> None:
    """Copy the inside by a parallel loop over the fewest leading dimensions with enough parts."""
    source, around = padding.op.operands
    shape = shape_of(source)
    depth = next((d for d in range(1, len(shape)) if math.prod(shape[:d]) >= _PARTS), len(shape))
    counts = shape[:depth]
    with padding.op.location:
        loop = forall(math.prod(counts), None, [around], InsertionPoint(padding.op))
        indices = digits(loop.number, counts, loop.ip)
        rest = [0 for _ in shape[depth:]]
        row = extract_slice(source, [*indices, *rest], [1] * depth + [*shape[depth:]], loop.ip)
        shifted = [
            linear_offset([(index, 1), (offset, 1)], loop.ip)
            for index, offset in zip([*indices, *rest], padding.offsets, strict=True)
        ]
        loop.write(row, loop.shared[0], shifted)
    padding.result.replace_all_uses_with(loop.op.results[0])
    padding.op.erase()
