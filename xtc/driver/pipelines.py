# SPDX-License-Identifier: Apache-2.0
"""The stages of a program and its devices: those of each machine, and what connects them."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.core.pipeline import Part, Pipeline, Stage, Step
from xtc.driver.parts import DeviceCode


def whole_pipeline(program: Pipeline, devices: Mapping[str, DeviceCode]) -> Pipeline:
    """The program's own stages where there are no devices, else these with theirs.

    Tensors become buffers in one go, as bufferization looks at functions and their calls; before
    and after it each machine's passes see its own part.
    """
    if not devices:
        return program
    from xtc_passes._steps import TO_MEMREFS
    from xtc_passes.bind_device_commands import BindDeviceCommands
    from xtc_passes.elide_copies import ElideCopies
    from xtc_passes.hoist_copies import HoistCopies
    from xtc_passes.insert_transfers import InsertTransfers
    from xtc_passes.lower_device_commands import LowerDeviceCommands
    from xtc_passes.outline_device_regions import OutlineDeviceRegions
    from xtc_passes.overlap_copies import OverlapCopies
    from xtc_passes.place_operations import PlaceOperations
    from xtc_passes.separate_devices import SeparateDevices
    from xtc_passes.split_kernels import SplitKernels

    pipelines = {name: code.pipeline for name, code in devices.items()}

    def on_devices(*stages: str) -> tuple[Step, ...]:
        return tuple(
            Part(name, steps)
            for name, pipeline in pipelines.items()
            if (steps := pipeline.steps(*stages))
        )

    split = tuple(name for name, code in devices.items() if code.target.splits_kernels)
    scheduled = (
        # What belongs to an operator goes where that runs, also what only prepares its operands.
        PlaceOperations(tuple(devices)),
        # Before anything fuses or moves across the border of a device.
        OutlineDeviceRegions(),
        *on_devices("scheduled"),
        Part(None, program.steps("scheduled")),
    )
    bufferized = (
        *TO_MEMREFS,
        # A device function writes its results where the caller says.
        "buffer-results-to-out-params{hoist-static-allocs=true}",
        "canonicalize",
        "cse",
    )
    offloaded = (
        # Before transfers, which then see what each kernel reads and writes.
        SplitKernels(split),
        # Buffers and copies on the devices become explicit; arguments there need neither.
        InsertTransfers(tuple(devices)),
        "canonicalize",
        # Fewer copies first, then earlier ones, then those that run beside kernels.
        ElideCopies(),
        HoistCopies(),
        OverlapCopies(),
        # Buffers of the host that only copies used are gone now.
        "canonicalize",
        SeparateDevices(),
        *on_devices("bufferized", "offloaded"),
    )
    lowered = (
        *on_devices("lowered"),
        LowerDeviceCommands(),
        Part(None, program.steps("bufferized", "lowered")),
        # In the program's last dialect: the functions that commands are given by.
        Part(None, (BindDeviceCommands(),)),
    )
    return Pipeline(
        (
            Stage("source"),
            Stage("scheduled", scheduled),
            Stage("bufferized", bufferized),
            Stage("offloaded", offloaded),
            Stage("lowered", lowered),
        )
    )
