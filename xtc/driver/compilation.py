# SPDX-License-Identifier: Apache-2.0
"""A compilation: a graph with its targets, schedules and passes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.driver.assignment import DeviceCode
from xtc.driver.device_images import build_devices, device_texts
from xtc.driver.whole_pipeline import whole_pipeline
from xtc.emit.module import constant_symbol, module_text, stored_constants
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor
from xtc.interfaces.artifact import Argument, Artifact
from xtc.interfaces.target import BuildRequest, ProgramTarget
from xtc.ir.packed_constants import bytes_of, packed_constants
from xtc.ir.pipeline import PassRunner, Pipeline, Step

if TYPE_CHECKING:
    from xtc.ir.mlir import Context, Operation


@dataclass
class Compilation:
    """A graph with everything needed to run the stages of its targets.

    Attributes:
        graph: with its dimensions fixed.
        target: the program's target.
        options: the program's options.
        runner: runs the passes.
        schedules: the operators' schedules, as text.
        devices: how the kernels of each device are compiled.
        passes: the user's passes, to run at the ends of stages.
        notes: annotations of schedules without effect, by operator.
    """

    graph: Graph
    target: ProgramTarget
    options: Any
    runner: PassRunner = field(default_factory=PassRunner)
    schedules: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, DeviceCode] = field(default_factory=dict)
    passes: Mapping[str, Sequence[Step]] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def pipeline(self) -> Pipeline:
        """The stages, including those of the devices and the user's passes."""
        stages = whole_pipeline(self.target.pipeline(self.options), self.devices)
        return stages.extended(self.passes)

    @property
    def roundoff(self) -> float:
        """Unit roundoff of the type that options substitute for float32 in kernels, or 0."""
        devices = self.devices.values()
        return max((device.target.roundoff(device.options) for device in devices), default=0.0)

    def stage_text(self, stage: str) -> str:
        """The IR of a stage, or the text of the generated code for "code"."""
        from xtc.ir import mlir

        pipeline = self.pipeline()
        if stage != "code":
            pipeline = pipeline.until(stage)
        with mlir.Context():
            module = mlir.Module.parse(self.source()).operation
            self.runner.run(module, pipeline)
            return self._code_text(module) if stage == "code" else str(module)

    def build(self, folder: Path | None, context: Context | None = None) -> Artifact:
        """Run all stages and build into `folder`, or in memory if it is None.

        `context` is an MLIR context to reuse; creating one takes some milliseconds.
        """
        from xtc.ir import mlir

        start = time.perf_counter()
        text = self.source()
        with context or mlir.Context():
            module = mlir.Module.parse(text).operation
            self.runner.seconds["emit"] = time.perf_counter() - start
            self.runner.run(module, self.pipeline())
            start = time.perf_counter()
            request = self.request()
            if self.devices:
                request = build_devices(module, request, self.devices, folder)
            constants = packed_constants(module, request.constants)
            request = replace(request, constants=constants)
            if folder is None:
                artifact = self.target.build_in_memory(module, request, self.options)
            else:
                artifact = self.target.build(module, request, self.options, folder)
        self.runner.seconds["code"] = time.perf_counter() - start
        return artifact

    def _code_text(self, module: Operation) -> str:
        texts = list(device_texts(module, self.devices))  # leaves the host's code
        return "".join([self.target.code(module, self.request(), self.options), *texts])

    def source(self, *, locations: bool = True) -> str:
        """The source stage as text, including schedules, with or without locations."""
        return module_text(self.graph, self.schedules, locations=locations)

    def request(self) -> BuildRequest:
        """The target's inputs besides the IR."""
        constants = {symbol: bytes_of(array) for symbol, array in self.constants().items()}
        return BuildRequest(self.graph.name, self.arguments(), constants, self.graph.flops)

    def arguments(self) -> tuple[Argument, ...]:
        """The entry's arguments."""
        inputs = (_argument(tensor, "input") for tensor in self.graph.inputs)
        outputs = (_argument(tensor, "output") for tensor in self.graph.outputs)
        return (*inputs, *outputs)

    def initial_states(self) -> dict[str, np.ndarray[Any, Any]]:
        """The non-zero initial values of states, by name."""
        states = (state for state, _ in self.graph.updates)
        return {str(s.name): s.initial for s in states if s.initial is not None}

    def constants(self) -> dict[str, np.ndarray[Any, Any]]:
        """The constants that are stored beside the code, by symbol."""
        return {
            constant_symbol(self.graph, tensor): tensor.const
            for tensor in stored_constants(self.graph)
            if tensor.const is not None
        }


def _argument(tensor: Tensor, role: Any) -> Argument:
    placed = str(tensor.placement) if tensor.placement else None
    return Argument(
        str(tensor.name), tensor.dtype, tensor.type.sizes, role, placed, state=tensor.state
    )
