# SPDX-License-Identifier: Apache-2.0
"""Constant data that the linker only reserves space for, appended to the linked library.

A linker copies all of an object, which takes longer than the code generation of a network with
hundreds of megabytes of weights. It gets a section without contents instead, like zero-initialized
memory, and writes a small library. The contents are then appended to the file, and the segment of
the section is updated with their offset. The formats: Executable and Linking Format 1.2 with the
64-bit fields of the System V ABI, chapters 4 and 5.
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
"""An empty note, whose program header is spare."""
_PAGE = 1 << 16  # the largest page size of x86-64 and AArch64
_SEGMENT = struct.Struct("<IIQQQQQQ")
_LOAD, _NOTE = 1, 4
_READ = 4


class UnknownLayoutError(Exception):
    """The linker's layout of the library does not permit appended contents; says why."""


@dataclass(frozen=True)
class _Segment:
    """A program header, with its fields in order."""

    kind: int
    flags: int
    offset: int
    address: int
    physical: int
    in_file: int
    in_memory: int
    align: int


def reserve_data(path: Path, sizes: Mapping[str, int], machine: Machine) -> None:
    """Write an object that reserves space for each symbol, in bytes, with hidden visibility."""
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
    """Append the contents of the symbols that `reserve_data` reserved space for, as constants.

    Each content is looked up once, when it is written. Raises UnknownLayoutError before it writes
    anything.
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
    """The file offset of the header of `_NAME`, and its fields."""
    start, size, count, strings = header[6], *header[11:14]
    file.seek(start)
    table = file.read(size * count)
    rows = list(SECTION.iter_unpack(table))
    if size != SECTION.size or strings >= len(rows):
        raise UnknownLayoutError("it has no section names")
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
    """The segments, with `size` bytes at `address` loaded from an offset of the file."""
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
            raise UnknownLayoutError("it has no spare program header")
        found.remove(spare)
    return found
