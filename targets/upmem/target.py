# SPDX-License-Identifier: Apache-2.0
"""The target: compiles kernels to C for DPUs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from xtc.core.versions import toolchain_versions
from xtc.interfaces.target import AcceleratorTarget
from xtc.ir.pipeline import Pipeline
from xtc_targets.upmem.options import UpmemOptions

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation
    from xtc_targets.upmem.device import UpmemDevice


class UpmemTarget(AcceleratorTarget):
    """Compiles kernels to C for DPUs, each of which computes a part of every result."""

    name: ClassVar[str] = "upmem"
    Options: ClassVar[type[UpmemOptions]] = UpmemOptions
    kernels_allocate: ClassVar[bool] = False

    def pipeline(self, options: UpmemOptions) -> Pipeline:
        from xtc_targets.upmem.pipeline import upmem_pipeline  # loads MLIR, so it is imported late

        return upmem_pipeline(options)

    def build_image(
        self, lowered: Operation, options: UpmemOptions, folder: Path, stem: str
    ) -> str:
        from xtc_targets.upmem.build import write_image

        return write_image(lowered, options, folder, stem)

    def image_text(self, lowered: Operation, options: UpmemOptions) -> str:
        from xtc_targets.upmem.build import image_text

        return image_text(lowered, options)

    def toolchain(self, options: UpmemOptions) -> Mapping[str, str]:
        from xtc_targets.upmem.toolchain.clang import DpuClang
        from xtc_targets.upmem.toolchain.vendor import VendorKit

        compiler = VendorKit if options.platform == "hw" else DpuClang
        return {
            **toolchain_versions(),
            "clang": compiler.found().version,
            "platform": options.platform,
            "nr_dpus": str(options.nr_dpus),
            "tasklets": str(options.tasklets),
            "profile": options.profile,
        }

    def runtime(self, options: UpmemOptions) -> UpmemDevice:
        from xtc_targets.upmem.device import UpmemDevice

        return UpmemDevice(
            nr_dpus=options.nr_dpus,
            tasklets=options.tasklets,
            profile=options.profile,
            platform=options.platform,
        )

    def unavailable(self) -> str | None:
        from xtc_targets.upmem.device import UpmemDevice

        return UpmemDevice.detect_accelerator()


TARGET = UpmemTarget()
