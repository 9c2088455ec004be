# SPDX-License-Identifier: Apache-2.0
"""outline-parallel-loops: moves parallel bodies into functions over a range of iterations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.analysis.captures import argument_attributes, captured, redirect
from xtc.ir.attributes import LOOP_PATH, PARALLEL
from xtc.ir.builders.control import new_loop
from xtc.ir.builders.functions import call, function
from xtc.ir.builders.numbers import binary, index_constant
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    Block,
    DenseI64ArrayAttr,
    DictAttr,
    IndexType,
    InsertionPoint,
    Operation,
    StringAttr,
    UnitAttr,
    Value,
    all_operations,
    arith,
    func,
    scf,
)
from xtc.ir.passes import Pass
from xtc_passes.lower._vectors_in_memory import keep_vectors_in_memory


@dataclass(frozen=True)
class OutlineParallelLoops(Pass):
    """Move the body of each outermost `scf.forall` on memrefs into a function.

    Before:
        scf.forall (%i) in (8) { body(%a, %i) }
    After:
        call @f.parallel.0(%a, %c0, %c8) {xtc.parallel} : (memref<..>, index, index) -> ()
        func.func private @f.parallel.0(%a: .. {llvm.noalias}, %first: index, %last: index) {
          scf.for %i = %first to %last step %c1 { body(%a, %i) } }

    The call runs the whole loop; `dispatch-parallel-calls` then lets threads share it. The
    arguments are the buffers that the body uses, with `llvm.noalias` if they are known not to
    overlap. Vectors from outside are passed in buffers.
    """

    name: ClassVar[str] = "outline-parallel-loops"

    def run(self, module: Operation) -> None:
        for op in list(module.regions[0].blocks[0].operations):
            for number, loop in enumerate(_outermost_loops(op.operation)):
                _outline(loop, op.operation, number)


def _outermost_loops(function: Operation) -> list[Operation]:
    found: list[Operation] = []

    for op in all_operations(function):
        if op.name == "scf.forall" and not _is_inside(op, found):
            found.append(op)
    return found


def _is_inside(op: Operation, loops: list[Operation]) -> bool:
    around = op.parent
    while around is not None and around not in loops:
        around = around.parent
    return around is not None


def _outline(loop: Operation, around: Operation, number: int) -> None:
    """Move the loop's body to a function before `around`, and call it in place of the loop."""
    name = f"{StringAttr(around.attributes['sym_name']).value}.parallel.{number}"
    counts = [count for _, count, _ in _dimensions(loop)]
    with loop.context, loop.location:
        keep_vectors_in_memory(loop, loop.regions[0].blocks[0], loop, around)
        values = captured(loop)
        with InsertionPoint(loop):
            range_ = [index_constant(0), index_constant(math.prod(counts))]
            result = call(name, [*values, *range_], attributes={PARALLEL: UnitAttr.get()})
            copy_paths(loop, result)
        with InsertionPoint(around):
            entry = _function(name, values)
        *arguments, first, last = entry.arguments
        with InsertionPoint(entry):
            chunk = _move_body(loop, first, last)
            func.return_([])
        with InsertionPoint(chunk):
            redirect(chunk, values, arguments)
    loop.erase()


def _function(name: str, values: list[Value]) -> Block:
    """The entry block of a new function that takes the values and a range of iterations."""
    index = IndexType.get()
    types = [*(value.type for value in values), index, index]
    nothing = DictAttr.get({})
    attributes = {
        "no_inline": UnitAttr.get(),
        "llvm.linkage": Attribute.parse("#llvm.linkage<internal>"),
        "arg_attrs": ArrayAttr.get([*argument_attributes(values), nothing, nothing]),
    }
    _, entry = function(name, types, private=True, attributes=attributes)
    return entry


def _move_body(loop: Operation, first: Value, last: Value) -> Operation:
    """A plain loop over the range with the body of `loop`, whose own body is left empty."""
    chunk = new_loop(first, last, 1)
    copy_paths(loop, chunk.op)
    source = loop.regions[0].blocks[0]
    with InsertionPoint(chunk.op.regions[0].blocks[0]):
        for old, new in zip(source.arguments, _indices(loop, chunk.index), strict=True):
            old.replace_all_uses_with(new)
        end = scf.yield_([]).operation
    for op in list(source.operations)[:-1]:
        op.operation.move_before(end)
    return chunk.op


def copy_paths(source: Operation, target: Operation) -> None:
    """Copy the paths of the loops that an operation stands for."""
    for name in (name for name in source.attributes if name.startswith(LOOP_PATH)):
        target.attributes[name] = source.attributes[name]


def _indices(loop: Operation, iteration: Value) -> list[Value]:
    """The index in each dimension of an iteration; the last dimension runs fastest."""
    coordinates: list[Value] = []
    dimensions = _dimensions(loop)
    for position, (start, count, step) in reversed(list(enumerate(dimensions))):
        coordinate = iteration
        if position > 0:
            coordinate = binary(arith.remui, iteration, count)
            iteration = binary(arith.divui, iteration, count)
        coordinate = coordinate if step == 1 else binary(arith.muli, coordinate, step)
        coordinates.append(coordinate if start == 0 else binary(arith.addi, coordinate, start))
    return coordinates[::-1]


def _dimensions(loop: Operation) -> list[tuple[int, int, int]]:
    """Start, iterations and step by dimension. Raises CompileError if they are not constant."""
    if loop.operands:
        raise CompileError(
            "a parallel loop's bounds are known only at run time, or it is not on memrefs",
            where=str(loop.location),
        )
    bounds = (
        DenseI64ArrayAttr(loop.attributes[name])
        for name in ("staticLowerBound", "staticUpperBound", "staticStep")
    )
    return [
        (start, max(0, -(-(stop - start) // step)), step)
        for start, stop, step in zip(*bounds, strict=True)
    ]
