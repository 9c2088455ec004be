# SPDX-License-Identifier: Apache-2.0
"""The native units of a simulator and its driver, from a target's C and the shared C."""

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
"""The code that starts the process of a simulated device and communicates with it."""
_DRIVER = ("sim_driver.c", "sim_memory.c", "sim_poison.c")


def driver_unit(
    name: str,
    own: Sequence[Path],
    *,
    include: Sequence[Path] = (),
    libraries: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> NativeUnit:
    """The driver library `lib<name>.so`, from a target's C and the shared C of drivers."""
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
    """The simulator `<target>_sim` and the driver that starts it.

    Args:
        target: the target's name.
        own: the target's C files of the simulator.
        own_driver: the target's C files of the driver.
        libraries: the libraries of the simulator, in addition to the C library.
        driver_flags: additional compiler flags for the driver.
    """
    include = tuple(dict.fromkeys((CSRC, *(path.parent for path in own))))
    sources = (*own, *(CSRC / name for name in _SIMULATOR))
    program = NativeUnit(f"{target}_sim", "program", sources, include, ("dl", *libraries))
    shared = [*HOST_SOURCES, *(CSRC / name for name in _DRIVER)]
    driver = driver_unit(f"{target}_driver_sim", [*own_driver, *shared], flags=driver_flags)
    return program, driver


def simulator_unavailable() -> str | None:
    """The reason why this machine cannot run simulators, or None."""
    if sys.platform != "linux":
        return f"the simulator runs on Linux, not on {sys.platform}"
    return None
