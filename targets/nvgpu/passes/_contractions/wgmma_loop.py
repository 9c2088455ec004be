# SPDX-License-Identifier: Apache-2.0
"""The loop of a contraction over tiles of K for a warpgroup, which reads shared memory."""

from __future__ import annotations

from dataclasses import replace

from xtc.ir.builders import control, tile
from xtc.ir.mlir import Value
from xtc_targets.nvgpu.passes._contractions.mma_contraction import MmaContraction
from xtc_targets.nvgpu.passes._contractions.mma_operand import GlobalOperand
from xtc_targets.nvgpu.passes._contractions.mma_tiling import Tiling
from xtc_targets.nvgpu.passes._contractions.slots_loop import SlotsLoop
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tiles.wgmma import WARPGROUP, sum_layout

_ROWS = 64
"""A warpgroup multiplies multiples of this number of rows."""


def takes_rows(tiling: Tiling) -> bool:
    """Whether warpgroups can compute tiles of this size."""
    return not (tiling.m % _ROWS or tiling.threads % WARPGROUP)


def declined(tiling: Tiling, contraction: MmaContraction, *, bulk_copies: bool) -> str:
    """The reason why warpgroups cannot compute a contraction's tiles; "" if they can."""
    kind = contraction.kind
    if not contraction.suits_warpgroups:
        return f"operand {contraction.across_k} of {kind.name} is not contiguous along k"
    if kind.rounds and not bulk_copies:
        return f"operands of {kind.name}, which only bulk copies round"
    if not takes_rows(tiling):
        return f"tiles of {tiling.m}x{tiling.n}: warpgroups need multiples of {_ROWS} rows"
    return ""


class WarpgroupLoop(SlotsLoop):
    """The accumulation by a warpgroup, with a multiplication in flight while the next one begins:

        begin to copy tiles 0 .. slots - 3
        for each tile:
            wait for it, fence, barrier: all threads see it, and none uses the tile two before
            begin to multiply it
            begin to copy the tile slots - 2 ahead, to the free slot
            wait for the previous multiplication
        wait for the last multiplication

    No fragments are loaded: the tensor cores read the operands from shared memory.
    """

    def __init__(
        self,
        tiling: Tiling,
        operands: tuple[GlobalOperand, GlobalOperand],
        shared_bytes: int,
    ) -> None:
        """If the `shared_bytes` of a block suffice, one more slot lets copies run further
        ahead."""
        deeper = replace(tiling, slots=tiling.slots + 1)
        if deeper.shared_bytes <= shared_bytes:
            tiling = deeper
        super().__init__(tiling, operands, tiling.slots - 2)

    def _initial(self) -> list[Value]:
        layout = sum_layout(self.tiling.m, self.tiling.n, self.tiling.threads)
        # The slots that are read first and written first.
        return [as_i32(0), as_i32(self.ahead), self._zeros(layout)]

    def _iteration(self, loop: control.Loop) -> None:
        read, written, total = loop.carried
        tile.wait_group(self.ahead - 1)
        tile.fence_proxy("shared")
        tile.sync()
        tile.wgmma_fence()
        made = tile.wgmma(self.slots[0].whole(read, is_a=True), self.slots[1].whole(read), total)
        made.set_type(total.type)
        tile.wgmma_commit()
        self._copy_ahead(loop, written)
        tile.wgmma_wait(1)
        loop.following = [self._following(read), self._following(written), made]

    def _end(self) -> None:
        tile.wgmma_wait(0)
