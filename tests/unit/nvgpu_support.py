# SPDX-License-Identifier: Apache-2.0
"""Kernels in C for the tests of the GPU's runtime, and simulators that have loaded them."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xtc.runtime import DeviceArray
from xtc.runtime.device import DeviceFunction
from xtc.runtime.native import NativeUnit, compile_unit
from xtc_targets.nvgpu.device import NvgpuDevice
from xtc_targets.nvgpu.options import NvgpuOptions
from xtc_targets.nvgpu.simulator import OWN_CSRC

SOURCES = Path(__file__).parent
KERNEL_FLAGS = ("-fvisibility=default", "-Werror", "-Wno-frame-address")


@functools.cache
def image(name: str = "nvgpu_kernels", *defines: str) -> bytes:
    """Compiled device code, with `defines` defined for its preprocessor."""
    source = SOURCES / f"{name}.c"
    flags = (*KERNEL_FLAGS, *(f"-D{define}" for define in defines))
    unit = NativeUnit(f"{name}.so", "library", (source,), (OWN_CSRC,), flags=flags)
    with tempfile.TemporaryDirectory() as folder:
        return compile_unit(unit, Path(folder)).read_bytes()


class Kernels:
    """A GPU with the test kernels; `kernels.add` is a device function."""

    def __init__(self, device: NvgpuDevice, code: bytes | None = None) -> None:
        self.device = device
        self.module = device.load_module(image() if code is None else code)

    def __getattr__(self, name: str) -> DeviceFunction:
        return self.device.get_module_function(self.module, name)


@contextmanager
def independent(cores: int, **options: Any) -> Iterator[tuple[Kernels, DeviceArray]]:
    """Kernels of independent blocks on that many cores, and 64 numbers that the blocks share."""
    config = {"sim_cores": cores, "memory_bytes": 64 << 20, **options}
    with opened(image("nvgpu_workers"), **config) as kernels:
        yield kernels, kernels.device.zeros(64, "int32")


@contextmanager
def opened(code: bytes | None = None, **config: Any) -> Iterator[Kernels]:
    """A simulator with that configuration and the test kernels, or other code."""
    with NvgpuDevice(NvgpuOptions(**config)) as device:
        yield Kernels(device, code)
