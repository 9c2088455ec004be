# SPDX-License-Identifier: Apache-2.0
"""Combines the stages of a program with those of its devices."""

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
from xtc_passes.offload.share_kernels import ShareKernels
from xtc_passes.offload.slice_constants import SliceConstants
from xtc_passes.offload.split_kernels import SplitKernels
from xtc_passes.tensor.check_schedules import CheckSchedules


@dataclass(frozen=True)
class OffloadPipeline:
    """Combines the pipelines of a program and of its devices.

    Bufferization runs once on everything, because it analyzes functions and their calls. Before and
    after it, each machine's passes run on its own part.
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
            # Moves all operations of an operator, including operand preparation, to its device.
            PlaceOperations(tuple(self.devices)),
            # Before anything is fused or moved across device boundaries.
            OutlineDeviceRegions(),
            *self._on_devices("scheduled"),
            PartitionSteps(None, self.program.steps("scheduled")),
            # Each device has applied its operators' schedules.
            *self._checks(),
        )

    def _bufferized(self) -> tuple[Step, ...]:
        return (
            *TO_MEMREFS,
            # Device functions write results to buffers that the caller passes.
            SeparateResults(),
            "buffer-results-to-out-params{hoist-static-allocs=true}",
            "canonicalize",
            "cse",
        )

    def _offloaded(self) -> tuple[Step, ...]:
        split = tuple(name for name, device in self.devices.items() if device.target.splits_kernels)
        allocating = tuple(name for name in split if self.devices[name].target.kernels_allocate)
        return (
            # Before transfers, which need the operands that each kernel reads and writes.
            SplitKernels(split, allocating),
            # Avoids transfers of data that a device only reshapes.
            ForwardReshapes(),
            # Kernels are final: decide the sharding of their arguments.
            *self._sharding(),
            # Before device buffers: read-only data, including parts of it, stays on the device.
            SliceConstants(),
            PlaceConstants(tuple(self.devices)),
            # Makes device buffers and copies explicit; device arguments need neither.
            InsertTransfers(tuple(self.devices)),
            "canonicalize",
            # Fewer copies first, then earlier ones.
            ElideCopies(),
            HoistCopies(),
            # Before scheduling concurrency: copies and kernels that share no buffer may overlap.
            ReuseDeviceBuffers(),
            OverlapCopies(),
            # Removes host buffers that only copies used.
            "canonicalize",
            SeparateDevices(),
            # Before a device's passes, which then run once on each distinct kernel.
            ShareKernels(),
            *self._on_devices("bufferized", "offloaded"),
        )

    def _lowered(self) -> tuple[Step, ...]:
        return (
            *self._on_devices("lowered"),
            LowerDeviceCommands(tuple(self.devices)),
            PartitionSteps(None, self.program.steps("bufferized", "lowered")),
            # In the program's last dialect: calls of the driver's functions.
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
