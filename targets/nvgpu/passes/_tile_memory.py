# SPDX-License-Identifier: Apache-2.0
"""A thread's accesses to tiles in memory: addresses, bounds, vectors, swizzled shared memory.

Chunks of 16 bytes of a row of shared memory lie in an order, an exclusive or with bits of the row,
in which neither rows nor columns of chunks meet a bank twice; rows whose length is no power of two
lie as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
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
    DenseElementsAttr,
    FloatAttr,
    FloatType,
    IntegerAttr,
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

PANEL = "nvgpu.panel"
"""Integer on an allocation: elements of a row that lie together, those of the next row behind."""

CHUNK_BYTES = "nvgpu.chunk_bytes"
"""Integer on an allocation: bytes of a row that swizzles keep together, where not `CHUNK`."""

_BANK_ROW = 7  # bits of an address in a row of all banks, 128 bytes
CHUNK = 16
"""Bytes of a row of a matrix that ldmatrix loads; swizzles keep them together."""


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
    """Conditions under which a thread is the first of those that hold the same."""
    return [
        compare("eq", remainder_unsigned(divide_unsigned(thread, step), size), 0)
        for size, step in layout.replica_digits()
    ]


def bytes_of(element: Type) -> int:
    """Bytes of an element in memory."""
    return max(1, int(element.width) // 8)


def groups_of(layout: RegisterLayout, dim: int, widest: int) -> list[list[int]]:
    """Positions of a thread's elements in runs of neighbours along a dimension, all of a length.

    The length is a power of two, `widest` at most, and every run begins at a multiple of it.
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
        root: where the tensor that was allocated begins, in bytes.
        slot, part: where this part begins in it, in elements: their sum. Rows have the same order
            of chunks in every slot.
        strides: in elements.
        row_bytes: bytes of a row of the tensor that was allocated, or of a panel of it.
        panel: elements of a row that lie together, 0: all; those of the next row lie behind.
        panel_step: elements from a panel to the next one.
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
        """The whole tensor for which an operation got memory."""
        strides = [math.prod(shape[at + 1 :]) for at in range(len(shape))]
        return SharedView.placed(base, op, shape, strides, element)

    @staticmethod
    def placed(
        base: Value, op: Operation, shape: Sequence[int], given: Sequence[int], element: Type
    ) -> SharedView:
        """The whole tensor for which an operation got memory, whose rows may lie apart."""
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

    @property
    def nbytes(self) -> int:
        return bytes_of(self.element)

    @property
    def contiguous(self) -> int | None:
        """The dimension whose neighbours are neighbours in memory."""
        found = [at for at, stride in enumerate(self.strides) if stride == 1]
        return max(found) if found else None

    def swizzle(self) -> tuple[int, int] | None:
        """The shift and the mask of the bits of a row that are mixed in; None: none are."""
        chunks = self.row_bytes // self.chunk_bytes
        if chunks < 2 or self.row_bytes & (self.row_bytes - 1):
            return None
        mask = min((1 << _BANK_ROW) // self.chunk_bytes, chunks) - 1
        return max(self.row_bytes.bit_length() - 1, _BANK_ROW), mask

    @property
    def period(self) -> int:
        """Bytes after which rows have their chunks in the same order again."""
        mixed = self.swizzle()
        return 1 if mixed is None else 1 << (mixed[0] + mixed[1].bit_length())

    def swizzled(self, offset: Number) -> Number:
        """Where the byte is that lies at `offset` before its row's chunks are put in order."""
        mixed = self.swizzle()
        if mixed is None:
            return offset
        row = arith_and(divide_unsigned(offset, 1 << mixed[0]), mixed[1])
        return exclusive_or(offset, multiply(row, self.chunk_bytes))

    @property
    def begin(self) -> Number:
        """Where this part begins in the tensor that was allocated, in elements."""
        return add(self.slot, self.part)

    def address(self, index: Sequence[Number], behind: Sequence[int] | None = None) -> Value:
        """The address of the element at `index + behind`; the former is computed once."""
        distance = self.offset(behind) if behind else 0
        assert isinstance(distance, int)  # noqa: S101
        rest = distance * self.nbytes
        known = rest // self.period * self.period
        begin, fixed = self._begin(tuple(index), rest - known)
        return advanced(begin, self.root + known + fixed)

    def offset(self, index: Sequence[Number]) -> Number:
        """How many elements behind the first one an element is.

        In a tensor of panels the digits of an index and of what is behind it do not carry: the sum
        of both offsets is that of the sum.
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
        """The address of an element and the bytes behind it, and bytes to add, all but the root."""
        if (index, behind) not in self._kept:
            offset = multiply(add(self.part, self.offset(index)), self.nbytes)
            offset = self.swizzled(add(offset, behind))
            known = isinstance(offset, int)
            # The slot first: what is added to it stays the same in a loop over slots.
            slot = multiply(self.slot, self.nbytes)
            begin = self.base if is_int(slot, 0) else advanced(self.base, as_i32(slot))
            begin = begin if known else advanced(begin, as_i32(offset))
            self._kept[index, behind] = begin, offset if known else 0
        return self._kept[index, behind]

    def first_address(self) -> Value:
        """Where the first element would be, were chunks not swizzled: what a map begins with."""
        offset = multiply(self.begin, self.nbytes)
        if isinstance(offset, int):
            return advanced(self.base, self.root + offset)
        return advanced(advanced(self.base, as_i32(offset)), self.root)

    def widest(self, dim: int | None) -> int:
        """Elements of a run along a dimension that one access may have."""
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
        """A vector of neighbours."""
        return load_vector(self.address(index, behind), self.element, count)

    def store(
        self, value: Value, index: Sequence[Number], behind: Sequence[int] | None = None
    ) -> None:
        """Store a vector of neighbours."""
        store_vector(value, self.address(index, behind))


def arith_and(number: Number, mask: int) -> Number:
    """`number & mask`."""
    if isinstance(number, int):
        return number & mask
    return arith.andi(number, as_i32(mask))


def load_vector(address: Value, element: Type, count: int) -> Value:
    """Neighbours in memory as a vector; bfloat16 as its bits, which the code generator knows."""
    stored = _bits(element)
    type = VectorType.get([count], stored)
    loaded = llvm.load(type, address, alignment=count * bytes_of(element))
    if stored == element:
        return loaded
    whole = VectorType.get([count], element)
    return arith.trunci(whole, loaded) if str(element) == "i1" else arith.bitcast(whole, loaded)


def store_vector(value: Value, address: Value) -> None:
    """Store a vector to neighbours in memory."""
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
    """A thread's part of a shared tensor."""
    base = thread_base(layout, thread)
    dim = view.contiguous
    groups = groups_of(layout, dim, view.widest(dim)) if dim is not None else _singles(layout)
    parts = [
        (group, view.load(base, len(group), layout.local_offsets[group[0]])) for group in groups
    ]
    return assembled(parts, view.element, layout.local_size)


def write_shared(view: SharedView, layout: RegisterLayout, thread: Value, value: Value) -> None:
    """Write a thread's part of a tile to a shared tensor."""
    base = thread_base(layout, thread)
    dim = view.contiguous
    groups = groups_of(layout, dim, view.widest(dim)) if dim is not None else _singles(layout)
    with control.branch(all_of(first_replica(layout, thread))):
        for group in groups:
            view.store(part(value, group), base, layout.local_offsets[group[0]])


def _singles(layout: RegisterLayout) -> list[list[int]]:
    return [[at] for at in range(layout.local_size)]


def part(value: Value, group: Sequence[int]) -> Value:
    """Neighbouring elements of a vector."""
    type = VectorType(value.type)
    if len(group) == type.shape[0]:
        return value
    piece = VectorType.get([len(group)], type.element_type)
    return vector.extract_strided_slice(piece, value, [group[0]], [len(group)], [1])


def assembled(parts: Sequence[tuple[Sequence[int], Value]], element: Type, count: int) -> Value:
    """A vector of pieces, each at its positions."""
    if len(parts) == 1:
        return parts[0][1]
    elements: list[Value] = [
        vector.extract(piece, [], [n]) for group, piece in parts for n in range(len(group))
    ]
    return vector.from_elements(VectorType.get([count], element), elements)


def zeros(type: VectorType) -> Value:
    """A vector of zeros."""
    element = type.element_type
    zero = (
        IntegerAttr.get(element, 0)
        if isinstance(element, IntegerType)
        else FloatAttr.get(element, 0.0)
    )
    return arith.constant(type, DenseElementsAttr.get_splat(type, zero))
