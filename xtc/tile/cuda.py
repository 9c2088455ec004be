# SPDX-License-Identifier: Apache-2.0
"""`self.cuda`: layouts that tensor cores and memory of a GPU want, for `annotate_layout`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xtc.core.errors import UserError
from xtc.core.tile_layout import (
    RegisterLayout,
    blocked,
    column_local,
    column_spatial,
    local,
    spatial,
)
from xtc.tile.types import DataType

_M, _N, _K = 16, 8, 16
_WARP, _ACCESS_BYTES = 32, 16


@dataclass(frozen=True)
class DotConfig:
    """How warps share `dot`: the layouts of both operands and of the result.

    Fragments are those of mma.sync.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16").
    """

    la: RegisterLayout
    lb: RegisterLayout
    lc: RegisterLayout
    num_warps: int


def resolve_dot_config(
    operand_dtype: DataType,
    acc_dtype: DataType,
    *,
    m: int,
    n: int,
    k: int,
    warp_m: int,
    warp_n: int,
) -> DotConfig:
    """Layouts for a dot of m x k and k x n by warp_m x warp_n warps.

    Raises UserError for types and sizes that tensor cores do not take.
    """
    if not operand_dtype.is_any_float16() or acc_dtype.name != "float32":
        raise UserError(
            f"no dot of {operand_dtype} into {acc_dtype} runs on tensor cores",
            hints=["float16 or bfloat16 into float32"],
        )
    if m % (warp_m * _M) or n % (warp_n * _N) or k % _K:
        raise UserError(
            f"{warp_m} x {warp_n} warps cannot share a dot of {m} x {k} and {k} x {n}",
            notes=[f"a warp multiplies {_M} x {_K} and {_K} x {_N} at a time"],
        )
    grid = spatial(warp_m, warp_n)
    rows, columns, inner = m // warp_m // _M, n // warp_n // _N, k // _K
    a = grid.reduced([1]) * local(rows, inner) * column_local(2, 2) * spatial(8, 4) * local(1, 2)
    b = grid.reduced([0]) * local(inner, columns) * local(2, 1) * column_spatial(4, 8) * local(2, 1)
    c = grid * local(rows, columns) * local(2, 1) * spatial(8, 4) * local(1, 2)
    return DotConfig(a.merged(), b.merged(), c.merged(), warp_m * warp_n)


def default_register_layout(
    num_warps: int, dtype: DataType, shape: Sequence[int], **_: Any
) -> RegisterLayout:
    """The layout in which neighbouring threads access neighbouring 16 bytes."""
    packed = max(1, _ACCESS_BYTES * 8 // dtype.bits)
    return blocked(num_warps * _WARP, shape, packed)
