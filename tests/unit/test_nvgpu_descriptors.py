# SPDX-License-Identifier: Apache-2.0
"""Matrix descriptors and tensor maps agree, by the rules that NVIDIA states for each: every
multiplication reads the elements that bulk copies have placed.

The rules are written again here: "PTX ISA", matrix descriptor format and canonical layouts of
wgmma, which cute/atom/mma_traits_sm90_gmma.hpp states as well, and the swizzles of tensor maps in
cuda.h and "CUDA C++ Programming Guide", TMA swizzle.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.unit.ptx_numbers import Registers
from tests.unit.tile_descriptors import BulkProduct
from xtc.core.tile_layout import RegisterLayout
from xtc.tile import bfloat16, float8_e4m3, float8_e5m2, int8, tfloat32, uint8
from xtc.tile.launch.maps import described_maps
from xtc_targets.nvgpu.passes._tiles.wgmma import columns_at_once, sum_layout
from xtc_targets.nvgpu.passes._tiles.wgmma_registers import operand_layout

CHUNK = 16  # bytes that swizzles keep together
ROWS = 64
_COPY = re.compile(r"cp\.async\.bulk\.tensor\.2d\S+ \[(%\w+)\], \[(%\w+), \{(%\w+), (%\w+)\}\]")
_MULTIPLY = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k(\d+)\.\w+\.(\w+)\.\w+ "
    r"\{[^}]*\}, (%\w+), (%\w+), p([-, 01]*);"
)
_NBYTES = {"f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1, "tf32": 4, "s8": 1, "u8": 1}

Chunk = tuple[int, int, int]
"""An operand's number, and the row and the byte in the row of its tensor in global memory."""


def copied(ptx: str, maps: list[tuple[int, Any]], thread: int) -> dict[int, Chunk]:
    """The chunk at each address of shared memory after all bulk copies of a thread."""
    registers, found = Registers(ptx, thread), {}
    first = min(registers.parameter(copy[1]) for copy in _COPY.findall(ptx))
    for to, map, x, y in _COPY.findall(ptx):
        operand, described = maps[registers.parameter(map) - first]
        rows, inner = described.box[0], described.box[1] * described.element_bytes
        start, column, row = registers.value(to), registers.value(x), registers.value(y)
        assert start % 128 == 0
        assert inner % CHUNK == 0
        assert max(described.box) <= 256
        assert not described.swizzle or inner <= described.swizzle
        for r, byte in itertools.product(range(rows), range(0, inner, CHUNK)):
            address = swizzled(start + r * inner + byte, described.swizzle)
            assert address not in found
            found[address] = operand, row + r, column * described.element_bytes + byte
    return found


