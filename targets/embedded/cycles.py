# SPDX-License-Identifier: Apache-2.0
"""Modelled cycles of Thumb code, from exactly counted basic blocks and a table per core.

Cortex-M4: Arm 100166_0001, tables 3-1 and 7-1; P, the refill after a taken branch, is set to 2 (of
1 to 3), and a division to 7 (of 2 to 12). Cortex-M0+: Arm DDI 0484C, table 3-1, with the
single-cycle multiplier. Arm publishes no timing of Cortex-M33 and M7. M33 uses the table of M4. On
M7, two instructions issue together if at most one is a load or store and at most one a
multiplication or a float operation, according to the units of the pipeline in Arm DDI 0489F, 2.1;
dependences are ignored, and branches are assumed to be predicted.

Every block is assumed to end in a taken branch. `flash_waits` adds flash wait states.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_WIDE = 0x1D  # least value of the first 5 bits of an instruction of two halfwords


@dataclass(frozen=True)
class Timing:
    """The cycles of a core's instructions by class.

    Attributes:
        load: cycles of a load of one word, and whether the next load or store hides one of them.
        store: cycles of a store of one word.
        divide: cycles of an integer division, between the least and the most.
        float_divide, float_multiply_add: cycles of the float32 operations.
        refill: cycles after a taken branch.
        dual: whether two instructions may issue together.
    """

    load: int = 2
    store: int = 1
    divide: int = 7
    float_divide: int = 14
    float_multiply_add: int = 3
    refill: int = 2
    dual: bool = False


_V7 = Timing()
TIMINGS = {
    "cortex-m0plus": Timing(store=2, refill=1),
    "cortex-m4": _V7,
    "cortex-m33": _V7,
    "cortex-m7": Timing(load=1, float_divide=14, float_multiply_add=1, refill=0, dual=True),
}


@dataclass(frozen=True)
class Instruction:
    """The properties of an instruction for the pipeline model.

    Attributes:
        kind: "move" (of memory), "product", "float", "branch", or "plain".
        cycles: its cycles when issued alone.
        words: number of words that it loads or stores.
    """

    kind: str
    cycles: int
    words: int = 0


def block_cycles(code: bytes, core: str) -> float:
    """Cycles of a basic block of a Cortex-M. Raises KeyError for other cores."""
    timing = TIMINGS[core]
    instructions = list(_decoded(code, timing))
    if timing.dual:
        return _paired(instructions)
    total = 0
    for this, following in zip(instructions, [*instructions[1:], None], strict=True):
        hides = following is not None and following.kind == "move"
        single = this.kind == "move" and this.words == 1
        total += this.cycles - (1 if single and hides and this.cycles > 1 else 0)
    return total + timing.refill


def _paired(instructions: list[Instruction]) -> int:
    total = index = 0
    while index < len(instructions):
        this = instructions[index]
        following = instructions[index + 1 : index + 2]
        fits = [
            other
            for other in following
            if this.cycles == other.cycles == 1
            and this.kind != "branch"
            and (this.kind != other.kind or this.kind == "plain")
        ]
        total += this.cycles
        index += 2 if fits else 1
    return total


def _decoded(code: bytes, timing: Timing) -> Iterator[Instruction]:
    words = struct.unpack(f"<{len(code) // 2}H", code)
    index = 0
    while index < len(words):
        if words[index] >> 11 >= _WIDE and index + 1 < len(words):
            yield _wide(words[index], words[index + 1], timing)
            index += 2
        else:
            yield _narrow(words[index], timing)
            index += 1


def _moved(is_load: bool, words: int, timing: Timing) -> Instruction:
    if words == 1:
        return Instruction("move", timing.load if is_load else timing.store, 1)
    cycles = -(-words // 2) if timing.dual else 1 + words
    return Instruction("move", max(cycles, 1), words)


def _narrow(word: int, timing: Timing) -> Instruction:
    """Decode a 16-bit instruction: Arm DDI 0403E, A5.2."""
    if word & 0xFFC0 == 0x4340:
        return Instruction("product", 1)
    if word >> 11 == 0x09:
        return _moved(True, 1, timing)
    if word >> 12 == 5:
        return _moved(word >> 9 & 7 >= 3, 1, timing)
    if word >> 12 in (6, 7, 8, 9):
        return _moved(bool(word & 0x800), 1, timing)
    if word & 0xF600 == 0xB400:
        return _moved(bool(word & 0x800), (word & 0x1FF).bit_count(), timing)
    if word >> 12 == 0xC:
        return _moved(bool(word & 0x800), (word & 0xFF).bit_count(), timing)
    branches = word >> 12 == 0xD or word >> 11 == 0x1C
    if branches or word & 0xFF00 == 0x4700 or word & 0xF500 == 0xB100:
        return Instruction("branch", 1)
    return Instruction("plain", 1)


def _wide(first: int, second: int, timing: Timing) -> Instruction:
    """Decode a 32-bit instruction: Arm DDI 0403E, A5.3."""
    if first & 0xFE40 == 0xE800:
        return _moved(bool(first & 0x10), second.bit_count(), timing)
    if first & 0xFE40 == 0xE840:
        return _moved(bool(first & 0x10), 2, timing)
    if first & 0xFE00 == 0xF800:
        return _moved(bool(first & 0x10), 1, timing)
    if first & 0xF800 == 0xF000 and second & 0x8000:
        return Instruction("branch", 1)
    if first & 0xFFD0 == 0xFB90:
        return Instruction("product", timing.divide)
    if first & 0xFF00 == 0xFB00:
        return Instruction("product", 1)
    if first & 0xEF00 == 0xEE00:
        return _float(first, second, timing)
    if first & 0xEE00 == 0xEC00:
        is_single = first & 0x0F00 == 0x0D00 and not first & 0x20
        count = 1 if is_single else max(second & 0xFF, 1)
        return _moved(bool(first & 0x10), count, timing)
    return Instruction("plain", 1)


def _float(first: int, second: int, timing: Timing) -> Instruction:
    operation = first & 0xB0, bool(second & 0x40)
    if operation == (0x80, False) or (first & 0xBF == 0xB1 and second & 0xC0 == 0xC0):
        return Instruction("float", timing.float_divide)
    if first & 0xB0 in (0x00, 0x10, 0xA0, 0x90) and second & 0x10 == 0:
        return Instruction("float", timing.float_multiply_add)
    return Instruction("float", 1)


def flash_waits(nbytes: int, line_bytes: int, wait_states: int) -> int:
    """Wait states to read bytes of flash once, line by line.

    A lower bound: code and constants that are read again are assumed to be in a cache or in the
    flash accelerator.
    """
    return -(-nbytes // line_bytes) * wait_states
