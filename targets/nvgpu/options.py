# SPDX-License-Identifier: Apache-2.0
"""What code for a GPU is compiled for, and how."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from xtc.core.checks import whole
from xtc.core.errors import UserError, shown
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
        tf32: whether contractions of float32 may round their operands to TF32, 10 bits after the
            point, for tensor cores.
        cubins: chips that machine code is made for beside the PTX, for "hw": names such as "sm_86",
            which NVIDIA's assembler has to be there for; "auto" is `arch` where the assembler is
            found, and else none, as is "none": the GPU's driver translates PTX when it loads it.
    """

    platform: Platform = "sim"
    arch: str = "sm_90a"
    block_threads: int = 256
    opt_level: int = 3
    tf32: bool = False
    cubins: Literal["auto", "none"] | tuple[str, ...] = "auto"

    def __post_init__(self) -> None:
        # The same rules as for the device that runs it.
        NvgpuConfig(platform=self.platform, arch=self.arch)
        whole("block_threads", self.block_threads, 1, self.machine.max_block_threads)
        whole("opt_level", self.opt_level, 0, 3)
        self._check_cubins()

    @property
    def machine(self) -> GpuDescription:
        """The description of a GPU of this architecture."""
        return NvgpuConfig(arch=self.arch).machine

    def _check_cubins(self) -> None:
        if self.cubins in ("auto", "none"):
            return
        if self.platform != "hw":
            raise UserError(f"cubins={shown(self.cubins)} is not for platform '{self.platform}'")
        for chip in self.cubins:
            if not _CHIP.fullmatch(chip):
                raise UserError(
                    f"cubins={shown(self.cubins)} names no chip with {shown(chip)}",
                    hints=["chips are named as 'sm_80' or 'sm_90a'"],
                )
            if chip != self.arch and (
                self.arch.endswith("a") or _number(chip) < _number(self.arch)
            ):
                raise UserError(
                    f"cubins={shown(self.cubins)}: code for {self.arch} does not run on {chip}",
                    hints=["compile for the oldest chip: arch='sm_80'"],
                )


_CHIP = re.compile(r"sm_[1-9][0-9]{1,2}[a-z]?")


def _number(chip: str) -> int:
    return int(re.sub(r"\D", "", chip))
