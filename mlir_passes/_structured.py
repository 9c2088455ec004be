# SPDX-License-Identifier: Apache-2.0
"""Linalg operations as loop nests: extents, and which loops index which dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xtc.core.mlir import (
    AffineAddExpr,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMulExpr,
    Attribute,
    Block,
    IndexType,
    MemRefType,
    Operation,
    RankedTensorType,
    StringAttr,
    Value,
    get_indexing_maps,
)
from xtc_passes._linalg import ID_PREFIX, all_operations

SCHEDULE_MARK = "loop.schedule"
LOOP_PATH = "./"  # how the name of an attribute begins that a loop of a schedule carries
LOOP_NAMES = "loop.dims"
DEVICE = "xtc.device"

SMALL_BYTES = 16384  # half of a first-level data cache, of 32 KiB at least
FEW_ROWS = 16  # elements in as many cache lines stay at hand while a loop crosses their rows


@dataclass(frozen=True)
class Index:
    """A tensor index `sum of factor * loop counter + offset`; factors are positive."""

    factors: tuple[tuple[int, int], ...]
    offset: int

    @property
    def loop(self) -> int | None:
        """The loop whose counter the index is, or None where it is anything else."""
        if self.offset == 0 and len(self.factors) == 1 and self.factors[0][1] == 1:
            return self.factors[0][0]
        return None

    def renamed(self, loops: Sequence[int]) -> Index:
        """The index with `loops[n]` in the place of loop n."""
        return Index(tuple((loops[loop], factor) for loop, factor in self.factors), self.offset)

    def factor(self, loop: int) -> int:
        """How far the index moves in one iteration of `loop`."""
        return dict(self.factors).get(loop, 0)

    def scaled(self, loop: int, times: int) -> Index:
        """The index where `loop` moves it `times` as far."""
        factors = ((one, factor * times if one == loop else factor) for one, factor in self.factors)
        return Index(tuple(factors), self.offset)

    def reach(self, extents: Sequence[int]) -> int:
        """One more than the largest index in loops of these extents."""
        return sum(f * (extents[loop] - 1) for loop, f in self.factors) + self.offset + 1


@dataclass(eq=False)
class Structured:
    """One linalg operation on tensors or on buffers, with a single destination and static shapes.

    Attributes:
        op: the operation.
        indices: for each operand the index of each of its dimensions; scalars have none.
        extents: the iterations of each loop.
    """

    op: Operation
    indices: tuple[tuple[Index, ...], ...]
    extents: tuple[int, ...]

    @property
    def result(self) -> Value:
        """The tensor it computes; there is none on buffers."""
        return self.op.results[0]

    @property
    def destination(self) -> int:
        """The number of the operand that is written, or has the tensor to begin with: the last."""
        return len(self.indices) - 1

    @property
    def body(self) -> Block:
        """What it does with one element of each operand."""
        return self.op.regions[0].blocks[0]

    @cached_property
    def out(self) -> tuple[int, ...]:
        """The loop over each dimension of the result."""
        return tuple(loop for index in self.indices[-1] if (loop := index.loop) is not None)

    @cached_property
    def reductions(self) -> tuple[int, ...]:
        """The loops that accumulate, outermost first."""
        return tuple(loop for loop in range(len(self.extents)) if loop not in self.out)

    @cached_property
    def device(self) -> str | None:
        """The device it runs on; None is the target's own."""
        attributes = self.op.attributes
        return StringAttr(attributes[DEVICE]).value if DEVICE in attributes else None

    @property
    def reads_destination(self) -> bool:
        """True where the result depends on the initial value."""
        return is_used(self.body.arguments[self.destination])

    def position(self, operand: int, loop: int) -> int | None:
        """The one dimension of the operand that `loop` alone walks, step 1; None if otherwise."""
        found = [d for d, index in enumerate(self.indices[operand]) if index.factor(loop)]
        if len(found) == 1 and self.indices[operand][found[0]].loop == loop:
            return found[0]
        return None

    def uses_loop(self, operand: int, loop: int) -> bool:
        """True where the operand's elements change with `loop`."""
        return any(index.factor(loop) for index in self.indices[operand])

    @property
    def last_parallel_loop(self) -> int | None:
        """The loop along neighbouring elements of the result; None where it has only one."""
        return next((one for one in reversed(self.out) if self.extents[one] > 1), None)

    @cached_property
    def vector_loop(self) -> int | None:
        """The parallel loop along neighbouring elements of the result, and of inputs that change.

        None where an input has a stride along it, or where it has a single iteration.
        """
        loop = self.last_parallel_loop
        if loop is None:
            return None
        used = [n for n in range(len(self.indices)) if self.uses_loop(n, loop)]
        return loop if all(self.is_contiguous(number, loop) for number in used) else None

    @cached_property
    def crosses_rows(self) -> bool:
        """True for a sum of floats whose parallel loops all have a stride.

        Its order is fixed, so no loop of it can be vectorised; sums of integers and maxima may be
        reordered, and are along their rows.
        """
        ops = body_operations(self.op)
        total = ops[-1].operands[0]
        last = next((op for op in ops if total in op.results), None)
        sums = last is not None and last.name in ("arith.addf", "arith.mulf")
        return bool(self.reductions) and sums and self.vector_loop is None

    def is_contiguous(self, number: int, loop: int) -> bool:
        """True where `loop` walks neighbouring elements of the operand."""
        place = self.position(number, loop)
        shape = shape_of(self.op.operands[number])
        return place is not None and math.prod(shape[place + 1 :]) == 1


