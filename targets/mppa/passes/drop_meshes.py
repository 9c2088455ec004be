# SPDX-License-Identifier: Apache-2.0
"""drop-meshes: erase meshes once no operation refers to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import Operation
from xtc.ir.passes import Pass
from xtc_passes.tensor._meshes import erase_meshes


@dataclass(frozen=True)
class DropMeshes(Pass):
    """Erase the meshes of memories and processors, which code generators do not use.

    Before:
        shard.grid @processor_mesh(shape = 5x16) {xtc.axes = ["px", "psx"], ...}
        func.func @f(...) { ... }
    After:
        func.func @f(...) { ... }
    """

    name: ClassVar[str] = "drop-meshes"

    def run(self, module: Operation) -> None:
        erase_meshes(module)
