# SPDX-License-Identifier: Apache-2.0
"""Builds and opens the simulator in `csrc/`."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from ctypes import c_char_p, c_double, c_uint32, c_uint64, c_void_p
from pathlib import Path

from xtc.core.errors import DeviceNotFound
from xtc.runtime import NativeUnit, OpenDevice, built_driver
from xtc.runtime.interruptible import interrupted
from xtc.runtime.simulator import simulator_unavailable, simulator_units
from xtc.system.cores import usable_cores
from xtc_targets.nvgpu.description import GpuDescription
from xtc_targets.nvgpu.options import MAX_CORES, NvgpuOptions

OWN_CSRC = Path(__file__).parent / "csrc"
ALONE_NS = 1_000_000
"""Time in nanoseconds that a launch runs on one core before it uses all cores."""

PROCESSORS = ("x86_64", "aarch64")
"""The processors that the simulator's threads support."""


Print = ctypes.CFUNCTYPE(None, c_void_p, c_uint64)


def write_printed(text: int, nbytes: int) -> None:
    """Write the output of a launch to `sys.stdout`; the simulator's driver calls it."""
    try:
        if sys.stdout is not None:
            sys.stdout.write(ctypes.string_at(text, nbytes).decode(errors="replace"))
    except Exception:  # Python reports the error by `sys.unraisablehook`, and the launch continues
        raise
    except BaseException as error:
        interrupted(error)


_write_printed = Print(write_printed)
"""A reference that keeps the callback alive as long as simulators may call it."""


class Machine(ctypes.Structure):
    """`gpu_machine` of `csrc/gpu_block.h`."""

    _fields_ = (
        ("max_block_threads", c_uint32),
        ("max_block", c_uint32 * 3),
        ("max_grid", c_uint32 * 3),
        ("shared_address", c_uint64),
        ("shared_bytes", c_uint32),
        ("sms", c_uint32),
        ("threads_sm", c_uint32),
        ("blocks_sm", c_uint32),
        ("shared_bytes_sm", c_uint32),
        ("shuffled", c_uint32),
        ("races", c_uint32),
        ("banks", c_uint32),
        ("seed", c_uint64),
        ("cores", c_uint32),
        ("alone_ns", c_uint64),
    )


class Config(ctypes.Structure):
    """`gpu_config` of `csrc/gpu_config.h`."""

    _fields_ = (
        ("nbytes", c_uint64),
        ("executable", c_char_p),
        ("memory_address", c_uint64),
        ("memory_bytes", c_uint64),
        ("timeout_s", c_double),
        ("machine", Machine),
        ("print", Print),
    )


def units() -> tuple[NativeUnit, NativeUnit]:
    """The translation units of the simulator, and of the driver that starts it."""
    own, own_driver = (sorted(OWN_CSRC.glob(name)) for name in ("gpu_*.c", "driver_*.c"))
    return simulator_units("nvgpu", own, own_driver)


def unavailable() -> str | None:
    """The reason why this machine cannot run the simulator, or None."""
    if reason := simulator_unavailable():
        return reason
    if platform.machine() not in PROCESSORS:
        return f"the simulator runs on {' and '.join(PROCESSORS)}, not on {platform.machine()}"
    return None


def open_simulator(options: NvgpuOptions, machine: GpuDescription, name: str) -> OpenDevice:
    """Start a simulator. Raises DeviceNotFound if it cannot be built or started."""
    if reason := unavailable():
        raise DeviceNotFound(reason)
    program, library = units()
    folder, driver = built_driver(program, library)
    config = Config(
        nbytes=ctypes.sizeof(Config),
        executable=os.fsencode(folder / program.name),
        memory_address=machine.global_address,
        memory_bytes=options.memory_bytes,
        timeout_s=options.timeout_s,
        machine=_machine(options, machine),
        print=_write_printed,
    )
    return OpenDevice(driver, config, name)


def _machine(options: NvgpuOptions, machine: GpuDescription) -> Machine:
    return Machine(
        max_block_threads=machine.max_block_threads,
        max_block=(c_uint32 * 3)(*machine.max_block),
        max_grid=(c_uint32 * 3)(*machine.max_grid),
        shared_address=machine.shared_address,
        shared_bytes=machine.shared_bytes_block,
        sms=machine.sms,
        threads_sm=machine.threads_sm,
        blocks_sm=machine.blocks_sm,
        shared_bytes_sm=machine.shared_bytes_sm,
        shuffled=options.sim_schedule == "shuffled",
        races=options.sim_races,
        banks=options.sim_banks,
        seed=options.seed,
        cores=min(options.sim_cores or usable_cores(), MAX_CORES),
        alone_ns=ALONE_NS,
    )
