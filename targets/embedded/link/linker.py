# SPDX-License-Identifier: Apache-2.0
"""Links object files at fixed addresses, without unreferenced sections.

Flash holds the vector table, code, constants and the initial values of variables; RAM holds the
stack, then variables. The stack is lowest, so that an overflow leaves RAM and faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xtc.core.errors import CompileError, DeviceMemoryError
from xtc.interfaces.memory_map import MemoryMap, Region, Symbol
from xtc_targets.embedded.link import aarch64, arm, elf
from xtc_targets.embedded.link.elf import ElfSymbol, ObjectFile, Section

FLASH, RAM = "FLASH", "RAM"
STACK = "xtc_stack"
_UNWINDING = (".ARM.exidx", ".ARM.extab", ".eh_frame")
_APPLY = {elf.ARM: arm.apply, elf.AARCH64: aarch64.apply}
_STACK_ALIGN = 16

Key = tuple[int, int]
"""A section: the number of its object file, and its number in it."""


@dataclass(frozen=True)
class Layout:
    """The memory for a program: regions, and the size of the stack."""

    flash: Region
    ram: Region
    stack_bytes: int


@dataclass(frozen=True)
class Linked:
    """A linked program.

    Attributes:
        flash: the bytes from the start of flash on.
        memory: the memory map, with regions and symbols.
        addresses: addresses of all global symbols, including those that the linker defines.
        machine: `e_machine` of the objects.
    """

    flash: bytes
    memory: MemoryMap
    addresses: Mapping[str, int]
    machine: int


def link(objects: Sequence[ObjectFile], layout: Layout, roots: Sequence[str]) -> Linked:
    """Link the program that is reachable from `roots`.

    Raises CompileError for undefined symbols, and DeviceMemoryError with the sizes of all symbols
    if the program does not fit.
    """
    return _Link(objects, layout).run(roots)


@dataclass
class _Link:
    objects: Sequence[ObjectFile]
    layout: Layout
    placed: dict[Key, int] = field(default_factory=dict)
    loads: dict[Key, int] = field(default_factory=dict)
    defined: dict[str, tuple[int, ElfSymbol]] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    roots: Sequence[str] = ()

    def run(self, roots: Sequence[str]) -> Linked:
        for number, file in enumerate(self.objects):
            for symbol in file.symbols:
                if symbol.binding != elf.LOCAL and symbol.section != elf.UNDEFINED:
                    self._define(number, symbol)
        kept = self._reachable(roots)
        self.roots = roots
        self._place(kept)
        memory = self._memory_map(kept)
        check_fits(memory)
        flash = self._contents(kept)
        addresses = {name: self._address(name) for name in self.defined if self._is_kept(name)}
        return Linked(flash, memory, {**addresses, **self.limits}, self.objects[0].machine)

    def _define(self, number: int, symbol: ElfSymbol) -> None:
        if symbol.name not in self.defined or symbol.binding == elf.GLOBAL:
            self.defined[symbol.name] = number, symbol

    def _is_kept(self, name: str) -> bool:
        number, symbol = self.defined[name]
        return symbol.section == elf.ABSOLUTE or (number, symbol.section) in self.placed

    def _reachable(self, roots: Sequence[str]) -> list[Key]:
        """The sections that are reachable from roots, in order."""
        todo = [self._definition(root, "the image") for root in roots]
        seen: set[Key] = set()
        while todo:
            key = todo.pop()
            if key is None or key in seen:
                continue
            seen.add(key)
            todo += self._references(key)
        return sorted(seen, key=self._order)

    def _references(self, key: Key) -> Iterator[Key | None]:
        number, section = key
        file = self.objects[number]
        for reference in file.sections[section].relocations:
            symbol = file.symbols[reference.symbol]
            if symbol.binding == elf.LOCAL:
                yield (number, symbol.section) if symbol.section in file.sections else None
            else:
                yield self._definition(symbol.name, f"'{file.sections[section].name}'")

    def _definition(self, name: str, user: str) -> Key | None:
        if name in _LIMITS:
            return None
        if name not in self.defined:
            raise CompileError(
                f"{user} needs '{name}', which the run-time library of boards does not have",
                hints=[hint for word, hint in _ABSENT.items() if word in name][:1],
            )
        number, symbol = self.defined[name]
        return (number, symbol.section) if symbol.section in self.objects[number].sections else None

    def _order(self, key: Key) -> tuple[int, int, int]:
        name = self._section(key).name
        rank = 0 if name.startswith(".vectors") else 1 if name.startswith(".text") else 2
        return rank, *key

    def _section(self, key: Key) -> Section:
        return self.objects[key[0]].sections[key[1]]

    def _place(self, kept: Sequence[Key]) -> None:
        """Assign addresses: read-only sections in flash, the others in RAM."""
        flash, ram = self.layout.flash.address, self.layout.ram.address
        stack_end = ram + _aligned(self.layout.stack_bytes, _STACK_ALIGN)
        for key in kept:
            section = self._section(key)
            if not section.flags & elf.WRITE:
                flash = _aligned(flash, section.align)
                self.placed[key] = flash
                flash += section.size
        data = [key for key in kept if self._is_data(key)]
        zero = [key for key in kept if self._section(key).flags & elf.WRITE and key not in data]
        flash = load = _aligned(flash, 16)
        end = begin = _aligned(stack_end, 16)
        for key in data:
            end = _aligned(end, self._section(key).align)
            self.placed[key], self.loads[key] = end, load + end - begin
            end += self._section(key).size
        zero_begin = at = _aligned(end, 16)
        for key in zero:
            at = _aligned(at, self._section(key).align)
            self.placed[key] = at
            at += self._section(key).size
        values = ram, stack_end, begin, zero_begin, load, zero_begin, _aligned(at, 16)
        self.limits = dict(zip(_LIMITS, values, strict=True))

    def _is_data(self, key: Key) -> bool:
        section = self._section(key)
        return bool(section.flags & elf.WRITE) and section.type != elf.NOBITS

    def _memory_map(self, kept: Sequence[Key]) -> MemoryMap:
        flash, ram = self.layout.flash, self.layout.ram
        stack = Symbol(STACK, RAM, ram.address, _aligned(self.layout.stack_bytes, _STACK_ALIGN))
        symbols = [stack]
        for key in kept:
            region = RAM if self._section(key).flags & elf.WRITE else FLASH
            found = self._symbols_in(key, region)
            named = sum(symbol.nbytes for symbol in found)
            rest = self._section(key).size - named
            if not found and rest:
                found = [Symbol(self._section(key).name, region, self.placed[key], rest)]
            symbols += found
        named_flash, named_ram = (
            Region(name, region.address, region.nbytes)
            for name, region in ((FLASH, flash), (RAM, ram))
        )
        return MemoryMap((named_flash, named_ram), tuple(symbols))

    def _symbols_in(self, key: Key, region: str) -> list[Symbol]:
        number, section = key
        base = self.placed[key]
        found = {}
        for symbol in self.objects[number].symbols:
            if symbol.section == section and symbol.size and symbol.type != elf.SECTION_SYMBOL:
                at = base + (symbol.value & ~1 if symbol.type == elf.FUNCTION else symbol.value)
                if at not in found or symbol.name not in self.roots:
                    found[at] = Symbol(symbol.name, region, at, symbol.size)
        return [found[at] for at in sorted(found)]

    def _contents(self, kept: Sequence[Key]) -> bytes:
        base = self.layout.flash.address
        image = bytearray()
        for key in kept:
            section = self._section(key)
            if section.type == elf.NOBITS:
                continue
            at = self.loads.get(key, self.placed[key]) - base
            image += bytes(max(0, at + section.size - len(image)))
            image[at : at + section.size] = self._relocated(key)
        return bytes(image)

    def _relocated(self, key: Key) -> bytearray:
        number, _ = key
        file, section = self.objects[number], self._section(key)
        data = bytearray(section.data)
        for reference in section.relocations:
            symbol = file.symbols[reference.symbol]
            target = self._target(number, symbol)
            here = self.placed[key] + reference.offset
            try:
                _APPLY[file.machine](
                    data, reference.offset, here, reference.type, target, reference.addend
                )
            except KeyError:
                raise CompileError(
                    f"'{section.name}' refers to '{symbol.name}' by relocation {reference.type}, "
                    "which the linker does not know"
                ) from None
            except OverflowError as error:
                raise CompileError(
                    f"'{symbol.name}' is more than {error} away from '{section.name}'"
                ) from None
        return data

    def _target(self, number: int, symbol: ElfSymbol) -> int:
        if symbol.binding != elf.LOCAL:
            return self._address(symbol.name)
        if symbol.section == elf.ABSOLUTE:
            return symbol.value
        return self.placed.get((number, symbol.section), 0) + symbol.value

    def _address(self, name: str) -> int:
        if name in self.limits:
            return self.limits[name]
        number, symbol = self.defined[name]
        if symbol.section == elf.ABSOLUTE:
            return symbol.value
        return self.placed[number, symbol.section] + symbol.value


_LIMITS = (
    "xtc_stack_begin",
    "xtc_stack_end",
    "xtc_data_begin",
    "xtc_data_end",
    "xtc_data_load",
    "xtc_zero_begin",
    "xtc_zero_end",
)
"""Symbols that the linker defines: limits of the stack and of variables, and the initial values."""

_ABSENT = {
    "__aeabi_d": "float64 needs a core with instructions for it: cast to float32",
    "2d": "float64 needs a core with instructions for it: cast to float32",
    "2h": "float16 needs a core with instructions for it: cast to float32",
    "h2f": "float16 needs a core with instructions for it: cast to float32",
    "malloc": "boards have no heap: sizes must be known at build",
}


def check_fits(memory: MemoryMap) -> None:
    """Raise DeviceMemoryError with the largest symbols if a region is too small."""
    for region in memory.regions:
        used = memory.used(region.name)
        if used > region.nbytes:
            inside = [symbol for symbol in memory.symbols if symbol.region == region.name]
            largest = sorted(inside, key=lambda symbol: -symbol.nbytes)[:8]
            raise DeviceMemoryError(
                f"the program needs {used} bytes of {region.name}, which has {region.nbytes}",
                notes=[
                    *(_region_text(memory, each) for each in memory.regions),
                    *(f"{symbol.nbytes} bytes: {symbol.name}" for symbol in largest),
                ],
                hints=[f"choose a board with {used} bytes of {region.name} or more"],
            )


def _region_text(memory: MemoryMap, region: Region) -> str:
    used = memory.used(region.name)
    return f"{region.name} at {region.address:#010x}: {used} of {region.nbytes} bytes"


def _aligned(address: int, align: int) -> int:
    return -(-address // align) * align
