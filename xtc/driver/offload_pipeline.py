# SPDX-License-Identifier: Apache-2.0
"""The stages of a program and its devices: those of each machine, and what connects them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xtc.driver.assignment import DeviceCode
from xtc.ir.pipeline import PartitionSteps, Pipeline, Stage, Step
from xtc_passes.lower._sequences import TO_MEMREFS
from xtc_passes.offload.bind_device_commands import BindDeviceCommands
from xtc_passes.offload.elide_copies import ElideCopies
from xtc_passes.offload.forward_reshapes import ForwardReshapes
from xtc_passes.offload.hoist_copies import HoistCopies
from xtc_passes.offload.insert_transfers import InsertTransfers
from xtc_passes.offload.lower_device_commands import LowerDeviceCommands
from xtc_passes.offload.outline_device_regions import OutlineDeviceRegions
from xtc_passes.offload.overlap_copies import OverlapCopies
from xtc_passes.offload.place_constants import PlaceConstants
from xtc_passes.offload.place_operations import PlaceOperations
from xtc_passes.offload.reuse_device_buffers import ReuseDeviceBuffers
from xtc_passes.offload.separate_devices import SeparateDevices
from xtc_passes.offload.separate_results import SeparateResults
from xtc_passes.offload.slice_constants import SliceConstants
from xtc_passes.offload.split_kernels import SplitKernels
from xtc_passes.tensor.check_schedules import CheckSchedules


@dataclass(frozen=True)
class OffloadPipeline:
    """Puts the stages of a program and of its devices together.

    Tensors become buffers in one go, as bufferization looks at functions and their calls; before
    and after it each machine's passes see its own part.
    """

    program: Pipeline
    devices: Mapping[str, DeviceCode]

    def pipeline(self) -> Pipeline:
        """All stages, in order."""
        return Pipeline(
            (
                Stage("source"),
                Stage("scheduled", self._scheduled()),
                Stage("bufferized", self._bufferized()),
                Stage("offloaded", self._offloaded()),
                Stage("lowered", self._lowered()),
            )
        )

    def _scheduled(self) -> tuple[Step, ...]:
        return (
            # What belongs to an operator goes where that runs, also what only prepares operands.
            PlaceOperations(tuple(self.devices)),
            # Before anything fuses or moves across the border of a device.
            OutlineDeviceRegions(),
            *self._on_devices("scheduled"),
            PartitionSteps(None, self.program.steps("scheduled")),
            # Each has followed the schedules of its own operators.
            *self._checks(),
        )

    def _bufferized(self) -> tuple[Step, ...]:
        return (
            *TO_MEMREFS,
            # A device function writes its results where the caller says, each by itself.
            SeparateResults(),
            "buffer-results-to-out-params{hoist-static-allocs=true}",
            "canonicalize",
            "cse",
        )

    def _offloaded(self) -> tuple[Step, ...]:
        split = tuple(name for name, device in self.devices.items() if device.target.splits_kernels)
        allocating = tuple(name for name in split if self.devices[name].target.kernels_allocate)
        return (
            # Before transfers, which then see what each kernel reads and writes.
            SplitKernels(split, allocating),
            # What a device would fetch to look at it in another shape is left where it is.
            ForwardReshapes(),
            # Each kernel is known: how its arguments lie over the memories of its device.
            *self._sharding(),
            # Before buffers: what is read on a device and never changes stays there, parts too.
            SliceConstants(),
            PlaceConstants(tuple(self.devices)),
            # Buffers and copies on the devices become explicit; arguments there need neither.
            InsertTransfers(tuple(self.devices)),
            "canonicalize",
            # Fewer copies first, then earlier ones.
            ElideCopies(),
            HoistCopies(),
            # Before it is settled what runs beside what: copies and kernels that share no buffer.
            ReuseDeviceBuffers(),
            OverlapCopies(),
            # Buffers of the host that only copies used are gone now.
            "canonicalize",
            SeparateDevices(),
            *self._on_devices("bufferized", "offloaded"),
        )

    def _lowered(self) -> tuple[Step, ...]:
        return (
            *self._on_devices("lowered"),
            LowerDeviceCommands(tuple(self.devices)),
            PartitionSteps(None, self.program.steps("bufferized", "lowered")),
            # In the program's last dialect: the functions that commands are given by.
            PartitionSteps(None, (BindDeviceCommands(),)),
        )

    def _checks(self) -> tuple[Step, ...]:
        targets = {name: code.target.name for name, code in self.devices.items()}
        return tuple(
            PartitionSteps(name, (CheckSchedules(target),)) for name, target in targets.items()
        )

    def _sharding(self) -> tuple[Step, ...]:
        steps = {name: code.target.sharding(code.options) for name, code in self.devices.items()}
        return tuple(PartitionSteps(name, own) for name, own in steps.items() if own)

    def _on_devices(self, *stages: str) -> tuple[Step, ...]:
        pipelines = {name: code.pipeline for name, code in self.devices.items()}
        return tuple(
            PartitionSteps(name, steps)
            for name, pipeline in pipelines.items()
            if (steps := pipeline.steps(*stages))
        )
