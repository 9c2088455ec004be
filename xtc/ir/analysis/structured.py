# SPDX-License-Identifier: Apache-2.0
"""Linalg operations as loop nests: their extents, and the loops that index each dimension."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from xtc.ir.analysis.indices import Index, index_of
from xtc.ir.attributes import DEVICE, NODE_ID_PREFIX
from xtc.ir.fast_math import allows
from xtc.ir.mlir import (
    Attribute,
    Block,
    FloatType,
    IndexType,
    IntegerType,
    MemRefType,
    Operation,
    RankedTensorType,
    ShapedType,
    StringAttr,
    Type,
    Value,
    get_indexing_maps,
)

FLOAT_ADDITIONS = ("arith.addf", "arith.mulf")
FLOAT_EXTREMES = ("arith.maximumf", "arith.minimumf")

SMALL_BYTES = 16384  # half of an L1 data cache of at least 32 KiB
FEW_ROWS = 16  # cache lines that stay in the cache while a loop crosses their rows


@dataclass(eq=False)
class Structured:
    """A linalg operation on tensors or buffers with static shapes.

    It has a single destination unless several are allowed; then the last is used.

    Attributes:
        op: the operation.
        indices: for each operand, the index of each dimension; empty for scalars.
        extents: the trip count of each loop.
    """

    op: Operation
    indices: tuple[tuple[Index, ...], ...]
    extents: tuple[int, ...]

    @property
    def result(self) -> Value:
        """The tensor it computes; operations on buffers have none."""
        return self.op.results[0]

    @property
    def destination(self) -> int:
        """The number of the destination operand: the last."""
        return len(self.indices) - 1

    @property
    def body(self) -> Block:
        """The block that computes with one element of each operand."""
        return self.op.regions[0].blocks[0]

    @cached_property
    def out(self) -> tuple[int, ...]:
        """The loop that indexes each dimension of the result."""
        return tuple(loop for index in self.indices[-1] if (loop := index.loop) is not None)

    @cached_property
    def reductions(self) -> tuple[int, ...]:
        """The reduction loops, outermost first."""
        return tuple(loop for loop in range(len(self.extents)) if loop not in self.out)

    @cached_property
    def device(self) -> str | None:
        """The device it runs on; None is the target's."""
        attributes = self.op.attributes
        return StringAttr(attributes[DEVICE]).value if DEVICE in attributes else None

    @property
    def reads_destination(self) -> bool:
        """Whether the result depends on the initial value of the destination."""
        return is_used(self.body.arguments[self.destination])

    def position(self, operand: int, loop: int) -> int | None:
        """The only dimension of the operand that `loop` indexes, alone and with step 1, or None."""
        found = [d for d, index in enumerate(self.indices[operand]) if index.factor(loop)]
        if len(found) == 1 and self.indices[operand][found[0]].loop == loop:
            return found[0]
        return None

    def uses_loop(self, operand: int, loop: int) -> bool:
        """Whether `loop` indexes the operand."""
        return any(index.factor(loop) for index in self.indices[operand])

    def step_bytes(self, operand: int, loop: int) -> int:
        """The stride in bytes of `loop` through a row-major operand."""
        value, row = self.op.operands[operand], self.indices[operand]
        shape = shape_of(value)
        units = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
        steps = sum(index.factor(loop) * unit for index, unit in zip(row, units, strict=True))
        return steps * element_bits(value) // 8

    def touched_bytes(self, operand: int, still: Collection[int]) -> int:
        """The bytes of an operand that are accessed in one iteration of the loops `still`."""
        value = self.op.operands[operand]
        if not self.indices[operand]:
            return 0
        extents = [1 if loop in still else extent for loop, extent in enumerate(self.extents)]
        sizes = (index.reach(extents) - index.offset for index in self.indices[operand])
        return math.prod(sizes) * element_bits(value) // 8

    @property
    def last_parallel_loop(self) -> int | None:
        """The loop along contiguous elements of the result; None if it has a single element."""
        return next((loop for loop in reversed(self.out) if self.extents[loop] > 1), None)

    @cached_property
    def vector_loop(self) -> int | None:
        """The parallel loop along contiguous elements of the result and of the inputs it indexes.

        None if an input is strided along it, or if it has a single iteration.
        """
        loop = self.last_parallel_loop
        if loop is None:
            return None
        used = [n for n in range(len(self.indices)) if self.uses_loop(n, loop)]
        return loop if all(self.is_contiguous(number, loop) for number in used) else None

    @cached_property
    def runs_along_rows(self) -> bool:
        """Whether this is a reduction without a parallel loop of unit stride."""
        return bool(self.reductions) and self.vector_loop is None

    @cached_property
    def crosses_rows(self) -> bool:
        """Whether this is a float reduction in fixed order whose parallel loops are all strided.

        None of its loops can be vectorized. Reductions of integers, and those that
        `relax-reductions` marks, may run in any order and run along rows; so do maxima that respect
        the sign of zero, which is slow on vectors in any order.
        """
        last = combining_operation(self.op)
        if last is None or not self.runs_along_rows or allows(last, "reassoc"):
            return False
        return last.name in FLOAT_ADDITIONS or (last.name in FLOAT_EXTREMES and allows(last, "nsz"))

    def is_contiguous(self, number: int, loop: int) -> bool:
        """Whether the operand is contiguous along `loop`."""
        dimension = self.position(number, loop)
        shape = shape_of(self.op.operands[number])
        return dimension is not None and math.prod(shape[dimension + 1 :]) == 1


