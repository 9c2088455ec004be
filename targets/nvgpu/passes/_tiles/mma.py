# SPDX-License-Identifier: Apache-2.0
"""Lowers `tile.dot`, and loads and stores of matrices by warps, for a thread."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache, partial

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.attributes import K_STEP
from xtc.ir.builders.numbers import Number, add, divide_unsigned, multiply, remainder_unsigned
from xtc.ir.mlir import (
    F32Type,
    FloatType,
    IntegerType,
    Operation,
    RankedTensorType,
    Type,
    Value,
    VectorType,
    arith,
    vector,
)
from xtc.ir.mlir_math import math
from xtc.ir.tile_dialect import known_layout
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._tiles.bounds import TileBounds, filled
from xtc_targets.nvgpu.passes._tiles.exchange import permuted, with_elements
from xtc_targets.nvgpu.passes._tiles.identity import identity
from xtc_targets.nvgpu.passes._tiles.mma_kind import BYTES, Kind, kind_of
from xtc_targets.nvgpu.passes._tiles.shared_memory import SharedView, thread_base
from xtc_targets.nvgpu.passes._tiles.warp_instructions import (
    load_matrices,
    mma,
    multiplicand,
    store_matrices,
)

_MATRIX = 8  # rows of an ldmatrix matrix, and 16-bit elements per row
_HALF = 2  # bytes of a 16-bit element
_WORD = 4  # bytes of a matrix per lane
_SINGLE_BITS = 32  # of float32


def dot(op: Operation, values: Sequence[Value], thread: Value) -> Value:
    """Compute a thread's elements of `a @ b + c`."""
    layouts = [known_layout(value) for value in op.operands]
    if K_STEP not in op.attributes:
        return _by_thread(layouts, *values)
    a, b, c = values
    a = _filled_along(1, op.operands[0], a, thread)
    b = _filled_along(0, op.operands[1], b, thread)
    return _by_mma(layouts, a, b, c)


def _filled_along(dim: int, tile: Value, value: Value, thread: Value) -> Value:
    """A thread's elements of a tile, and zeros for those outside of it along a dimension."""
    layout, shape = known_layout(tile), RankedTensorType(tile.type).shape
    bounds = TileBounds(layout, shape, thread_base(layout, thread))
    return filled(value, bounds, layout, dim, partial(identity, "add"))


def is_matrices(layout: RegisterLayout) -> bool:
    """Whether a warp has 8 x 8 matrices, with a pair of a row or column in each lane."""
    return _word_dim(layout, _HALF) is not None


@cache
def has_matrices(layout: RegisterLayout) -> bool:
    """Whether a layout is that of fragments or accumulators of mma.sync."""
    return any(_word_dim(layout, nbytes) is not None for nbytes in (_HALF, _WORD))


@cache
def _word_dim(layout: RegisterLayout, nbytes: int) -> int | None:
    """The dimension along which a lane has a word, if a layout consists of matrices.

    A matrix has 8 rows of 16 bytes, 4 words, with elements of `nbytes`.
    """
    packed = _WORD // nbytes
    if len(layout.shape) != 2 or layout.local_size % packed:
        return None
    offsets = layout.local_offsets
    for dim in (0, 1):
        words = all(
            offset[dim] == first[dim] + at % packed and offset[1 - dim] == first[1 - dim]
            for at, offset in enumerate(offsets)
            for first in [offsets[at - at % packed]]
        )
        origins = all(
            offset[dim] % (4 * packed) == 0 and offset[1 - dim] % _MATRIX == 0
            for offset in offsets[::packed]
        )
        lanes = all(
            layout.thread_offset(lane)[dim] == packed * (lane % 4)
            and layout.thread_offset(lane)[1 - dim] == lane // 4
            for lane in range(WARP)
        )
        if words and origins and lanes:
            return dim
    return None


