# SPDX-License-Identifier: Apache-2.0
"""An MPPA behind Kalray's tools: the vendor's simulators and hardware.

Experimental: written from public sources, never run against the vendor's tools.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
from ctypes import POINTER, c_char_p, c_uint32, c_uint64
from pathlib import Path

from xtc.core.errors import DeviceNotFound, ToolError
from xtc.runtime import NativeUnit, OpenDevice, built_driver
from xtc.runtime.simulator import driver_unit
from xtc.system import tool
from xtc_targets.mppa import vendor_commands
from xtc_targets.mppa.description import CoolidgeDescription
from xtc_targets.mppa.options import MppaOptions
from xtc_targets.mppa.simulator import OWN_CSRC

_NO_BOARD = "No Available board"
_PATIENCE_S = 10


class Config(ctypes.Structure):
    """`vendor_config` of `csrc/vendor_config.h`."""

    _fields_ = (
        ("nbytes", c_uint64),
        ("firmware", c_char_p),
        ("environment", POINTER(c_char_p)),
        ("clusters", c_uint32),
        ("alignment", c_uint32),
    )


class VendorDevice(OpenDevice):
    """An open device, and the vendor's simulator that ends with it."""

    process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        try:
            super().close()
        finally:
            _end(self.process)
            self.process = None


def open_vendor(
    options: MppaOptions, machine: CoolidgeDescription, name: str, work_dir: Path
) -> OpenDevice:
    """Start the vendor's simulator, or find a board, and open it.

    Raises DeviceNotFound that names what is missing.
    """
    toolchain = options.toolchain()
    driver = built_driver(unit(toolchain))[1]
    if options.platform == "hw":
        _require_board(toolchain)
    process = _start(vendor_commands.start_simulator(options, toolchain, work_dir), work_dir)
    try:
        opened = VendorDevice(driver, _config(options, machine, toolchain, work_dir), name)
    except BaseException:
        _end(process)
        raise
    opened.process = process
    return opened


def unit(toolchain: Path) -> NativeUnit:
    """The driver, which is compiled with the toolchain's headers and libraries."""
    return driver_unit(
        "mppa_driver_vendor",
        sorted(OWN_CSRC.glob("vendor_*.c")),
        include=(toolchain / "include",),
        libraries=vendor_commands.HOST_LIBRARIES,
        flags=(f"-L{toolchain / 'lib'}", f"-Wl,-rpath,{toolchain / 'lib'}"),
    )


def _config(
    options: MppaOptions, machine: CoolidgeDescription, toolchain: Path, work_dir: Path
) -> Config:
    environment = vendor_commands.offload_environment(options, work_dir)
    words = [os.fsencode(word) for pair in environment.items() for word in pair]
    return Config(
        nbytes=ctypes.sizeof(Config),
        firmware=os.fsencode(vendor_commands.firmware_path(options, toolchain)),
        environment=(c_char_p * (len(words) + 1))(*words, None),
        clusters=options.cluster_count,
        alignment=machine.allocation_alignment,
    )


def _require_board(toolchain: Path) -> None:
    hint = "install Kalray's toolchain completely, or choose another platform"
    try:
        told = tool.run(
            vendor_commands.list_boards(toolchain), what="looking for boards", install_hint=hint
        )
    except ToolError as error:
        raise DeviceNotFound(error.what, notes=error.notes, hints=error.hints) from error
    if _NO_BOARD in told.stdout:
        raise DeviceNotFound("there is no MPPA board in this machine", notes=[told.stdout.strip()])


def _start(words: vendor_commands.Words | None, work_dir: Path) -> subprocess.Popen[bytes] | None:
    """Start a simulator in a new session, so that it can be ended with its children."""
    if words is None:
        return None
    if shutil.which(words[0]) is None:
        raise DeviceNotFound(
            f"the toolchain has no program {words[0]}",
            hints=["install Kalray's toolchain completely, or choose another platform"],
        )
    (work_dir / vendor_commands.RENDEZVOUS).mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(  # noqa: S603  an argument list from our own code, no shell
        words, stdin=subprocess.DEVNULL, start_new_session=True
    )


def _end(process: subprocess.Popen[bytes] | None) -> None:
    if process is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
