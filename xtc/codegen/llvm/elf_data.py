# SPDX-License-Identifier: Apache-2.0
"""ELF object files of constant data, written symbol by symbol.

LLVM writes the same data in other formats, but copies all of it several times; the weights of a
network are hundreds of megabytes. The format: Tool Interface Standard, Executable and Linking
Format 1.2, with the 64-bit fields of the System V ABI, chapter 4.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from xtc.codegen.llvm.machine import Machine
from xtc.codegen.llvm.triple import split

Content = bytes | memoryview

_MACHINES = {"x86_64": 62, "aarch64": 183}  # EM_X86_64, EM_AARCH64
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_IDENT = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")  # 64 bits, little-endian, version 1
_RELOCATABLE = 1
PROGBITS, _SYMTAB, _STRTAB, NOTE, NOBITS = 1, 2, 3, 7, 8
WRITE, ALLOC = 1, 2
_GLOBAL_OBJECT = 0x11
_HIDDEN = 2


def has_elf(machine: Machine) -> bool:
    """Whether `write_elf_data` writes objects for the machine."""
    words = split(machine.triple)
    return words.architecture in _MACHINES and words.system == "linux"


@dataclass
class Layout:
    """The layout of consecutive symbols in their section.

    Attributes:
        align: the alignment of every symbol in bytes, a power of two.
        size: the bytes up to the end of the last symbol.
        offsets: the offset of each symbol in bytes.
    """

    align: int = 64
    size: int = 0
    offsets: dict[str, int] = field(default_factory=dict)
    _names: bytearray = field(default_factory=lambda: bytearray(b"\0"))
    _table: bytearray = field(default_factory=lambda: bytearray(_SYMBOL.size))

    @staticmethod
    def of(sizes: Mapping[str, int]) -> Layout:
        """The layout of symbols with these sizes in bytes."""
        layout = Layout()
        for name, size in sizes.items():
            layout.add(name, size)
        return layout

    def add(self, name: str, size: int) -> int:
        """Append a symbol and return its offset."""
        offset = -(-self.size // self.align) * self.align
        entry = (len(self._names), _GLOBAL_OBJECT, _HIDDEN, 1, offset, size)
        self._table += _SYMBOL.pack(*entry)
        self._names += name.encode() + b"\0"
        self.offsets[name] = offset
        self.size = offset + size
        return offset

    @property
    def tables(self) -> tuple[bytes, bytes]:
        """The symbol table of section 1, and the string table."""
        return bytes(self._table), bytes(self._names)


@dataclass(frozen=True)
class Section:
    """A section header; sizes are in bytes."""

    name: str
    kind: int
    flags: int
    start: int
    size: int
    align: int


def write_elf_data(
    file: BinaryIO, symbols: Mapping[str, Content], machine: Machine, *, align: int = 64
) -> None:
    """Write an object that defines each symbol as constant bytes with hidden visibility.

    Each content is looked up once, when it is written. Output is deterministic.

    Args:
        file: an empty file, writable and seekable.
        symbols: names and contents, in their order in the object.
        machine: the machine of the object; see `has_elf`.
        align: the alignment of every symbol in bytes, a power of two.
    """
    start = -(-HEADER.size // align) * align
    layout = Layout(align)
    for name, content in symbols.items():
        file.seek(start + layout.add(name, len(content)))
        file.write(content)
    data = Section(".rodata", PROGBITS, ALLOC, start, layout.size, align)
    write_tables(file, machine, layout, [data], start + layout.size)


def write_tables(
    file: BinaryIO, machine: Machine, layout: Layout, sections: list[Section], end: int
) -> None:
    """Write the header of an object, and its tables after `end`.

    `sections` are the sections already in the file; the first contains the symbols.
    """
    symbols, names = layout.tables
    texts = [section.name for section in sections]
    texts += [".symtab", ".strtab", ".shstrtab", ".note.GNU-stack"]
    titles = b"\0" + b"".join(text.encode() + b"\0" for text in texts)
    position, offsets = -(-end // 8) * 8, []
    for content in (symbols, names, titles):
        file.seek(position)
        file.write(content.ljust(-(-len(content) // 8) * 8, b"\0"))
        offsets.append(position)
        position = file.tell()

    def name(text: str) -> int:
        return titles.index(text.encode() + b"\0")

    strings = len(sections) + 2
    rows: list[tuple[int, ...]] = [(0,) * 10]
    for each in sections:
        location = (0, each.start, each.size, 0, 0, each.align, 0)
        rows.append((name(each.name), each.kind, each.flags, *location))
    rows += [
        # All symbols except the first are global.
        (name(".symtab"), _SYMTAB, 0, 0, offsets[0], len(symbols), strings, 1, 8, _SYMBOL.size),
        (name(".strtab"), _STRTAB, 0, 0, offsets[1], len(names), 0, 0, 1, 0),
        (name(".shstrtab"), _STRTAB, 0, 0, offsets[2], len(titles), 0, 0, 1, 0),
        (name(".note.GNU-stack"), PROGBITS, 0, 0, position, 0, 0, 0, 1, 0),
    ]
    file.write(b"".join(SECTION.pack(*row) for row in rows))
    number = _MACHINES[split(machine.triple).architecture]
    sizes = (HEADER.size, 0, 0, SECTION.size, len(rows), strings + 1)
    file.seek(0)
    file.write(HEADER.pack(_IDENT, _RELOCATABLE, number, 1, 0, 0, position, 0, *sizes))
