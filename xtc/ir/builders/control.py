# SPDX-License-Identifier: Apache-2.0
"""Loops, parallel loops and branches, with their terminators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.numbers import Number, index_constant, of_one_type
from xtc.ir.builders.slices import insert_in_parallel
from xtc.ir.mlir import Attribute, Block, IndexType, InsertionPoint, Operation, Value, scf

BLOCKS = "[#gpu.block<linear_dim_0>]"
"""The mapping of a loop to the processor groups of a machine: blocks, clusters."""
THREADS = "[#gpu.thread<linear_dim_0>]"
"""The mapping of a loop to the processors of one group."""

LoopBody = Callable[[Value, list[Value], InsertionPoint], Sequence[Value]]
"""Builds a loop body from the induction variable and the iteration arguments; yields its result."""


@dataclass
class Loop:
    """An `scf.for` whose body is being built.

    Attributes:
        op: the loop.
        index: its induction variable.
        carried: the iteration arguments of its body.
        following: the values that the terminator yields to the next iteration.
    """

    op: Operation
    index: Value
    carried: list[Value]
    following: Sequence[Value] = field(default=())

    @property
    def results(self) -> list[Value]:
        """The results: the carried values after the last iteration."""
        return list(self.op.results)


def new_loop(
    lower: Number,
    upper: Number,
    step: Number,
    initial: Sequence[Value] = (),
    ip: InsertionPoint | None = None,
) -> Loop:
    """A loop with an empty body that has no terminator yet."""
    bounds = of_one_type((lower, upper, step), ip)
    loop = scf.ForOp(*bounds, list(initial), ip=ip)
    index, *carried = loop.body.arguments
    return Loop(loop.operation, index, carried)


def for_each(
    lower: Number,
    upper: Number,
    step: Number,
    initial: Sequence[Value],
    body: LoopBody,
    ip: InsertionPoint | None = None,
) -> list[Value]:
    """Build a loop with this body and return its results."""
    loop = new_loop(lower, upper, step, initial, ip)
    inside = InsertionPoint(loop.op.regions[0].blocks[0])
    scf.yield_(list(body(loop.index, loop.carried, inside)), ip=inside)
    return loop.results


@contextmanager
def loop(
    lower: Number,
    upper: Number,
    step: Number = 1,
    initial: Sequence[Value] = (),
    ip: InsertionPoint | None = None,
) -> Iterator[Loop]:
    """A loop; operations created in the context are its body. Set `following` if it has results."""
    result = new_loop(lower, upper, step, initial, ip)
    with InsertionPoint(result.op.regions[0].blocks[0]):
        yield result
        scf.yield_(list(result.following))


@contextmanager
def branch(condition: Value | bool, ip: InsertionPoint | None = None) -> Iterator[None]:
    """An `scf.if` around the operations created in the context; none if `condition` is True."""
    if condition is True:
        yield
        return
    result = scf.IfOp(condition, ip=ip)
    with InsertionPoint(result.then_block):
        yield
        scf.yield_([])


def values_if(
    condition: Value | bool, write: Callable[[], Sequence[Value]], otherwise: Sequence[Value]
) -> list[Value]:
    """The values of the operations that `write` creates if the condition holds, else others."""
    if condition is True:
        return list(write())
    made = scf.IfOp(condition, [value.type for value in otherwise], has_else=True)
    with InsertionPoint(made.then_block):
        scf.yield_(list(write()))
    with InsertionPoint(made.else_block):
        scf.yield_(list(otherwise))
    return list(made.results)


@dataclass(frozen=True)
class Forall:
    """An `scf.forall` whose body is being built.

    Attributes:
        op: the loop.
        body: its block, which ends in a terminator.
    """

    op: Operation
    body: Block

    @property
    def number(self) -> Value:
        """The induction variable."""
        return self.body.arguments[0]

    @property
    def shared(self) -> list[Value]:
        """The block arguments of the shared outputs."""
        return list(self.body.arguments)[1:]

    @property
    def ip(self) -> InsertionPoint:
        """The end of the body, before its terminator."""
        return InsertionPoint.at_block_terminator(self.body)

    def write(self, source: Value, shared: Value, offsets: Sequence[Number]) -> None:
        """Insert `source` into a shared output at `offsets`, in the terminator."""
        end = self.body.operations[len(self.body.operations) - 1].operation
        insert_in_parallel(source, shared, offsets, InsertionPoint(end.regions[0].blocks[0]))

    def write_all(self, sources: Sequence[Value]) -> None:
        """Insert each source into its whole shared output, which iterations updated in place."""
        for source, shared in zip(sources, self.shared, strict=True):
            self.write(source, shared, [0] * len(shape_of(shared)))


def forall(count: int, mapping: str | None, outs: Sequence[Value], ip: InsertionPoint) -> Forall:
    """`count` parallel iterations with shared outputs `outs`; `mapping` is an attribute's text."""
    mapped = None if mapping is None else Attribute.parse(mapping)
    result = scf.ForallOp([0], [count], [1], list(outs), mapping=mapped, ip=ip)
    scf.InParallelOp(ip=InsertionPoint(result.body))
    return Forall(result.operation, result.body)


def parallel(
    ranges: Sequence[range], mapping: str | None = None, ip: InsertionPoint | None = None
) -> tuple[list[Value], Operation]:
    """The induction variables and the terminator of an empty `scf.parallel` over these ranges."""
    lower = [index_constant(values.start, ip) for values in ranges]
    upper = [index_constant(values.stop, ip) for values in ranges]
    steps = [index_constant(values.step, ip) for values in ranges]
    result = scf.ParallelOp([], lower, upper, steps, [], ip=ip).operation
    if mapping is not None:
        result.attributes["mapping"] = Attribute.parse(mapping)
    body = result.regions[0].blocks.append(*[IndexType.get()] * len(ranges))
    return list(body.arguments), scf.ReduceOp([], 0, ip=InsertionPoint(body)).operation


def in_unit_loops(
    op: Operation, first: int, mappings: Sequence[str]
) -> tuple[Operation, list[Operation]]:
    """Wrap an operation in parallel loops of one iteration; its outputs are operands from `first`.

    Returns the inner operation and the loops, outermost first.
    """
    outs = list(op.operands)[first : first + len(op.results)]
    ip = InsertionPoint(op)
    loops: list[Forall] = []
    with op.location:
        for mapping in mappings:
            loops.append(forall(1, mapping, outs, ip))
            outs, ip = loops[-1].shared, loops[-1].ip
        inside = op.clone(ip=ip)
        for number, shared in enumerate(outs):
            inside.operands[first + number] = shared
        results = list(inside.results)
        for around in reversed(loops):
            around.write_all(results)
            results = list(around.op.results)
    for old, new in zip(op.results, results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
    return inside, [around.op for around in loops]
