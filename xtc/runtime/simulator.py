# SPDX-License-Identifier: Apache-2.0
"""How a simulator and the driver that starts it are built from a target's C and the shared one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from xtc.runtime.native import CSRC, NativeUnit

_SIMULATOR = (
    "sim_device.c",
    "sim_fault.c",
    "sim_fiber.c",
    "sim_image.c",
    "sim_order.c",
    "sim_output.c",
    "sim_poison.c",
    "sim_shadow.c",
    "xtc_error.c",
    "xtc_library.c",
    "xtc_report.c",
)
HOST_SOURCES = tuple(CSRC / name for name in ("sim_host.c", "sim_output.c", "sim_process.c"))
"""What starts the process of a simulated device, and talks to it."""
_DRIVER = ("sim_driver.c", "sim_memory.c", "sim_poison.c")


def driver_unit(
    name: str,
    own: Sequence[Path],
    *,
    include: Sequence[Path] = (),
    libraries: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> NativeUnit:
    """The driver library `lib<name>.so`: a target's own C, and what all drivers share."""
    sources = (*own, *sorted(CSRC.glob("xtc_*.c")))
    folders = tuple(dict.fromkeys((CSRC, *(path.parent for path in own), *include)))
    needed = ("dl", *libraries)
    return NativeUnit(f"lib{name}.so", "library", sources, folders, needed, tuple(flags))


def simulator_units(
    target: str,
    own: Sequence[Path],
    own_driver: Sequence[Path],
    *,
    libraries: Sequence[str] = (),
    driver_flags: Sequence[str] = (),
) -> tuple[NativeUnit, NativeUnit]:
    """The simulator `<target>_sim`, and the driver that starts it.

    Args:
        target: its name.
        own: C files of the simulator.
        own_driver: C files of the driver.
        libraries: what the simulator needs beside the C library.
        driver_flags: further ones of the compiler's, for the driver.
    """
    include = tuple(dict.fromkeys((CSRC, *(path.parent for path in own))))
    sources = (*own, *(CSRC / name for name in _SIMULATOR))
    program = NativeUnit(f"{target}_sim", "program", sources, include, ("dl", *libraries))
    shared = [*HOST_SOURCES, *(CSRC / name for name in _DRIVER)]
    driver = driver_unit(f"{target}_driver_sim", [*own_driver, *shared], flags=driver_flags)
    return program, driver


def simulator_unavailable() -> str | None:
    """Why this machine cannot run simulators, None if it can."""
    if sys.platform != "linux":
        return f"the simulator runs on Linux, not on {sys.platform}"
    return None