def structured(op: Operation, destinations: int = 1) -> Structured | None:
    """The operation as a loop nest with at most `destinations` destinations.

    None if it cannot be rewritten as one.
    """
    if not op.name.startswith("linalg.") or _destinations(op) > destinations:
        return None
    maps, operands = get_indexing_maps(op), list(op.operands)
    if maps is None or len(maps) != len(operands):
        return None
    indices = tuple(tuple(map(index_of, index_map.value.results)) for index_map in maps)
    if any(index is None for row in indices for index in row):
        return None
    extents = _extents(operands, indices, maps[0].value.n_dims)  # type: ignore[arg-type]
    if extents is None:
        return None
    found = Structured(op, indices, extents)  # type: ignore[arg-type]
    return found if len(set(found.out)) == len(indices[-1]) else None


def _destinations(op: Operation) -> int:
    """The number of operands that are written; each tensor among them has a result."""
    segments = "operandSegmentSizes"
    return list(op.attributes[segments])[1] if segments in op.attributes else len(op.results)


def labels(op: Operation) -> dict[str, Attribute]:
    """The attributes that state an operation's origin and device, not what it computes."""
    attributes = op.attributes
    return {name: attributes[name] for name in attributes if "." in name or is_id(name)}


def is_id(name: str) -> bool:
    """Whether an attribute of this name identifies a graph node."""
    return name.startswith(NODE_ID_PREFIX)


def body_operations(op: Operation) -> list[Operation]:
    """The operations of an operation's blocks, in order."""
    blocks = (block for region in op.regions for block in region.blocks)
    return [inner.operation for block in blocks for inner in block.operations]


def combining_operation(op: Operation) -> Operation | None:
    """The operation whose result the body yields; None if it yields an argument."""
    ops = body_operations(op)
    total = ops[-1].operands[0]
    return next((op for op in ops if total in op.results), None)


def is_shaped(value: Value) -> bool:
    """Whether a value is a tensor or a buffer."""
    return isinstance(value.type, RankedTensorType | MemRefType)


def _known_shape(type: Type) -> Sequence[int] | None:
    """The shape of a tensor or buffer with static sizes and numbers as elements, or None."""
    if not isinstance(type, RankedTensorType | MemRefType) or not type.has_static_shape:
        return None
    is_number = isinstance(type.element_type, IntegerType | FloatType | IndexType)
    return type.shape if is_number else None


def is_used(value: Value) -> bool:
    """Whether the value has uses."""
    return next(iter(value.uses), None) is not None


def shape_of(value: Value) -> tuple[int, ...]:
    """The sizes of a tensor or buffer with a static shape."""
    return tuple(value.type.shape)


def even_part(extent: int, most: int) -> int:
    """The largest divisor of `extent` up to `most`; `most` if it is below half of `most`."""
    divisors = (size for size in range(most, (most - 1) // 2, -1) if extent % size == 0)
    return next(divisors, most)


def element_bits(value: Value) -> int:
    """The width of a value's elements in bits; index counts as 64."""
    return type_bits(value.type)


def type_bits(type: Type) -> int:
    """The width in bits of a scalar type, or of a shaped type's elements; index counts as 64."""
    element = type.element_type if isinstance(type, ShapedType) else type
    return 64 if isinstance(element, IndexType) else int(element.width)


def _extents(
    operands: Sequence[Value], indices: Sequence[Sequence[Index]], loops: int
) -> tuple[int, ...] | None:
    """The iterations of each loop; None unless the shapes of the operands are known."""
    extents: dict[int, int] = {}
    for value, row in zip(operands, indices, strict=True):
        if not row:
            continue
        shape = _known_shape(value.type)
        if shape is None:
            return None
        for size, index in zip(shape, row, strict=True):
            loop = index.loop
            if loop is not None:
                extents[loop] = size
    return tuple(extents[loop] for loop in range(loops)) if len(extents) == loops else None
