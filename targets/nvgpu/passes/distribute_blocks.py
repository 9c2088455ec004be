# SPDX-License-Identifier: Apache-2.0
"""distribute-blocks: turns a loop over blocks into a grid whose threads share the loops inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.analysis.effects import is_view
from xtc.ir.attributes import UNROLL
from xtc.ir.builders.numbers import index_constant
from xtc.ir.mlir import (
    Attribute,
    Block,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    Value,
    all_operations,
    arith,
)
from xtc.ir.partition import top_level
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.offload._device_buffers import in_space
from xtc_targets.nvgpu.passes._barriers import (
    SHARED_LOOPS,
    Effects,
    insert_barriers,
    is_block_level,
)
from xtc_targets.nvgpu.passes._kernels import (
    BLOCK_ID,
    SHARED,
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
    strided_loop,
    where_below,
)

_WRITTEN_OUT = 8  # iterations of a loop, so that several reads are in flight
_PASSED_ON = ("scf.for", "scf.yield", "scf.if")


@dataclass(frozen=True)
class DistributeBlocks(Pass):
    """Map each iteration of a kernel's loop over blocks to a block, whose threads share its loops.

    Before:
        scf.parallel (%i) = (0) to (8) step (1) { %t = alloc : memref<64xf32> ; copy of %a to %t by
          scf.parallel ; scf.parallel (%j) { use of %t } {mapping = [#gpu.thread<..>]}
        } {mapping = [#gpu.block<linear_dim_0>]}
    After, with `nvgpu.grid = [8, 1, 1]` and `nvgpu.block = [32, 1, 1]`:
        %t = alloc : memref<64xf32, 3>
        scf.for %n = tid.x to 64 step 32 { copy of element %n } ; nvvm.barrier ; use of %t

    Consecutive loops of a block share its threads, with a barrier between two loops that access the
    same buffer if one of them writes it. The last loop index varies fastest over threads. The
    number of threads is the largest trip count of the loops that are mapped to threads; threads run
    the iterations of a longer loop in rounds. A kernel without a loop over blocks becomes one block
    if it has loops over threads and other operations.

    The buffers of a block are in shared memory. A buffer that is allocated inside a loop over
    threads is private to a thread. Outside such loops, one thread runs operations that write
    memory, and all threads run the others.

    Attributes:
        most_threads: maximum threads per block.
    """

    name: ClassVar[str] = "distribute-blocks"
    most_threads: int = 1024

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for op in top_level(module):
                if op.name == "func.func" and op.regions[0].blocks:
                    loop = only_loop(op)
                    if loop is not None and _is_mapped(loop, "block"):
                        self._distribute(op, loop)
                    elif loop is None and _most_iterations(op):
                        self._share(op, op.regions[0].blocks[0], 1)

    def _distribute(self, kernel: Operation, loop: Operation) -> None:
        ranges = extents(loop)
        if not ranges or not count(ranges):
            return
        with loop.location:
            self._share(kernel, loop.regions[0].blocks[0], count(ranges))
            move_body(loop, ranges, position(BLOCK_ID, InsertionPoint(loop)), loop)
        loop.erase()

    def _share(self, kernel: Operation, body: Block, blocks: int) -> None:
        """Share the work of each of `blocks` blocks among threads; the kernel has no other work."""
        wanted = -(-_most_iterations(kernel) // WARP) * WARP
        threads = min(self.most_threads, max(wanted, WARP))
        set_apart(kernel)
        set_shape(kernel, [blocks], [threads])
        begin = InsertionPoint.at_block_begin(kernel.regions[0].blocks[0])
        with kernel.location:
            insert_barriers(body)
            _share_buffers(body)
            _Threads(position(THREAD_ID, begin), threads).run(body)


def _is_mapped(loop: Operation, to: str) -> bool:
    """Whether a schedule has mapped a loop to blocks, or to threads."""
    return "mapping" in loop.attributes and f"#gpu.{to}" in str(loop.attributes["mapping"])


def _most_iterations(kernel: Operation) -> int:
    """The largest trip count of the loops that are mapped to threads; 0 if there are none."""
    loops = [op for op in all_operations(kernel) if op.name == SHARED_LOOPS]
    return max((count(extents(op) or []) for op in loops if _is_mapped(op, "thread")), default=0)


def _share_buffers(body: Block) -> None:
    """Put the buffers of a block into shared memory."""
    for op in [operation.operation for operation in body.operations]:
        if op.name == "memref.alloc":
            _move_to_shared(op.results[0])
        elif is_block_level(op):
            for region in op.regions:
                for block in region.blocks:
                    _share_buffers(block)


def _move_to_shared(memref: Value) -> None:
    space = Attribute.parse(f"{SHARED} : i64")
    memref.set_type(in_space(MemRefType(memref.type), space))
    for use in memref.uses:
        user = use.owner.operation
        if is_view(user):
            _move_to_shared(user.results[0])
        elif user.name in _PASSED_ON:
            raise CompileError("a block's buffer is selected at run time", where=str(user.location))


@dataclass(frozen=True)
class _Threads:
    """Distributes the loops of a block over its threads."""

    number: Value
    count: int

    def run(self, body: Block) -> None:
        """Distribute the loops of a block."""
        for op in [operation.operation for operation in body.operations]:
            if op.name == SHARED_LOOPS and extents(op) is not None:
                self._share(op)
            elif is_block_level(op):
                for region in op.regions:
                    for block in region.blocks:
                        self.run(block)
            elif Effects.of(op).writes:
                self._run_once(op)

    def _share(self, loop: Operation) -> None:
        ranges = extents(loop) or []
        iterations = count(ranges)
        ip = InsertionPoint(loop)
        with loop.location:
            number, end = self.number, loop
            if iterations > self.count:
                number, end = self._iterations(iterations, ip)
            elif iterations < self.count:
                end = where_below(number, iterations, ip)
            move_body(loop, ranges, number, end)
        loop.erase()

    def _iterations(self, iterations: int, ip: InsertionPoint) -> tuple[Value, Operation]:
        """A loop over a thread's share of `iterations`."""
        if iterations % self.count:
            return strided_loop(self.number, iterations, self.count, ip)
        first, end = strided_loop(index_constant(0, ip), iterations, self.count, ip)
        iterations = iterations // self.count
        if iterations <= _WRITTEN_OUT:
            i64 = IntegerType.get_signless(64)
            end.parent.attributes[UNROLL] = IntegerAttr.get(i64, iterations)
        return arith.addi(first, self.number, ip=InsertionPoint(end)), end

    def _run_once(self, op: Operation) -> None:
        if any(True for result in op.results for _ in result.uses):
            raise CompileError(
                f"{op.name} writes memory, but all threads of a block need its result",
                where=str(op.location),
            )
        with op.location:
            op.move_before(where_below(self.number, 1, InsertionPoint(op)))
