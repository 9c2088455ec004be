# SPDX-License-Identifier: Apache-2.0
"""distribute-threads: a kernel's parallel loop becomes a grid of threads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.buffers import VIEWS
from xtc.core.mlir import (
    Block,
    DenseI64ArrayAttr,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    OpResult,
    Value,
)
from xtc.core.parts import top_level
from xtc.core.passes import Pass
from xtc_passes._build import index_constant
from xtc_passes._options import require_positive
from xtc_targets.nvgpu.passes._device import BLOCK_ID, GRID, THREAD_ID, set_apart, set_shape

_LESS_UNSIGNED = 6  # arith.cmpi: ult
_WITHOUT_EFFECTS = ("arith.", "affine.", "math.", "ub.", "memref.dim", "memref.get_global", *VIEWS)
_WARP = 32


@dataclass(frozen=True)
class DistributeThreads(Pass):
    """Give each iteration of a kernel's only loop nest, where that is parallel, a thread.

    Before:
        scf.parallel (%i, %j) = (0, 0) to (70, 33) step (1, 1) { body(%i, %j) }
    After, with `nvgpu.grid = [10, 1, 1]` and `nvgpu.block = [256, 1, 1]`:
        %n = ctaid.x * 256 + tid.x
        scf.if %n < 2310 { %i, %j = affine.delinearize_index %n into (70, 33) ; body(%i, %j) }

    Neighbouring threads have neighbouring last indices. Whatever else a kernel holds, as loops one
    after another that would have to wait for each other, runs on one thread: `nvgpu.grid` and
    `nvgpu.block` are 1. All functions that have a body are kernels; their buffers are
    `llvm.noalias`, as they are on the host. What has a grid already is left as it is.

    Attributes:
        block_threads: threads of a block, where there are so many iterations.
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
        loop = _only_loop(kernel)
        extents = None if loop is None else _extents(loop)
        if loop is None or extents is None:
            set_shape(kernel, [1], [1])
            return
        count = math.prod(len(one) for one in extents)
        threads = min(self.block_threads, -(-count // _WARP) * _WARP)
        set_shape(kernel, [-(-count // threads)], [threads])
        with loop.location:
            _write(loop, extents, threads)
        loop.erase()


def _only_loop(kernel: Operation) -> Operation | None:
    """The parallel loop that is all a kernel does."""
    ops = [op.operation for op in kernel.regions[0].blocks[0].operations]
    acting = [op for op in ops[:-1] if not op.name.startswith(_WITHOUT_EFFECTS)]
    if len(acting) != 1 or acting[0].name != "scf.parallel" or len(acting[0].results):
        return None
    return acting[0]


def _extents(loop: Operation) -> list[range] | None:
    """The values of each index; None where they are not known, or there are none."""
    numbers = [_known(value) for value in loop.operands]
    rank = len(loop.regions[0].blocks[0].arguments)
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    extents = [range(*known[position::rank]) for position in range(rank)]
    return extents if all(extents) else None


def _known(value: Value) -> int | None:
    if isinstance(value, OpResult) and value.owner.name == "arith.constant":
        return int(IntegerAttr(value.owner.attributes["value"]).value)
    return None


def _write(loop: Operation, extents: Sequence[range], threads: int) -> None:
    """Put the body, for this thread's iteration, before the loop."""
    ip = InsertionPoint(loop)
    count = math.prod(len(one) for one in extents)
    number = _thread_number(threads, ip)
    if count % threads == 0:
        _move_body(loop, extents, number, ip, loop)
        return
    attributes = {"predicate": IntegerAttr.get(IntegerType.get_signless(64), _LESS_UNSIGNED)}
    operands = [number, index_constant(count, ip)]
    i1 = IntegerType.get_signless(1)
    inside = Operation.create("arith.cmpi", [i1], operands, attributes, ip=ip).results[0]
    branch = Operation.create("scf.if", operands=[inside], regions=2, ip=ip)
    block = Block.create_at_start(branch.regions[0])
    with InsertionPoint(block):
        end = Operation.create("scf.yield")
    _move_body(loop, extents, number, InsertionPoint(end), end)


def _thread_number(threads: int, ip: InsertionPoint) -> Value:
    block, thread = (_place(name, ip) for name in (BLOCK_ID, THREAD_ID))
    first = _binary("arith.muli", block, index_constant(threads, ip), ip)
    return _binary("arith.addi", first, thread, ip)


def _place(name: str, ip: InsertionPoint) -> Value:
    place = Operation.create(name, [IntegerType.get_signless(32)], ip=ip).results[0]
    return Operation.create("arith.index_castui", [IndexType.get()], [place], ip=ip).results[0]


def _binary(name: str, a: Value, b: Value, ip: InsertionPoint) -> Value:
    return Operation.create(name, [IndexType.get()], [a, b], ip=ip).results[0]


def _move_body(
    loop: Operation, extents: Sequence[range], number: Value, ip: InsertionPoint, end: Operation
) -> None:
    body = loop.regions[0].blocks[0]
    sizes = {"static_basis": DenseI64ArrayAttr.get([len(one) for one in extents])}
    results = [IndexType.get()] * len(extents)
    places = Operation.create("affine.delinearize_index", results, [number], sizes, ip=ip).results
    for argument, extent, place in zip(body.arguments, extents, places, strict=True):
        index: Value = place
        if extent.step != 1:
            index = _binary("arith.muli", index, index_constant(extent.step, ip), ip)
        if extent.start != 0:
            index = _binary("arith.addi", index, index_constant(extent.start, ip), ip)
        argument.replace_all_uses_with(index)
    for op in list(body.operations)[:-1]:
        op.operation.move_before(end)
