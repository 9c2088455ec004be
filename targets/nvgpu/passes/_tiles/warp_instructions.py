# SPDX-License-Identifier: Apache-2.0
"""Builders of cp.async, ldmatrix, stmatrix and mma.sync."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.mlir import Attribute, F32Type, IntegerType, Type, Value, arith
from xtc.ir.mlir_llvm import llvm
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tiles.mma_kind import Kind

NARROWEST_ASYNC = 4
"""Minimum bytes of cp.async."""

ACCUMULATORS = 4
"""Accumulators of a lane per 16 x 8 tile: two adjacent in a row, and two 8 rows below."""

_MATRICES = {1: "i32", 2: "!llvm.struct<(i32, i32)>", 4: "!llvm.struct<(i32, i32, i32, i32)>"}


def begin_copy(
    to: Value, source: Value, width: int, inside: Value | bool, kept: Value | None = None
) -> None:
    """Begin to copy `width` bytes to shared memory by cp.async; zeros unless `inside`.

    With `kept`, only the first `kept` bytes are copied; the others become zeros.
    """
    kinds = nvvm.LoadCacheModifierKind
    modifier = kinds.CG if width == ACCESS_BYTES else kinds.CA  # CA: through the L1 cache
    size = kept
    if inside is not True:
        size = arith.select(inside, as_i32(width) if kept is None else kept, as_i32(0))
    nvvm.cp_async_shared_global(to, source, width, modifier, cp_size=size)


def load_matrices(address: Value, count: int, transposed: bool) -> list[Value]:
    """Load a lane's registers of 1, 2 or 4 matrices of 8 x 8 16-bit elements, by ldmatrix."""
    loaded = nvvm.ldmatrix(
        Type.parse(_MATRICES[count]),
        address,
        count,
        *_matrix_kind(transposed),
    )
    if count == 1:
        return [loaded]
    i32 = IntegerType.get_signless(32)
    return [llvm.extractvalue(i32, loaded, [number]) for number in range(count)]


def store_matrices(address: Value, words: Sequence[Value], transposed: bool) -> None:
    """Store a lane's registers of 1, 2 or 4 such matrices, by stmatrix."""
    nvvm.stmatrix(address, words, *_matrix_kind(transposed))


def _matrix_kind(transposed: bool) -> tuple[Attribute, Attribute, Attribute]:
    return (
        Attribute.parse(f"#nvvm.mma_layout<{'col' if transposed else 'row'}>"),
        Attribute.parse("#nvvm.ld_st_matrix_shape<m = 8, n = 8>"),
        Attribute.parse("#nvvm.ld_st_matrix_elt_type<b16>"),
    )


def multiplicand(kind: Kind, word: Value) -> Value:
    """A 32-bit register as an operand of mma.sync; float32 is rounded to the nearest TF32."""
    if kind.name in ("bf16", "s8"):
        return word
    if kind.name == "f16":
        return llvm.bitcast(Type.parse("vector<2xf16>"), word)
    number = llvm.bitcast(F32Type.get(), word)
    rounding = Attribute.parse("#nvvm.fp_rnd_mode<rna>")
    return nvvm.convert_float_to_tf32(word.type, number, rnd=rounding)


def _wrapped() -> Attribute:
    return Attribute.parse("#nvvm.mma_int_overflow<wrapped>")


def mma(
    kind: Kind, a: Sequence[Value], b: Sequence[Value], accumulators: Sequence[Value]
) -> list[Value]:
    """The accumulators of a 16 x 8 tile after one step."""
    type = Attribute.parse(f"#nvvm.mma_type<{kind.name}>")
    is_integer = kind.name == "s8"
    total: Type = IntegerType.get_signless(32) if is_integer else F32Type.get()
    made = nvvm.mma_sync(
        Type.parse(f"!llvm.struct<({', '.join([str(total)] * ACCUMULATORS)})>"),
        Attribute.parse(f"#nvvm.shape<m = 16, n = 8, k = {kind.step}>"),
        Attribute.parse("#nvvm.mma_layout<row>"),
        Attribute.parse("#nvvm.mma_layout<col>"),
        list(a),
        list(b),
        list(accumulators),
        multiplicand_a_ptx_type=type,
        multiplicand_b_ptx_type=type,
        int_overflow_behavior=_wrapped() if is_integer else None,
    )
    return [llvm.extractvalue(total, made, [number]) for number in range(ACCUMULATORS)]
