# SPDX-License-Identifier: Apache-2.0
"""Calls functions of AArch64 object files in an emulated processor (unicorn).

Relocations: Arm, ELF for the Arm 64-bit Architecture (AAELF64), section 5.7.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_CODE, _LIBRARY, _HEAP, _STACK = 0x10_0000, 0x80_0000, 0x100_0000, 0x1000_0000
_HEAP_BYTES, _STACK_BYTES, _PAGE = 64 << 20, 1 << 20, 4096
_ALLOCATED, _SYMBOLS, _RELOCATIONS = 2, 2, 4
_CALLS = (282, 283)  # JUMP26, CALL26
_PAGE_OF = 275  # ADR_PREL_PG_HI21
_LOW_BITS = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}  # ADD and LDST*_ABS_LO12_NC: shift


@dataclass
class _Object:
    """An object file at the address where its code begins."""

    data: bytes
    image: bytearray = field(default_factory=bytearray)
    symbols: dict[str, int] = field(default_factory=dict)
    library: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table, count = self._header()
        sections = [
            struct.unpack_from("<IIQQQQIIQQ", self.data, table + 64 * n) for n in range(count)
        ]
        bases = [self._place(section) for section in sections]
        (symbols,) = [section for section in sections if section[1] == _SYMBOLS]
        values = self._values(symbols, sections[symbols[6]][4], bases)
        for section in sections:
            if section[1] == _RELOCATIONS and sections[section[7]][2] & _ALLOCATED:
                for offset in range(section[4], section[4] + section[5], 24):
                    self._relocate(bases[section[7]], offset, values)

    def _header(self) -> tuple[int, int]:
        """The offset and the number of entries of the section table."""
        (table,) = struct.unpack_from("<Q", self.data, 40)
        (count,) = struct.unpack_from("<H", self.data, 60)
        return table, count

    def _place(self, section: Sequence[int]) -> int:
        if not section[2] & _ALLOCATED:
            return 0
        self.image += bytes(-len(self.image) % max(16, section[8]))
        base = _CODE + len(self.image)
        is_bits = section[1] != 8
        self.image += (
            self.data[section[4] : section[4] + section[5]] if is_bits else bytes(section[5])
        )
        return base

    def _values(self, table: Sequence[int], texts: int, bases: list[int]) -> list[int]:
        values = []
        for offset in range(table[4], table[4] + table[5], 24):
            name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.data, offset)
            text = self.data[texts + name : self.data.index(b"\0", texts + name)].decode()
            if 0 < section < len(bases):
                value += bases[section]
                self.symbols[text] = value
            elif section == 0 and text:
                value = self.library.setdefault(text, _LIBRARY + 16 * len(self.library))
            values.append(value)
        return values

    def _relocate(self, base: int, offset: int, values: list[int]) -> None:
        place, info, addend = struct.unpack_from("<QQq", self.data, offset)
        target, kind = values[info >> 32] + addend, info & 0xFFFFFFFF
        here, at = base + place, base + place - _CODE
        (word,) = struct.unpack_from("<I", self.image, at)
        if kind in _CALLS:
            word |= (target - here) >> 2 & 0x3FFFFFF
        elif kind == _PAGE_OF:
            pages = (target >> 12) - (here >> 12)
            word |= (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
        elif kind in _LOW_BITS:
            word |= (target & 0xFFF) >> _LOW_BITS[kind] << 10
        else:
            raise AssertionError(f"relocation {kind} is not known here")
        struct.pack_into("<I", self.image, at, word)


class Emulator:
    """A processor with an object file in its memory."""

    def __init__(self, data: bytes) -> None:
        import unicorn
        from unicorn import arm64_const as arm

        self._arm, self._object = arm, _Object(data)
        self._uc = uc = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        uc.ctl_set_cpu_model(arm.UC_CPU_ARM64_MAX)
        for start, size in (
            (_CODE, -(-len(self._object.image) // _PAGE) * _PAGE),
            (_LIBRARY, _PAGE),
            (_HEAP, _HEAP_BYTES),
            (_STACK, _STACK_BYTES),
        ):
            uc.mem_map(start, size)
        uc.mem_write(_CODE, bytes(self._object.image))
        uc.mem_write(_LIBRARY, struct.pack("<I", 0xD65F03C0) * (_PAGE // 4))  # ret
        uc.reg_write(arm.UC_ARM64_REG_CPACR_EL1, 3 << 20)  # floating point is not trapped
        names = {address: name for name, address in self._object.library.items()}
        self._free = _HEAP
        uc.hook_add(
            unicorn.UC_HOOK_CODE,
            lambda _uc, address, _size, _data: self._library(names[address]),
            begin=_LIBRARY,
            end=_LIBRARY + _PAGE,
        )

    def call(self, name: str, arrays: Sequence[Array]) -> None:
        """Call a function with the addresses of arrays, which it may write."""
        places = [self._allocate(array.nbytes) for array in arrays]
        for place, array in zip(places, arrays, strict=True):
            self._uc.mem_write(place, array.tobytes())
        for number, place in enumerate(places):
            self._uc.reg_write(self._arm.UC_ARM64_REG_X0 + number, place)
        end = _LIBRARY + _PAGE - 4
        self._uc.reg_write(self._arm.UC_ARM64_REG_SP, _STACK + _STACK_BYTES - 64)
        self._uc.reg_write(self._arm.UC_ARM64_REG_LR, end)
        self._uc.emu_start(self._object.symbols[name], end)
        for place, array in zip(places, arrays, strict=True):
            found = np.frombuffer(self._uc.mem_read(place, array.nbytes), array.dtype)
            array[...] = found.reshape(array.shape)

    def _allocate(self, size: int, alignment: int = 64) -> int:
        place = -(-self._free // alignment) * alignment
        self._free = place + -(-size // 64) * 64 + 64
        return place

    def _library(self, name: str) -> None:
        """Emulate a function of the C library; its only instruction returns."""
        first = self._arm.UC_ARM64_REG_X0
        a, b, c = (self._uc.reg_read(first + number) for number in range(3))
        functions: dict[str, Callable[[], int]] = {
            "malloc": lambda: self._allocate(a),
            "aligned_alloc": lambda: self._allocate(b, a),
            "free": lambda: 0,
            "memset": lambda: self._write(a, bytes([b & 0xFF]) * c),
            "memcpy": lambda: self._write(a, bytes(self._uc.mem_read(b, c))),
            "memmove": lambda: self._write(a, bytes(self._uc.mem_read(b, c))),
        }
        self._uc.reg_write(first, functions[name]())

    def _write(self, place: int, content: bytes) -> int:
        self._uc.mem_write(place, content)
        return place
