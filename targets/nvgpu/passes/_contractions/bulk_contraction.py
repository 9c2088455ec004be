# SPDX-License-Identifier: Apache-2.0
"""Writes a contraction as a loop of copies and a dot, and divides it as loops of users are."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from xtc.ir.analysis.structured import Structured, body_operations
from xtc.ir.analysis.views import root
from xtc.ir.attributes import WARPS
from xtc.ir.builders import control, tile
from xtc.ir.builders.numbers import Number, divide_unsigned, known, multiply, remainder_unsigned
from xtc.ir.mlir import (
    BlockArgument,
    DenseElementsAttr,
    F32Type,
    FloatAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    Value,
    arith,
)
from xtc_targets.nvgpu.passes._contractions.mma_contraction import MmaContraction
from xtc_targets.nvgpu.passes._contractions.mma_operand import OperandSlots, operand_of
from xtc_targets.nvgpu.passes._contractions.mma_result import (
    Result,
    copied_vectors,
    write_result,
    write_tile,
)
from xtc_targets.nvgpu.passes._contractions.mma_tiling import Tiling
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._pipelines.bulk_kernel import Budget, BulkKernel, shape_of
from xtc_targets.nvgpu.passes._pipelines.declined import Declined
from xtc_targets.nvgpu.passes._pipelines.dot_loops import dot_loops
from xtc_targets.nvgpu.passes._thread_code import as_i32

_ROW_BYTES = 128  # of a buffer slot
_LARGE = (128, 256), (256, 128)
"""The tiles of two warpgroups, which read the fewest bytes per multiply-add. In the first one,
instructions have 256 columns, and read the least shared memory."""
_ROWS = 128
"""Rows of a warpgroup whose accumulators fill the registers."""


@dataclass(frozen=True)
class Divided:
    """The launch of a divided kernel.

    Attributes:
        grid: blocks of the grid.
        threads: threads per block.
        resident: resident blocks per multiprocessor.
    """

    grid: int
    threads: int
    resident: int


@dataclass(frozen=True)
class BulkContraction:
    """A contraction in a kernel that may contain other operations.

    Attributes:
        kernel: the function.
        contraction: the contraction.
        result, epilogue: the destination, and the operation on each element.
        budget: the resources of the GPU.
        apart: existing operations of the kernel, which stay.
    """

    kernel: Operation
    contraction: MmaContraction
    result: Value
    epilogue: tuple[Structured, int] | None
    budget: Budget
    apart: Collection[Operation]

    def write(self, tiling: Tiling) -> Divided:
        """Write the kernel before its terminator, with this tile of the result or a larger one.

        Raises Declined, and writes nothing, if bulk copies do not apply.
        """
        op = self.contraction.nest.op
        operands = [*list(op.operands)[:2], self.result]
        if not all(isinstance(root(value), BlockArgument) for value in operands):
            raise Declined("an operand is not an argument of the kernel", op)
        declined: Declined | None = None
        for tiles, in_bulk in self._ways(tiling):
            try:
                return self._divided(tiles, in_bulk)
            except Declined as found:
                declined = found
                self._erase()
        assert declined is not None  # noqa: S101
        raise declined

    def _ways(self, tiling: Tiling) -> Iterator[tuple[Tiling, bool]]:
        """Tiles, and whether the epilogue runs in the accumulators, with a bulk store.

        Otherwise the accumulators go through shared memory in float32, to stores of 16 bytes.
        """
        large = self._large(tiling)
        plain = replace(tiling, k_bytes=_ROW_BYTES, slots=1, warps=(4, 1))
        pair = replace(plain, warps=(8, 1)) if tiling.m == _ROWS else None
        tiles = [each for each in (*large, plain, pair) if each is not None]
        if self._suits_accumulators():
            yield from ((each, True) for each in tiles)
        yield pair if pair is not None and tiling.n == _ROWS else plain, False

    def _large(self, tiling: Tiling) -> list[Tiling]:
        """The largest tiles that neither add padding nor leave multiprocessors idle."""
        if (tiling.m, tiling.n) != (128, 128):
            return []
        m, n = (self.contraction.extent(loop) for loop in (self.contraction.m, self.contraction.n))
        batch = math.prod(self.contraction.extent(loop) for loop in self.contraction.batch)

        def waves(tiles: Tiling) -> int:
            blocks = tiles.blocks(m, n) * batch
            return -(-blocks // self.budget.sms) * tiles.m * tiles.n

        large = (Tiling(*sizes, _ROW_BYTES, 1, (8, 1)) for sizes in _LARGE)
        return [
            each
            for each in large
            if each.blocks(m, n) * 2 <= tiling.blocks(m, n) and waves(each) <= waves(tiling)
        ]

    def _suits_accumulators(self) -> bool:
        """Whether the epilogue can be computed in the accumulators.

        Its operands must not have one element per element of the result: threads would read these
        by 4 bytes in the accumulators' layout, and by 16 in rows. Each value must reuse the
        registers of another: more values would not fit beside the accumulators.
        """
        if self.epilogue is None:
            return True
        *ops, _ = body_operations(self.epilogue[0].op)
        is_chain = all(
            op.name.startswith("arith.") and len(list(result.uses)) == 1
            for op in ops
            for result in op.results
        )
        dims = Result(self.result, (), 0, 0, self.epilogue).operand_dims
        return is_chain and (0, 1) not in dims

    def _divided(self, tiling: Tiling, in_bulk: bool) -> Divided:
        i64 = IntegerType.get_signless(64)
        self.kernel.attributes[WARPS] = IntegerAttr.get(i64, tiling.threads // WARP)
        block = self.kernel.regions[0].blocks[0]
        with self.contraction.nest.op.location, InsertionPoint.at_block_terminator(block):
            self._write_plain(tiling, in_bulk)
        found = BulkKernel(self.kernel, dot_loops(self.kernel), self.apart)
        shape = shape_of(found, self.budget, in_bulk=in_bulk)
        found.write(shape)
        (grid,) = (op for op in self._own() if op.name == "tile.grid")
        blocks = known(grid.operands[0])
        assert isinstance(blocks, int)  # noqa: S101  sizes are known
        grid.erase()
        return Divided(blocks, shape.threads, shape.at_once)

    def _write_plain(self, tiling: Tiling, in_bulk: bool) -> None:
        """Write the kernel as a user would: copy, wait, multiply; then store the result."""
        contraction = self.contraction
        m, n = (contraction.extent(loop) for loop in (contraction.m, contraction.n))
        batch = math.prod(contraction.extent(loop) for loop in contraction.batch)
        sizes = -(-m // tiling.m), -(-n // tiling.n), batch
        tile.grid([as_i32(size) for size in sizes])
        row, column = (
            multiply(tile.block_id(dim), size) for dim, size in enumerate((tiling.m, tiling.n))
        )
        at = self._batch(tile.block_id(2))
        k_size = _ROW_BYTES // contraction.kind.nbytes
        slots = [
            OperandSlots(operand_of(contraction, number, at, first), size, k_size, 1)
            for number, first, size in ((0, row, tiling.m), (1, column, tiling.n))
        ]
        result = Result(self.result, at, row, column, self.epilogue)
        vectors = copied_vectors(tiling, result) if in_bulk else {}
        sums = self._sums(tiling, slots, -(-contraction.extent(contraction.k) // k_size))
        if in_bulk:
            write_tile(sums, result, vectors)
        else:
            write_result(tiling, sums, result, slots_stay=True)

    def _batch(self, number: Value) -> tuple[Number, ...]:
        batch: list[Number] = []
        rest: Number = number
        for loop in reversed(self.contraction.batch):
            batch.insert(0, remainder_unsigned(rest, self.contraction.extent(loop)))
            rest = divide_unsigned(rest, self.contraction.extent(loop))
        return tuple(batch)

    def _sums(self, tiling: Tiling, slots: Sequence[OperandSlots], tiles: int) -> Value:
        f32 = F32Type.get()
        type = tile.tile_type([tiling.m, tiling.n], f32)
        zeros = arith.constant(type, DenseElementsAttr.get_splat(type, FloatAttr.get(f32, 0.0)))
        with control.loop(as_i32(0), tiles, 1, [zeros]) as loop:
            for each in slots:
                each.copy(loop.index, 0)
            tile.wait_all()
            tile.sync()
            a, b = (each.tile(0, is_a=number == 0) for number, each in enumerate(slots))
            rounds = self.contraction.kind.rounds
            loop.following = [tile.dot(a, b, loop.carried[0], tf32=rounds)]
            tile.sync()
        for each in slots:
            each.free()
        return loop.results[0]

    def _own(self) -> list[Operation]:
        """The operations that this class has written, without the terminator."""
        block = self.kernel.regions[0].blocks[0]
        ops = [view.operation for view in block.operations][:-1]
        return [op for op in ops if op not in self.apart]

    def _erase(self) -> None:
        for op in reversed(self._own()):
            op.erase()
