# SPDX-License-Identifier: Apache-2.0
"""The networks of the benchmarks at small sizes agree with NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import pytest

import xtc
from benchmarks.networks import NETWORKS
from xtc.ir.mlir import Operation, all_operations
from xtc.ir.passes import Pass

CHECKED = ("resnet50", "mobilenetv2", "gpt2_step", "unet")
"""One of each kind; all of them with --long."""
COPIED = {"llama_block": 2, "resnet18": 1, "resnet50": 1, "mobilenetv2": 1, "efficientnet": 1}
COPIED |= {"gpt2_step": 1, "unet": 1, "speech": 1, "vit_s": 1}
"""Copies that a network needs: of inputs and constants, and of halves that change places."""


@dataclass(frozen=True)
class _Copies(Pass):
    """Count the copies between buffers."""

    name: ClassVar[str] = "count-copies"
    found: list[str] = field(default_factory=list)

    def run(self, module: Operation) -> None:
        copies = (op for op in all_operations(module) if op.name == "memref.copy")
        self.found.extend(str(copy) for copy in copies)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_small_networks_agree_with_numpy(name: str, is_long: bool) -> None:
    graph = NETWORKS[name](True)
    if name not in CHECKED and not is_long:
        assert graph.outputs
        return
    copies = _Copies()
    with xtc.compile(graph, passes={"bufferized": [copies]}) as module:
        module.check()
    assert len(copies.found) == COPIED.get(name, 0), copies.found
