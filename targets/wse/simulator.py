# SPDX-License-Identifier: Apache-2.0
"""Builds and opens the simulator in `csrc/`."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_char_p, c_double, c_uint32, c_uint64
from pathlib import Path

from xtc.core.errors import DeviceNotFound
from xtc.runtime import NativeUnit, OpenDevice, built_driver
from xtc.runtime.simulator import simulator_unavailable, simulator_units
from xtc_targets.wse.options import WseOptions

OWN_CSRC = Path(__file__).parent / "csrc"


class Config(ctypes.Structure):
    """`wse_config` of `csrc/wse_config.h`."""

    _fields_ = (
        ("nbytes", c_uint64),
        ("executable", c_char_p),
        ("log", c_char_p),
        ("trace", c_char_p),
        ("memory_bytes", c_uint64),
        ("timeout_s", c_double),
        ("shuffled", c_uint32),
        ("seed", c_uint64),
        ("cycle_limit", c_uint64),
    )


def units() -> tuple[NativeUnit, NativeUnit]:
    """The simulator, and the driver that starts it."""
    own, own_driver = (sorted(OWN_CSRC.glob(name)) for name in ("wse_*.c", "driver_*.c"))
    return simulator_units("wse", own, own_driver, libraries=("m",))


def unavailable() -> str | None:
    """The reason why this machine cannot run the simulator, or None."""
    return simulator_unavailable()


def open_simulator(options: WseOptions, name: str) -> OpenDevice:
    """Start a simulator. Raises DeviceNotFound if it cannot be built or started."""
    if reason := unavailable():
        raise DeviceNotFound(reason)
    program, library = units()
    folder, driver = built_driver(program, library)
    config = Config(
        nbytes=ctypes.sizeof(Config),
        executable=os.fsencode(folder / program.name),
        log=_path(options.log),
        trace=_path(options.trace),
        memory_bytes=options.memory_bytes,
        timeout_s=options.timeout_s,
        shuffled=options.schedule == "shuffled",
        seed=options.seed,
        cycle_limit=options.cycle_limit,
    )
    return OpenDevice(driver, config, name)


def _path(path: Path | None) -> bytes | None:
    return None if path is None else os.fsencode(path.absolute())
