# SPDX-License-Identifier: Apache-2.0
"""The host processor as frozen data, detected or chosen by the user's options."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from xtc.codegen.llvm import Machine, compile_ir
from xtc_targets.host.data_caches import Caches, detected_caches

_VECTOR_BITS = {"avx512f": 512, "avx": 256, "sse2": 128, "neon": 128, "simd": 128}
_REGISTERS = ((r"%zmm\d", 512), (r"%ymm\d", 256))
_AVX512 = ("avx512vl", "avx512f", "avx2")
# Features with dot products, and the features that they require: LLVM disables them together.
_DOTS = {
    "avx512bf16": _AVX512,
    "avx512vnni": _AVX512,
    "avxvnni": ("avx2",),
    "avx512bw": _AVX512,
    "avx2": (),
    "bf16": ("neon",),
    "dotprod": ("neon",),
}
_WITH_DOTS = ("x86_64", "i386", "i686", "aarch64", "arm64")
_SUM = """
define void @f(ptr %a) {
  %v = load <16 x float>, ptr %a, align 4
  %s = fadd <16 x float> %v, %v
  store <16 x float> %s, ptr %a, align 4
  ret void
}
"""

_DOT_WORDS = {
    "avx512bf16": r"vcvtneps2bf16\s.*ymm",
    "avx512vnni": r"vpdpwssd\s.*%zmm",
    "avxvnni": r"vpdpwssd\s.*%ymm",
    "avx512bw": r"(vpmaddwd|vpdpwssd)\s.*%zmm",
    "avx2": r"(vpmaddwd|vpdpwssd)\s.*%[yz]mm",
    "bf16": r"bfcvtn",
    "dotprod": r"sdot",
}


def _picked(first: int) -> str:
    """The indices of every other element, for a shuffle."""
    return ", ".join(f"i32 {lane}" for lane in range(first, 32, 2))


_DOT_PROBE = f"""
define void @words(ptr %a, ptr %b, ptr %c) {{
  %x = load <32 x i16>, ptr %a, align 2
  %y = load <32 x i16>, ptr %b, align 2
  %s = load <16 x i32>, ptr %c, align 4
  %u = sext <32 x i16> %x to <32 x i32>
  %v = sext <32 x i16> %y to <32 x i32>
  %p = mul <32 x i32> %u, %v
  %e = shufflevector <32 x i32> %p, <32 x i32> poison, <16 x i32> <{_picked(0)}>
  %o = shufflevector <32 x i32> %p, <32 x i32> poison, <16 x i32> <{_picked(1)}>
  %w = add <16 x i32> %e, %o
  %t = add <16 x i32> %w, %s
  store <16 x i32> %t, ptr %c, align 4
  ret void
}}
declare <4 x i32> @llvm.vector.partial.reduce.add.v4i32.v16i32(<4 x i32>, <16 x i32>)
define void @bytes(ptr %a, ptr %b, ptr %c) {{
  %x = load <16 x i8>, ptr %a, align 1
  %y = load <16 x i8>, ptr %b, align 1
  %s = load <4 x i32>, ptr %c, align 4
  %u = sext <16 x i8> %x to <16 x i32>
  %v = sext <16 x i8> %y to <16 x i32>
  %p = mul <16 x i32> %u, %v
  %t = call <4 x i32> @llvm.vector.partial.reduce.add.v4i32.v16i32(<4 x i32> %s, <16 x i32> %p)
  store <4 x i32> %t, ptr %c, align 4
  ret void
}}
define void @halves(ptr %a, ptr %b) {{
  %x = load <16 x float>, ptr %a, align 4
  %y = fptrunc <16 x float> %x to <16 x bfloat>
  store <16 x bfloat> %y, ptr %b, align 2
  ret void
}}
"""


@dataclass(frozen=True)
class HostDescription:
    """The parameters of a processor that passes read.

    Attributes:
        machine: triple, CPU and features that code is generated for.
        vector_bits: width of the widest vector register that the features allow: AVX-512 512, AVX
            256, SSE2 and NEON 128 (Intel SDM volume 1, sections 14 and 15; Arm ARM, A1.4). If only
            the processor is named, width of the registers in which LLVM adds vectors for it.
    """

    machine: Machine
    vector_bits: int

    @staticmethod
    def of(machine: Machine) -> HostDescription:
        """The description of a machine; 128-bit vectors if nothing else is known."""
        has = _feature_changes(machine)
        known = [bits for feature, bits in _VECTOR_BITS.items() if has.get(feature)]
        return HostDescription(machine, known[0] if known else _width_in_use(machine))

    @property
    def vector_registers(self) -> int:
        """The number of vector registers: 32 with AVX-512 and on AArch64, otherwise 16.

        Intel SDM volume 1, section 15.1; Arm ARM, B1.2.
        """
        is_arm = self.machine.triple.startswith(("aarch64", "arm64"))
        return 32 if self.vector_bits == 512 or is_arm else 16

    @property
    def masked_bits(self) -> int:
        """Width of the narrowest elements that vector loads and stores can mask; 0 without masks.

        AVX masks elements of 32 and 64 bits, AVX-512BW those of 8 and 16 as well (Intel SDM volume
        2, VMASKMOV and VMOVDQU8). SSE and NEON have no masks.
        """
        if self.vector_bits < 256:
            return 0
        return 8 if "avx512bw" in self.dots else 32

    @property
    def dots(self) -> tuple[str, ...]:
        """Its features with dot-product instructions, the most powerful instructions first.

        If only the processor is named, the features whose instructions LLVM selects for it.
        """
        has = _feature_changes(self.machine)
        if not any(has.get(feature) for feature in _VECTOR_BITS):
            return _dots_in_use(self.machine)
        return tuple(
            name
            for name, needed in _DOTS.items()
            if has.get(name) and all(has.get(feature, True) for feature in needed)
        )

    @property
    def caches(self) -> Caches:
        """The caches of this machine if code is for it, otherwise guesses."""
        return detected_caches() if self.machine.is_host else Caches()


def _feature_changes(machine: Machine) -> dict[str, bool]:
    """The features that are added or removed; the last mention of each counts."""
    return {word[1:]: word[0] == "+" for word in machine.features.split(",") if word}


@functools.lru_cache(maxsize=64)
def _dots_in_use(machine: Machine) -> tuple[str, ...]:
    """The features whose dot products, or conversions to their type, LLVM selects.

    Empty on other architectures: LLVM cannot generate code for these operations everywhere.
    """
    if not machine.triple.startswith(_WITH_DOTS):
        return ()
    assembly = compile_ir(_DOT_PROBE, machine, opt=1, kind="assembly").decode()
    return tuple(name for name, word in _DOT_WORDS.items() if re.search(word, assembly))


@functools.lru_cache(maxsize=64)
def _width_in_use(machine: Machine) -> int:
    """The width of the registers in which LLVM adds a long vector, in bits."""
    assembly = compile_ir(_SUM, machine, opt=1, kind="assembly").decode()
    return next((bits for word, bits in _REGISTERS if re.search(word, assembly)), 128)
