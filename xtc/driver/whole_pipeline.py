# SPDX-License-Identifier: Apache-2.0
"""The stages of a program, alone or combined with its devices' stages."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.driver.assignment import DeviceCode
from xtc.ir.pipeline import Pipeline


def whole_pipeline(program: Pipeline, devices: Mapping[str, DeviceCode]) -> Pipeline:
    """The program's stages; combined with those of its devices, if there are any."""
    if not devices:
        return program
    from xtc.driver.offload_pipeline import OffloadPipeline  # loads MLIR, by its passes

    return OffloadPipeline(program, devices).pipeline()
