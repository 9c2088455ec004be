# SPDX-License-Identifier: Apache-2.0
"""pipeline-bulk-copies: turns a loop of copies and a dot into bulk copies and warpgroup dots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import MANY_BLOCKS, NOTES, WARPS
from xtc.ir.mlir import ArrayAttr, InsertionPoint, Operation, StringAttr
from xtc.ir.partition import top_level
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.description import H100
from xtc_targets.nvgpu.passes._pipelines.bulk_kernel import Budget, BulkKernel, shape_of
from xtc_targets.nvgpu.passes._pipelines.declined import Declined
from xtc_targets.nvgpu.passes._pipelines.dot_loops import dot_loops
from xtc_targets.nvgpu.passes._pipelines.wider_tiles import widen_tiles


@dataclass(frozen=True)
class PipelineBulkCopies(Pass):
    """Divide a kernel with a loop of copies and a dot among a copying warp and warpgroups.

    Before, with `xtc.warps = 4`:
        "tile.grid"(%x, %y, %c1)
        %sum = scf.for %k = %c0 to %K step %c32 iter_args(%s = %zero) {
          "tile.copy_async"(%a, %sa, %i, %k) ; "tile.copy_async"(%b, %sb, %k, %j)
          "tile.wait_all"() ; "tile.sync"()
          ... "tile.dot"(%ta, %tb, %s) ; "tile.sync"()
        }
    After, with `xtc.warps = 5`:
        "tile.grid"(%min, %c1, %c1)
        scf.if %is_behind { for all tiles of the block, for all slots: "tile.tma_load" ... }
        scf.if %is_before { for all tiles: for all slots: "tile.wgmma" ... }

    Blocks are persistent: each computes several tiles of the grid. Slots are filled as far ahead as
    shared memory allows; short iterations are merged, so that rows have 128 bytes. The pass first
    checks the waits and syncs of the loop, and leaves a loop that lacks one unchanged. The kernel's
    `xtc.notes` give the reason for each unchanged loop.

    If a launch has many blocks (`xtc.many_blocks`) with tiles of 128 x 128, two adjacent tiles are
    merged first.

    Attributes:
        sms: multiprocessors.
        shared_bytes: shared memory per multiprocessor.
        block_bytes: maximum shared memory per block.
    """

    name: ClassVar[str] = "pipeline-bulk-copies"
    sms: int = H100.sms
    shared_bytes: int = H100.shared_bytes_sm
    block_bytes: int = H100.shared_bytes_block

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in top_level(module):
                if WARPS in kernel.attributes:
                    self._rewrite(kernel)

    def _rewrite(self, kernel: Operation) -> None:
        loops = dot_loops(kernel)
        if not loops or self._merged(kernel):
            return
        try:
            found = BulkKernel(kernel, loops)
            shape = shape_of(found, self._budget)
        except Declined as declined:
            text = f"{declined.where}: no bulk copies and warpgroups: {declined.why}"
            kernel.attributes[NOTES] = ArrayAttr.get([StringAttr.get(text)])
            return
        found.write(shape)

    @property
    def _budget(self) -> Budget:
        return Budget(self.sms, self.shared_bytes, self.block_bytes)

    def _merged(self, kernel: Operation) -> bool:
        """Divide a kernel of many blocks with adjacent tiles merged, if they can be."""
        if MANY_BLOCKS not in kernel.attributes:
            return False
        clone = kernel.clone(ip=InsertionPoint(kernel)).operation
        try:
            widen_tiles(clone)
            found = BulkKernel(clone, dot_loops(clone))
            shape = shape_of(found, self._budget)
        except Declined:
            clone.erase()
            return False
        found.write(shape)
        kernel.erase()
        return True
