# SPDX-License-Identifier: Apache-2.0
"""version-strides: gives a tile kernel a second body for run-time strides of whole vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from xtc.ir.attributes import WARPS
from xtc.ir.builders.numbers import compare, constant
from xtc.ir.builders.tile import group_of, number_of
from xtc.ir.mlir import (
    Block,
    InsertionPoint,
    IntegerType,
    MemRefType,
    Operation,
    UnitAttr,
    Value,
    all_operations,
    arith,
    scf,
)
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._thread_code import all_of
from xtc_targets.nvgpu.passes._tiles.classes import Classes, is_tile
from xtc_targets.nvgpu.passes._tiles.numbers import (
    Numbers,
    packed_elements,
    shared_width,
    tile_of,
    widest_access,
)

VERSIONED = "nvgpu.versioned"
"""Unit attribute on a tile kernel with two bodies."""

_GRID = "tile.grid"
_BULK = "tile.tma_"
_MEMORY = MappingProxyType({"tile.load_global": 0, "tile.store_global": 1, "tile.copy_async": 0})
"""The operand of an access that is a tensor in global memory."""


@dataclass(frozen=True)
class VersionStrides(Pass):
    """Version a tile kernel for run-time strides and offsets that are multiples of a vector.

    Before:
        %x = memref.reinterpret_cast %p to ..., strides: [%n, 1]
        %t = "tile.load_global"(%x, ...)
    After, for float32:
        %rest = arith.andi %n, 3 ; %whole = arith.cmpi eq, %rest, 0
        scf.if %whole { %m = arith.andi %n, -4 ; the kernel with %m in place of %n }
        else { the kernel }

    The branch is uniform for the launch. Layouts and accesses differ between both bodies: in the
    first, the divisors of the numbers permit wide accesses; the second has coalesced accesses to
    single elements. A kernel stays as it is if the numbers would not widen the accesses, except to
    accumulators of a dot, whose layout permits no wide ones; and if it has bulk copies, which
    require such strides.
    """

    name: ClassVar[str] = "version-strides"

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in top_level(module):
                if WARPS in kernel.attributes and VERSIONED not in kernel.attributes:
                    divisors = _needed(kernel)
                    if divisors:
                        with kernel.location:
                            _version(kernel, divisors)


def _needed(kernel: Operation) -> dict[Value, int]:
    """The kernel's integers whose divisibility widens accesses, and the divisors for that."""
    integers = [value for value in _body(kernel).arguments if isinstance(value.type, IntegerType)]
    ops = all_operations(kernel)
    if not integers or any(op.name.startswith(_BULK) for op in ops):
        return {}
    numbers, threads = Numbers(kernel), number_of(kernel, WARPS) * WARP
    accesses = {op: _needed_by(op, numbers, integers, threads) for op in ops if op.name in _MEMORY}
    found: dict[Value, int] = {}
    for op in _with_free_layouts([op for op, needed in accesses.items() if needed], ops):
        for value, divisor in accesses[op].items():
            found[value] = math.lcm(found.get(value, 1), divisor)
    return found


def _with_free_layouts(
    accesses: Sequence[Operation], ops: Sequence[Operation]
) -> Sequence[Operation]:
    """The accesses to other tiles than the accumulators of dots."""
    dots = [op for op in ops if op.name in ("tile.dot", "tile.wgmma")]
    if not dots or not accesses:
        return accesses
    classes = Classes(ops)
    sums = {classes.of(op.results[0]) for op in dots}
    return [
        op
        for op in accesses
        if not any(
            is_tile(value) and classes.of(value) in sums for value in (*op.operands, *op.results)
        )
    ]


def _needed_by(
    op: Operation, numbers: Numbers, integers: Sequence[Value], threads: int
) -> dict[Value, int]:
    """The least divisors of integers with which an access is as wide as they permit."""
    memory = op.operands[_MEMORY[op.name]]
    widest = widest_access(memory)

    def width(divisors: Mapping[Value, int]) -> int:
        packed = packed_elements(numbers.assuming(divisors), op, memory)
        return _useful(op, packed, threads)

    needed = dict.fromkeys(integers, widest)
    wanted = width(needed)
    if wanted <= width({}):
        return {}
    for value in integers:
        divisor = 1
        while width({**needed, value: divisor}) < wanted:
            divisor *= 2
        needed[value] = divisor
    return {value: divisor for value, divisor in needed.items() if divisor > 1}


def _useful(op: Operation, packed: int, threads: int) -> int:
    """The elements of an access, of `packed` that the memory permits."""
    if op.name == "tile.copy_async":
        return math.gcd(packed, MemRefType(op.operands[1].type).shape[-1])
    shape, group = tile_of(op).shape, group_of(op)
    threads = threads if group is None else group[1]
    return shared_width(math.gcd(packed, shape[-1]), math.prod(shape), threads)


def _version(kernel: Operation, divisors: Mapping[Value, int]) -> None:
    """Branch to a copy of the body where each integer is a multiple of its divisor."""
    kernel.attributes[VERSIONED] = UnitAttr.get()
    body = _body(kernel)
    ops = [view.operation for view in body.operations]
    end = InsertionPoint(ops[-1])
    with end:
        are_multiples = all_of([_is_multiple(value, by) for value, by in divisors.items()])
        branch = scf.IfOp(are_multiples, has_else=True)
        whole = scf.IfOp(are_multiples)
    for op in ops[:-1]:
        whole.then_block.append(op)
    with InsertionPoint(whole.then_block):
        scf.yield_([])
    for block in (branch.then_block, branch.else_block):
        _move(whole.operation.clone(ip=end), block)
    with InsertionPoint.at_block_begin(branch.then_block):
        for value, by in divisors.items():
            multiple = arith.andi(value, constant(-by, value.type))
            _replace_in(branch.then_block, value, multiple)
    _keep_grid(whole.operation, branch.operation)


def _is_multiple(value: Value, by: int) -> Value:
    rest = arith.andi(value, constant(by - 1, value.type))
    return compare("eq", rest, 0)


def _keep_grid(whole: Operation, before: Operation) -> None:
    """Move the grid and the operations that compute it out of a branch, which is erased."""
    needed: set[Value] = set()
    kept = []
    for view in reversed(list(_body(whole).operations)):
        op = view.operation
        if op.name == _GRID or any(result in needed for result in op.results):
            kept.append(op)
            needed.update(value for inner in all_operations(op) for value in inner.operands)
    for op in reversed(kept):
        op.move_before(before)
    whole.erase()


def _move(whole: Operation, block: Block) -> None:
    """Move the body of a branch, except for the grid, to a block. The branch is erased."""
    for view in list(_body(whole).operations):
        if view.operation.name != _GRID:
            block.append(view.operation)
    whole.erase()


def _replace_in(block: Block, value: Value, other: Value) -> None:
    """Use another value in a block, except in the operation that computes it."""
    inside = [op for view in block.operations for op in all_operations(view.operation)]
    for op in inside:
        if op != other.owner:
            for number, operand in enumerate(op.operands):
                if operand == value:
                    op.operands[number] = other


def _body(op: Operation) -> Block:
    found: Block = op.regions[0].blocks[0]
    return found
