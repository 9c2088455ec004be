# SPDX-License-Identifier: Apache-2.0
"""What code for a GPU is compiled for, and how."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.core.checks import whole
from xtc_targets.nvgpu.config import NvgpuConfig, Platform
from xtc_targets.nvgpu.description import GpuDescription


@dataclass(frozen=True)
class NvgpuOptions:
    """Options of device code.

    Attributes:
        platform: what runs it, "sim" or "hw".
        arch: what it is compiled for, "sm_80" or "sm_90a".
        block_threads: threads of a block, where a kernel has so many.
        opt_level: the optimisation level, 0 to 3.
        tf32: whether products of float32 may round their factors to TF32, 10 bits after the point,
            for tensor cores.
    """

    platform: Platform = "sim"
    arch: str = "sm_90a"
    block_threads: int = 256
    opt_level: int = 3
    tf32: bool = False

    def __post_init__(self) -> None:
        # The same rules as for the device that runs it.
        NvgpuConfig(platform=self.platform, arch=self.arch)
        whole("block_threads", self.block_threads, 1, self.machine.max_block_threads)
        whole("opt_level", self.opt_level, 0, 3)

    @property
    def machine(self) -> GpuDescription:
        """The description of a GPU of this architecture."""
        return NvgpuConfig(arch=self.arch).machine