def structured(op: Operation) -> Structured | None:
    """The operation as a loop nest, or None where it is none that can be rewritten as such."""
    if not op.name.startswith("linalg.") or len(op.results) > 1:
        return None
    maps = get_indexing_maps(op)
    if maps is None or len(maps) != len(op.operands):
        return None
    indices = tuple(_indices(one.value.results) for one in maps)
    extents = _extents(op, indices, maps[0].value.n_dims)
    if extents is None or any(index is None for row in indices for index in row):
        return None
    found = Structured(op, indices, extents)  # type: ignore[arg-type]
    return found if len(set(found.out)) == len(indices[-1]) else None


def labels(op: Operation) -> dict[str, Attribute]:
    """The attributes that say what an operation is for and where it runs, not what it computes."""
    attributes = op.attributes
    return {name: attributes[name] for name in attributes if "." in name or is_id(name)}


def is_id(name: str) -> bool:
    """True for the name of an attribute that identifies a node of the graph."""
    return name.startswith(ID_PREFIX)


def body_operations(op: Operation) -> list[Operation]:
    """The operations of an operation's only block, in order."""
    return [inner for inner in all_operations(op) if inner != op and inner.parent == op]


def is_shaped(value: Value) -> bool:
    """True for a tensor and for a buffer."""
    return isinstance(value.type, RankedTensorType | MemRefType)


def is_used(value: Value) -> bool:
    """True where an operation reads the value."""
    return next(iter(value.uses), None) is not None


def shape_of(value: Value) -> tuple[int, ...]:
    """The sizes of a tensor or buffer of static shape."""
    return tuple(value.type.shape)


def even_part(extent: int, most: int) -> int:
    """The largest number up to `most` that divides `extent`, unless it is below half of `most`."""
    divisors = (size for size in range(most, (most - 1) // 2, -1) if extent % size == 0)
    return next(divisors, most)


def element_bits(value: Value) -> int:
    """The width of the elements; index counts as 64 bits."""
    element = value.type.element_type
    return 64 if isinstance(element, IndexType) else int(element.width)


def _extents(
    op: Operation, indices: tuple[tuple[Index | None, ...], ...], loops: int
) -> tuple[int, ...] | None:
    extents: dict[int, int] = {}
    for value, row in zip(op.operands, indices, strict=True):
        if not row:
            continue
        if not is_shaped(value) or not value.type.has_static_shape:
            return None
        for size, index in zip(value.type.shape, row, strict=True):
            if index is not None and index.loop is not None:
                extents[index.loop] = size
    return tuple(extents[loop] for loop in range(loops)) if len(extents) == loops else None


def _indices(results: list[AffineExpr]) -> tuple[Index | None, ...]:
    return tuple(_index(expr) for expr in results)


def _index(expr: AffineExpr) -> Index | None:
    if isinstance(expr, AffineDimExpr):
        return Index(((expr.position, 1),), 0)
    terms = _terms(expr)
    if terms is None or any(factor < 0 for factor in terms.values()):
        return None
    factors = tuple((loop, factor) for loop, factor in terms.items() if loop >= 0 and factor)
    return Index(factors, terms.get(_CONSTANT, 0))


_CONSTANT = -1


def _terms(expr: AffineExpr) -> dict[int, int] | None:
    """Factors by loop, and the constant term; None for an expression that is not linear."""
    if isinstance(expr, AffineDimExpr):
        return {expr.position: 1}
    if isinstance(expr, AffineConstantExpr):
        return {_CONSTANT: expr.value}
    if not isinstance(expr, AffineAddExpr | AffineMulExpr):
        return None
    left, right = _terms(expr.lhs), _terms(expr.rhs)
    if left is None or right is None:
        return None
    if isinstance(expr, AffineAddExpr):
        return {loop: left.get(loop, 0) + right.get(loop, 0) for loop in {**left, **right}}
    scale = right.get(_CONSTANT, 0)  # MLIR keeps the constant on the right
    return {loop: factor * scale for loop, factor in left.items()}
