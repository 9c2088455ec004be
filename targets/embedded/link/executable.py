# SPDX-License-Identifier: Apache-2.0
"""Images as ELF files with symbols, for debuggers, QEMU and the simulator."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from xtc.core.errors import ArtifactError
from xtc_targets.embedded.link import elf
from xtc_targets.embedded.link.linker import STACK, Linked

_EXECUTABLE, _LOAD, _SYMBOLS, _STRINGS = 2, 1, 2, 3
_READ_EXECUTE = 5
_ARM_FLAGS = 0x05000000  # EABI version 5
_NEEDED = {"xtc_entry", "xtc_ready", "xtc_stack_end", "xtc_zero_end", STACK}
_IDENT = b"\x7fELF%c\x01\x01"


@dataclass(frozen=True)
class Executable:
    """The loaded bytes of an image, and its symbols.

    Attributes:
        machine: `e_machine`.
        entry: address of the first instruction.
        address: address of the bytes in flash.
        flash: the bytes in flash.
        symbols: address and size by name.
    """

    machine: int
    entry: int
    address: int
    flash: bytes
    symbols: Mapping[str, tuple[int, int]]


def executable(linked: Linked, entry: str) -> bytes:
    """The ELF file of a linked program that starts at `entry`."""
    wide = linked.machine == elf.AARCH64
    names, entries = bytearray(1), []
    sizes = {symbol.name: symbol for symbol in linked.memory.symbols}
    listed = {name: (at, _size(sizes, name)) for name, at in linked.addresses.items()}
    listed |= {s.name: (s.address, s.nbytes) for s in sizes.values() if s.name not in listed}
    for name, (address, size) in listed.items():
        entries.append(_symbol(wide, len(names), address, size))
        names += name.encode() + b"\0"
    base = linked.memory.regions[0].address
    return _file(wide, linked, linked.addresses[entry], base, b"".join(entries), bytes(names))


def _size(sizes: Mapping[str, object], name: str) -> int:
    return int(getattr(sizes.get(name), "nbytes", 0))


def _symbol(wide: bool, name: int, address: int, size: int) -> bytes:
    info = elf.GLOBAL << 4
    if wide:
        return struct.pack("<IBBHQQ", name, info, 0, elf.ABSOLUTE, address, size)
    return struct.pack("<IIIBBH", name, address, size, info, 0, elf.ABSOLUTE)


def _file(wide: bool, linked: Linked, entry: int, base: int, symbols: bytes, names: bytes) -> bytes:
    header, program, section, symbol = (64, 56, 64, 24) if wide else (52, 32, 40, 16)
    symbols = bytes(symbol) + symbols
    at = -(-(header + program) // 16) * 16
    symbols_at = -(-(at + len(linked.flash)) // 8) * 8
    names_at = symbols_at + len(symbols)
    sections_at = -(-(names_at + len(names)) // 8) * 8
    flags = 0 if wide else _ARM_FLAGS
    ident = (_IDENT % (2 if wide else 1)).ljust(16, b"\0")
    word = "Q" if wide else "I"
    head = ident + struct.pack(
        f"<HHI{word}{word}{word}IHHHHHH",
        *(_EXECUTABLE, linked.machine, 1, entry, header, sections_at, flags),
        *(header, program, 1, section, 3, 2),
    )
    size = len(linked.flash)
    load = (at, base, base, size, size)
    segment = (
        struct.pack("<IIQQQQQQ", _LOAD, _READ_EXECUTE, *load, 16)
        if wide
        else struct.pack("<IIIIIIII", _LOAD, *load, _READ_EXECUTE, 16)
    )
    table = struct.Struct("<IIQQQQIIQQ" if wide else "<10I")
    sections = (
        bytes(section)
        + table.pack(1, _SYMBOLS, 0, 0, symbols_at, len(symbols), 2, 1, 8, symbol)
        + table.pack(1, _STRINGS, 0, 0, names_at, len(names), 0, 0, 1, 0)
    )
    parts = {0: head + segment, at: linked.flash, symbols_at: symbols, names_at: names}
    parts[sections_at] = sections
    image = bytearray(sections_at + len(sections))
    for offset, part in parts.items():
        image[offset : offset + len(part)] = part
    return bytes(image)


def read_executable(data: bytes) -> Executable:
    """Read a file of `executable`. Raises ArtifactError for anything else."""
    try:
        return _read(data)
    except (struct.error, IndexError, ValueError) as error:
        raise ArtifactError(f"this is not an image for a board: {error!r}") from None


def _read(data: bytes) -> Executable:
    if data[:4] != b"\x7fELF":
        raise ValueError("it is not an ELF file")
    wide = data[4] == 2
    word = "Q" if wide else "I"
    fields = struct.unpack_from(f"<16xHHI{word}{word}{word}", data)
    kind, machine, _, entry, segments, sections = fields
    if kind != _EXECUTABLE:
        raise ValueError("it is not linked")
    if wide:
        _, _, at, base, _, size = struct.unpack_from("<IIQQQQ", data, segments)
    else:
        _, at, base, _, size = struct.unpack_from("<IIIII", data, segments)
    if at + size > len(data):
        raise ValueError("it is cut short")
    table = struct.Struct("<IIQQQQIIQQ" if wide else "<10I")
    described, strings = (table.unpack_from(data, sections + n * table.size) for n in (1, 2))
    names = data[strings[4] : strings[4] + strings[5]]
    found = {}
    symbol = struct.Struct("<IBBHQQ" if wide else "<IIIBBH")
    for fields in symbol.iter_unpack(data[described[4] : described[4] + described[5]]):
        name = names[fields[0] : names.index(0, fields[0])].decode()
        address, length = (fields[4], fields[5]) if wide else (fields[1], fields[2])
        if name:
            found[name] = address, length
    if missing := _NEEDED - found.keys():
        raise ValueError(f"it has no symbol {min(missing)}")
    return Executable(machine, entry, base, data[at : at + size], found)
