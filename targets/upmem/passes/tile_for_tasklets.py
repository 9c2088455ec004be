# SPDX-License-Identifier: Apache-2.0
"""tile-for-tasklets: divides rows among DPUs, and the tiles of these rows among tasklets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError, UserError
from xtc.ir.analysis.effects import is_allocation, is_view
from xtc.ir.analysis.linalg_ops import node_id
from xtc.ir.analysis.structured import Structured, structured
from xtc.ir.analysis.views import root
from xtc.ir.builders import generic
from xtc.ir.builders.functions import call
from xtc.ir.diagnostics import first_line
from xtc.ir.mlir import (
    ArrayAttr,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    Value,
    all_operations,
)
from xtc.ir.partition import symbol_of
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local._functions import declare, functions
from xtc_targets.upmem.passes import _device_calls as device
from xtc_targets.upmem.passes._shards import REPLICATED, Shards, row_loop, shards_of
from xtc_targets.upmem.passes._tile_plan import TilePlan, plan_of
from xtc_targets.upmem.passes._tile_sizes import Limits, describe_tiles, tile_bytes, tile_sizes
from xtc_targets.upmem.passes._tile_writer import TileWriter


@dataclass(frozen=True)
class TileForTasklets(Pass):
    """Compute every linalg operation tile by tile, in each tasklet's part of WRAM.

    Before:
        linalg.matmul ins(%a, %b) outs(%c)     // in MRAM
    After:
        %me = call @xtc_tasklet()
        scf.for %tile = %me to %tiles step %tasklets {
          %c_tile = memref.alloc() : memref<..., 2>
          scf.for %k ... { memref.copy of tiles of %a and %b; linalg.generic on tiles }
          memref.copy %c_tile, ... }

    The attribute `upmem.each` of a kernel has the bytes of each argument on a DPU. Raises UserError
    if a tile of one element does not fit.

    Attributes:
        dpus: number of DPUs that share a kernel.
        tasklets: number of tasklets of each DPU.
        local_bytes: WRAM for the tiles of a tasklet.
    """

    name: ClassVar[str] = "tile-for-tasklets"
    dpus: int = 1
    tasklets: int = 16
    local_bytes: int = 2048

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context, module.location:
            index = IndexType.get()
            declare(module, device.DPU, [], [index])
            declare(module, device.TASKLET, [], [index])
            declare(module, device.BARRIER, [], [])
            for kernel in functions(module):
                self._share(kernel)

    def _share(self, kernel: Operation) -> None:
        _name_copies(kernel)
        nests = [_nest_of(op) for op in _top(kernel) if _computes(op)]
        shards = shards_of(nests, self.dpus)
        _describe(kernel, nests, shards)
        fills = _fills(nests)
        merged = set(fills.values())
        for position, nest in enumerate([nest for nest in nests if nest not in merged]):
            if position:
                with nest.op.location:
                    call(device.BARRIER, [], ip=InsertionPoint(nest.op))
            self._tile(nest, shards.rows[nest], fills.get(nest))
        for fill in merged:
            fill.op.erase()

    def _tile(self, nest: Structured, rows: int, fill: Structured | None) -> None:
        loop = row_loop(nest)
        plan = plan_of(nest, rows, loop)
        sizes = tile_sizes(nest, Limits(self.local_bytes, self.tasklets, rows, loop), plan.sizes)
        if sizes is None:
            raise self._too_large(nest, plan)
        plan = plan.completed(sizes)
        _check_rows(nest, plan, rows, loop)
        initial = None if fill is None else fill.op.operands[0]
        TileWriter(nest, plan, rows, loop, self.tasklets, initial).write()

    def _too_large(self, nest: Structured, plan: TilePlan) -> UserError:
        title = node_id(nest.op) or nest.op.name
        sizes = [size or 1 for size in plan.sizes]
        return UserError(
            f"the tiles of {title} have {tile_bytes(nest, sizes)} bytes, and a tasklet has "
            f"{self.local_bytes} bytes of WRAM for them",
            notes=[*describe_tiles(nest, sizes), first_line(nest.op)],
            hints=["schedule smaller tiles" if any(plan.sizes) else "use fewer tasklets"],
        )


def _check_rows(nest: Structured, plan: TilePlan, rows: int, row_loop: int | None) -> None:
    """Raise UserError if a schedule's tiles do not divide the rows of a DPU."""
    first = next((loop for loop in plan.loops if loop.loop == row_loop), None)
    if first is None or rows % first.step == nest.extents[first.loop] % first.step == 0:
        return
    title = node_id(nest.op) or nest.op.name
    raise UserError(
        f"tiles of {first.step} rows of {title} do not divide the {rows} rows of a DPU",
        notes=["all operations over the same number of rows distribute them equally"],
        hints=[f"use tiles of a divisor of {rows}"],
    )


