# SPDX-License-Identifier: Apache-2.0
"""The relocations of AArch64 code: ELF for the Arm 64-bit Architecture (IHI 0056), section 5.7."""

from __future__ import annotations

import struct

NONE, ABS64, ABS32, PREL64, PREL32 = 0, 257, 258, 260, 261
LOAD19, ADR21, PAGE21, BRANCH14, BRANCH19, JUMP26, CALL26 = 273, 274, 275, 279, 280, 282, 283
GOT_PAGE21, GOT_LOW12 = 311, 312
_ADD = 0x91000000  # ADD of 64 bits with an immediate: Arm ARM, C6.2.5
_LOW12 = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}  # with the size of an access, as a shift
_MOVES = {263: 0, 264: 0, 265: 16, 266: 16, 267: 32, 268: 32, 269: 48}


def apply(
    data: bytearray, offset: int, here: int, type: int, target: int, addend: int | None
) -> None:
    """Write a reference to `target` at `offset` in `data`; the reference is at address `here`.

    Raises OverflowError if the target is too far, and KeyError for an unknown relocation.
    """
    value = target + (addend or 0)
    if type == NONE:
        return
    if type in (ABS64, PREL64):
        _write64(data, offset, value - (here if type == PREL64 else 0))
    elif type in (ABS32, PREL32):
        number = value - (here if type == PREL32 else 0)
        struct.pack_into("<I", data, offset, number & 0xFFFFFFFF)
    else:
        _instruction(data, offset, type, value, here)


def _write64(data: bytearray, offset: int, value: int) -> None:
    struct.pack_into("<Q", data, offset, value & (1 << 64) - 1)


def _instruction(data: bytearray, offset: int, type: int, value: int, here: int) -> None:
    (word,) = struct.unpack_from("<I", data, offset)
    if type in _LOW12:
        word = _field(word, (value & 0xFFF) >> _LOW12[type], 12, 10)
    elif type in _MOVES:
        word = _field(word, value >> _MOVES[type] & 0xFFFF, 16, 5)
    elif type == GOT_LOW12:
        # All addresses are fixed, so they are computed instead of loaded from a table.
        word = _field(_ADD | word & 0x3FF, value & 0xFFF, 12, 10)
    elif type in (PAGE21, GOT_PAGE21, ADR21):
        distance = value - here if type == ADR21 else (value >> 12) - (here >> 12)
        _check(distance, 21, 0 if type == ADR21 else 12)
        word = _field(_field(word, distance & 3, 2, 29), distance >> 2, 19, 5)
    else:
        bits, at = _BRANCHES[type]
        distance = (value - here) >> 2
        _check(distance, bits, 2)
        word = _field(word, distance, bits, at)
    struct.pack_into("<I", data, offset, word)


_BRANCHES = {
    JUMP26: (26, 0),
    CALL26: (26, 0),
    BRANCH19: (19, 5),
    LOAD19: (19, 5),
    BRANCH14: (14, 5),
}


def _field(word: int, value: int, bits: int, at: int) -> int:
    mask = (1 << bits) - 1
    return word & ~(mask << at) & 0xFFFFFFFF | (value & mask) << at


def _check(distance: int, bits: int, scale: int) -> None:
    if not -(1 << bits - 1) <= distance < 1 << bits - 1:
        raise OverflowError(f"{1 << bits - 1 + scale} bytes")