def _by_mma(layouts: Sequence[RegisterLayout], a: Value, b: Value, c: Value) -> Value:
    element = VectorType(a.type).element_type
    kind = BYTES if element == IntegerType.get_signless(8) else kind_of(element)
    steps = layouts[0].shape[1] // kind.step
    words_a, words_b = _words(a, kind), _words(b, kind)
    rows, columns = len(words_a) // (4 * steps), len(words_b) // (2 * steps)
    result = VectorType(c.type).element_type
    if isinstance(result, FloatType):
        c = with_elements(c, F32Type.get())
    sums = [vector.extract(c, [], [n]) for n in range(VectorType(c.type).shape[0])]
    for step in range(steps):
        for row in range(rows):
            first = 4 * (row * steps + step)
            for column in range(columns):
                other, at = 2 * (step * columns + column), 4 * (row * columns + column)
                sums[at : at + 4] = mma(
                    kind, words_a[first : first + 4], words_b[other : other + 2], sums[at : at + 4]
                )
    return with_elements(vector.from_elements(c.type, sums), result)


def _words(value: Value, kind: Kind) -> list[Value]:
    """The registers of a fragment, as operands of mma.sync."""
    count = VectorType(value.type).shape[0] * kind.nbytes // _WORD
    i32 = IntegerType.get_signless(32)
    whole = vector.bitcast(VectorType.get([count], i32), value)
    return [multiplicand(kind, vector.extract(whole, [], [n])) for n in range(count)]


def _by_thread(layouts: Sequence[RegisterLayout], a: Value, b: Value, c: Value) -> Value:
    """Accumulate each element of the result in its thread, in order of K."""
    left, right, total = layouts
    element = VectorType(c.type).element_type
    is_float = isinstance(element, FloatType)
    if is_float and element.width < _SINGLE_BITS:
        c = with_elements(c, F32Type.get())
    a, b = (_wider(value, VectorType(c.type).element_type) for value in (a, b))
    locations = [{o: at for at, o in enumerate(layout.local_offsets)} for layout in (left, right)]
    positions: dict[int, list[int]] = {}
    for at, (row, _) in enumerate(total.local_offsets):
        positions.setdefault(row, []).append(at)
    sums = {row: permuted(c, found) for row, found in positions.items()}
    for k in range(left.shape[1]):
        for row, found in positions.items():
            columns = [locations[1][k, total.local_offsets[at][1]] for at in found]
            factor = vector.extract(a, [], [locations[0][row, k]])
            spread = vector.broadcast(sums[row].type, factor)
            others = permuted(b, columns)
            if is_float:
                sums[row] = math.fma(spread, others, sums[row])
            else:
                sums[row] = arith.addi(sums[row], arith.muli(spread, others))
    order = [(row, n) for row, found in positions.items() for n in range(len(found))]
    by_index = {
        at: pair
        for pair, at in zip(order, itertools.chain.from_iterable(positions.values()), strict=True)
    }
    elements = [
        vector.extract(sums[by_index[at][0]], [], [by_index[at][1]]) for at in sorted(by_index)
    ]
    return with_elements(vector.from_elements(c.type, elements), element)


def _wider(value: Value, element: Type) -> Value:
    type = VectorType(value.type)
    if type.element_type == element:
        return value
    wide = VectorType.get(type.shape, element)
    return (arith.extf if isinstance(element, FloatType) else arith.extsi)(wide, value)


def takes_matrices(view: SharedView, layout: RegisterLayout) -> bool:
    """Whether ldmatrix can load a shared tensor in this layout."""
    contiguous = view.contiguous
    if view.nbytes not in (_HALF, _WORD) or contiguous is None or len(view.shape) != 2:
        return False
    if layout.shape != tuple(view.shape):
        return False
    other = view.strides[1 - contiguous]
    chunk = ACCESS_BYTES // view.nbytes
    rows = view.row_bytes % ACCESS_BYTES == 0 and other % chunk == 0
    dim = _word_dim(layout, view.nbytes)
    if not rows or dim is None or not _are_apart(layout):
        return False
    # Matrices of words are not transposed, and their rows must begin at a chunk.
    begins = isinstance(view.part, int) and view.part % chunk == 0
    return view.nbytes == _HALF or (dim == contiguous and begins)


