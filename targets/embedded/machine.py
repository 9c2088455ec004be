# SPDX-License-Identifier: Apache-2.0
"""The machine that runs a board's program, and helpers that use the program's symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from xtc_targets.embedded.link.executable import Executable
from xtc_targets.embedded.link.linker import STACK
from xtc_targets.embedded.passes import OPERATOR

_STACK_PAINT = 0x5A


class Machine(Protocol):
    """A core with a started program in flash that waits for calls.

    Attributes:
        image: the program.
    """

    image: Executable

    def write(self, address: int, data: bytes) -> None:
        """Write bytes of memory."""

    def read(self, address: int, nbytes: int) -> bytes:
        """Read bytes of memory."""

    def call(self) -> None:
        """Run the program to its end. Raises DeviceFault or DeviceTimeout."""

    def counters(self) -> Mapping[str, float]:
        """The counts of all calls; counts of several machines can be added."""

    def close(self) -> None:
        """Release the machine."""


def paint_stack(machine: Machine) -> None:
    """Fill the stack with a pattern, for `stack_bytes`."""
    address, nbytes = machine.image.symbols[STACK]
    machine.write(address, bytes([_STACK_PAINT]) * nbytes)


def stack_bytes(machine: Machine) -> int:
    """The bytes of the stack that were written since it was painted."""
    address, nbytes = machine.image.symbols[STACK]
    return len(machine.read(address, nbytes).lstrip(bytes([_STACK_PAINT])))


def symbol_at(image: Executable, address: int) -> str | None:
    """The function or variable that contains an address."""
    for name, (begin, nbytes) in image.symbols.items():
        if begin & ~1 <= address < (begin & ~1) + nbytes:
            return name
    return None


def operator_of(symbol: str) -> str:
    """The operator whose function has this symbol, or the symbol itself."""
    return symbol.partition(OPERATOR)[2] or symbol


def operator_at(image: Executable, address: int) -> str:
    """The operator, or other function, whose code contains the address, in quotes."""
    return f"'{operator_of(symbol_at(image, address) or 'the program')}'"
