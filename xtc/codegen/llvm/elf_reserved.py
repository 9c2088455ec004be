# SPDX-License-Identifier: Apache-2.0
"""Constant data that a linker leaves room for, and that is written behind what it has linked.

A linker reads all of an object and writes it again, which takes longer than the code generation of
a network with hundreds of megabytes of weights. It is shown a section without contents instead,
as for memory that starts with zeros. Its library is small; the contents are appended to the file,
and the segment of the section is updated with their location. The formats: Executable and Linking
Format 1.2 with the 64-bit fields of the System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from xtc.codegen.llvm import elf_data
from xtc.codegen.llvm.elf_data import HEADER, SECTION, Content, Layout, Section, write_tables
from xtc.codegen.llvm.machine import Machine

_NAME = ".xtc.constants"
_SPARE = struct.pack("<III4s", 4, 0, 1, b"xtc")
"""An empty note, for whose entry in the table of segments there is no need."""
_PAGE = 1 << 16  # the largest of x86-64 and AArch64
_SEGMENT = struct.Struct("<IIQQQQQQ")
_LOAD, _NOTE = 1, 4
_READ = 4


class UnknownLayoutError(Exception):
    """The linker arranged the library in a way that leaves no room for contents; says how."""


@dataclass(frozen=True)
class _Segment:
    """An entry of the table of segments, in the order of its fields."""

    kind: int
    flags: int
    offset: int
    address: int
    physical: int
    in_file: int
    in_memory: int
    align: int


def reserve_data(path: Path, sizes: Mapping[str, int], machine: Machine) -> None:
    """Write an object that has room for each symbol, of `sizes` in bytes, hidden from outside."""
    layout = Layout.of(sizes)
    room = Section(
        _NAME, elf_data.NOBITS, elf_data.ALLOC | elf_data.WRITE, HEADER.size, layout.size, _PAGE
    )
    note = Section(".note.xtc", elf_data.NOTE, elf_data.ALLOC, HEADER.size, len(_SPARE), 4)
    with path.open("wb") as file:
        file.seek(HEADER.size)
        file.write(_SPARE)
        write_tables(file, machine, layout, [room, note], HEADER.size + len(_SPARE))


def append_data(library: Path, sizes: Mapping[str, int], contents: Mapping[str, Content]) -> None:
    """Append what `reserve_data` made room for; the library then has it as constants.

    Each content is looked up once, when it is written. Raises UnknownLayoutError before anything is
    written.
    """
    layout = Layout.of(sizes)
    with library.open("r+b") as file:
        header = HEADER.unpack(file.read(HEADER.size))
        position, section = _section(file, header)
        if section[1] != elf_data.NOBITS or section[5] != layout.size:
            raise UnknownLayoutError(f"{_NAME} has {section[5]} bytes of kind {section[1]}")
        offset = -(-file.seek(0, 2) // _PAGE) * _PAGE
        segments = _with_contents(_segments(file, header), section[3], layout.size, offset)
        for name, content in contents.items():
            if len(content) != sizes[name]:
                raise ValueError(f"{name} has {len(content)} bytes instead of {sizes[name]}")
            file.seek(offset + layout.offsets[name])
            file.write(content)
        file.truncate(offset + layout.size)
        row = (section[0], elf_data.PROGBITS, elf_data.ALLOC, section[3], offset, *section[5:])
        file.seek(position)
        file.write(SECTION.pack(*row))
        file.seek(header[5])
        file.write(b"".join(_SEGMENT.pack(*vars(segment).values()) for segment in segments))


def _section(file: BinaryIO, header: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Where the header of our section is in the file, and its fields."""
    start, size, count, strings = header[6], *header[11:14]
    file.seek(start)
    table = file.read(size * count)
    rows = list(SECTION.iter_unpack(table))
    if size != SECTION.size or strings >= len(rows):
        raise UnknownLayoutError("it has no names of sections")
    file.seek(rows[strings][4])
    names = file.read(rows[strings][5])
    wanted = names.find(b"\0" + _NAME.encode() + b"\0") + 1
    found = [number for number, row in enumerate(rows) if wanted and row[0] == wanted]
    if len(found) != 1:
        raise UnknownLayoutError(f"it has no {_NAME}")
    return start + found[0] * size, rows[found[0]]


def _segments(file: BinaryIO, header: tuple[int, ...]) -> list[_Segment]:
    file.seek(header[5])
    table = file.read(header[9] * header[10])
    return [_Segment(*row) for row in _SEGMENT.iter_unpack(table)]


def _with_contents(
    segments: list[_Segment], address: int, size: int, offset: int
) -> list[_Segment]:
    """The segments, `size` bytes at an address among them read from an offset of the file."""
    around = [
        number
        for number, each in enumerate(segments)
        if each.kind == _LOAD
        and each.address + each.in_file <= address
        and each.address + each.in_memory == address + size
    ]
    if len(around) != 1 or address % _PAGE:
        raise UnknownLayoutError(f"{_NAME} is not at the end of a segment")
    contents = _Segment(_LOAD, _READ, offset, address, address, size, size, _PAGE)
    before = replace(segments[around[0]], in_memory=address - segments[around[0]].address)
    changed = [contents] if not before.in_memory else [before, contents]
    found = segments[: around[0]] + changed + segments[around[0] + 1 :]
    if len(found) > len(segments):
        spare = next((each for each in found if each.kind == _NOTE), None)
        if spare is None:
            raise UnknownLayoutError("no entry of its table of segments is free")
        found.remove(spare)
    return found
