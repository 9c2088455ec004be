# SPDX-License-Identifier: Apache-2.0
"""The memory map of a bare-metal program: memory regions, and the symbols in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xtc.core.errors import UserError, did_you_mean
from xtc.interfaces import checked


@dataclass(frozen=True)
class Region:
    """An address range of one kind of memory, such as flash.

    Attributes:
        name: as in the machine's documentation.
        address: of the first byte.
        nbytes: its size.
    """

    name: str
    address: int
    nbytes: int


@dataclass(frozen=True)
class Symbol:
    """A named range of bytes of the program: an argument, a constant, an arena, a function.

    Attributes:
        name: the symbol's name in the image.
        region: the name of the region that holds it.
        address: of the first byte.
        nbytes: its size.
    """

    name: str
    region: str
    address: int
    nbytes: int


@dataclass(frozen=True)
class MemoryMap:
    """The addresses of the program's code and data; all memory is planned at build time."""

    regions: tuple[Region, ...] = ()
    symbols: tuple[Symbol, ...] = ()

    def symbol(self, name: str) -> Symbol:
        """The symbol called `name`. Raises UserError if it does not exist."""
        for symbol in self.symbols:
            if symbol.name == name:
                return symbol
        names = [symbol.name for symbol in self.symbols]
        raise UserError(f"the program has no symbol '{name}'", hints=did_you_mean(name, names))

    def used(self, region: str) -> int:
        """The number of bytes from the start of a region to the end of its last symbol."""
        (found,) = (known for known in self.regions if known.name == region)
        ends = (s.address + s.nbytes for s in self.symbols if s.region == region)
        return max(ends, default=found.address) - found.address

    @staticmethod
    def from_data(data: Any) -> MemoryMap:
        """Rebuild the result of `dataclasses.asdict`. Raises ValueError or similar otherwise."""
        regions = tuple(Region(**region) for region in data.pop("regions"))
        symbols = tuple(Symbol(**symbol) for symbol in data.pop("symbols"))
        for region in regions:
            _check(region)
        for symbol in symbols:
            _check(symbol)
        names = {region.name for region in regions}
        if any(symbol.region not in names for symbol in symbols):
            raise ValueError("a symbol lies in no region")
        return MemoryMap(regions, symbols, **data)


def _check(extent: Region | Symbol) -> None:
    checked.text(extent.name)
    checked.number(extent.address)
    checked.number(extent.nbytes)
