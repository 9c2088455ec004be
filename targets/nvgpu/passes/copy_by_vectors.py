# SPDX-License-Identifier: Apache-2.0
"""copy-by-vectors: copies several contiguous elements per access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders.control import parallel
from xtc.ir.mlir import (
    InsertionPoint,
    MemRefType,
    Operation,
    VectorType,
    all_operations,
    vector,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._buffer_bytes import element_bytes


@dataclass(frozen=True)
class CopyByVectors(Pass):
    """Replace each `linalg.copy` between buffers with contiguous rows by a loop over vectors.

    Before:
        linalg.copy ins(%a : memref<16x128xf32, 1>) outs(%b : memref<16x128xf32, 3>)
    After:
        scf.parallel (%i, %j) = (0, 0) to (16, 128) step (1, 4) {
          %v = vector.load %a[%i, %j] ; vector.store %v, %b[%i, %j] }

    The vectors are the widest that divide the length and the stride of rows in both buffers.

    Attributes:
        bytes: maximum bytes of a vector.
    """

    name: ClassVar[str] = "copy-by-vectors"
    bytes: int = 16

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        for op in all_operations(module):
            if op.name == "linalg.copy":
                source, target = (MemRefType(value.type) for value in op.operands)
                lanes = self._lanes(source, target)
                if lanes > 1:
                    with op.context, op.location:
                        _rewrite(op, lanes)

    def _lanes(self, source: MemRefType, target: MemRefType) -> int:
        same = source.element_type == target.element_type
        if not same or not source.rank or not source.has_static_shape:
            return 1
        lanes = self.bytes // element_bytes(source.element_type)
        while lanes > 1 and not (_fits(source, lanes) and _fits(target, lanes)):
            lanes //= 2
        return lanes


def _fits(type: MemRefType, lanes: int) -> bool:
    """Whether each row consists of whole, aligned vectors."""
    strides, _ = type.get_strides_and_offset()
    whole = type.shape[-1] % lanes == 0 and strides[-1] == 1
    return whole and all(stride > 0 and stride % lanes == 0 for stride in strides[:-1])


def _rewrite(copy: Operation, lanes: int) -> None:
    source, target = copy.operands
    type = MemRefType(source.type)
    *outer, row = map(range, type.shape)
    indices, end = parallel([*outer, row[::lanes]], ip=InsertionPoint(copy))
    piece = VectorType.get([lanes], type.element_type)
    with InsertionPoint(end):
        vector.store(vector.load(piece, source, indices), target, indices)
    copy.erase()
