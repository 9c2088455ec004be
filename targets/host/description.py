# SPDX-License-Identifier: Apache-2.0
"""The host processor as frozen data, detected or chosen by the user's options."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xtc.core.llvm import Machine

_VECTOR_BITS = (
    (r"\+avx512f\b", 512),
    (r"\+avx\b", 256),
    (r"\+(sse2|neon|simd)\b", 128),
)


@dataclass(frozen=True)
class HostDescription:
    """What passes need to know of a processor.

    Attributes:
        machine: triple, CPU and features that code is generated for.
        vector_bits: width of the widest vector register that the features allow: AVX-512 512,
            AVX 256, SSE2 and NEON 128 (Intel SDM volume 1, sections 14 and 15; Arm ARM, A1.4).
    """

    machine: Machine
    vector_bits: int

    @staticmethod
    def of(machine: Machine) -> HostDescription:
        """The description that belongs to a machine; 128-bit vectors where nothing is said."""
        for pattern, bits in _VECTOR_BITS:
            if re.search(pattern, machine.features):
                return HostDescription(machine, bits)
        return HostDescription(machine, 128)
