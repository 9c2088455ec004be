# SPDX-License-Identifier: Apache-2.0
"""`self.cuda`: layouts that tensor cores and memory of a GPU want, for `annotate_layout`."""

from __future__ import annotations

import math
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


@dataclass(frozen=True)
class AtomicMma:
    """A multiplication that a warp does at once, and the fragments of its operands and result."""

    name: str
    m: int
    n: int
    k: int
    la: RegisterLayout
    lb: RegisterLayout
    lc: RegisterLayout


def _atomic(name: str) -> AtomicMma:
    a = column_local(2, 2) * spatial(8, 4) * local(1, 2)
    b = local(2, 1) * column_spatial(4, 8) * local(2, 1)
    c = local(2, 1) * spatial(8, 4) * local(1, 2)
    return AtomicMma(name, _M, _N, _K, a.merged(), b.merged(), c.merged())


class atomic_mma_configs:  # noqa: N801
    """The multiplications that `dot` uses; names say shape, operands and result."""

    m16n8k16_f16_f32 = _atomic("m16n8k16_f16_f32")
    m16n8k16_bf16_f32 = _atomic("m16n8k16_bf16_f32")


@dataclass(frozen=True)
class SharedLayout:
    """The shape of a shared tensor. Where its elements lie the compiler decides: for each tensor
    such that rows and columns of 16 bytes meet no bank twice."""

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Elements of the tensor."""
        return math.prod(self.shape)


def shared_layout(shape: Sequence[int]) -> SharedLayout:
    """A layout of a shared tensor of this shape."""
    return SharedLayout(tuple(shape))


def swizzled_shared_layout(dtype: DataType, shape: Sequence[int]) -> SharedLayout:
    """A layout of a shared tensor of this shape whose banks do not conflict."""
    return SharedLayout(tuple(shape))


def mma_dot_config(
    atomic_mma: AtomicMma, warp_spatial: Sequence[int], warp_repeat: Sequence[int]
) -> DotConfig:
    """Layouts for a dot by warps in a grid, each of which multiplies so often in m, n and k."""
    (rows, columns), (m, n, k) = warp_spatial, warp_repeat
    grid = spatial(rows, columns)
    a = grid.reduced([1]) * local(m, k) * atomic_mma.la
    b = grid.reduced([0]) * local(k, n) * atomic_mma.lb
    c = grid * local(m, n) * atomic_mma.lc
    return DotConfig(a.merged(), b.merged(), c.merged(), rows * columns)


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
    repeats = m // warp_m // _M, n // warp_n // _N, k // _K
    return mma_dot_config(atomic_mma_configs.m16n8k16_f16_f32, (warp_m, warp_n), repeats)


def default_register_layout(
    num_warps: int, dtype: DataType, shape: Sequence[int], **_: Any
) -> RegisterLayout:
    """The layout in which neighbouring threads access neighbouring 16 bytes."""
    packed = max(1, _ACCESS_BYTES * 8 // dtype.bits)
    return blocked(num_warps * _WARP, shape, packed)
