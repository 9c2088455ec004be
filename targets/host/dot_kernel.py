# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of a loop of dot-product instructions that keeps every port for them busy.

Each chain computes x <- x + m[0] * a[0] + ... with the same operands in all lanes. There are as
many chains as for fused multiply-adds (see `xtc_targets.host.fma_kernel`): dot products have the
same latency and ports, or fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xtc_targets.host.fma_kernel import SYMBOL
from xtc_targets.host.passes._dot_instructions import Dot, dot_for

_LLVM_TYPES = {"f32": "float", "i32": "i32", "bf16": "bfloat", "i16": "i16", "i8": "i8"}
_MLIR_NAMES = {"bfloat16": "bf16", "int8": "i8", "int16": "i16"}


@dataclass(frozen=True)
class DotShape:
    """The parameters of the loop: the instruction, the chains, and the accumulators of each."""

    dot: Dot
    chains: int
    width: int

    @property
    def flops(self) -> int:
        """Operations per iteration: a multiplication and an addition for each term."""
        return 2 * self.chains * self.width * self.dot.group

    @property
    def vector(self) -> str:
        """The type of a chain."""
        return f"<{self.width} x {_LLVM_TYPES[self.dot.total]}>"

    @property
    def factors(self) -> str:
        """The type of the multiplied operands."""
        return f"<{self.width * self.dot.group} x {_LLVM_TYPES[self.dot.element]}>"


def dot_shape_for(dtype: str, features: tuple[str, ...]) -> DotShape | None:
    """The shape with the widest vectors for this type; None without an instruction."""
    dot = dot_for(features, _MLIR_NAMES.get(dtype, ""))
    if dot is None:
        return None
    width = max(dot.intrinsics)
    many_registers = width == 16 or "neon" in dot.intrinsics[width]
    return DotShape(dot, 20 if many_registers else 12, width)


def dot_kernel_ir(shape: DotShape) -> str:
    """IR of `void fma_kernel(i64 iterations, T* chains, i32 m, i32 a)`, 1 iteration or more.

    `chains` points to `shape.chains * shape.width` accumulators; `m` and `a` are the bits of the
    operands.
    """
    words = f"<{shape.width} x i32>"
    splats = "\n".join(
        f"  %{name}.one = insertelement {words} poison, i32 %{name}, i64 0\n"
        f"  %{name}.words = shufflevector {words} %{name}.one, {words} poison,"
        f" {words} zeroinitializer\n"
        f"  %{name}.all = bitcast {words} %{name}.words to {shape.factors}"
        for name in ("m", "a")
    )
    old = [shape.vector] if shape.dot.adds else []
    declared = ", ".join([*old, shape.factors, shape.factors])
    return f"""\
define void @{SYMBOL}(i64 %iterations, ptr %chains, i32 %m, i32 %a) {{
entry:
{splats}
{_each(shape, _load)}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{_each(shape, _phi)}
{_each(shape, _step)}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %iterations
  br i1 %more, label %loop, label %done
done:
{_each(shape, _store)}
  ret void
}}
declare {shape.vector} @{_intrinsic(shape)}({declared})
"""


def _each(shape: DotShape, line: Callable[[DotShape, int], str]) -> str:
    return "\n".join(line(shape, chain) for chain in range(shape.chains))


def _load(shape: DotShape, chain: int) -> str:
    return (
        f"  %place.{chain} = getelementptr {shape.vector}, ptr %chains, i64 {chain}\n"
        f"  %start.{chain} = load {shape.vector}, ptr %place.{chain}, align 4"
    )


def _phi(shape: DotShape, chain: int) -> str:
    return f"  %x.{chain} = phi {shape.vector} [ %start.{chain}, %entry ], [ %y.{chain}, %loop ]"


def _step(shape: DotShape, chain: int) -> str:
    factors = f"{shape.factors} %m.all, {shape.factors} %a.all"
    if shape.dot.adds:
        call = f"@{_intrinsic(shape)}({shape.vector} %x.{chain}, {factors})"
        return f"  %y.{chain} = call {shape.vector} {call}"
    # Hidden from the optimizer, which would compute a common subexpression of all chains only once.
    return (
        f'  %m.{chain} = call {shape.factors} asm sideeffect "", "=x,0"({shape.factors} %m.all)\n'
        f"  %p.{chain} = call {shape.vector} @{_intrinsic(shape)}"
        f"({shape.factors} %m.{chain}, {shape.factors} %a.all)\n"
        f"  %y.{chain} = add {shape.vector} %x.{chain}, %p.{chain}"
    )


def _store(shape: DotShape, chain: int) -> str:
    return f"  store {shape.vector} %y.{chain}, ptr %place.{chain}, align 4"


def _intrinsic(shape: DotShape) -> str:
    return shape.dot.intrinsics[shape.width]
