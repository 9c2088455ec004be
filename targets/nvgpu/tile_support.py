# SPDX-License-Identifier: Apache-2.0
"""What a GPU offers for tile kernels."""

from __future__ import annotations

from xtc.interfaces.tile_support import TileSupport
from xtc.ir.pipeline import Pipeline
from xtc_targets.nvgpu.description import GpuDescription

_MMA_SHARE = 0.6
"""Of the tensor cores' peak, what mma.sync reaches on sm_90a; on sm_80 it is that peak
(research by third parties on Hopper: about 63 %). For the static model only."""


def tile_support(machine: GpuDescription, pipeline: Pipeline) -> TileSupport:
    """The contract of tile kernels, from a machine's description."""
    share = _MMA_SHARE if machine.arch.startswith("sm_90") else 1.0
    return TileSupport(
        pipeline=pipeline,
        warp_threads=machine.warp_threads,
        max_warps=machine.max_block_threads // machine.warp_threads,
        shared_bytes=machine.shared_bytes_block,
        multiprocessors=machine.sms,
        rates={
            "bytes_per_second": machine.memory_bytes_per_second,
            "f16": share * machine.peak_macs_per_second("float16"),
            "bf16": share * machine.peak_macs_per_second("bfloat16"),
            "other": machine.peak_macs_per_second("float32"),
        },
    )
