# SPDX-License-Identifier: Apache-2.0
"""What code for an MPPA is compiled for, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xtc.core.errors import UserError, shown
from xtc_targets.mppa.config import MppaConfig, Platform
from xtc_targets.mppa.description import CoolidgeDescription

CODEGENS = ("llvm", "c")


@dataclass(frozen=True)
class MppaOptions:
    """Options of device code.

    Attributes:
        platform: what runs it, as in MppaConfig: "sim", or one for which Kalray's compiler makes
            the code.
        arch: version of the machine, "kv3-1" or "kv3-2".
        clusters: clusters that run a kernel; None is all that the machine has.
        pes: processing elements of each cluster that run it; None is all.
        double_buffer: whether transfers of a loop overlap with its computation.
        codegen: what makes the simulator's code: LLVM in this process, or the compiler that XTC_CC
            names from the same C that Kalray's compiler gets.
        opt_level: the optimisation level of either, 0 to 3.
    """

    platform: Platform = "sim"
    arch: str = "kv3-2"
    clusters: int | None = None
    pes: int | None = None
    double_buffer: bool = True
    codegen: Literal["llvm", "c"] = "llvm"
    opt_level: int = 3

    def __post_init__(self) -> None:
        # The same rules as for the device that runs it.
        MppaConfig(platform="sim", arch=self.arch, clusters=self.clusters, pes=self.pes)
        MppaConfig(platform=self.platform, arch=self.arch)
        if self.codegen not in CODEGENS:
            raise UserError(f"codegen={shown(self.codegen)} is not one of {', '.join(CODEGENS)}")
        if self.opt_level not in (0, 1, 2, 3):
            raise UserError(f"opt_level={shown(self.opt_level)} is not 0, 1, 2 or 3")

    @property
    def config(self) -> MppaConfig:
        """The simulated machine of these options."""
        return MppaConfig(arch=self.arch, clusters=self.clusters, pes=self.pes)

    @property
    def machine(self) -> CoolidgeDescription:
        """The description of this version of the machine."""
        return self.config.machine

    @property
    def cluster_count(self) -> int:
        """Clusters that run a kernel."""
        return self.config.cluster_count

    @property
    def pe_count(self) -> int:
        """Processing elements of each of them."""
        return self.config.pe_count

    @property
    def by_c(self) -> bool:
        """Whether the code is made by way of C."""
        return self.codegen == "c" or self.platform != "sim"
