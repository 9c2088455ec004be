# SPDX-License-Identifier: Apache-2.0
"""The relocations of Thumb code: ELF for the Arm Architecture (IHI 0044), section 5.6."""

from __future__ import annotations

import struct

NONE, ABS32, REL32, CALL, JUMP24, TARGET1, V4BX, PREL31, MOVW, MOVT, JUMP19, JUMP11, JUMP8 = (
    0, 2, 3, 10, 30, 38, 40, 42, 47, 48, 51, 102, 103,
)  # fmt: skip


def apply(
    data: bytearray, offset: int, here: int, type: int, target: int, addend: int | None
) -> None:
    """Write a reference to `target` at `offset` in `data`; the reference is at address `here`.

    Raises OverflowError if the target is too far, and KeyError for an unknown relocation.
    """
    if type in (NONE, V4BX):
        return
    _APPLY[type](data, offset, here, target, addend)


def _word(data: bytearray, offset: int, addend: int | None) -> int:
    found: int = struct.unpack_from("<i", data, offset)[0]
    return found if addend is None else addend


def _absolute(data: bytearray, offset: int, here: int, target: int, addend: int | None) -> None:
    value = target + _word(data, offset, addend)
    struct.pack_into("<I", data, offset, value & 0xFFFFFFFF)


def _relative(data: bytearray, offset: int, here: int, target: int, addend: int | None) -> None:
    _absolute(data, offset, here, target - here, addend)


def _relative31(data: bytearray, offset: int, here: int, target: int, addend: int | None) -> None:
    word = _word(data, offset, addend)
    value = (word << 1 & 0xFFFFFFFF) // 2 + target - here
    struct.pack_into("<I", data, offset, (word & 1 << 31) | (value & 0x7FFFFFFF))


def _call(data: bytearray, offset: int, here: int, target: int, addend: int | None) -> None:
    """BL and B.W reach 16 MiB: Armv7-M Architecture Reference Manual, A7.7.18 and A7.7.12."""
    high, low = struct.unpack_from("<HH", data, offset)
    distance = (target & ~1) - here + (_branch_addend(high, low) if addend is None else addend)
    if not -(1 << 24) <= distance < 1 << 24:
        raise OverflowError("16 MiB")
    sign = distance >> 24 & 1
    j1, j2 = ((distance >> bit & 1) ^ 1 ^ sign for bit in (23, 22))
    high = high & 0xF800 | sign << 10 | distance >> 12 & 0x3FF
    low = low & 0xD000 | j1 << 13 | j2 << 11 | distance >> 1 & 0x7FF
    struct.pack_into("<HH", data, offset, high, low)


def _branch_addend(high: int, low: int) -> int:
    sign = high >> 10 & 1
    i1, i2 = ((low >> bit & 1) ^ 1 ^ sign for bit in (13, 11))
    value = sign << 24 | i1 << 23 | i2 << 22 | (high & 0x3FF) << 12 | (low & 0x7FF) << 1
    return value - (sign << 25)


def _jump19(data: bytearray, offset: int, here: int, target: int, addend: int | None) -> None:
    """A conditional B.W reaches 1 MiB: A7.7.12, encoding T3."""
    high, low = struct.unpack_from("<HH", data, offset)
    distance = (target & ~1) - here + (-4 if addend is None else addend)
    if not -(1 << 20) <= distance < 1 << 20:
        raise OverflowError("1 MiB")
    bits = distance >> 1
    sign, j2, j1 = bits >> 19 & 1, bits >> 18 & 1, bits >> 17 & 1
    high = high & 0xFBC0 | sign << 10 | bits >> 11 & 0x3F
    low = low & 0xD000 | j1 << 13 | j2 << 11 | bits & 0x7FF
    struct.pack_into("<HH", data, offset, high, low)


def _narrow(data: bytearray, offset: int, here: int, target: int, bits: int) -> None:
    (word,) = struct.unpack_from("<H", data, offset)
    distance = (target & ~1) - here - 4
    if not -(1 << bits) <= distance < 1 << bits:
        raise OverflowError(f"{1 << bits} bytes")
    mask = (1 << bits) - 1
    struct.pack_into("<H", data, offset, word & ~mask & 0xFFFF | distance >> 1 & mask)


def _jump11(data: bytearray, offset: int, here: int, target: int, addend: int | None) -> None:
    _narrow(data, offset, here, target, 11)


def _jump8(data: bytearray, offset: int, here: int, target: int, addend: int | None) -> None:
    _narrow(data, offset, here, target, 8)


def _half(data: bytearray, offset: int, target: int, addend: int | None, shift: int) -> None:
    """MOVW and MOVT: A7.7.76 and A7.7.79."""
    high, low = struct.unpack_from("<HH", data, offset)
    if addend is None:
        unsigned = (high & 15) << 12 | (high >> 10 & 1) << 11 | (low >> 12 & 7) << 8 | low & 255
        addend = unsigned - (unsigned >> 15 << 16)
    value = (target + addend) >> shift & 0xFFFF
    high = high & 0xFBF0 | value >> 12 | (value >> 11 & 1) << 10
    low = low & 0x8F00 | (value >> 8 & 7) << 12 | value & 255
    struct.pack_into("<HH", data, offset, high, low)


def _low_half(data: bytearray, offset: int, here: int, target: int, addend: int | None) -> None:
    _half(data, offset, target, addend, 0)


def _high_half(data: bytearray, offset: int, here: int, target: int, addend: int | None) -> None:
    _half(data, offset, target, addend, 16)


_APPLY = {
    ABS32: _absolute,
    TARGET1: _absolute,
    REL32: _relative,
    PREL31: _relative31,
    CALL: _call,
    JUMP24: _call,
    JUMP19: _jump19,
    JUMP11: _jump11,
    JUMP8: _jump8,
    MOVW: _low_half,
    MOVT: _high_half,
}
