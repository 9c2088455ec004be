# SPDX-License-Identifier: Apache-2.0
"""A thread's accesses to tiles in shared memory: addresses, vectors and swizzles.

The 16-byte chunks of a row are permuted by an exclusive or with bits of the row, so that accesses
to rows and to columns of chunks are free of bank conflicts. Rows whose length is not a power of two
are not swizzled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.builders import control
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import (
    Number,
    add,
    compare,
    divide_unsigned,
    exclusive_or,
    is_int,
    multiply,
    remainder_unsigned,
)
from xtc.ir.builders.tile import number_of
from xtc.ir.mlir import (
    FloatType,
    IntegerType,
    Operation,
    Type,
    Value,
    VectorType,
    arith,
    vector,
)
from xtc.ir.mlir_llvm import llvm
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._thread_code import all_of, as_i32
from xtc_targets.nvgpu.passes._tiles.bounds import TileBounds, loaded

PANEL = "nvgpu.panel"
"""Integer on an allocation: elements of a row in a panel, which stores its rows contiguously."""

CHUNK_BYTES = "nvgpu.chunk_bytes"
"""Integer on an allocation: bytes of a row that swizzles keep together; default `CHUNK`."""

_BANK_ROW = 7  # log2 of the bytes of all banks, 128
CHUNK = 16
"""Bytes per row of an ldmatrix matrix, which swizzles keep together."""


def thread_base(layout: RegisterLayout, thread: Value) -> list[Number]:
    """The index of a thread's first element in each dimension."""
    base: list[Number] = [0] * len(layout.shape)
    for dim, distance, size, step in layout.thread_digits():
        digit = divide_unsigned(thread, step)
        if step * size < layout.spatial_size:
            digit = remainder_unsigned(digit, size)
        base[dim] = add(base[dim], multiply(digit, distance))
    return base


def first_replica(layout: RegisterLayout, thread: Value) -> list[Value]:
    """Conditions for a thread to be the first of those with the same elements."""
    return [
        compare("eq", remainder_unsigned(divide_unsigned(thread, step), size), 0)
        for size, step in layout.replica_digits()
    ]


