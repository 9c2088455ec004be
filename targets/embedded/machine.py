# SPDX-License-Identifier: Apache-2.0
"""What a board's program runs on, and what is said of its memory by the program's symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from xtc_targets.embedded.link.executable import Executable
from xtc_targets.embedded.link.linker import STACK
from xtc_targets.embedded.passes import OPERATOR

_STACK_PAINT = 0x5A


class Machine(Protocol):
    """A core with a program in its flash that has been started, and waits for calls.

    Attributes:
        image: the program.
    """

    image: Executable

    def write(self, address: int, data: bytes) -> None:
        """Set bytes of memory."""

    def read(self, address: int, nbytes: int) -> bytes:
        """Bytes of memory."""

    def call(self) -> None:
        """Run the program to its end. Raises DeviceFault, DeviceTimeout."""

    def counters(self) -> Mapping[str, float]:
        """What all calls took; sums of several machines add up."""

    def close(self) -> None:
        """Give the machine back."""


def paint_stack(machine: Machine) -> None:
    """Write a pattern over the stack, for `stack_bytes`."""
    address, nbytes = machine.image.symbols[STACK]
    machine.write(address, bytes([_STACK_PAINT]) * nbytes)


def stack_bytes(machine: Machine) -> int:
    """How much of the stack was written since it was painted."""
    address, nbytes = machine.image.symbols[STACK]
    return len(machine.read(address, nbytes).lstrip(bytes([_STACK_PAINT])))


def symbol_at(image: Executable, address: int) -> str | None:
    """The function or the variable that has the byte at an address."""
    for name, (begin, nbytes) in image.symbols.items():
        if begin & ~1 <= address < (begin & ~1) + nbytes:
            return name
    return None


def operator_of(symbol: str) -> str:
    """The operator whose function has this symbol; the symbol of another function."""
    return symbol.partition(OPERATOR)[2] or symbol


def operator_at(image: Executable, address: int) -> str:
    """The operator, or another function, whose code has the address; in quotes."""
    return f"'{operator_of(symbol_at(image, address) or 'the program')}'"
