# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of a loop of fused multiply-adds that keeps every multiply-add port of a core busy.

A port starts one multiply-add per cycle, whose result is available `latency` cycles later, so
latency x ports independent chains keep all ports busy. That is 4 x 2 on Intel cores since Skylake
and AMD cores since Zen 2, and 5 x 2 on Haswell and Zen (A. Fog, Instruction tables,
agner.org/optimize); 4 x 4 on Arm's Neoverse V1 and V2 (Arm, Software Optimization Guides) and
Apple's M1 (D. Johnson, Apple Microarchitecture Research). The chains stay in registers, together
with the two operands: 12 of the 16 registers of SSE and AVX, 20 of the 32 of AVX-512 and NEON.

Each chain computes x <- x * m + a. The optimizer can neither drop it (all are stored), fold it
(start values, m and a are arguments) nor reorder it (no fast-math flags).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LLVM_TYPE = {"float32": "float", "float64": "double"}
BITS = {"float32": 32, "float64": 64}
SYMBOL = "fma_kernel"


@dataclass(frozen=True)
class Shape:
    """The parameters of the loop: chains, elements of each, and whether the machine has FMA."""

    dtype: str
    chains: int
    width: int
    fused: bool

    @property
    def flops(self) -> int:
        """Floating-point operations per iteration: a multiplication and an addition per element."""
        return 2 * self.chains * self.width

    @property
    def vector(self) -> str:
        return f"<{self.width} x {LLVM_TYPE[self.dtype]}>"


def shape_for(dtype: str, features: str) -> Shape:
    """The shape with the widest vectors of LLVM's feature string (`+avx2,-avx512f,...`)."""
    has = {feature[1:] for feature in features.split(",") if feature.startswith("+")}
    bits = 512 if "avx512f" in has else 256 if "avx" in has else 128
    many_registers = bool(has & {"avx512f", "neon"})
    return Shape(
        dtype=dtype,
        chains=20 if many_registers else 12,
        width=bits // BITS[dtype],
        fused=bool(has & {"fma", "fma4", "avx512f", "neon"}),
    )


def kernel_ir(shape: Shape) -> str:
    """IR of `void fma_kernel(i64 iterations, T* chains, T m, T a)`, 1 iteration or more.

    `chains` points to `shape.chains * shape.width` elements: start values in, results out.
    """
    element = LLVM_TYPE[shape.dtype]
    return f"""\
define void @{SYMBOL}(i64 %iterations, ptr %chains, {element} %m, {element} %a) {{
entry:
{_splat(shape, "m")}
{_splat(shape, "a")}
{_each(shape, _load)}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{_each(shape, _phi)}
{_each(shape, _step_fused if shape.fused else _step_unfused)}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %iterations
  br i1 %more, label %loop, label %done
done:
{_each(shape, _store)}
  ret void
}}
declare {shape.vector} @{_intrinsic(shape)}({shape.vector}, {shape.vector}, {shape.vector})
"""


def _each(shape: Shape, line: Callable[[Shape, int], str]) -> str:
    return "\n".join(line(shape, chain) for chain in range(shape.chains))


def _splat(shape: Shape, name: str) -> str:
    vector, element = shape.vector, LLVM_TYPE[shape.dtype]
    return (
        f"  %{name}.one = insertelement {vector} poison, {element} %{name}, i64 0\n"
        f"  %{name}.all = shufflevector {vector} %{name}.one, {vector} poison,"
        f" <{shape.width} x i32> zeroinitializer"
    )


def _load(shape: Shape, chain: int) -> str:
    return (
        f"  %place.{chain} = getelementptr {shape.vector}, ptr %chains, i64 {chain}\n"
        f"  %start.{chain} = load {shape.vector}, ptr %place.{chain}, align {_align(shape)}"
    )


def _phi(shape: Shape, chain: int) -> str:
    return f"  %x.{chain} = phi {shape.vector} [ %start.{chain}, %entry ], [ %y.{chain}, %loop ]"


def _step_fused(shape: Shape, chain: int) -> str:
    vector = shape.vector
    return (
        f"  %y.{chain} = call {vector} @{_intrinsic(shape)}"
        f"({vector} %x.{chain}, {vector} %m.all, {vector} %a.all)"
    )


def _step_unfused(shape: Shape, chain: int) -> str:
    return (
        f"  %p.{chain} = fmul {shape.vector} %x.{chain}, %m.all\n"
        f"  %y.{chain} = fadd {shape.vector} %p.{chain}, %a.all"
    )


def _store(shape: Shape, chain: int) -> str:
    return f"  store {shape.vector} %y.{chain}, ptr %place.{chain}, align {_align(shape)}"


def _align(shape: Shape) -> int:
    return BITS[shape.dtype] // 8


def _intrinsic(shape: Shape) -> str:
    return f"llvm.fma.v{shape.width}f{BITS[shape.dtype]}"
