# SPDX-License-Identifier: Apache-2.0
"""QEMU machines in place of boards: their memories, and the timer that counts instructions.

QEMU does not emulate these boards. A program is compiled for the memories of a machine with the
board's core, limited to the board's sizes; it differs only in its addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xtc.core.errors import UserError
from xtc.interfaces.memory_map import Region
from xtc_targets.embedded.description import BoardDescription

_MIB = 1 << 20


@dataclass(frozen=True)
class Emulator:
    """A QEMU machine.

    Attributes:
        program: the program that emulates it.
        machine: the machine, and its core if there are several.
        flash, ram: the addresses of programs and variables; both are RAM, so code is writable.
        timer: the address of its CMSDK timer; 0 if the core has a counter.
        tick: instructions per tick of that timer or counter.
        memory: bytes of RAM to configure; 0 for a fixed size.
    """

    program: str
    machine: tuple[str, ...]
    flash: Region
    ram: Region
    timer: int
    tick: int
    memory: int = 0


def _mps2(name: str, *, flash: int = 0, ram: int = 0x20000000, timer: int = 0x40000000,
          mhz: int = 25) -> Emulator:  # fmt: skip
    """An MPS2 board; an instruction takes a nanosecond of its clock (-icount shift=0)."""
    return Emulator(
        "qemu-system-arm",
        ("-M", name),
        Region("FLASH", flash, 4 * _MIB),
        Region("RAM", ram, 4 * _MIB),
        timer,
        1000 // mhz,
    )


# QEMU's hw/arm/mps2.c and mps2-tz.c: SSRAM of 4 MiB at 0, from 0x20000000 on another 4 MiB, and
# CMSDK timers from 0x40000000 on, at the system clock of 25 MHz; of AN505 the secure aliases of
# 4 MiB at 0 and at 0x28000000, and timers at 20 MHz. The core of AN385, Cortex-M3, has all
# instructions of Armv6-M.
_BY_CORE = {
    "cortex-m0plus": _mps2("mps2-an385"),
    "cortex-m4": _mps2("mps2-an386"),
    "cortex-m7": _mps2("mps2-an500"),
    "cortex-m33": _mps2("mps2-an505", flash=0x10000000, ram=0x38000000, timer=0x50000000, mhz=20),
}


def emulator(board: BoardDescription) -> Emulator:
    """The machine for a board. Raises UserError if no machine has enough memory."""
    if board.core.bits == 64:
        return _virt(board)
    found = _BY_CORE[board.core.name]
    for needed, there in ((board.flash, found.flash), (board.ram, found.ram)):
        if needed.nbytes > there.nbytes:
            raise UserError(
                f"QEMU's {found.machine[1]} has {there.nbytes} bytes for {needed.name}, and "
                f"{board.name} {needed.nbytes}",
                hints=["platform='sim' has the board's memories"],
            )
    return found


def _virt(board: BoardDescription) -> Emulator:
    """QEMU's virt, hw/arm/virt.c: RAM begins at 1 GiB; the counter of its core has 62.5 MHz."""
    begin = 0x40000000
    flash = Region("FLASH", begin, -(-board.flash.nbytes // _MIB) * _MIB)
    ram = Region("RAM", begin + flash.nbytes, -(-board.ram.nbytes // _MIB) * _MIB)
    memory = flash.nbytes + ram.nbytes
    machine = ("-M", "virt", "-cpu", board.core.name, "-m", str(memory // _MIB))
    return Emulator("qemu-system-aarch64", machine, flash, ram, 0, 16, memory)


def emulated(board: BoardDescription) -> BoardDescription:
    """The board with the addresses of its QEMU machine."""
    found = emulator(board)
    return replace(
        board,
        flash=replace(board.flash, address=found.flash.address),
        ram=replace(board.ram, address=found.ram.address),
    )
