# SPDX-License-Identifier: Apache-2.0
"""Descriptors: 16 words of 16 bits, in the layout of `wse_dsd` in `csrc/wse_code.h`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc_targets.wse.csl.errors import Position
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.convert import convert
from xtc_targets.wse.sema.frame import Frame
from xtc_targets.wse.sema.values import Address, Const, DsdValue, Run, Value

WORDS = 16
KIND, BASE, RANK, EXTENTS, STRIDES, INDEX = 0, 1, 2, 3, 7, 11
QUEUE, COLOR, FABRIC_EXTENT, FLAGS, UT = 1, 2, 3, 4, 6
FIFO_NUMBER = 1
KINDS: dict[t.Dsd, int] = {t.MEM1D: 1, t.MEM4D: 2, t.FABIN: 3, t.FABOUT: 4, t.FIFO: 5}
CONTROL, ADVANCE, INDEXED, TRANSFORM, ZERO_FIRST, ZERO_SECOND, PAIRS = 1, 2, 4, 8, 16, 32, 64
"""Flags of fabric descriptors."""


@dataclass(frozen=True)
class Words:
    """The words of a descriptor by number, constant or computed; missing words are 0."""

    kind: t.Dsd
    values: dict[int, Value]
    base: Address | None = None
    element: t.Type | None = None

    def value(self, frame: Frame, at: Position) -> Value:
        """The descriptor, a constant if all words are."""
        if all(isinstance(each, Const) for each in self.values.values()):
            words = [0] * WORDS
            for number, each in self.values.items():
                words[number] = int(each.value) if isinstance(each, Const) else 0
            return Const(self.kind, DsdValue(tuple(words), self.base, self.element))
        code = frame.running(at)
        slot = code.slot(f"[{t.DSD_BYTES} x i8]")
        for number in range(WORDS):
            word = self.values.get(number, Const(t.U16, 0))
            text = frame.operand(convert(frame, word, t.U16, at), t.U16, at)
            if number == BASE and self.base is not None:
                text = frame.address_text(self.base)
            store_word(frame, slot, number, text, at)
        code.charge(4)
        return Run(self.kind, slot)


def store_word(frame: Frame, slot: str, number: int, text: str, at: Position) -> None:
    """Write one word of a descriptor outside the PE's memory."""
    code = frame.running(at)
    pointer = code.value(f"getelementptr i8, ptr {slot}, i64 {2 * number}")
    code.line(f"store i16 {text}, ptr {pointer}, align 2")


def load_word(frame: Frame, slot: str, number: int, at: Position) -> str:
    """Read one word of a descriptor outside the PE's memory."""
    code = frame.running(at)
    pointer = code.value(f"getelementptr i8, ptr {slot}, i64 {2 * number}")
    return code.value(f"load i16, ptr {pointer}, align 2")


def copied(frame: Frame, value: Value, at: Position) -> str:
    """A mutable copy of a descriptor."""
    code = frame.running(at)
    slot = code.slot(f"[{t.DSD_BYTES} x i8]")
    frame.store_at(slot, value, value.type, at)
    return slot


def number(value: int) -> Const:
    """A constant word."""
    return Const(t.U16, value)


def memory_words(
    kind: t.Dsd, base: Address | Value, element: t.Type, extents: Sequence[Value],
    strides: Sequence[Value], index: Value,
) -> Words:  # fmt: skip
    """The words of a memory descriptor; strides count elements of the operation's size."""
    values: dict[int, Value] = {
        KIND: number(KINDS[kind] | element.size << 8),
        RANK: number(len(extents)),
        INDEX: index,
    }
    for axis, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
        values[EXTENTS + axis] = extent
        values[STRIDES + axis] = stride
    if isinstance(base, Address):
        return Words(kind, values, base, element)
    return Words(kind, {**values, BASE: base}, None, element)


def fifo(index: int, element: t.Type) -> Const:
    """The descriptor of a FIFO."""
    words = [0] * WORDS
    words[KIND], words[FIFO_NUMBER] = KINDS[t.FIFO] | element.size << 8, index
    return Const(t.FIFO, DsdValue(tuple(words), None, element))