def bytes_of(element: Type) -> int:
    """Bytes per element in memory."""
    return max(1, int(element.width) // 8)


def groups_of(layout: RegisterLayout, dim: int, widest: int) -> list[list[int]]:
    """Positions of a thread's elements, grouped into runs of equal length along a dimension.

    The length is a power of two, at most `widest`, and every run begins at a multiple of it.
    """
    offsets = layout.local_offsets
    steps = [distance for at, distance, _, _ in layout.thread_digits() if at == dim]
    length = 1 << (math.gcd(widest, *steps) & -math.gcd(widest, *steps)).bit_length() - 1
    while length > 1 and not _runs(offsets, dim, length):
        length //= 2
    return [list(range(at, at + length)) for at in range(0, len(offsets), length)]


def _runs(offsets: Sequence[tuple[int, ...]], dim: int, length: int) -> bool:
    if len(offsets) % length:
        return False
    for at, offset in enumerate(offsets):
        first = offsets[at - at % length]
        expected = (*first[:dim], first[dim] + at % length, *first[dim + 1 :])
        if offset != expected or first[dim] % length:
            return False
    return True


@dataclass
class SharedView:
    """A tensor, or a part of one, in shared memory.

    Attributes:
        base: the address of the shared memory of a block.
        root: offset of the allocated tensor, in bytes.
        slot, part: the sum is the offset of this part in that tensor, in elements. All slots have
            the same swizzle.
        strides: in elements.
        row_bytes: bytes per row of the allocated tensor, or of its panels.
        panel: elements of a row in a panel; 0 if there are no panels.
        panel_step: elements from one panel to the next.
    """

    base: Value
    root: int
    part: Number
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: Type
    row_bytes: int
    panel: int = 0
    panel_step: int = 0
    slot: Number = 0
    chunk_bytes: int = CHUNK
    _kept: dict[Any, tuple[Value, int]] = field(default_factory=dict)

    @staticmethod
    def dense(base: Value, op: Operation, shape: Sequence[int], element: Type) -> SharedView:
        """A dense tensor in the memory of an operation."""
        return SharedView.placed(base, op, shape, _dense_strides(shape), element)

    @staticmethod
    def placed(
        base: Value, op: Operation, shape: Sequence[int], given: Sequence[int], element: Type
    ) -> SharedView:
        """A tensor with these strides in the memory of an operation."""
        strides = list(given)
        row = (strides[-2] if len(shape) > 1 else shape[-1]) * bytes_of(element)
        root = number_of(op, "nvgpu.offset")
        panel = number_of(op, PANEL) if PANEL in op.attributes else 0
        step = panel * (shape[-2] if len(shape) > 1 else 1)
        if panel:
            row = panel * bytes_of(element)
            strides[-2:-1] = [panel] * (len(shape) > 1)
        whole = tuple(shape), tuple(strides)
        chunk = number_of(op, CHUNK_BYTES) if CHUNK_BYTES in op.attributes else CHUNK
        return SharedView(base, root, 0, *whole, element, row, panel, step, chunk_bytes=chunk)

    def reshaped(self, shape: Sequence[int]) -> SharedView:
        """The elements of a dense tensor, in order, in another shape."""
        return replace(self, shape=tuple(shape), strides=_dense_strides(shape), _kept={})

    @property
    def nbytes(self) -> int:
        return bytes_of(self.element)

    @property
    def contiguous(self) -> int | None:
        """The dimension with stride 1, or None."""
        found = [at for at, stride in enumerate(self.strides) if stride == 1]
        return max(found) if found else None

    def swizzle(self) -> tuple[int, int] | None:
        """The shift and the mask of the row bits in the exclusive or; None without a swizzle."""
        chunks = self.row_bytes // self.chunk_bytes
        if chunks < 2 or self.row_bytes & (self.row_bytes - 1):
            return None
        mask = min((1 << _BANK_ROW) // self.chunk_bytes, chunks) - 1
        return max(self.row_bytes.bit_length() - 1, _BANK_ROW), mask

    @property
    def period(self) -> int:
        """The period of the swizzle in bytes."""
        mixed = self.swizzle()
        return 1 if mixed is None else 1 << (mixed[0] + mixed[1].bit_length())

    def swizzled(self, offset: Number) -> Number:
        """The swizzled offset of the byte at `offset`."""
        mixed = self.swizzle()
        if mixed is None:
            return offset
        row = arith_and(divide_unsigned(offset, 1 << mixed[0]), mixed[1])
        return exclusive_or(offset, multiply(row, self.chunk_bytes))

    @property
    def begin(self) -> Number:
        """The offset of this part in the allocated tensor, in elements."""
        return add(self.slot, self.part)

    def address(self, index: Sequence[Number], behind: Sequence[int] | None = None) -> Value:
        """The address of the element at `index + behind`; that of `index` is computed once."""
        distance = self.offset(behind) if behind else 0
        assert isinstance(distance, int)  # noqa: S101
        rest = distance * self.nbytes
        known = rest // self.period * self.period
        begin, fixed = self._begin(tuple(index), rest - known)
        return advanced(begin, self.root + known + fixed)

    def offset(self, index: Sequence[Number]) -> Number:
        """The offset of an element from the first one, in elements.

        In a tensor of panels, the offset of `index + behind` is the sum of both offsets, as adding
        them never carries into another panel.
        """
        found: Number = 0
        for dim, (number, stride) in enumerate(zip(index, self.strides, strict=True)):
            if self.panel and dim == self.contiguous:
                panels = multiply(divide_unsigned(number, self.panel), self.panel_step)
                found = add(found, add(panels, remainder_unsigned(number, self.panel)))
            else:
                found = add(found, multiply(number, stride))
        return found

    def _begin(self, index: tuple[Number, ...], behind: int) -> tuple[Value, int]:
        """The address `behind` bytes after an element, without constant bytes; and these."""
        if (index, behind) not in self._kept:
            offset = multiply(add(self.part, self.offset(index)), self.nbytes)
            offset = self.swizzled(add(offset, behind))
            known = isinstance(offset, int)
            # The slot first: later terms are invariant in a loop over slots.
            slot = multiply(self.slot, self.nbytes)
            begin = self.base if is_int(slot, 0) else advanced(self.base, as_i32(slot))
            begin = begin if known else advanced(begin, as_i32(offset))
            self._kept[index, behind] = begin, offset if known else 0
        return self._kept[index, behind]

    def first_address(self) -> Value:
        """The address of the first element without the swizzle, from which bulk copies count."""
        offset = multiply(self.begin, self.nbytes)
        if isinstance(offset, int):
            return advanced(self.base, self.root + offset)
        return advanced(advanced(self.base, as_i32(offset)), self.root)

    def widest(self, dim: int | None) -> int:
        """The maximum elements of an access along a dimension."""
        if dim is None or self.strides[dim] != 1:
            return 1
        others = [stride for at, stride in enumerate(self.strides) if at != dim]
        return (
            math.gcd(ACCESS_BYTES // self.nbytes, *others)
            if others
            else (ACCESS_BYTES // self.nbytes)
        )

    def load(
        self, index: Sequence[Number], count: int, behind: Sequence[int] | None = None
    ) -> Value:
        """Load a vector of contiguous elements."""
        return load_vector(self.address(index, behind), self.element, count)

    def store(
        self, value: Value, index: Sequence[Number], behind: Sequence[int] | None = None
    ) -> None:
        """Store a vector of contiguous elements."""
        store_vector(value, self.address(index, behind))


def _dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[at + 1 :]) for at in range(len(shape)))


def arith_and(number: Number, mask: int) -> Number:
    """`number & mask`."""
    if isinstance(number, int):
        return number & mask
    return arith.andi(number, as_i32(mask))


def load_vector(address: Value, element: Type, count: int) -> Value:
    """Load a vector; bfloat16 is loaded as bits, since the code generator lacks the type."""
    stored = _bits(element)
    type = VectorType.get([count], stored)
    loaded = llvm.load(type, address, alignment=count * bytes_of(element))
    if stored == element:
        return loaded
    whole = VectorType.get([count], element)
    return arith.trunci(whole, loaded) if str(element) == "i1" else arith.bitcast(whole, loaded)


def store_vector(value: Value, address: Value) -> None:
    """Store a vector to contiguous memory."""
    type = VectorType(value.type)
    stored = _bits(type.element_type)
    if stored != type.element_type:
        kept = VectorType.get(type.shape, stored)
        is_bool = str(type.element_type) == "i1"
        value = arith.extui(kept, value) if is_bool else arith.bitcast(kept, value)
    llvm.store(value, address, alignment=type.shape[0] * bytes_of(type.element_type))


def _bits(element: Type) -> Type:
    if str(element) == "i1":
        return IntegerType.get_signless(8)
    if isinstance(element, FloatType) and str(element) == "bf16":
        return IntegerType.get_signless(16)
    return element


def read_shared(view: SharedView, layout: RegisterLayout, thread: Value) -> Value:
    """Load a thread's elements of a shared tensor; 0 outside of it."""
    base = thread_base(layout, thread)
    bounds = TileBounds(layout, view.shape, base)
    parts = []
    for group in _shared_groups(view, layout):
        behind = layout.local_offsets[group[0]]
        type = VectorType.get([len(group)], view.element)
        load = partial(load_vector, view.address(base, behind), view.element, len(group))
        parts.append((group, loaded(bounds.inside(behind), type, load)))
    return assembled(parts, view.element, layout.local_size)


def write_shared(view: SharedView, layout: RegisterLayout, thread: Value, value: Value) -> None:
    """Store a thread's elements of a tile to a shared tensor."""
    base = thread_base(layout, thread)
    bounds = TileBounds(layout, view.shape, base)
    with control.branch(all_of(first_replica(layout, thread))):
        for group in _shared_groups(view, layout):
            behind = layout.local_offsets[group[0]]
            inside = bounds.inside(behind)
            if inside is False:
                continue
            address = view.address(base, behind)
            with control.branch(inside):
                store_vector(part(value, group), address)


def _shared_groups(view: SharedView, layout: RegisterLayout) -> list[list[int]]:
    """Positions of a thread's elements, grouped into the runs of single accesses."""
    dim = view.contiguous
    if dim is None:
        return _singles(layout)
    return groups_of(layout, dim, math.gcd(view.widest(dim), view.shape[dim]))


def _singles(layout: RegisterLayout) -> list[list[int]]:
    return [[at] for at in range(layout.local_size)]


def part(value: Value, group: Sequence[int]) -> Value:
    """Consecutive elements of a vector."""
    type = VectorType(value.type)
    if len(group) == type.shape[0]:
        return value
    # Elements one by one: LLVM takes quadratic time for shuffles of long vectors.
    elements: list[Value] = [vector.extract(value, [], [at]) for at in group]
    return vector.from_elements(VectorType.get([len(group)], type.element_type), elements)


def assembled(parts: Sequence[tuple[Sequence[int], Value]], element: Type, count: int) -> Value:
    """The vector that pieces form, in order."""
    if len(parts) == 1:
        return parts[0][1]
    elements: list[Value] = [
        vector.extract(piece, [], [n]) for group, piece in parts for n in range(len(group))
    ]
    return vector.from_elements(VectorType.get([count], element), elements)
