# SPDX-License-Identifier: Apache-2.0
"""prefetch-tiles: loads the next tile from global memory while the current one is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.accesses import Access
from xtc.ir.analysis.linalg_ops import dict_of
from xtc.ir.analysis.views import root
from xtc.ir.builders.numbers import compare
from xtc.ir.builders.rebuild import copy_with, rebuilt
from xtc.ir.mlir import (
    Block,
    InsertionPoint,
    IntegerAttr,
    MemRefType,
    Operation,
    OpResult,
    Value,
    all_operations,
    arith,
    scf,
)
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._barriers import Effects
from xtc_targets.nvgpu.passes._kernels import BARRIER, SHARED, kernels
from xtc_targets.nvgpu.passes._numbered_loops import known

_HARMLESS = ("arith.", "affine.", "memref.alloc")
_MOST = 16
"""Maximum loads in flight per thread, of at most 16 bytes each: a quarter of its registers."""


@dataclass(frozen=True)
class PrefetchTiles(Pass):
    """Load the tile of the next iteration to registers before computing with the current one.

    Before:
        scf.for %k { nvvm.barrier ; %v = vector.load %a[%k] ; vector.store %v, %tile
          nvvm.barrier ; compute with %tile }
    After:
        %first = vector.load %a[0]
        scf.for %k iter_args(%v = %first) { nvvm.barrier ; vector.store %v, %tile ; nvvm.barrier
          %next = scf.if (there is one) { vector.load %a[%k + step] } else { %v }
          compute with %tile ; scf.yield %next }

    The pass requires that there are only such copies between the first two barriers of a loop, and
    that no operation of the loop writes the memory that they read.
    """

    name: ClassVar[str] = "prefetch-tiles"

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in kernels(module):
                loops = [op for op in all_operations(kernel) if op.name == "scf.for"]
                for loop in reversed(loops):
                    loads = _loads(loop)
                    if 0 < len(loads) <= _MOST:
                        with loop.location:
                            _rewrite(loop, loads)


def _loads(loop: Operation) -> list[Operation]:
    """The loads from global memory between the first two barriers; [] if there is other code."""
    body = [op.operation for op in loop.regions[0].blocks[0].operations]
    barriers = [position for position, op in enumerate(body) if op.name == BARRIER]
    if len(barriers) < 2 or not _runs(loop):
        return []
    filling = body[: barriers[0]] + body[barriers[0] + 1 : barriers[1]]
    loads = [op for op in filling if (access := Access.of(op)) and not access.is_write]
    stores = [access for op in filling if (access := Access.of(op)) and access.is_write]
    other = [op for op in filling if Access.of(op) is None and not op.name.startswith(_HARMLESS)]
    written = Effects.of(loop).writes
    if other or any(root(load.operands[0]) in written for load in loads):
        return []
    copied = [store.value for store in stores if _is_shared(store.memref)]
    moved = [load.results[0] for load in loads]
    only = all(len(list(value.uses)) == 1 for value in moved)
    return loads if only and len(stores) == len(copied) and set(copied) == set(moved) else []


def _is_shared(memref: Value) -> bool:
    space = MemRefType(root(memref).type).memory_space
    return isinstance(space, IntegerAttr) and space.value == SHARED


def _runs(loop: Operation) -> bool:
    """Whether there is a first iteration, and whether there is a next one."""
    bounds = [known(value) for value in list(loop.operands)[:3]]
    numbers = [number for number in bounds if number is not None]
    return len(numbers) == 3 and len(range(*numbers)) > 1


def _rewrite(loop: Operation, loads: Sequence[Operation]) -> None:
    first = [_copied(load, loop.operands[0], InsertionPoint(loop)) for load in loads]
    types = [value.type for value in (*loop.results, *first)]
    new = rebuilt(loop, [*loop.operands, *first], types, dict_of(loop), InsertionPoint(loop))
    body = loop.regions[0].blocks[0]
    body.append_to(new.regions[0])
    carried = [body.add_argument(load.results[0].type, load.location) for load in loads]
    following = _following(new, body, loads, carried)
    for load, value in zip(loads, carried, strict=True):
        load.results[0].replace_all_uses_with(value)
        load.erase()
    end = body.operations[len(body.operations) - 1].operation
    scf.yield_([*end.operands, *following], ip=InsertionPoint(end))
    end.erase()
    for old, result in zip(loop.results, new.results, strict=False):
        old.replace_all_uses_with(result)
    loop.erase()


def _following(
    loop: Operation, body: Block, loads: Sequence[Operation], carried: Sequence[Value]
) -> list[Value]:
    """The values that the next iteration stores, loaded after the second barrier."""
    barriers = [op.operation for op in body.operations if op.operation.name == BARRIER]
    ip = InsertionPoint.after(barriers[1])
    counter, bound, step = body.arguments[0], loop.operands[1], loop.operands[2]
    index = arith.addi(counter, step, ip=ip)
    types = [value.type for value in carried]
    branch = scf.IfOp(compare("slt", index, bound, ip), types, has_else=True, ip=ip)
    scf.yield_(list(carried), ip=InsertionPoint(branch.else_block))
    inner = InsertionPoint(branch.then_block)
    scf.yield_([_copied(load, index, inner) for load in loads], ip=inner)
    return list(branch.operation.results)


def _copied(load: Operation, counter: Value, ip: InsertionPoint) -> Value:
    """Clone a load, and the computation of its address, for this loop index."""
    body = load.parent.regions[0].blocks[0]
    values: dict[Value, Value] = {body.arguments[0]: counter}

    def copy(op: Operation) -> None:
        for operand in op.operands:
            owner = operand.owner
            inside = isinstance(operand, OpResult) and owner.parent == load.parent
            if inside and operand not in values:
                copy(owner.operation)
        copy_with(op, values, ip)

    copy(load)
    return values[load.results[0]]
