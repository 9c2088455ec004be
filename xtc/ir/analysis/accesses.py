# SPDX-License-Identifier: Apache-2.0
"""Loads and stores of buffers: the elements that they access, and whether two may alias."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from xtc.ir.analysis.views import root, shares_nothing
from xtc.ir.mlir import (
    AffineAddExpr,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMapAttr,
    AffineMulExpr,
    AffineSymbolExpr,
    ArrayAttr,
    BlockArgument,
    BoolAttr,
    IntegerAttr,
    MemRefType,
    Operation,
    OpResult,
    Value,
    VectorType,
)

READS = ("memref.load", "vector.load", "vector.maskedload", "vector.transfer_read")
WRITES = ("memref.store", "vector.store", "vector.maskedstore", "vector.transfer_write")
_MASKED = ("vector.maskedload", "vector.maskedstore")
_BUFFERS = {**dict.fromkeys(WRITES, 1), **dict.fromkeys((*READS, *_MASKED), 0)}
"""The number of the buffer operand."""


@dataclass(frozen=True)
class Access:
    """One read or write of a scalar or a vector."""

    op: Operation
    memref: Value
    indices: tuple[Value, ...]

    @staticmethod
    def of(op: Operation) -> Access | None:
        """The access that an operation performs; None for other operations.

        Also None for a transfer that is masked, may be out of bounds, or is not contiguous.
        """
        operand = _BUFFERS.get(op.name)
        if operand is None:
            return None
        operands = op.operands
        memref = operands[operand]
        type = memref.type
        if not isinstance(type, MemRefType):
            return None
        last = operand + 1 + type.rank
        if "transfer" in op.name and not _is_plain(op, last):
            return None
        return Access(op, memref, tuple(operands[operand + 1 : last]))

    @property
    def value(self) -> Value:
        """The value that is read or written."""
        return self.op.results[0] if self.op.name in READS else self.op.operands[self.value_number]

    @property
    def value_number(self) -> int:
        """The number of the operand that a write stores."""
        return len(self.op.operands) - 1 if self.op.name in _MASKED else 0

    @property
    def mask(self) -> tuple[Value, ...]:
        """The mask of its lanes, if it is masked."""
        return (self.op.operands[len(self.indices) + 1],) if self.op.name in _MASKED else ()

    @property
    def is_write(self) -> bool:
        """Whether it is a write."""
        return self.op.name in WRITES

    @cached_property
    def lanes(self) -> int:
        """The number of elements it accesses."""
        type = self.value.type
        return VectorType(type).shape[0] if isinstance(type, VectorType) else 1

    @cached_property
    def subscripts(self) -> tuple[Sum, ...]:
        """Its indices as linear sums."""
        return tuple(map(sum_of, self.indices))

    @cached_property
    def walked(self) -> int:
        """The dimension along which the elements of a vector are contiguous."""
        shape = MemRefType(self.memref.type).shape
        return max((dim for dim, size in enumerate(shape) if size != 1), default=0)

    @cached_property
    def location(self) -> tuple[object, ...]:
        """Equal for two accesses of exactly the same elements with the same type and mask."""
        return (self.memref, self.indices, self.mask, self.value.type)

    def same_location(self, other: Access) -> bool:
        """Whether both access exactly the same elements."""
        return self.location == other.location

    def is_apart(self, other: Access) -> bool:
        """Whether the two cannot access a common element."""
        if self.memref != other.memref:
            return are_distinct(self.memref, other.memref)
        lanes = max(self.lanes, other.lanes)
        walked = self.walked
        for dim, (a, b) in enumerate(zip(self.subscripts, other.subscripts, strict=True)):
            distance = _distance(a, b) if dim <= walked else 0
            if distance and (dim < walked or abs(distance) >= lanes):
                return True
        return False


def _is_plain(op: Operation, end: int) -> bool:
    """Whether a transfer is contiguous and in bounds; its index operands stop before `end`."""
    is_read = op.name in READS
    vector = VectorType((op.results[0] if is_read else op.operands[0]).type)
    bounds = [BoolAttr(bound).value for bound in ArrayAttr(op.attributes["in_bounds"])]
    index_map = AffineMapAttr(op.attributes["permutation_map"]).value
    last = index_map.n_dims - 1
    neighbors = [str(expression) for expression in index_map.results] == [f"d{last}"]
    return vector.rank == 1 and all(bounds) and neighbors and len(op.operands) == end + is_read


def are_distinct(a: Value, b: Value) -> bool:
    """Whether two buffers share no memory."""
    first, second = root(a), root(b)
    if first == second or not (_is_buffer(first) and _is_buffer(second)):
        return False
    if shares_nothing(first) or shares_nothing(second):
        return True
    return _is_global(first) and _is_global(second) and not _same_global(first, second)


def _is_buffer(value: Value) -> bool:
    if isinstance(value, BlockArgument):
        return bool(value.owner.owner.operation.name == "func.func")
    return _producer(value) in ("memref.alloc", "memref.alloca", "memref.get_global")


def _is_global(value: Value) -> bool:
    return isinstance(value, OpResult) and _producer(value) == "memref.get_global"


def _producer(value: Value) -> str:
    """The producer's operation name; the attribute `name` of a get_global names its global."""
    return str(value.owner.operation.name)


def _same_global(a: Value, b: Value) -> bool:
    return str(a.owner.attributes["name"]) == str(b.owner.attributes["name"])


@dataclass
class Sum:
    """A linear sum: values with constant factors, and a constant."""

    terms: dict[Value, int] = field(default_factory=dict)
    constant: int = 0

    def add(self, other: Sum, factor: int = 1) -> Sum:
        for value, count in other.terms.items():
            self.terms[value] = self.terms.get(value, 0) + factor * count
        self.constant += factor * other.constant
        return self


def _distance(a: Sum, b: Sum) -> int | None:
    """`a - b` if it is a constant, else None."""
    if a.terms != b.terms:  # compared first, as nearly all of the many pairs have equal terms
        difference = Sum().add(a).add(b, -1)
        if any(difference.terms.values()):
            return None
    return a.constant - b.constant


def sum_of(value: Value) -> Sum:
    """The linear sum of values that an address or index is."""
    if isinstance(value, OpResult):
        op = value.owner
        if op.name == "arith.constant":
            return Sum({}, IntegerAttr(op.attributes["value"]).value)
        if op.name == "affine.apply":
            index_map = AffineMapAttr(op.attributes["map"]).value
            operands = list(op.operands)
            subscripts = operands[: index_map.n_dims], operands[index_map.n_dims :]
            found = _sum_of_expression(index_map.results[0], *subscripts)
            return found or Sum({value: 1})
    return Sum({value: 1})


def _sum_of_expression(
    expression: AffineExpr, dims: list[Value], symbols: list[Value]
) -> Sum | None:
    """None if the expression is not linear."""
    if isinstance(expression, AffineConstantExpr):
        return Sum({}, expression.value)
    if isinstance(expression, AffineDimExpr):
        return sum_of(dims[expression.position])
    if isinstance(expression, AffineSymbolExpr):
        return sum_of(symbols[expression.position])
    if not isinstance(expression, AffineAddExpr | AffineMulExpr):
        return None
    left = _sum_of_expression(expression.lhs, dims, symbols)
    right = _sum_of_expression(expression.rhs, dims, symbols)
    if left is None or right is None:
        return None
    if isinstance(expression, AffineAddExpr):
        return left.add(right)
    return None if right.terms else Sum().add(left, right.constant)
