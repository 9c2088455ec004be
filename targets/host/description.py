# SPDX-License-Identifier: Apache-2.0
"""The host processor as frozen data, detected or chosen by the user's options."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from xtc.core.llvm import Machine, compile_ir
from xtc_targets.host.caches import Caches, detected_caches

_VECTOR_BITS = {"avx512f": 512, "avx": 256, "sse2": 128, "neon": 128, "simd": 128}
_REGISTERS = ((r"%zmm\d", 512), (r"%ymm\d", 256))
_SUM = """
define void @f(ptr %a) {
  %v = load <16 x float>, ptr %a, align 4
  %s = fadd <16 x float> %v, %v
  store <16 x float> %s, ptr %a, align 4
  ret void
}
"""


@dataclass(frozen=True)
class HostDescription:
    """What passes need to know of a processor.

    Attributes:
        machine: triple, CPU and features that code is generated for.
        vector_bits: width of the widest vector register that the features allow: AVX-512 512,
            AVX 256, SSE2 and NEON 128 (Intel SDM volume 1, sections 14 and 15; Arm ARM, A1.4).
            Where only the processor is named, of the registers that LLVM adds vectors in for it.
    """

    machine: Machine
    vector_bits: int

    @staticmethod
    def of(machine: Machine) -> HostDescription:
        """The description that belongs to a machine; 128-bit vectors where nothing is said."""
        has = {word[1:]: word[0] == "+" for word in machine.features.split(",") if word}
        known = [bits for feature, bits in _VECTOR_BITS.items() if has.get(feature)]
        return HostDescription(machine, known[0] if known else _width_in_use(machine))

    @property
    def vector_registers(self) -> int:
        """How many vector registers there are: 32 with AVX-512 and in AArch64, else 16.

        Intel SDM volume 1, section 15.1; Arm ARM, B1.2.
        """
        is_arm = self.machine.triple.startswith(("aarch64", "arm64"))
        return 32 if self.vector_bits == 512 or is_arm else 16

    @property
    def caches(self) -> Caches:
        """Those of this machine where code is for it, else the smallest usual ones."""
        return detected_caches() if self.machine.is_host else Caches()


@functools.lru_cache(maxsize=64)
def _width_in_use(machine: Machine) -> int:
    """The width of the registers in which LLVM adds a long vector."""
    assembly = compile_ir(_SUM, machine, opt=1, kind="assembly").decode()
    return next((bits for word, bits in _REGISTERS if re.search(word, assembly)), 128)
