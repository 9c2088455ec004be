# SPDX-License-Identifier: Apache-2.0
"""Instructions that add dot products of short narrow vectors to the lanes of a wide vector.

Lane n of the result is `sum[n] + a[n][0] * b[n][0] + ... + a[n][T-1] * b[n][T-1]`. For rounding and
signs see Intel, Architecture Instruction Set Extensions Programming Reference, VDPBF16PS, VPDPBUSD,
VPDPWSSD; Arm, A-profile A64 instruction set, BFDOT and SDOT (vector).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xtc.core.errors import UserError, did_you_mean

_WIDER = {"i8": "i16"}  # an element without an instruction is widened for another's


@dataclass(frozen=True)
class Dot:
    """One instruction, for vectors of several lengths.

    Attributes:
        element: element type of both operands, in MLIR's spelling.
        total: type of the accumulators.
        group: number of consecutive elements of K that it reduces.
        offset: whether the first operand is unsigned and the second one signed.
        intrinsics: LLVM's names, by the number of accumulators.
        adds: whether it adds to an accumulator; if not, a separate addition follows.
    """

    element: str
    total: str
    group: int
    offset: bool
    intrinsics: Mapping[int, str]
    adds: bool = True


def _x86(name: str, lanes: Sequence[int]) -> dict[int, str]:
    return {count: f"llvm.x86.avx512{name}.{32 * count}" for count in lanes}


_WORDS = {8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"}

DOTS: dict[str, tuple[Dot, ...]] = {
    "avx512bf16": (Dot("bf16", "f32", 2, False, _x86("bf16.dpbf16ps", (16, 8, 4))),),
    "avx512vnni": (
        Dot("i8", "i32", 4, True, _x86(".vpdpbusd", (16, 8, 4))),
        Dot("i16", "i32", 2, False, _x86(".vpdpwssd", (16, 8, 4))),
    ),
    "avxvnni": (
        Dot("i8", "i32", 4, True, _x86(".vpdpbusd", (8, 4))),
        Dot("i16", "i32", 2, False, _x86(".vpdpwssd", (8, 4))),
    ),
    "avx512bw": (
        Dot("i16", "i32", 2, False, {16: "llvm.x86.avx512.pmaddw.d.512"} | _WORDS, adds=False),
    ),
    "avx2": (Dot("i16", "i32", 2, False, _WORDS, adds=False),),
    "bf16": (Dot("bf16", "f32", 2, False, {4: "llvm.aarch64.neon.bfdot.v4f32.v8bf16"}),),
    "dotprod": (Dot("i8", "i32", 4, False, {4: "llvm.aarch64.neon.sdot.v4i32.v16i8"}),),
}
"""The instructions by processor feature, in LLVM's spelling."""


def dot_for(features: Sequence[str], element: str) -> Dot | None:
    """The instruction for operands of this type, which may be widened first, or None.

    Raises UserError for a feature that is not in DOTS.
    """
    for feature in features:
        if feature not in DOTS:
            raise UserError(
                f"'{feature}' is not a feature with dot-product instructions",
                hints=did_you_mean(feature, DOTS),
            )
    found = (dot for feature in features for dot in DOTS[feature] if dot.element == element)
    first = next(found, None)
    if first is None and element in _WIDER:
        return dot_for(features, _WIDER[element])
    return first
