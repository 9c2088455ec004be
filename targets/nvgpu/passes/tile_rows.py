# SPDX-License-Identifier: Apache-2.0
"""tile-rows: turns the operations of a group over rows into a tile kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.views import VIEWS
from xtc.ir.attributes import KERNEL, WARPS
from xtc.ir.mlir import InsertionPoint, IntegerAttr, IntegerType, Operation
from xtc.ir.partition import top_level
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc.ir.tile_dialect import load_tile_dialect
from xtc_targets.nvgpu.description import H100
from xtc_targets.nvgpu.passes._kernels import WARP, set_shape
from xtc_targets.nvgpu.passes._rows.row_kernel import RowKernel, steps_of
from xtc_targets.nvgpu.passes._rows.row_marks import ROWS

_PASSIVE = ("memref.alloc", "memref.dealloc", *VIEWS)


@dataclass(frozen=True)
class TileRows(Pass):
    """Write a tile kernel for each kernel that group-rows marked.

    Before:
        linalg.fill outs(%s) ; linalg.generic {nvgpu.rows = [0, 1]} ins(%x) outs(%s)
        linalg.generic {nvgpu.rows = [0, 1]} ins(%x, %s) outs(%r)
    After, with `nvgpu.grid`, `nvgpu.block` and `xtc.warps`, and layouts in the types of tiles:
        %t = tile.load_global of rows of %x ; %u = tile.reduce %t ; arith.addf %zeros, %u
        tile.broadcast ; the second body on tiles ; tile.store_global to %r

    Each element is loaded and stored once; what only the kernel reads stays in registers. The
    threads of a warp, of a part of it or of a block share a row: a row of up to 32 elements per
    thread has a warp at most, so that reductions need no barriers.

    Attributes:
        sms: multiprocessors that run a kernel.
    """

    name: ClassVar[str] = "tile-rows"
    sms: int = H100.sms

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in top_level(module):
                if kernel.name == "func.func" and kernel.regions[0].blocks:
                    self._rewrite_kernel(kernel)

    def _rewrite_kernel(self, kernel: Operation) -> None:
        block = kernel.regions[0].blocks[0]
        ops = [view.operation for view in block.operations][:-1]
        if not any(ROWS in op.attributes and KERNEL in op.attributes for op in ops):
            return  # split-kernels drops the mark where operations cannot be together
        load_tile_dialect(kernel.context)
        replaced = [op for op in ops if op.name != "arith.constant"]
        acting = [op for op in replaced if op.name not in _PASSIVE]
        rows = RowKernel(steps_of(acting), self.sms)
        with kernel.location, InsertionPoint.at_block_terminator(block):
            rows.write()
        for op in reversed(replaced):
            op.erase()
        set_shape(kernel, [rows.blocks], [rows.tiling.threads])
        i64 = IntegerType.get_signless(64)
        kernel.attributes[WARPS] = IntegerAttr.get(i64, rows.tiling.threads // WARP)
