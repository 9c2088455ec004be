# SPDX-License-Identifier: Apache-2.0
"""The C of external functions that compute tiles: their declaration, and their callers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STATUS = "xtc.external_status"
"""The variable of a module with the first nonzero status that an external function returned."""
_STATUS = "xtc_external_status"

PRELUDE = f"""\
extern int32_t {_STATUS} __asm__("{STATUS}") __attribute__((visibility("protected")));
"""
DEFINITION = f"""\
#include <stdint.h>
{PRELUDE}int32_t {_STATUS} = 0;
"""
"""The definition of the variable, in a separate file."""


@dataclass(frozen=True)
class Signature:
    """The parameters of a function: addresses, extents, strides.

    Attributes:
        function: its name.
        types: element types of the result and of each operand, in C.
        axes: the axes of the loops that it stands for.
    """

    function: str
    types: tuple[str, ...]
    axes: tuple[str, ...]

    @property
    def declaration(self) -> str:
        """The function's declaration in C, one line for each group of parameters."""
        names = self._names
        pointers = [f"{self.types[0]} *{names[0]}"]
        pointers += [f"const {t} *{n}" for t, n in zip(self.types[1:], names[1:], strict=True)]
        groups = [
            pointers,
            [f"int64_t extent_{axis}" for axis in self.axes],
            *([f"int64_t {name}_stride_{axis}" for axis in self.axes] for name in names),
        ]
        lines = ",\n    ".join(", ".join(group) for group in groups)
        return f"int32_t {self.function}(\n    {lines})"

    @property
    def _names(self) -> list[str]:
        return ["result", *(f"operand{number}" for number in range(len(self.types) - 1))]


@dataclass(frozen=True)
class Tile:
    """One form of the tiles that a function computes.

    Attributes:
        signature: the signature of the function.
        extents: the extent of each axis.
        strides: for the result and each operand, the stride of each axis in elements.
    """

    signature: Signature
    extents: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]


def caller(name: str, tile: Tile) -> str:
    """The C of a function that takes the addresses of tiles of this form and calls the function.

    Extents and strides are constants, so that a compiler that sees both can specialize the
    function.
    """
    types = tile.signature.types
    addresses = [f"address{number}" for number in range(len(types))]
    qualified = [types[0], *(f"const {type}" for type in types[1:])]
    arguments = [f"({t} *){p}" for t, p in zip(qualified, addresses, strict=True)]
    arguments += [str(n) for n in _flat([tile.extents, *tile.strides])]
    return f"""\
void {name}({", ".join(f"intptr_t {offset}" for offset in addresses)}) {{
  int32_t status = {tile.signature.function}({", ".join(arguments)});
  if (status != 0)
    __atomic_store_n(&{_STATUS}, status, __ATOMIC_RELAXED);
}}
"""


def _flat(rows: Sequence[Sequence[int]]) -> list[int]:
    return [number for row in rows for number in row]
