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
from xtc_targets.mppa.description import CoolidgeDescription
from xtc_targets.mppa.options import MppaOptions

OWN_CSRC = Path(__file__).parent / "csrc"
TYPES = ("float32", "float16", "int8", "other")
"""Element types in the order of `dev_type` in `csrc/dev.h`."""


class Machine(ctypes.Structure):
    """`mppa_machine` of `csrc/mppa_block.h`."""

    _fields_ = (
        ("clusters", c_uint32),
        ("pes", c_uint32),
        ("smem_address", c_uint64),
        ("smem_stride", c_uint64),
        ("smem_bytes", c_uint64),
        ("dma_alignment", c_uint32),
        ("dma_in_flight", c_uint32),
        ("shuffled", c_uint32),
        ("deferred", c_uint32),
        ("watched", c_uint32),
        ("seed", c_uint64),
        ("launch_cycles", c_double),
        ("fork_cycles", c_double),
        ("pe_cycles", c_double),
        ("dma_issue_cycles", c_double),
        ("dma_latency_cycles", c_double),
        ("dma_word_bytes", c_double),
        ("ddr_bytes_per_cycle", c_double),
        ("ddr_line_cycles", c_double),
        ("line_bytes", c_double),
        ("macs_per_cycle", c_double * len(TYPES)),
    )


class Config(ctypes.Structure):
    """`mppa_config` of `csrc/mppa_config.h`."""

    _fields_ = (
        ("nbytes", c_uint64),
        ("executable", c_char_p),
        ("trace_file", c_char_p),
        ("ddr_address", c_uint64),
        ("ddr_bytes", c_uint64),
        ("timeout_s", c_double),
        ("machine", Machine),
    )


def units() -> tuple[NativeUnit, NativeUnit]:
    """The simulator, and the driver that starts it."""
    own, own_driver = (sorted(OWN_CSRC.glob(name)) for name in ("mppa_*.c", "driver_*.c"))
    return simulator_units("mppa", own, own_driver, libraries=("m",))


def unavailable() -> str | None:
    """The reason why this machine cannot run the simulator, or None."""
    return simulator_unavailable()


def open_simulator(
    options: MppaOptions, machine: CoolidgeDescription, name: str, trace_file: Path | None
) -> OpenDevice:
    """Start a simulator. Raises DeviceNotFound if it cannot be built or started."""
    if reason := unavailable():
        raise DeviceNotFound(reason)
    program, library = units()
    folder, driver = built_driver(program, library)
    executable = os.fsencode(folder / program.name)
    return OpenDevice(driver, config_of(options, machine, executable, trace_file), name)


def config_of(
    options: MppaOptions, machine: CoolidgeDescription, executable: bytes, trace_file: Path | None
) -> Config:
    """The parameters for opening a simulator."""
    return Config(
        nbytes=ctypes.sizeof(Config),
        executable=executable,
        trace_file=None if trace_file is None else os.fsencode(trace_file),
        ddr_address=machine.ddr_address,
        ddr_bytes=options.ddr_bytes,
        timeout_s=options.timeout_s,
        machine=_machine(options, machine),
    )


def _machine(options: MppaOptions, machine: CoolidgeDescription) -> Machine:
    return Machine(
        clusters=options.cluster_count,
        pes=options.pe_count,
        smem_address=machine.smem_address,
        smem_stride=machine.smem_stride,
        smem_bytes=machine.smem_bytes,
        dma_alignment=machine.dma_alignment,
        dma_in_flight=machine.dma_in_flight,
        shuffled=options.sim_schedule == "shuffled",
        deferred=options.dma_mode == "deferred",
        watched=options.sim_checks,
        seed=options.seed,
        launch_cycles=machine.launch_cycles,
        fork_cycles=machine.fork_cycles,
        pe_cycles=machine.pe_cycles,
        dma_issue_cycles=machine.dma_issue_cycles,
        dma_latency_cycles=machine.ddr_latency,
        dma_word_bytes=machine.dma_word_bytes,
        ddr_bytes_per_cycle=machine.ddr_bytes_per_second / options.clock,
        ddr_line_cycles=machine.ddr_line_cycles,
        line_bytes=machine.line_bytes,
        macs_per_cycle=(c_double * len(TYPES))(*map(machine.rate, TYPES)),
    )