def _top(kernel: Operation) -> list[Operation]:
    return [op.operation for op in kernel.regions[0].blocks[0].operations]


def _computes(op: Operation) -> bool:
    passive = is_allocation(op) or is_view(op) or op.name.startswith(("arith.", "memref.dealloc"))
    return not passive and op.name not in ("func.return", "memref.get_global")


def _name_copies(kernel: Operation) -> None:
    """Turn copies within MRAM into operations like others."""
    for op in all_operations(kernel):
        if op.name == "memref.copy":
            with op.location:
                source, target = op.operands
                generic.copy(source, target, ip=InsertionPoint(op))
            op.erase()


def _nest_of(op: Operation) -> Structured:
    nest = structured(op)
    if nest is None:
        raise CompileError(
            f"{op.name} cannot be computed on DPUs",
            notes=[first_line(op), "it is not a loop nest over arrays of known sizes"],
        )
    return nest


def _fills(nests: Sequence[Structured]) -> dict[Structured, Structured]:
    """Fills of buffers whose next user overwrites them whole, by operation: it fills its tiles."""
    found: dict[Structured, Structured] = {}
    for position, fill in enumerate(nests):
        if fill.op.name != "linalg.fill":
            continue
        target = fill.op.operands[1]
        users = [nest for nest in nests[position + 1 :] if _uses(nest, root(target))]
        if not users:
            continue
        first = users[0]
        is_result = first.op.operands[first.destination] == target
        reads = [n for n in range(first.destination) if _is(first.op.operands[n], target)]
        if is_result and not reads and first.reads_destination:
            found[first] = fill
    return found


def _uses(nest: Structured, buffer: Value) -> bool:
    return any(_is(value, buffer) for value in nest.op.operands)


def _is(value: Value, buffer: Value) -> bool:
    return hasattr(value.type, "shape") and root(value) == root(buffer)


def _describe(kernel: Operation, nests: Sequence[Structured], shards: Shards) -> None:
    """Add the attributes with the bytes of each argument on a DPU and its access."""
    each, written = [], []
    for argument in kernel.regions[0].blocks[0].arguments:
        each.append(shards.each.get(argument, REPLICATED))
        written.append(_access(nests, argument))
    kernel.attributes[device.EACH] = _numbers(each)
    kernel.attributes[device.WRITTEN] = _numbers(written)
    for op in _top(kernel):
        if is_allocation(op):
            value = shards.each.get(op.results[0], 0)
            op.attributes[device.EACH] = IntegerAttr.get(IntegerType.get_signless(64), value)


def _access(nests: Sequence[Structured], buffer: Value) -> int:
    """0 for a buffer that is only read, 1 if it is first written whole, 2 otherwise."""
    writes = [nest for nest in nests if _is(nest.op.operands[nest.destination], buffer)]
    if not writes:
        return 0
    first = next(nest for nest in nests if _uses(nest, buffer))
    whole = first.op.operands[first.destination] == buffer and not first.reads_destination
    reads = any(_is(first.op.operands[n], buffer) for n in range(first.destination))
    return 1 if whole and not reads and first in writes else 2


def _numbers(values: Sequence[int]) -> ArrayAttr:
    i64 = IntegerType.get_signless(64)
    return ArrayAttr.get([IntegerAttr.get(i64, value) for value in values])


def kernel_numbers(kernel: Operation, name: str) -> list[int]:
    """The numbers in an attribute of a kernel. Raises CompileError if it is missing."""
    if name not in kernel.attributes:
        raise CompileError(f"kernel '{symbol_of(kernel)}' was not shared by DPUs")
    return [int(IntegerAttr(value).value) for value in ArrayAttr(kernel.attributes[name])]
