# SPDX-License-Identifier: Apache-2.0
"""The runtime: a driver in C that is opened, and what `AcceleratorDevice` asks for beside it."""

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
from xtc.runtime.simulator import driver_unit
from xtc_targets.null.description import NULL

_OWN_CSRC = Path(__file__).parent / "csrc"
_numbers = Numbering()


class _Config(ctypes.Structure):
    """`null_config` of `csrc/null_driver.c`."""

    _fields_ = (("nbytes", c_uint64), ("memory_bytes", c_uint64))


class NullDevice(DriverDevice):
    """An accelerator with `memory_bytes` of memory, opened at its first use."""

    def __init__(self, memory_bytes: int = NULL.memory_bytes) -> None:
        self.memory_bytes = operator.index(memory_bytes)
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

    def _connect(self, name: str) -> OpenDevice:
        if reason := self.detect_accelerator():
            raise DeviceNotFound(reason)
        config = _Config(ctypes.sizeof(_Config), self.memory_bytes)
        return OpenDevice(built_driver(unit())[1], config, name)


def unit() -> NativeUnit:
    """The driver."""
    return driver_unit("null_driver", sorted(_OWN_CSRC.glob("*.c")))
