# SPDX-License-Identifier: Apache-2.0
"""Reads the relocatable ELF files of LLVM for 32- and 64-bit little-endian machines.

The layout is that of the System V ABI, chapter 4 (Object Files).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from xtc.core.errors import ArtifactError

ARM, AARCH64 = 40, 183
"""`e_machine` of the supported machines."""

NOBITS = 8
WRITE, ALLOC, EXECUTE = 1, 2, 4
FUNCTION, SECTION_SYMBOL = 2, 3
LOCAL, GLOBAL, WEAK = 0, 1, 2
UNDEFINED, ABSOLUTE = 0, 0xFFF1

_SYMBOLS, _RELA, _REL = 2, 4, 9
_HEADER = {1: struct.Struct("<16xHHIIIIIHHHHHH"), 2: struct.Struct("<16xHHIQQQIHHHHHH")}
_SECTION = {1: struct.Struct("<10I"), 2: struct.Struct("<IIQQQQIIQQ")}
_SYMBOL = {1: struct.Struct("<IIIBBH"), 2: struct.Struct("<IBBHQQ")}
_RELOCATION = {
    (1, _REL): struct.Struct("<II"),
    (1, _RELA): struct.Struct("<IIi"),
    (2, _RELA): struct.Struct("<QQq"),
}


@dataclass(frozen=True)
class Relocation:
    """A reference from a section to a symbol; without `addend`, the section contains it."""

    offset: int
    type: int
    symbol: int
    addend: int | None


@dataclass(frozen=True)
class Section:
    """A section that is loaded into memory, with its references."""

    name: str
    type: int
    flags: int
    align: int
    size: int
    data: bytes
    relocations: tuple[Relocation, ...] = ()


@dataclass(frozen=True)
class ElfSymbol:
    """A name for an offset in a section, by the number of the section in the file."""

    name: str
    value: int
    size: int
    binding: int
    type: int
    section: int


@dataclass(frozen=True)
class ObjectFile:
    """The contents of a relocatable file that the linker needs.

    Attributes:
        machine: `e_machine`.
        sections: the loaded sections, by number.
        symbols: all symbols, in order.
    """

    machine: int
    sections: dict[int, Section] = field(default_factory=dict)
    symbols: tuple[ElfSymbol, ...] = ()


def read_object(data: bytes) -> ObjectFile:
    """Read a relocatable file. Raises ArtifactError for anything else."""
    try:
        return _Reader(data).read()
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise ArtifactError(f"this is not a relocatable object file: {error!r}") from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        if data[:4] != b"\x7fELF" or data[5] != 1:
            raise ValueError("it is not a little-endian ELF file")
        self.data = data
        self.width = data[4]
        fields = _HEADER[self.width].unpack_from(data)
        if fields[0] != 1:
            raise ValueError(f"its type is {fields[0]}")
        self.machine = fields[1]
        begin, count, names = fields[5], fields[11], fields[12]
        reader = _SECTION[self.width]
        self.headers = [reader.unpack_from(data, begin + n * reader.size) for n in range(count)]
        self.names = self.content(names)

    def content(self, number: int) -> bytes:
        header = self.headers[number]
        return self.data[header[4] : header[4] + header[5]]

    def read(self) -> ObjectFile:
        relocations: dict[int, tuple[Relocation, ...]] = {}
        symbols: tuple[ElfSymbol, ...] = ()
        for number, header in enumerate(self.headers):
            if header[1] in (_REL, _RELA):
                relocations[header[7]] = self.relocations(number)
            elif header[1] == _SYMBOLS:
                symbols = self.symbols(number)
        sections = {
            number: Section(
                name=_text(self.names, header[0]),
                type=header[1],
                flags=header[2],
                align=max(1, header[8]),
                size=header[5],
                data=b"" if header[1] == NOBITS else self.content(number),
                relocations=relocations.get(number, ()),
            )
            for number, header in enumerate(self.headers)
            if header[2] & ALLOC
        }
        return ObjectFile(self.machine, sections, symbols)

    def symbols(self, number: int) -> tuple[ElfSymbol, ...]:
        names = self.content(self.headers[number][6])
        found = []
        for fields in _SYMBOL[self.width].iter_unpack(self.content(number)):
            if self.width == 1:
                name, value, size, info, _, section = fields
            else:
                name, info, _, section, value, size = fields
            found.append(ElfSymbol(_text(names, name), value, size, info >> 4, info & 15, section))
        return tuple(found)

    def relocations(self, number: int) -> tuple[Relocation, ...]:
        shift = 8 if self.width == 1 else 32
        reader = _RELOCATION[self.width, self.headers[number][1]]
        return tuple(
            Relocation(
                offset, info & ((1 << shift) - 1), info >> shift, addend[0] if addend else None
            )
            for offset, info, *addend in reader.iter_unpack(self.content(number))
        )


def _text(strings: bytes, offset: int) -> str:
    return strings[offset : strings.index(0, offset)].decode()