def _are_apart(layout: RegisterLayout) -> bool:
    return all(
        number % _MATRIX == 0
        for warp in range(layout.spatial_size // WARP)
        for number in layout.thread_offset(warp * WARP)
    )


def stores_matrices(view: SharedView, layout: RegisterLayout) -> bool:
    """Whether stmatrix can store a tile in this layout: 16-bit elements, without replicas."""
    return view.nbytes == _HALF and takes_matrices(view, layout) and not layout.replica_digits()


def read_matrices(view: SharedView, layout: RegisterLayout, thread: Value) -> Value:
    """Load a thread's elements of a shared tensor, of 2 or 4 bytes each, by ldmatrix."""
    words: list[Value] = []
    for address, count, transposed in _matrices(view, layout, thread):
        words += load_matrices(address, count, transposed)
    i32 = IntegerType.get_signless(32)
    whole = vector.from_elements(VectorType.get([len(words)], i32), words)
    return vector.bitcast(VectorType.get([layout.local_size], view.element), whole)


def write_matrices(view: SharedView, layout: RegisterLayout, thread: Value, value: Value) -> None:
    """Store a thread's elements of a tile, of 2 bytes each, by stmatrix."""
    count = layout.local_size * view.nbytes // _WORD
    whole = vector.bitcast(VectorType.get([count], IntegerType.get_signless(32)), value)
    words = [vector.extract(whole, [], [at]) for at in range(count)]
    for address, number, transposed in _matrices(view, layout, thread):
        store_matrices(address, words[:number], transposed)
        words = words[number:]


def _matrices(
    view: SharedView, layout: RegisterLayout, thread: Value
) -> Iterator[tuple[Value, int, bool]]:
    """For each instruction of a warp: the row address that a lane provides, the number of matrices,
    and whether these are transposed."""
    first = multiply(divide_unsigned(thread, WARP), WARP)
    assert isinstance(first, Value)  # noqa: S101
    base, lane = thread_base(layout, first), remainder_unsigned(thread, WARP)
    dim_of_words = _word_dim(layout, view.nbytes)
    transposed = view.contiguous != dim_of_words
    along = dim_of_words if transposed else 1 - (dim_of_words or 0)
    origins = layout.local_offsets[:: _WORD // view.nbytes]
    done = 0
    while done < len(origins):
        rest = origins[done:]
        count, steps = _together(rest)
        index = [
            _lane_index(base[dim], lane, along == dim, [step[dim] for step in steps])
            for dim in (0, 1)
        ]
        yield view.address(index, rest[0]), count, transposed
        done += count


def _together(origins: Sequence[tuple[int, ...]]) -> tuple[int, list[tuple[int, int]]]:
    """The number of matrices of the next instruction, and the steps between them."""
    steps = [(b[0] - origins[0][0], b[1] - origins[0][1]) for b in origins[:4]]
    if len(steps) == 4 and steps[3] == (steps[1][0] + steps[2][0], steps[1][1] + steps[2][1]):
        return 4, [steps[1], steps[2]]
    return (2, [steps[1]]) if len(steps) > 1 else (1, [])


def _lane_index(base: Number, lane: Number, is_row: bool, steps: Sequence[int]) -> Number:
    """The index, in a dimension, of the row whose address a lane provides."""
    index = add(base, remainder_unsigned(lane, _MATRIX)) if is_row else base
    for bit, step in enumerate(steps):
        if step:
            chosen = remainder_unsigned(divide_unsigned(lane, _MATRIX << bit), 2)
            index = add(index, multiply(chosen, step))
    return index
