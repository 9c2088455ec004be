# SPDX-License-Identifier: Apache-2.0
"""Runs loop nests of the MPPA's passes on the host, with parallel loops run in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.ir.mlir import Context, Module, Operation, StringAttr, all_operations
from xtc.ir.passes import Pass
from xtc.ir.pipeline import Pipeline, Stage, Step, run_steps
from xtc_passes.lower.copy_by_loops import CopyByLoops
from xtc_passes.offload.outline_device_regions import OutlineDeviceRegions
from xtc_passes.tensor._meshes import erase_meshes
from xtc_targets.host import pipeline as host

TO_MEMREFS = (
    "eliminate-empty-tensors",
    "empty-tensor-to-alloc-tensor",
    "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map}",
    "buffer-results-to-out-params{hoist-static-allocs=true}",
    "canonicalize",
    "cse",
    # Removes copies of a part to itself, which appear once both are one view.
    "canonicalize",
)
_TO_LOOPS = (
    "scf-forall-to-for",
    "buffer-deallocation-pipeline",
    # Copies of parts are strided.
    CopyByLoops(parts=True),
    "canonicalize",
    "cse",
)
_STAY = ("bufferization.", "memref.", "arith.", "func.return")


@dataclass(frozen=True)
class PlaceOnDevice(Pass):
    """Mark compute operations as running on a device; arguments stay on the host."""

    name: ClassVar[str] = "place-on-device"

    def run(self, module: Operation) -> None:
        place = StringAttr.get("mppa0", context=module.context)
        for op in all_operations(module):
            inside = op.parent is not None and op.parent.name == "func.func"
            if inside and not op.name.startswith(_STAY):
                op.attributes["xtc.device"] = place


@dataclass(frozen=True)
class ForgetSpaces(Pass):
    """Place all buffers in the host's memory, and drop meshes."""

    name: ClassVar[str] = "forget-spaces"

    def run(self, module: Operation) -> None:
        for op in all_operations(module):
            if op.name == "bufferization.alloc_tensor" and "memory_space" in op.attributes:
                del op.attributes["memory_space"]
        erase_meshes(module)


@contextmanager
def placed_module(graph: Graph, schedule: object = None) -> Iterator[Operation]:
    """The source of a graph whose operations are in functions of a device."""
    source = prepare(graph, schedule=schedule).source(locations=False)
    with Context():
        module = Module.parse(source).operation
        run_steps(module, (PlaceOnDevice(), OutlineDeviceRegions()))
        yield module


@contextmanager
def on_the_host(steps: Sequence[Step]) -> Iterator[None]:
    """Compile with these passes in place of those of the host."""

    def pipeline(*arguments: Any, **options: Any) -> Pipeline:
        stages = list(whole(*arguments, **{**options, "parallel": False}).stages)
        place = [stage.name for stage in stages].index("scheduled")
        own = (PlaceOnDevice(), OutlineDeviceRegions(), *steps, ForgetSpaces())
        stages[place] = Stage("scheduled", own)
        stages[place + 1] = Stage("bufferized", (*TO_MEMREFS, *_TO_LOOPS))
        return Pipeline(tuple(stages))

    whole = host.host_pipeline
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "host_pipeline", pipeline)
        yield
