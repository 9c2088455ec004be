# SPDX-License-Identifier: Apache-2.0
"""distribute-threads: turns the parallel loop of a kernel into a grid of threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders.numbers import index_constant
from xtc.ir.mlir import InsertionPoint, Operation, Value, arith
from xtc.ir.partition import top_level
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._kernels import (
    BLOCK_ID,
    GRID,
    THREAD_ID,
    WARP,
    only_loop,
    set_apart,
    set_shape,
)
from xtc_targets.nvgpu.passes._numbered_loops import (
    count,
    extents,
    move_body,
    position,
    where_below,
)
from xtc_targets.nvgpu.passes._symbolic_grid import SymbolicLoop


@dataclass(frozen=True)
class DistributeThreads(Pass):
    """Map each iteration of a kernel's only loop to a thread, if the loop is parallel.

    Before:
        scf.parallel (%i, %j) = (0, 0) to (70, 33) step (1, 1) { body(%i, %j) }
    After, with `nvgpu.grid = [10, 1, 1]` and `nvgpu.block = [256, 1, 1]`:
        %n = ctaid.x * 256 + tid.x
        scf.if %n < 2310 { %i, %j = affine.delinearize_index %n into (70, 33) ; body(%i, %j) }

    The last loop index varies fastest over threads. Any other kernel, such as one with several
    dependent loops, runs on one thread: its `nvgpu.grid` and `nvgpu.block` are 1. All functions
    with a body are kernels, and their buffers are `llvm.noalias`, as on the host. A kernel that has
    a grid keeps it.

    Attributes:
        block_threads: threads per block, if there are that many iterations.
    """

    name: ClassVar[str] = "distribute-threads"
    block_threads: int = 256

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for op in top_level(module):
                if op.name == "func.func" and op.regions[0].blocks and GRID not in op.attributes:
                    self._distribute(op)

    def _distribute(self, kernel: Operation) -> None:
        set_apart(kernel)
        loop = only_loop(kernel)
        ranges = None if loop is None else extents(loop)
        symbolic = None if loop is None or ranges else SymbolicLoop.of(loop, kernel)
        if loop is not None and symbolic is not None:
            with loop.location:
                number = _thread_number(self.block_threads, InsertionPoint(loop))
                symbolic.distribute(kernel, number, self.block_threads)
            loop.erase()
            return
        if loop is None or not ranges or not count(ranges):
            set_shape(kernel, [1], [1])
            return
        threads = min(self.block_threads, -(-count(ranges) // WARP) * WARP)
        set_shape(kernel, [-(-count(ranges) // threads)], [threads])
        with loop.location:
            _write(loop, ranges, threads)
        loop.erase()


def _write(loop: Operation, ranges: Sequence[range], threads: int) -> None:
    """Insert the body for this thread's iteration before the loop."""
    ip = InsertionPoint(loop)
    number = _thread_number(threads, ip)
    even = count(ranges) % threads == 0
    move_body(loop, ranges, number, loop if even else where_below(number, count(ranges), ip))


def _thread_number(threads: int, ip: InsertionPoint) -> Value:
    block, thread = (position(name, ip) for name in (BLOCK_ID, THREAD_ID))
    return arith.addi(arith.muli(block, index_constant(threads, ip), ip=ip), thread, ip=ip)
