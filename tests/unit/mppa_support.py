# SPDX-License-Identifier: Apache-2.0
"""Kernels in C for the tests of the MPPA's runtime, and devices that have loaded them."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xtc.runtime.device import DeviceFunction
from xtc.runtime.native import NativeUnit, compile_unit
from xtc_targets.mppa.device import MppaDevice
from xtc_targets.mppa.options import MppaOptions
from xtc_targets.mppa.simulator import OWN_CSRC

SOURCES = Path(__file__).parent
KERNEL_FLAGS = ("-fvisibility=default", "-Werror")


@functools.cache
def image(name: str = "mppa_kernels") -> bytes:
    """Compiled device code."""
    source = SOURCES / f"{name}.c"
    unit = NativeUnit(f"{name}.so", "library", (source,), (OWN_CSRC,), flags=KERNEL_FLAGS)
    with tempfile.TemporaryDirectory() as folder:
        return compile_unit(unit, Path(folder)).read_bytes()


class Kernels:
    """An MPPA with the test kernels; `kernels.matmul` is a device function."""

    def __init__(self, device: MppaDevice) -> None:
        self.device = device
        self.module = device.load_module(image())

    def __getattr__(self, name: str) -> DeviceFunction:
        return self.device.get_module_function(self.module, name)


@contextmanager
def opened(**config: Any) -> Iterator[Kernels]:
    """A simulator with that configuration and the test kernels."""
    with MppaDevice(MppaOptions(**config)) as device:
        yield Kernels(device)
