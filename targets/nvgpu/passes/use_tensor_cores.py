# SPDX-License-Identifier: Apache-2.0
"""use-tensor-cores: turns the kernel of a contraction into a tile kernel with tile.dot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.analysis.effects import is_allocation
from xtc.ir.analysis.linalg_ops import is_zero
from xtc.ir.analysis.structured import Structured, structured
from xtc.ir.analysis.views import VIEWS, are_apart, root
from xtc.ir.attributes import KERNEL, NOTES, WARPS
from xtc.ir.builders import tile
from xtc.ir.builders.numbers import (
    Number,
    add,
    divide_unsigned,
    multiply,
    remainder_unsigned,
)
from xtc.ir.builders.tile import location_text
from xtc.ir.mlir import (
    ArrayAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    OpResult,
    StringAttr,
    Value,
    all_operations,
)
from xtc.ir.partition import symbol_of, top_level
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc.ir.tile_dialect import load_tile_dialect
from xtc_targets.nvgpu.description import H100
from xtc_targets.nvgpu.passes._contractions.bulk_contraction import BulkContraction, Divided
from xtc_targets.nvgpu.passes._contractions.mma_contraction import MmaContraction, mma_contraction
from xtc_targets.nvgpu.passes._contractions.mma_loop import MmaLoop
from xtc_targets.nvgpu.passes._contractions.mma_operand import GlobalOperand, operand_of
from xtc_targets.nvgpu.passes._contractions.mma_result import Result, write_result
from xtc_targets.nvgpu.passes._contractions.mma_tiling import (
    BLOCKS_SM,
    RESERVED,
    WIDEST_COPY,
    Tiling,
    tiling_of,
)
from xtc_targets.nvgpu.passes._contractions.slots_loop import SlotsLoop
from xtc_targets.nvgpu.passes._contractions.wgmma_loop import WarpgroupLoop, declined
from xtc_targets.nvgpu.passes._epilogue import epilogue_of
from xtc_targets.nvgpu.passes._kernels import REGISTERS, RESIDENT, WARP, set_shape
from xtc_targets.nvgpu.passes._marks import REDUCTION
from xtc_targets.nvgpu.passes._pipelines.bulk_kernel import Budget
from xtc_targets.nvgpu.passes._pipelines.declined import Declined

_PASSIVE = ("arith.constant", "memref.alloc", "memref.dealloc", *VIEWS)
_TALLEST_GROUP = 8


@dataclass(frozen=True)
class UseTensorCores(Pass):
    """Write a tile kernel for each kernel that group-contractions marked.

    Before:
        %s = memref.alloc() ; linalg.fill 0.0 outs(%s) ; linalg.matmul ins(%a, %b) outs(%s)
        linalg.generic ins(%s, %bias) outs(%c)
    After, with `nvgpu.grid`, `nvgpu.block` and `xtc.warps`, and layouts in the types of tiles:
        tile.copy_async of the first tiles ; tile.wait_group ; tile.sync ; tile.load_shared
        scf.for %t { tile.copy_async ahead ; tile.load_shared of the next step ; tile.dot ; .. }
        tile.sync ; tile.store_shared ; tile.sync
        scf.for %row { tile.load_shared ; the generic's body on tiles ; tile.store_global }

    Attributes:
        tf32: whether float32 operands may be rounded to TF32.
        sms: multiprocessors of the GPU; each should have work.
        shared_bytes: shared memory per multiprocessor.
        warpgroups: whether the GPU has wgmma, which multiplies operands from shared memory, without
            fragments: of 16 bits, or TF32 that is contiguous along K and loaded by bulk copies. If
            tiles are too small or operands others, the kernel's `xtc.notes` give the reason.
        bulk_copies: whether to divide a loop for warpgroups among these and a warp that issues bulk
            copies, as pipeline-bulk-copies does for loops of users. If that is impossible,
            `xtc.notes` give the reason.
        block_bytes: maximum shared memory per block.
    """

    name: ClassVar[str] = "use-tensor-cores"
    tf32: bool = False
    sms: int = 108
    shared_bytes: int = 164 << 10
    warpgroups: bool = False
    bulk_copies: bool = False
    block_bytes: int = H100.shared_bytes_block

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in top_level(module):
                if kernel.name != "func.func" or not kernel.regions[0].blocks:
                    continue
                work = _work(kernel, self.tf32)
                if work is not None:
                    load_tile_dialect(module.context)
                    self._write(kernel, work)
                elif any(
                    KERNEL in op.attributes and REDUCTION not in op.attributes
                    for op in all_operations(kernel)
                    if op.name != "linalg.fill"
                ):
                    raise CompileError(
                        f"kernel '{symbol_of(kernel)}' is marked as a contraction but is not one",
                        where=str(kernel.location),
                    )

    def _write(self, kernel: Operation, work: _Work) -> None:
        contraction = work.contraction
        sizes = contraction.sizes
        tiling = tiling_of(
            sizes,
            self.sms,
            self.shared_bytes,
            min(_copy_bytes(contraction, operand) for operand in (0, 1)),
            many_bounds=all(_is_by_elements(contraction, operand) for operand in (0, 1)),
            bulk_copies=self.bulk_copies and contraction.suits_warpgroups,
        )
        old = [view.operation for view in kernel.regions[0].blocks[0].operations][:-1]
        why = declined(tiling, contraction, bulk_copies=self.bulk_copies)
        notes = [f"no warpgroups: {why}"] if self.warpgroups and why else []
        divided = None
        if self.bulk_copies and not why:
            divided = self._divided(kernel, work, tiling, notes)
        if divided is None:
            blocks = tiling.blocks(sizes.m, sizes.n) * sizes.batch
            divided = Divided(blocks, tiling.threads, BLOCKS_SM)
            block = kernel.regions[0].blocks[0]
            with contraction.nest.op.location, InsertionPoint.at_block_terminator(block):
                by_warpgroups = self.warpgroups and not why and not contraction.kind.rounds
                self._write_block(work, tiling, by_warpgroups=by_warpgroups)
        _note(kernel, contraction.nest.op, notes)
        others = [op for op in old if op not in work.ops]
        for op in reversed(work.ops):
            op.erase()
        _drop_views(others)
        _set_launch(kernel, divided)

    def _divided(
        self, kernel: Operation, work: _Work, tiling: Tiling, notes: list[str]
    ) -> Divided | None:
        """Write the kernel with bulk copies; None, and a note, if they do not apply."""
        budget = Budget(self.sms, self.shared_bytes, self.block_bytes)
        old = [view.operation for view in kernel.regions[0].blocks[0].operations][:-1]
        parts = work.contraction, work.result, work.epilogue
        try:
            return BulkContraction(kernel, *parts, budget, old).write(tiling)
        except Declined as declined:
            notes.append(f"no bulk copies: {declined.why}")
            return None

    def _write_block(self, work: _Work, tiling: Tiling, *, by_warpgroups: bool) -> None:
        """Write a block whose multiplying threads also copy."""
        contraction = work.contraction
        batch, row, column = _tile(contraction, tiling, tile.block_id(0))
        operands = (
            operand_of(contraction, 0, batch, row),
            operand_of(contraction, 1, batch, column),
        )
        accumulators = self._loop(tiling, operands, by_warpgroups).write()
        write_result(tiling, accumulators, Result(work.result, batch, row, column, work.epilogue))

    def _loop(
        self, tiling: Tiling, operands: tuple[GlobalOperand, GlobalOperand], by_warpgroups: bool
    ) -> SlotsLoop:
        if not by_warpgroups:
            return MmaLoop(tiling, operands)
        return WarpgroupLoop(tiling, operands, self.shared_bytes // BLOCKS_SM - RESERVED)


def _note(kernel: Operation, op: Operation, notes: Sequence[str]) -> None:
    """Add notes to a kernel, with the location of an operation."""
    texts = [StringAttr.get(f"{location_text(op.location)}: {note}") for note in notes]
    if texts:
        kernel.attributes[NOTES] = ArrayAttr.get(texts)


def _set_launch(kernel: Operation, divided: Divided) -> None:
    set_shape(kernel, [divided.grid], [divided.threads])
    i64, i32 = IntegerType.get_signless(64), IntegerType.get_signless(32)
    kernel.attributes[WARPS] = IntegerAttr.get(i64, divided.threads // WARP)
    if REGISTERS not in kernel.attributes:
        kernel.attributes[RESIDENT] = IntegerAttr.get(i32, divided.resident)


@dataclass(frozen=True, eq=False)
class _Work:
    """A kernel's contraction; `ops` are all its operations, which are replaced."""

    contraction: MmaContraction
    ops: list[Operation]
    result: Value
    epilogue: tuple[Structured, int] | None


def _work(kernel: Operation, tf32: bool) -> _Work | None:
    ops = [op.operation for op in kernel.regions[0].blocks[0].operations][:-1]
    acting = [op for op in ops if op.name not in _PASSIVE]
    if len(acting) not in (2, 3) or acting[0].name != "linalg.fill":
        return None
    fill, op = acting[:2]
    contraction = mma_contraction(op, tf32)
    accumulators = op.operands[len(op.operands) - 1]
    if contraction is None or fill.operands[1] != accumulators or not is_zero(fill.operands[0]):
        return None
    if len(acting) == 2:
        return _Work(contraction, acting, accumulators, None)
    nest = structured(acting[2])
    if nest is None or not epilogue_of(nest, accumulators):
        return None
    operands = list(nest.op.operands)
    number, result = operands.index(accumulators), operands[nest.destination]
    others = [
        operand
        for position, operand in enumerate(operands[: nest.destination])
        if position != number
    ]
    read = [*list(op.operands)[:2], *others]
    if any(root(value) == root(result) and not are_apart(value, result) for value in read):
        return None  # blocks would read results of other blocks
    if accumulators == result:
        return _Work(contraction, acting, result, (nest, number))
    if not isinstance(accumulators, OpResult) or len(list(accumulators.uses)) != len(acting):
        return None
    made = accumulators.owner.operation
    return (
        _Work(contraction, [made, *acting], result, (nest, number)) if is_allocation(made) else None
    )


def _drop_views(ops: Sequence[Operation]) -> None:
    """Erase views that only the contraction used."""
    for op in reversed(ops):
        if op.name in (*VIEWS, "memref.alloc", "memref.dealloc") and not any(
            True for result in op.results for _ in result.uses
        ):
            op.erase()


def _tile(
    contraction: MmaContraction, tiling: Tiling, block: Value
) -> tuple[tuple[Number, ...], Number, Number]:
    """Batch indices, first row and first column of a block's tile of the result.

    Blocks that run at the same time have tiles in a few rows and share their columns, so that
    operands come from the L2 cache.
    """
    m, n = contraction.extent(contraction.m), contraction.extent(contraction.n)
    rows, columns = -(-m // tiling.m), -(-n // tiling.n)
    group = max(value for value in range(1, _TALLEST_GROUP + 1) if rows % value == 0)
    rest, tile = divide_unsigned(block, rows * columns), remainder_unsigned(block, rows * columns)
    inside = remainder_unsigned(tile, group * columns)
    row = add(
        multiply(divide_unsigned(tile, group * columns), group), remainder_unsigned(inside, group)
    )
    column = divide_unsigned(inside, group)
    batch: list[Number] = []
    for loop in reversed(contraction.batch):
        batch.insert(0, remainder_unsigned(rest, contraction.extent(loop)))
        rest = divide_unsigned(rest, contraction.extent(loop))
    return tuple(batch), multiply(row, tiling.m), multiply(column, tiling.n)


def _is_by_elements(contraction: MmaContraction, operand: int) -> bool:
    """Whether threads copy single 16-bit elements of an operand whose rows are along K."""
    last = contraction.nest.indices[operand][-1].loop
    return last == contraction.k and _copy_bytes(contraction, operand) == 2


def _copy_bytes(contraction: MmaContraction, operand: int) -> int:
    """Bytes that can be copied at a time: aligned, and all inside the operand or all outside.

    Buffers are aligned to 16 bytes.
    """
    type, nbytes = MemRefType(contraction.nest.op.operands[operand].type), contraction.kind.nbytes
    strides, offset = type.get_strides_and_offset()
    rows = [each for each in zip(type.shape, strides, strict=True) if each[0] > 1]
    if 1 not in (stride for _, stride in rows):
        return nbytes
    (length, _) = next(each for each in reversed(rows) if each[1] == 1)
    others = [stride for _, stride in rows if stride != 1]
    packed = WIDEST_COPY // nbytes
    while any(number % packed for number in (offset, length, *others)):
        packed //= 2
    return packed * nbytes
