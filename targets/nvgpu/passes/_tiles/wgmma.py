# SPDX-License-Identifier: Apache-2.0
"""Lowers warpgroup multiplications: layouts of accumulators, and matrix descriptors."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from xtc.core.errors import UserError
from xtc.core.tile_layout import RegisterLayout, local, spatial
from xtc.ir.builders.numbers import Number, add, divide_unsigned, multiply
from xtc.ir.builders.operand_codes import codes_of
from xtc.ir.builders.tile import location_text
from xtc.ir.mlir import (
    Attribute,
    IntegerType,
    Operation,
    RankedTensorType,
    Type,
    Value,
    VectorType,
    arith,
    vector,
)
from xtc.ir.mlir_llvm import llvm
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._thread_code import as_i32, wide
from xtc_targets.nvgpu.passes._tiles import wgmma_registers as from_registers
from xtc_targets.nvgpu.passes._tiles.shared_memory import SharedView, bytes_of
from xtc_targets.nvgpu.passes._tiles.wgmma_sums import packed, unpacked

WARPGROUP = 128
_WORD_BYTES = 4  # of a register
_ROWS, _STEP_BYTES, _COLUMNS = 64, 32, 256
"""Limits of an instruction: rows, bytes per row of A, and maximum columns of B."""
_ODD_COLUMNS = 24
"""The most columns, an odd multiple of 8, of a multiplication of integers ("PTX ISA", wgmma)."""

_CODES = {
    "float8_e4m3": "e4m3",
    "float8_e5m2": "e5m2",
    "tfloat32": "tf32",
    "int8": "s8",
    "uint8": "u8",
}

_SWIZZLES = {128: 1, 64: 2, 32: 3}
"""The swizzle mode of a matrix descriptor, by the bytes of the pattern ("PTX ISA", wgmma)."""

_ADDRESSES = 0x3FFF
"""The address in a descriptor, in units of 16 bytes: the 256 KiB of a multiprocessor."""


@cache
def sum_layout(m: int, n: int, threads: int) -> RegisterLayout:
    """The layout of accumulators: a warp has 16 of 64 rows, a lane has pairs in two of these."""
    groups = threads // WARPGROUP
    rows = spatial(groups, 1) * local(m // _ROWS // groups, 1) * spatial(4, 1)
    return (rows * local(1, n // 8) * local(2, 1) * spatial(8, 4) * local(1, 2)).merged()


def layout_of_sums(op: Operation, threads: int) -> RegisterLayout:
    """The layout of an operation's result. Raises UserError if threads cannot share the rows."""
    m, n = RankedTensorType(op.results[0].type).shape
    if threads % WARPGROUP or m % (threads // WARPGROUP * _ROWS):
        raise UserError(
            f"wgmma.mma of {m} rows by {threads} threads",
            where=location_text(op.location),
            notes=[f"each group of {WARPGROUP} threads needs a multiple of {_ROWS} rows"],
        )
    return sum_layout(m, n, threads)


def columns_at_once(n: int, panel: int = 8, codes: str = "") -> int:
    """The number of columns per instruction, a divisor of `n`.

    Args:
        panel: columns that are contiguous in shared memory. An instruction that begins inside of a
            row of the swizzle pattern would read the row's end as the next row.
        codes: the operands' type, if MLIR lacks it. Integers lack some odd multiples of 8.
    """
    sizes = range(panel, min(n, _COLUMNS) + 1, panel)
    is_integer = _CODES.get(codes) in from_registers.INTEGERS
    return max(size for size in sizes if n % size == 0 and not (is_integer and _is_odd(size)))


def _is_odd(columns: int) -> bool:
    return columns > _ODD_COLUMNS and columns % 16 != 0


def multiply_add(
    op: Operation, a: SharedView | Value, b: SharedView, sums: Value, thread: Value, threads: int
) -> Value:
    """Begin to compute a thread's elements of `a @ b + sums`; they are valid after a wait.

    A is a view of shared memory, or a thread's elements of a tile.
    """
    m = op.results[0].type.shape[0]
    k, n = b.shape
    blocks = m // _ROWS // (threads // WARPGROUP)
    right = _Matrix(b, 1, op)
    panel = b.row_bytes // b.nbytes if right.is_transposed else 8
    columns = columns_at_once(n, panel, codes_of(op))
    first_row = multiply(divide_unsigned(thread, WARPGROUP), blocks * _ROWS)
    count = columns // 2
    elements = [vector.extract(sums, [], [at]) for at in range(VectorType(sums.type).shape[0])]
    step_columns = _STEP_BYTES // b.nbytes
    left = _Matrix(a, 0, op) if isinstance(a, SharedView) else _Fragments(a, k // step_columns)
    right.begin_at(0)
    if isinstance(left, _Matrix):
        left.begin_at(first_row)
    for block in range(blocks):
        for column in range(0, n, columns):
            at = block * n // 2 + column // 2
            total = packed(elements[at : at + count])
            for step in range(0, k, step_columns):
                there = right.descriptor(column, step)
                if isinstance(left, _Fragments):
                    words = left.words(block, step // step_columns)
                    how = right.element, columns, right.is_transposed
                    total = from_registers.multiplied(words, there, *how, total, elements[0].type)
                    continue
                here = left.descriptor(block * _ROWS, step)
                total = _multiplied(left, right, here, there, columns, total, elements[0].type)
            elements[at : at + count] = unpacked(total, count, elements[0].type)
    return vector.from_elements(sums.type, elements)


@dataclass
class _Fragments:
    """Operand A in registers, with `steps` steps per 64 rows."""

    value: Value
    steps: int

    def words(self, block: int, step: int) -> list[Value]:
        """The registers of 64 rows in one step."""
        type = VectorType(self.value.type)
        count = type.shape[0] * bytes_of(type.element_type) // _WORD_BYTES
        whole = vector.bitcast(VectorType.get([count], IntegerType.get_signless(32)), self.value)
        first = (block * self.steps + step) * from_registers.A_WORDS
        return [vector.extract(whole, [], [first + n]) for n in range(from_registers.A_WORDS)]


@dataclass
class _Matrix:
    """An operand in shared memory; `outer` is its dimension that is not K."""

    view: SharedView
    outer: int
    op: Operation
    first: Value = field(init=False)

    def __post_init__(self) -> None:
        if self.view.row_bytes not in _SWIZZLES or self.view.contiguous is None:
            raise UserError(
                f"wgmma.mma of a shared tensor with rows of {self.view.row_bytes} bytes",
                where=location_text(self.op.location),
                hints=["use rows of 32 or 64 bytes, or of a multiple of 128"],
            )
        if codes_of(self.op) and self.is_transposed:
            raise UserError(
                f"wgmma.mma of {codes_of(self.op)}: k is not contiguous in operand "
                f"{'ab'[self.outer]}",
                where=location_text(self.op.location),
                notes=["only 16-bit operands can be transposed"],
                hints=["use a shared tensor of [n, k], and multiply by its transpose()"],
            )

    @property
    def is_transposed(self) -> bool:
        """Whether the operand is contiguous along its other dimension than K."""
        return self.view.contiguous == self.outer

    @property
    def element(self) -> str:
        """The element type's name in the PTX ISA."""
        codes = codes_of(self.op)
        return _CODES[codes] if codes else str(self.view.element)

    def begin_at(self, outer: Number) -> None:
        """Let descriptors count from a row or column, whose address is computed once."""
        view = self.view
        offset = multiply(add(view.begin, view.offset(self._index(outer, 0))), view.nbytes)
        i32 = IntegerType.get_signless(32)
        base = arith.trunci(i32, llvm.ptrtoint(IntegerType.get_signless(64), view.base))
        start = as_i32(add(base, add(offset, view.root)))
        leading = view.panel_step * view.nbytes if self.is_transposed else 0
        address = arith.andi(arith.shrui(start, as_i32(4)), as_i32(_ADDRESSES))
        self.first = arith.ori(address, as_i32(max(1, leading >> 4) << 16))

    def descriptor(self, outer: int, step: int) -> Value:
        """The descriptor of the matrix that begins at a row or column, counted from `begin_at`, and
        at a position along K. The sum stays below `_ADDRESSES`: it is inside shared memory."""
        view = self.view
        distance = view.offset(self._index(outer, step))
        assert isinstance(distance, int)  # noqa: S101
        low = wide(add(self.first, distance * view.nbytes >> 4))
        high = _SWIZZLES[view.row_bytes] << 62 | (8 * view.row_bytes >> 4) << 32
        return arith.ori(low, wide(high - (1 << 64) if high >> 63 else high))

    def _index(self, outer: Number, step: int) -> list[Number]:
        return [outer, step] if self.outer == 0 else [step, outer]


def _multiplied(
    left: _Matrix, right: _Matrix, a: Value, b: Value, columns: int, total: Value, kind: Type
) -> Value:
    type = Attribute.parse(f"#nvvm.wgmma_type<{left.element}>")
    scale = Attribute.parse("#nvvm.wgmma_scale_in<one>")
    sums = "s32" if left.element in ("s8", "u8") else str(kind)
    return nvvm.wgmma_mma_async(
        total.type,
        total,
        a,
        b,
        Attribute.parse(
            f"#nvvm.shape<m = {_ROWS}, n = {columns}, k = {_STEP_BYTES // left.view.nbytes}>"
        ),
        type,
        type,
        Attribute.parse(f"#nvvm.wgmma_type<{sums}>"),
        Attribute.parse("#nvvm.wgmma_scale_out<one>"),
        scale,
        scale,
        Attribute.parse(f"#nvvm.mma_layout<{'col' if left.is_transposed else 'row'}>"),
        Attribute.parse(f"#nvvm.mma_layout<{'row' if right.is_transposed else 'col'}>"),
    )
