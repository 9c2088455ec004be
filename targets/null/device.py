# SPDX-License-Identifier: Apache-2.0
"""The runtime: opens a driver in C, and implements the rest of `AcceleratorDevice`."""

from __future__ import annotations

import ctypes
import operator
import sys
from collections.abc import Mapping
from ctypes import c_uint64
from pathlib import Path

from xtc.codegen.llvm import Machine
from xtc.core.errors import ArtifactError, DeviceNotFound
from xtc.core.numbering import Numbering
from xtc.runtime import (
    DriverDevice,
    NativeUnit,
    OpenDevice,
    built_driver,
)
from xtc.runtime.device_set import open_set
from xtc.runtime.simulator import driver_unit
from xtc_targets.null.description import NULL
from xtc_targets.null.options import NullOptions

_OWN_CSRC = Path(__file__).parent / "csrc"
_numbers = Numbering()


class _Config(ctypes.Structure):
    """`null_config` of `csrc/null_driver.c`."""

    _fields_ = (("nbytes", c_uint64), ("memory_bytes", c_uint64))


class NullDevice(DriverDevice):
    """An accelerator, opened at its first use.

    Args:
        memory_bytes: size of each memory.
        memories: number of memories, each with a processor and an engine.
    """

    def __init__(self, memory_bytes: int = NULL.memory_bytes, memories: int = 1) -> None:
        self.options: NullOptions = NullOptions(
            operator.index(memory_bytes), operator.index(memories)
        )
        super().__init__("null", _numbers)

    @property
    def device_arch(self) -> str:
        return Machine.host().cpu

    @classmethod
    def detect_accelerator(cls) -> str | None:
        if sys.platform != "linux":
            return f"the null device runs on Linux, not on {sys.platform}"
        return None

    def peak_flops(self, dtype: str) -> float:
        return 0.0

    def check_code(self, toolchain: Mapping[str, str]) -> None:
        here = Machine.host()
        if toolchain.get("triple") != here.triple:
            raise ArtifactError(
                f"code for {toolchain.get('triple')} cannot run on {self.device_name}",
                notes=[f"it runs on this processor, {here.triple}"],
            )
        if (built := toolchain.get("memories")) != str(self.options.memories):
            raise ArtifactError(
                f"the code was compiled for memories {built}, and {self.device_name} has "
                f"{self.options.memories}"
            )

    def _connect(self, name: str) -> OpenDevice:
        if reason := self.detect_accelerator():
            raise DeviceNotFound(reason)
        configs = [
            _Config(ctypes.sizeof(_Config), self.options.memory_bytes)
        ] * self.options.memories
        driver = built_driver(unit(), ends_kernels=True)[1]
        if self.options.memories == 1:
            return OpenDevice(driver, configs[0], name)
        return open_set(driver, configs, name)


def unit() -> NativeUnit:
    """The driver."""
    return driver_unit("null_driver", sorted(_OWN_CSRC.glob("*.c")))
