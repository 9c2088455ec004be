# SPDX-License-Identifier: Apache-2.0
"""Builds the host's library and the simulator that it starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from xtc.runtime import CSRC, NativeUnit
from xtc.runtime.native import build_native
from xtc.runtime.simulator import HOST_SOURCES, driver_unit, simulator_units
from xtc_targets.upmem.toolchain.folders import INCLUDE, OWN_CSRC, SHARED
from xtc_targets.upmem.toolchain.vendor import VendorKit

LIBRARY = "libdpu.so"
_EXACT = ("-ffp-contract=off",)  # arithmetic gives the results of the machine's routines


def units() -> tuple[NativeUnit, NativeUnit]:
    """The simulator and the library, which finds the simulator in its own folder."""
    own = [*sorted(OWN_CSRC.glob("iss_*.c")), *sorted(OWN_CSRC.glob("upmem_*.c"))]
    simulator, _ = simulator_units("upmem", own, [], libraries=["m"])
    simulator = replace(simulator, include=(*simulator.include, SHARED), flags=_EXACT)
    shared = (CSRC / name for name in ("xtc_attend.c", "xtc_error.c", "xtc_report.c"))
    sources = (*_host_sources(), *shared)
    library = NativeUnit(LIBRARY, "library", sources, (CSRC, OWN_CSRC, INCLUDE), ("m", "dl"))
    return simulator, library


def _host_sources() -> tuple[Path, ...]:
    own = sorted(OWN_CSRC.glob("lib_*.c"))
    return (*own, OWN_CSRC / "upmem_elf.c", *HOST_SOURCES)


def driver_units() -> tuple[NativeUnit, NativeUnit]:
    """The simulator and the driver of compiled graphs, which contains the library."""
    own = [*_host_sources(), *sorted(OWN_CSRC.glob("driver_*.c")), CSRC / "sim_poison.c"]
    return units()[0], driver_unit("upmem_driver", own, include=[INCLUDE], libraries=["m"])


def vendor_driver_unit(kit: VendorKit) -> NativeUnit:
    """The driver of compiled graphs on the vendor's library. Raises ToolError if it is missing."""
    compiling, linking = kit.host_flags()
    own = [*sorted(OWN_CSRC.glob("driver_*.c")), CSRC / "sim_poison.c"]
    folders = [f"-Wl,-rpath,{flag[2:]}" for flag in linking if flag.startswith("-L")]
    unit = driver_unit("upmem_driver_hw", own, flags=[*compiling, *folders])
    return replace(unit, linked=tuple(linking))


def built_library() -> Path:
    """The folder with library and simulator, which exists until this process ends.

    Raises ToolError with the compiler's message.
    """
    return build_native(units())
