# SPDX-License-Identifier: Apache-2.0
"""lower-transfers: lowers transfers to calls of `dev_dma_2d` and `dev_dma_wait`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders import numbers
from xtc.ir.builders.functions import call
from xtc.ir.mlir import IndexType, Operation, Value
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local._functions import declare
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._transfer_commands import (
    Command,
    CopyEngine,
    lower_transfers,
    transfer_number,
)
from xtc_targets.mppa.description import COOLIDGE_V2
from xtc_targets.mppa.passes import _device_calls as device

_GET, _PUT = 0, 1  # dev_direction


@dataclass(frozen=True)
class LowerTransfers(Pass):
    """Describe each `memref.dma_start` to the DMA as rows of bytes with strides.

    Before:
        memref.dma_start %A[..], %a[..], %n, %tags[%i] : memref<8x8xf32, strided<[64, 1]>, 1>, ..
    After:
        %t = call @dev_dma_2d(%get, %to, %c32, %from, %c256, %c32, %c8) : (i32, index, ..) -> i32
        memref.store %t, %tags[%i]

    Dimensions without a gap between them on either side are merged. The innermost dimension is a
    row if its elements are contiguous on both sides; otherwise a row is one element. The largest
    other dimension counts the rows. Loops over the remaining dimensions start one transfer per
    iteration. Each of these transfers has a tag if the DMA can take all of them; otherwise each is
    awaited after the next one has started. A transfer whose size is known only at run time may be
    empty: it starts nothing, and its tag is 0.

    Attributes:
        in_flight: most transfers in flight of the DMA of a cluster.
    """

    name: ClassVar[str] = "lower-transfers"
    in_flight: int = COOLIDGE_V2.dma_in_flight

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        engine = _Dma(self.in_flight)
        with module.context:
            engine.declare(module)
            for kernel in device.kernels(module):
                lower_transfers(kernel, engine, LocalMemory())


@dataclass(frozen=True)
class _Dma(CopyEngine):
    """The DMA of a cluster, which copies rows at a stride on both sides."""

    in_flight: int
    counts_rows = True

    def declare(self, module: Operation) -> None:
        index, number = IndexType.get(), transfer_number()
        declare(module, device.DMA, [number, *[index] * 6], [number])
        declare(module, device.WAIT, [number])

    def start(self, command: Command) -> Value:
        operands = [
            numbers.constant(_GET if command.to_local else _PUT, transfer_number()),
            command.local,
            command.local_stride,
            command.main,
            command.main_stride,
            command.row_bytes,
            command.rows,
        ]
        return call(device.DMA, operands, [transfer_number()]).results[0]

    def wait(self, number: Value) -> None:
        call(device.WAIT, [number])
