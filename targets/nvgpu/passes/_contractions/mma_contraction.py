# SPDX-License-Identifier: Apache-2.0
"""Contractions that tensor cores can compute."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xtc.ir.analysis.contractions import contraction
from xtc.ir.analysis.structured import Structured, structured
from xtc.ir.mlir import Operation
from xtc_targets.nvgpu.passes._contractions.mma_tiling import Sizes
from xtc_targets.nvgpu.passes._tiles.mma_kind import KINDS, TRANSPOSABLE_BYTES, Kind

_SMALLEST = 16
"""The minimum extent of K and of the larger one of M and N: below it a tile is mostly padding, or
the pipeline is filled for a single step."""

_SKINNY = 64
"""The minimum extent of K if M or N is below `_SMALLEST`. Reading the other operand then takes
longer than multiplying with padding, as the tiles' copies have 16 bytes."""


@dataclass(frozen=True, eq=False)
class MmaContraction:
    """C[.., m, n] += A[.., m, k] B[.., k, n]; the dimensions of A and B may be in any order.

    A and B are operands 0 and 1 of the operation.

    Attributes:
        nest: the structured op.
        kind: the operand type of the instruction.
        m, n, k: indices of its loops.
        batch: the other loops, outermost first. An operand need not use all of them.
    """

    nest: Structured
    kind: Kind
    m: int
    n: int
    k: int
    batch: tuple[int, ...]

    def extent(self, loop: int) -> int:
        return self.nest.extents[loop]

    @property
    def across_k(self) -> str:
        """The first operand whose elements along K are not contiguous: "a" or "b"; or ""."""
        lasts = zip("ab", self.nest.indices, strict=False)
        return next((name for name, row in lasts if row[-1].loop != self.k), "")

    @property
    def suits_warpgroups(self) -> bool:
        """Whether warpgroups can multiply the operands: they transpose 16-bit ones only."""
        return self.kind.nbytes == TRANSPOSABLE_BYTES or not self.across_k

    @property
    def sizes(self) -> Sizes:
        """The extents by role."""
        m, n, k = (self.extent(loop) for loop in (self.m, self.n, self.k))
        batch = math.prod(self.extent(loop) for loop in self.batch)
        return Sizes(m, n, k, batch, self.kind.nbytes)


def mma_contraction(op: Operation, tf32: bool) -> MmaContraction | None:
    """The contraction that `op` accumulates onto its destination, if tensor cores can compute it.

    float32 operands need `tf32`. Small contractions use the general path.
    """
    nest = structured(op)
    found = None if nest is None else contraction(nest)
    if nest is None or found is None or len(found.roles.k) != 1 or len(nest.out) < 2:
        return None
    kind = _kind(op, tf32)
    (*batch, m, n), (k,) = nest.out, found.roles.k
    if kind is None or not set(found.widenings) <= {"arith.extf", ""} or not found.is_plain:
        return None
    if m not in found.roles.m or n not in found.roles.n or _is_small(nest, m, n, k):
        return None
    return MmaContraction(nest, kind, m, n, k, tuple(batch))


def _is_small(nest: Structured, *loops: int) -> bool:
    m, n, k = (nest.extents[loop] for loop in loops)
    return max(m, n) < _SMALLEST or k < (_SKINNY if min(m, n) < _SMALLEST else _SMALLEST)


def _kind(op: Operation, tf32: bool) -> Kind | None:
    types = {str(value.type.element_type) for value in list(op.operands)[:2]}
    kind = KINDS.get(types.pop()) if len(types) == 1 else None
    if kind is None or (kind.name == "tf32" and not tf32):
        return None
    return kind if str(op.operands[2].type.element_type) == "f32" else None
