# SPDX-License-Identifier: Apache-2.0
"""What an accelerator offers that runs tile kernels: an optional part of its contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xtc.ir.pipeline import Pipeline


@dataclass(frozen=True)
class TileSupport:
    """A machine for thread blocks.

    Attributes:
        pipeline: stages of a module of tile kernels, from the dialect `tile` to `lowered`.
        warp_threads: threads of a warp.
        max_warps: of a block.
        shared_bytes: shared memory that a block may have.
        groups: names of the instruction groups beside the generic instructions.
        multiprocessors: on which blocks run.
        rates: for the static model: "bytes_per_second" of the main memory, and "macs_per_second" of
            dot by element type.
    """

    pipeline: Pipeline
    warp_threads: int
    max_warps: int
    shared_bytes: int
    groups: tuple[str, ...] = ()
    multiprocessors: int = 1
    rates: Mapping[str, float] = field(default_factory=dict)