def swizzled(address: int, span: int) -> int:
    """The address of a chunk: its number within the span, exclusive or the number of the 128-byte
    line, as far as the span has chunks."""
    return address ^ (address // 128 % max(1, span // CHUNK)) * CHUNK


@dataclass(frozen=True)
class Descriptor:
    """The fields of a matrix descriptor."""

    bits: int

    def field(self, low: int) -> int:
        return (self.bits >> low & 0x3FFF) << 4

    @property
    def span(self) -> int:
        """Bytes of the swizzle pattern's rows: modes 1, 2 and 3 are 128, 64 and 32 bytes."""
        return {1: 128, 2: 64, 3: 32}[self.bits >> 62]

    def address(self, outer: int, k: int, nbytes: int, transposed: bool) -> int:
        """Where the element at (outer, k) lies; `outer` is a row of A, or a column of B.

        T = 16 / nbytes elements are a chunk, and W chunks a row of the pattern. K-major:
        ((8,m),(T,W)) : ((W T, SBO), (1, T)); MN-major: ((T,W,m),(8,k)) : ((1,T,LBO),(W T, SBO)).
        """
        start, leading, stride = self.field(0), self.field(16), self.field(32)
        if transposed:
            across = outer * nbytes
            offset = across // self.span * leading + across % self.span
            offset += k // 8 * stride + k % 8 * self.span
        else:
            offset = outer // 8 * stride + outer % 8 * self.span + k * nbytes
        return swizzled(start + offset, self.span)

    def check(self) -> None:
        """The unused bits are 0. So is the base offset, since the pattern begins at a multiple of
        its 8 rows: only the part of a row before the start address may be missing."""
        unused = 0b11 << 14 | 0b11 << 30 | 0b1 << 46 | 0b1 << 47 | 0b1 << 48 | 0x3FF << 52
        assert self.bits & unused == 0
        assert self.bits >> 49 & 7 == 0
        assert self.field(0) % (8 * self.span) < self.span


def read(
    descriptor: Descriptor,
    memory: Mapping[int, Chunk],
    outers: int,
    steps: int,
    nbytes: int,
    transposed: bool,
) -> tuple[int, int, int]:
    """The operand, and the row or column and the position along K of the first element that an
    instruction reads. All others must follow it."""

    def element(outer: int, k: int) -> tuple[int, int, int]:
        address = descriptor.address(outer, k, nbytes, transposed)
        operand, row, byte = memory[address // CHUNK * CHUNK]
        column = (byte + address % CHUNK) // nbytes
        return operand, *((column, row) if transposed else (row, column))

    descriptor.check()
    operand, first_outer, first_k = element(0, 0)
    for outer, k in itertools.product(range(outers), range(steps)):
        assert element(outer, k) == (operand, first_outer + outer, first_k + k)
    return operand, first_outer, first_k


KERNELS = [
    # Rows of 128, 64 and 32 bytes along K, and along the other dimension.
    ((64, 64, 64), {}),
    ((128, 32, 32), {}),
    ((64, 16, 16), {}),
    ((64, 128, 128), {"b_transposed": True}),
    ((64, 24, 32), {"b_transposed": True}),
    ((192, 8, 16), {"b_transposed": True}),
    ((128, 192, 64), {"a_transposed": True}),
    ((256, 256, 64), {"a_transposed": True, "b_transposed": True, "warps": 8}),
    ((128, 320, 48), {"a_transposed": True, "dtype": bfloat16}),
    ((256, 128, 128), {"warps": 8}),
    # Of 8 and 32 bits, whose K is contiguous.
    ((64, 64, 128), {"dtype": float8_e4m3, "b_transposed": True}),
    ((128, 24, 256), {"dtype": float8_e5m2, "b_transposed": True}),
    ((64, 40, 64), {"dtype": int8, "b_transposed": True}),
    ((64, 96, 32), {"dtype": uint8, "b_transposed": True}),
    ((128, 48, 32), {"dtype": tfloat32, "b_transposed": True}),
    ((64, 8, 64), {"dtype": tfloat32, "b_transposed": True}),
    ((64, 16, 8), {"dtype": tfloat32, "b_transposed": True}),
]


@pytest.mark.parametrize(("sizes", "how"), KERNELS)
def test_multiplications_read_what_bulk_copies_have_placed(
    sizes: tuple[int, int, int], how: dict[str, Any]
) -> None:
    (m, n, k), warps = sizes, how.get("warps", 4)
    program: Any = BulkProduct
    kernel = program(**how).compile(m, n, k, None, None, None)
    maps = described_maps(kernel, dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), 0))
    memory = copied(kernel.ptx, maps, 0)
    multiplied = set()
    for thread in range(0, 32 * warps, 128):
        registers = Registers(kernel.ptx, thread)
        for columns, steps, kind, a, b, flags in _MULTIPLY.findall(kernel.ptx):
            nbytes, columns, steps = _NBYTES[kind], int(columns), int(steps)
            assert steps * nbytes == 32
            assert columns % 8 == 0
            assert kind not in ("s8", "u8") or columns in (8, 16, 24) or columns % 16 == 0
            # The signs of A and B, unless they are integers, and the transposition of 16-bit ones.
            given = [int(flag) for flag in flags.replace(",", " ").split()]
            signs, turned = given[:2], given[2:]
            assert signs == ([] if kind in ("s8", "u8") else [1, 1])
            assert len(turned) == (2 if nbytes == 2 else 0)
            a_turned, b_turned = map(bool, turned or (0, 0))
            left = Descriptor(registers.value(a)), memory, ROWS, steps, nbytes, a_turned
            right = Descriptor(registers.value(b)), memory, columns, steps, nbytes, b_turned
            (first, row, at), (second, column, other) = read(*left), read(*right)
            assert (first, second, at) == (0, 1, other)
            multiplied.add((row, column, at, columns, steps))
    widths = {(each[3], each[4]) for each in multiplied}
    ((width, step),) = widths
    assert multiplied == {
        (row, column, at, width, step)
        for row in range(0, m, ROWS)
        for column in range(0, n, width)
        for at in range(0, k, step)
    }


@pytest.mark.parametrize(("m", "n", "groups"), [(64, 8, 1), (128, 96, 1), (256, 192, 2)])
def test_accumulators_are_where_the_isa_shows_them(m: int, n: int, groups: int) -> None:
    """The figure "WGMMA .m64nNk16 register fragment layout for accumulator matrix D"."""
    layout, width = sum_layout(m, n, 128 * groups), columns_at_once(n)
    for thread in range(128 * groups):
        warpgroup, warp, lane = thread // 128, thread // 32 % 4, thread % 32
        expected = [
            (
                warpgroup * (m // groups) + block + 16 * warp + lane // 4 + register // 2 % 2 * 8,
                column + register // 4 * 8 + lane % 4 * 2 + register % 2,
            )
            for block in range(0, m // groups, ROWS)
            for column in range(0, n, width)
            for register in range(width // 2)
        ]
        assert held(layout, thread) == expected


@pytest.mark.parametrize("nbytes", [1, 2, 4])
@pytest.mark.parametrize(("m", "k", "groups"), [(64, 32, 1), (256, 64, 2)])
def test_the_first_operand_is_where_the_isa_shows_it(
    m: int, k: int, groups: int, nbytes: int
) -> None:
    """The figures "WGMMA .m64nNk8", k16 and k32 "register fragment layout for matrix A"."""
    layout, packed, step = operand_layout(m, k, 128 * groups, nbytes), 4 // nbytes, 32 // nbytes
    for thread in range(128 * groups):
        warpgroup, warp, lane = thread // 128, thread // 32 % 4, thread % 32
        expected = [
            (
                warpgroup * (m // groups) + block + 16 * warp + lane // 4 + word % 2 * 8,
                first + word // 2 * (step // 2) + lane % 4 * packed + element,
            )
            for block in range(0, m // groups, ROWS)
            for first in range(0, k, step)
            for word in range(4)
            for element in range(packed)
        ]
        assert held(layout, thread) == expected


def held(layout: RegisterLayout, thread: int) -> list[tuple[int, ...]]:
    """The elements of a thread, in the order of its registers."""
    first = layout.thread_offset(thread)
    return [tuple(map(sum, zip(first, each, strict=True))) for each in layout.local_offsets]
