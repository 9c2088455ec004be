# SPDX-License-Identifier: Apache-2.0
"""Constant data as an ELF object file, written content by content.

LLVM makes the same of data in other formats, but copies all of it several times on the way; the
weights of a network are hundreds of megabytes. The format: Tool Interface Standard, Executable and
Linking Format 1.2, with the 64-bit fields of the System V ABI, chapter 4.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import BinaryIO

from xtc.codegen.llvm.machine import Machine
from xtc.codegen.llvm.triple import split

Content = bytes | memoryview

_MACHINES = {"x86_64": 62, "aarch64": 183}  # EM_X86_64, EM_AARCH64
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_IDENT = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")  # 64 bits, little-endian, version 1
_RELOCATABLE = 1
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_ALLOC = 2
_GLOBAL_OBJECT = 0x11
_HIDDEN = 2
_NAMES = b"\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0"


def has_elf(machine: Machine) -> bool:
    """Whether `write_elf_data` writes objects for the machine."""
    words = split(machine.triple)
    return words.architecture in _MACHINES and words.system == "linux"


def write_elf_data(
    file: BinaryIO, symbols: Mapping[str, Content], machine: Machine, *, align: int = 64
) -> None:
    """Write an object that defines each symbol as constant bytes, hidden from outside.

    Each content is looked up once, when it is written. The same contents give the same bytes.

    Args:
        file: empty, open to write at any position.
        symbols: name and content, in the order they will have in the object.
        machine: what the object is for; see `has_elf`.
        align: the alignment of every symbol in bytes, a power of two.
    """
    start = -(-_HEADER.size // align) * align
    file.seek(start)
    position, names, table = start, bytearray(b"\0"), [_SYMBOL.pack(0, 0, 0, 0, 0, 0)]
    for name, content in symbols.items():
        padding = -position % align
        file.write(bytes(padding))
        position += padding
        piece = (1, position - start, len(content))
        table.append(_SYMBOL.pack(len(names), _GLOBAL_OBJECT, _HIDDEN, *piece))
        names += name.encode() + b"\0"
        file.write(content)
        position += len(content)
    tables = (b"".join(table), bytes(names), _NAMES)
    _finish(file, machine, tables, (start, position - start, align))


def _finish(
    file: BinaryIO, machine: Machine, tables: tuple[bytes, ...], data: tuple[int, int, int]
) -> None:
    """Write what follows the data, and the header."""
    start, size, align = data
    position = start + size
    file.write(bytes(-position % 8))
    position += -position % 8
    offsets = []
    for content in tables:
        offsets.append(position)
        file.write(content.ljust(-(-len(content) // 8) * 8, b"\0"))
        position += -(-len(content) // 8) * 8
    symbols, names, sections = tables

    def name(text: bytes) -> int:
        return _NAMES.index(text + b"\0")

    rows = (
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (name(b".rodata"), _PROGBITS, _ALLOC, 0, start, size, 0, 0, align, 0),
        # Its strings are in section 3; all symbols but the first are global.
        (name(b".symtab"), _SYMTAB, 0, 0, offsets[0], len(symbols), 3, 1, 8, _SYMBOL.size),
        (name(b".strtab"), _STRTAB, 0, 0, offsets[1], len(names), 0, 0, 1, 0),
        (name(b".shstrtab"), _STRTAB, 0, 0, offsets[2], len(sections), 0, 0, 1, 0),
        (name(b".note.GNU-stack"), _PROGBITS, 0, 0, position, 0, 0, 0, 1, 0),
    )
    file.write(b"".join(_SECTION.pack(*row) for row in rows))
    number = _MACHINES[split(machine.triple).architecture]
    sizes = (_HEADER.size, 0, 0, _SECTION.size, len(rows), 4)
    file.seek(0)
    file.write(_HEADER.pack(_IDENT, _RELOCATABLE, number, 1, 0, 0, position, 0, *sizes))
