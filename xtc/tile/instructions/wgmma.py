# SPDX-License-Identifier: Apache-2.0
"""The instruction group `wgmma`: multiplications by four warps together."""

from __future__ import annotations

from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.instructions.memory import require_live
from xtc.tile.types import float16, float32, int32
from xtc.tile.values.idioms import not_in_group
from xtc.tile.values.runtime import RegisterTensor, SharedTensor

_ACCUMULATORS = {
    "float16": (float32, float16),
    "bfloat16": (float32,),
    "float8_e4m3": (float32, float16),
    "float8_e5m2": (float32, float16),
    "tfloat32": (float32,),
    "int8": (int32,),
    "uint8": (int32,),
}
"""By the type of the operands, the types in which their products are summed ("PTX ISA", wgmma)."""


class Wgmma:
    """Asynchronous matrix multiplications by warpgroups of 128 threads."""

    def fence(self) -> None:
        """Order earlier accesses to registers before the next multiplications."""
        tile.wgmma_fence()

    def commit_group(self) -> None:
        """Commit the multiplications started since the last commit as a group."""
        tile.wgmma_commit()

    def wait_group(self, n: int) -> None:
        """Wait until at most the last `n` groups are in flight."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise UserError(
                f"wgmma.wait_group takes a constant number of groups, not {n!r}",
                hints=["write the number, or unroll the loop: self.range(n, unroll='all')"],
            )
        tile.wgmma_wait(n)

    def mma(self, a: SharedTensor | RegisterTensor, b: SharedTensor, d: RegisterTensor) -> None:
        """Start `d += a @ b`; do not access shared operands and the sum before `wait_group`.

        `k` is a multiple of 16, of 32 for elements of 8 bits, of 8 for tfloat32; for these two, `k`
        is the dimension that is contiguous in shared memory. The sums of small floats have fewer
        bits on a GPU than float32. Of a tfloat32 the upper 19 bits are read: cast to it to
        round. Raises UserError for other shapes, and for other types than two of float16, bfloat16,
        float8_e4m3, float8_e5m2 or tfloat32 into float32, of float16 or 8-bit floats into float16,
        which is rounded every 32 bytes of `k`, or of int8 or uint8 into int32.
        """
        for value, kinds in ((a, SharedTensor | RegisterTensor), (b, SharedTensor)):
            if not isinstance(value, kinds):
                raise UserError(
                    f"wgmma.mma takes shared tensors, not {value!r}",
                    hints=["copy it to a shared tensor first; only a may be in registers"],
                )
            if isinstance(value, SharedTensor):
                require_live(value, "wgmma.mma")
        if not isinstance(d, RegisterTensor):
            raise UserError(
                f"wgmma.mma adds to a register tensor, not {d!r}",
                hints=["d = self.register_tensor(dtype=float32, shape=[m, n], init=0.0)"],
            )
        _require_shapes(a, b, d)
        if a.dtype != b.dtype or d.dtype not in _ACCUMULATORS.get(a.dtype.name, ()):
            raise UserError(
                f"wgmma.mma of {a!r}, {b!r} and {d!r}",
                notes=[
                    f"operands are both {', or both '.join(_ACCUMULATORS)}; they accumulate in "
                    "float32, integers in int32; float16 and 8-bit floats in float16, too"
                ],
            )
        codes = "" if a.dtype.is_any_float16() else a.dtype.name
        d.change(tile.wgmma(a.value, b.value, d.value, codes))

    def __getattr__(self, name: str) -> Any:
        raise not_in_group("wgmma", name, dir(self))


def _require_shapes(a: Any, b: Any, d: Any) -> None:
    shapes = [a.shape, b.shape, d.shape]
    if any(len(shape) != 2 for shape in shapes):
        raise UserError(
            f"wgmma.mma of {a!r}, {b!r} and {d!r}: all must have two dimensions",
            hints=["a is m x k, b is k x n, d is m x n: take a slot of a tensor, s[i]"],
        )
    (m, k), (inner, n), sums = shapes
    if inner != k or tuple(sums) != (m, n):
        raise UserError(
            f"wgmma.mma of {a!r}, {b!r} and {d!r}: shapes do not match",
            hints=["a is m x k, b is k x n, d is m x n: use s.transpose() for the other order"],
        )
    step = 256 // a.dtype.bits
    if m % 64 or n % 8 or k % step:
        raise UserError(
            f"wgmma.mma of [{m}, {k}] and [{k}, {n}]",
            notes=[f"m is a multiple of 64, n of 8, k of {step}"],
            hints=["choose such tiles, or use self.dot, which takes others too"],
        )
