# SPDX-License-Identifier: Apache-2.0
"""`self.cuda`: layouts for the tensor cores and the memory of a GPU, for `annotate_layout`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.core.errors import UserError
from xtc.core.tile_layout import (
    RegisterLayout,
    blocked,
    column_local,
    column_spatial,
    local,
    spatial,
)
from xtc.tile.gpu_properties import runtime as runtime
from xtc.tile.ir.layout.ops.shared_ops import shared_row_major_swizzle
from xtc.tile.ir.layout.shared_layout import SharedLayout
from xtc.tile.ir.layout.shared_layout import shared_layout as shared_layout
from xtc.tile.types import DataType, bfloat16, float16, float32

_M, _N, _K = 16, 8, 16
_WARP, _ACCESS_BYTES = 32, 16


@dataclass(frozen=True)
class DotConfig:
    """The layouts of the operands and the result of a `dot` by several warps.

    Fragments are those of mma.sync.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16").
    """

    operand_dtype: DataType
    accumulator_dtype: DataType
    m: int
    n: int
    k: int
    num_warps: int
    la: RegisterLayout
    lb: RegisterLayout
    lc: RegisterLayout

    @property
    def lb_T(self) -> RegisterLayout:  # noqa: N802
        """The layout of the second operand, transposed."""
        return self.lb.permuted([1, 0])


@dataclass(frozen=True)
class AtomicMma:
    """An mma instruction of a warp, and the fragments of its operands and result."""

    name: str
    operand_type: DataType
    acc_type: DataType
    m: int
    n: int
    k: int
    la: RegisterLayout
    lb: RegisterLayout
    lc: RegisterLayout


def _atomic(name: str, operand: DataType) -> AtomicMma:
    a = column_local(2, 2) * spatial(8, 4) * local(1, 2)
    b = local(2, 1) * column_spatial(4, 8) * local(2, 1)
    c = local(2, 1) * spatial(8, 4) * local(1, 2)
    return AtomicMma(name, operand, float32, _M, _N, _K, a.merged(), b.merged(), c.merged())


class atomic_mma_configs:  # noqa: N801
    """The mma instructions that `dot` uses, named after shape, operands and result."""

    m16n8k16_f16_f32 = _atomic("m16n8k16_f16_f32", float16)
    m16n8k16_bf16_f32 = _atomic("m16n8k16_bf16_f32", bfloat16)

    @classmethod
    def from_dtypes(cls, operand_dtype: DataType, accumulator_dtype: DataType) -> AtomicMma:
        """The mma instruction for these types. Raises UserError if there is none."""
        for known in (cls.m16n8k16_f16_f32, cls.m16n8k16_bf16_f32):
            if (known.operand_type, known.acc_type) == (operand_dtype, accumulator_dtype):
                return known
        raise UserError(
            f"no dot of {operand_dtype} into {accumulator_dtype} runs on tensor cores",
            hints=["float16 or bfloat16 into float32"],
        )


def swizzled_shared_layout(dtype: DataType, shape: Sequence[int]) -> SharedLayout:
    """A layout of a shared tensor in which rows and columns are free of bank conflicts."""
    return shared_row_major_swizzle(shape, dtype.nbytes)


def mma_dot_config(
    atomic_mma: AtomicMma, warp_spatial: Sequence[int], warp_repeat: Sequence[int]
) -> DotConfig:
    """Layouts for a dot by a grid of warps; each warp repeats an mma in m, n and k."""
    (rows, columns), (m, n, k) = warp_spatial, warp_repeat
    grid = spatial(rows, columns)
    a = grid.reduced([1]) * local(m, k) * atomic_mma.la
    b = grid.reduced([0]) * local(k, n) * atomic_mma.lb
    c = grid * local(m, n) * atomic_mma.lc
    return DotConfig(
        operand_dtype=atomic_mma.operand_type,
        accumulator_dtype=atomic_mma.acc_type,
        m=atomic_mma.m * rows * m,
        n=atomic_mma.n * columns * n,
        k=atomic_mma.k * k,
        num_warps=rows * columns,
        la=a.merged(),
        lb=b.merged(),
        lc=c.merged(),
    )


def resolve_dot_config(
    operand_dtype: DataType,
    acc_dtype: DataType,
    *,
    m: int,
    n: int,
    k: int,
    num_warps: int | None = None,
    warp_m: int | None = None,
    warp_n: int | None = None,
) -> DotConfig:
    """Layouts for a dot of m x k and k x n.

    The warps form a grid of warp_m x warp_n, or for `num_warps` the grid with the
    fewest elements per warp. Raises UserError for types and sizes that tensor cores do not support.
    """
    atomic = atomic_mma_configs.from_dtypes(operand_dtype, acc_dtype)
    if num_warps is None:
        if warp_m is None or warp_n is None:
            raise UserError(
                "resolve_dot_config needs num_warps=, or warp_m= and warp_n=",
                hints=["num_warps=4 divides the warps for you"],
            )
        num_warps = warp_m * warp_n
    grids = [
        (rows, num_warps // rows)
        for rows in range(1, num_warps + 1)
        if num_warps % rows == 0
        and warp_m in (None, rows)
        and warp_n in (None, num_warps // rows)
        and not (m % (rows * _M) or n % (num_warps // rows * _N) or k % _K)
    ]
    if not grids:
        warps = f"{warp_m} x {warp_n}" if warp_m and warp_n else f"{num_warps}"
        raise UserError(
            f"{warps} warps cannot share a dot of {m} x {k} and {k} x {n}",
            notes=[f"a warp multiplies {_M} x {_K} and {_K} x {_N} at a time"],
            hints=["use fewer warps, or a larger tile"],
        )
    rows, columns = min(grids, key=lambda grid: k * (m // grid[0] + n // grid[1]))
    return mma_dot_config(atomic, (rows, columns), (m // rows // _M, n // columns // _N, k // _K))


def default_register_layout(
    num_warps: int, dtype: DataType, shape: Sequence[int], vector_size: int | None = None
) -> RegisterLayout:
    """The layout in which neighboring threads access neighboring vectors.

    A vector has 16 bytes, or `vector_size` elements.
    """
    packed = vector_size or max(1, _ACCESS_BYTES * 8 // dtype.bits)
    return blocked(num_warps * _WARP, shape, packed)
