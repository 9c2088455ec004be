# SPDX-License-Identifier: Apache-2.0
"""A GPU of this machine, behind NVIDIA's driver."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_char_p, c_uint32, c_uint64

from xtc.core.errors import DeviceNotFound
from xtc.core.offload import CSRC, NativeUnit, OpenDevice, built_driver
from xtc_targets.nvgpu.config import NvgpuConfig
from xtc_targets.nvgpu.simulator import OWN_CSRC


class Options(ctypes.Structure):
    """`hw_config` of `csrc/hw_config.h`."""

    _fields_ = (
        ("nbytes", c_uint64),
        ("library", c_char_p),
        ("arch", c_char_p),
        ("number", c_uint32),
        ("major", c_uint32),
        ("minor", c_uint32),
        ("exact", c_uint32),
    )


def unit() -> NativeUnit:
    """The driver; nothing of NVIDIA's is needed to build it."""
    sources = (*sorted(OWN_CSRC.glob("hw_*.c")), *sorted(CSRC.glob("xtc_*.c")))
    return NativeUnit("libnvgpu_driver_hw.so", "library", sources, (CSRC, OWN_CSRC), ("dl",))


def open_hardware(config: NvgpuConfig, name: str) -> OpenDevice:
    """Open a GPU.

    Raises DeviceNotFound where NVIDIA's driver or the GPU is not there, or cannot run code for
    `config.arch`.
    """
    major, minor = config.machine.capability
    options = Options(
        nbytes=ctypes.sizeof(Options),
        library=os.fsencode(config.driver_library),
        arch=config.arch.encode(),
        number=config.device_index,
        major=major,
        minor=minor,
        # Code for an architecture whose name ends in "a" runs on no other one.
        exact=config.arch.endswith("a"),
    )
    try:
        return OpenDevice(built_driver(unit())[1], options, name)
    except DeviceNotFound as error:
        hint = "platform='sim' needs no GPU"
        raise DeviceNotFound(error.what, notes=error.notes, hints=[*error.hints, hint]) from None
