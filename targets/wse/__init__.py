# SPDX-License-Identifier: Apache-2.0
"""Cerebras wafers: compiles CSL programs and runs them on a simulator; rejects graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from xtc.core.errors import UserError
from xtc.core.versions import toolchain_versions
from xtc.interfaces.runtime import CommonRuntimeInterface
from xtc.interfaces.target import AcceleratorTarget
from xtc.ir.pipeline import Pipeline
from xtc_targets.wse.options import WseOptions

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation
    from xtc_targets.wse.device import WseDevice

__all__ = ["TARGET", "WseDevice", "WseOptions", "WseTarget"]


def _no_graphs() -> UserError:
    return UserError(
        "graphs are not compiled for the target 'wse'",
        notes=["it compiles and runs CSL programs"],
        hints=["docs/wse.md shows cslc and cs_python"],
    )


class WseTarget(AcceleratorTarget):
    """A target that rejects graphs; its device runs programs compiled by `cslc`."""

    name: ClassVar[str] = "wse"
    Options: ClassVar[type[WseOptions]] = WseOptions

    def options_for(self, device: CommonRuntimeInterface, given: Mapping[str, Any]) -> WseOptions:
        raise _no_graphs()

    def pipeline(self, options: WseOptions) -> Pipeline:
        raise _no_graphs()

    def build_image(self, lowered: Operation, options: WseOptions, folder: Path, stem: str) -> str:
        raise _no_graphs()

    def image_text(self, lowered: Operation, options: WseOptions) -> str:
        raise _no_graphs()

    def toolchain(self, options: WseOptions) -> Mapping[str, str]:
        return {**toolchain_versions(), "arch": options.arch}

    def runtime(self, options: WseOptions) -> WseDevice:
        from xtc_targets.wse.device import WseDevice

        return WseDevice(options)

    def unavailable(self) -> str | None:
        from xtc_targets.wse.device import WseDevice

        return WseDevice.detect_accelerator()


TARGET = WseTarget()


def __getattr__(name: str) -> Any:
    """Import the device on first use, because it builds and loads code."""
    if name == "WseDevice":
        from xtc_targets.wse.device import WseDevice

        return WseDevice
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
