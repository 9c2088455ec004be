# SPDX-License-Identifier: Apache-2.0
"""Operand types of tensor cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from xtc.ir.mlir import Type

STEP_BYTES = 32
"""Bytes of a row of A, and of a column of B, per mma: 16 elements of 16 bits, or 8 of 32."""

TRANSPOSABLE_BYTES = 2
"""Bytes of operands that warpgroups transpose; others are contiguous along K ("PTX ISA", wgmma)."""


@dataclass(frozen=True)
class Kind:
    """An operand type of tensor cores.

    Attributes:
        name: the type's name in PTX.
        nbytes: bytes per element.
    """

    name: str
    nbytes: int

    @property
    def rounds(self) -> bool:
        """Whether operands are float32, which is rounded."""
        return self.name == "tf32"

    @property
    def step(self) -> int:
        """The K extent of one mma."""
        return STEP_BYTES // self.nbytes


KINDS: Mapping[str, Kind] = MappingProxyType(
    {"f16": Kind("f16", 2), "bf16": Kind("bf16", 2), "f32": Kind("tf32", 4)}
)

BYTES = Kind("s8", 1)
"""8-bit integers with 32-bit accumulators, which only tile kernels use."""


def kind_of(element: Type) -> Kind:
    """The kind of an element type; that of float32 is TF32."""
    return KINDS[str(element)]
