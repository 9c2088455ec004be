# SPDX-License-Identifier: Apache-2.0
"""split-vectors: splits vectors of any shape into vectors of rank 1 that fit a register."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from xtc.core.errors import CompileError
from xtc.ir.analysis.linalg_ops import dict_of
from xtc.ir.analysis.views import root
from xtc.ir.builders import vector_pieces
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.builders.vector_pieces import Access, Cut, Pieces
from xtc.ir.diagnostics import first_line, user_line
from xtc.ir.mlir import (
    AffineMap,
    AffineMapAttr,
    DenseElementsAttr,
    InsertionPoint,
    Operation,
    Type,
    Value,
    VectorType,
    all_operations,
    arith,
)
from xtc.ir.passes import Pass

_WORD_BITS = 32
_TRAPPING = ("divsi", "divui", "remsi", "remui")
_INSTRUCTIONS = (
    "math.absf",
    "math.absi",
    "math.ceil",
    "math.copysign",
    "math.floor",
    "math.fma",
    "math.roundeven",
    "math.sqrt",
    "math.trunc",
)


@dataclass(frozen=True)
class SplitVectors(Pass):
    """Split vectors into vectors of rank 1 with a power of two lanes and at most `bits` bits.

    Before (bits=256):
        %v = vector.transfer_read %a[%i, %j], %p : memref<8x64xf32>, vector<12xf32>
        %w = arith.addf %v, %v : vector<12xf32>
    After:
        %v0 = vector.load %a[%i, %j] : memref<8x64xf32>, vector<8xf32>
        %v1 = vector.load %a[%i, %j + 8] : memref<8x64xf32>, vector<4xf32>
        %w0 = arith.addf %v0, %v0 : vector<8xf32>
        %w1 = arith.addf %v1, %v1 : vector<4xf32>

    Vectors that depend on each other are split alike, by the widest element among them. Strided
    memory is read and written element by element.

    A remainder that takes several pieces, such as 7 = 4 + 2 + 1, becomes one piece whose last lanes
    are masked in memory (`vector.maskedload`, `vector.maskedstore`):

    - if vectors are accumulated, as in a contraction, whose loads and stores leave the loop.
      Elsewhere masked accesses cross more cache lines and cost more than they save;
    - if they are initial values or readers of such vectors: several stores are not forwarded to one
      load, and equal accesses of one vector stay in a register;
    - if elements have 8 or 16 bits, because each short vector of these takes several instructions;
    - but not if a masked lane may trap or calls a function.

    Attributes:
        bits: width of the machine's vector registers.
        masked_bits: width of the narrowest elements that the machine can mask in memory; 0 if it
            has no masks.
    """

    name: ClassVar[str] = "split-vectors"
    bits: int = 128
    masked_bits: int = 0

    def run(self, module: Operation) -> None:
        vectors = {op: found for op in all_operations(module) if (found := _vectors(op))}
        operations = list(vectors)
        splitter = _Splitter(_shapes(vectors, self.bits, self.masked_bits))
        for op in operations:
            with op.context, op.location, InsertionPoint(op):
                splitter.split(op)
        for op in reversed(operations):
            op.erase()


def _vectors(op: Operation) -> list[Value]:
    values = [*op.operands, *op.results]
    return [value for value in values if isinstance(value.type, VectorType)]


_Rows: TypeAlias = tuple[Value, int]


@dataclass
class _Group:
    """Vectors that depend on each other and are split alike.

    Attributes:
        widths: widths of their elements, except for truth values.
        reads, writes: the buffers that they are read from and written to, each with the lanes of a
            vector.
        scalar: whether an operation on them may trap, or calls a function for each lane.
    """

    widths: set[int] = field(default_factory=set)
    reads: set[_Rows] = field(default_factory=set)
    writes: set[_Rows] = field(default_factory=set)
    scalar: bool = False

    @property
    def accumulated(self) -> set[_Rows]:
        """The buffers that are read and written."""
        return self.reads & self.writes

    def add(self, op: Operation) -> None:
        """Record an operation on vectors of the group."""
        self.scalar |= _is_scalar(op)
        if op.name == "vector.transfer_read":
            self.reads.add((root(op.operands[0]), _lanes(op.results[0])))
        elif op.name == "vector.transfer_write":
            self.writes.add((root(op.operands[1]), _lanes(op.operands[0])))

    def shape(self, bits: int, masked_bits: int, accumulated: set[_Rows]) -> _Shape:
        """The split of the group's vectors, where some group accumulates in these buffers."""
        narrowest, widest = min(self.widths, default=1), max(self.widths, default=1)
        pays = narrowest < _WORD_BITS or not accumulated.isdisjoint(self.reads | self.writes)
        masks = 0 < masked_bits <= narrowest and pays and not self.scalar
        return _Shape(max(1, bits // widest), masks)


def _lanes(vector: Value) -> int:
    """The size of a vector's last dimension; 1 if it has none."""
    shape = list(VectorType(vector.type).shape)
    return shape[-1] if shape else 1


@dataclass(frozen=True)
class _Shape:
    """The most lanes that a piece has, and whether lanes may be masked."""

    lanes: int
    masks: bool


def _shapes(
    vectors: Mapping[Operation, Sequence[Value]], bits: int, masked_bits: int
) -> dict[Value, _Shape]:
    """The split of each vector, of operations with their vector operands and results."""
    parent: dict[Value, Value] = {}

    def first_of(value: Value) -> Value:
        first = value
        while (before := parent.setdefault(first, first)) is not first:
            first = before
        if first is not value:
            parent[value] = first  # the next search is short
        return first

    for first, *others in vectors.values():
        head = first_of(first)
        for other in others:
            parent[first_of(other)] = head
    groups: dict[Value, _Group] = {}
    widths: dict[Type, int] = {}
    for value in parent:
        element = VectorType(value.type).element_type
        if element not in widths:
            widths[element] = vector_pieces.element_bits(element)
        groups.setdefault(first_of(value), _Group()).widths |= {widths[element]} - {0}
    for op, (first, *_) in vectors.items():
        groups[first_of(first)].add(op)
    accumulated = {rows for group in groups.values() for rows in group.accumulated}
    shapes = {value: group.shape(bits, masked_bits, accumulated) for value, group in groups.items()}
    return {value: shapes[first_of(value)] for value in parent}


def _is_scalar(op: Operation) -> bool:
    """Whether lanes are computed one by one: a masked lane may divide by zero, or costs a call."""
    name = str(op.name)
    if name.startswith("math."):
        return name not in _INSTRUCTIONS
    return name.startswith("arith.") and name.endswith(_TRAPPING)


@dataclass
class _Splitter:
    shapes: dict[Value, _Shape]
    pieces: dict[Value, Pieces] = field(default_factory=dict)

    def split(self, op: Operation) -> None:
        rule = _RULES.get(op.name)
        if rule is None and op.name.startswith(("arith.", "math.")):
            rule = _elementwise
        if rule is None:
            raise _refusal(op, "is not known to split-vectors")
        rule(self, op)

    def cuts(self, value: Value) -> tuple[Cut, ...]:
        shape = self.shapes[value]
        sizes = tuple(VectorType(value.type).shape)
        return vector_pieces.cuts(sizes, shape.lanes, masks=shape.masks)


def _refusal(op: Operation, why: str) -> CompileError:
    return CompileError(
        f"{op.name} {why}",
        where=user_line(op),
        notes=[first_line(op)],
        hints=["leave the loop that becomes these vectors out of vectorize"],
    )


def _elementwise(splitter: _Splitter, op: Operation) -> None:
    """The operation on each piece; a scalar operand, such as the condition of a select, is kept."""
    (result,) = op.results
    element = VectorType(result.type).element_type
    values, attributes = list(op.operands), dict_of(op)
    operands = [splitter.pieces.get(operand) for operand in values]
    splitter.pieces[result] = [
        rebuilt(
            op,
            [
                value if pieces is None else pieces[number]
                for value, pieces in zip(values, operands, strict=True)
            ],
            [vector_pieces.piece_type(element, cut.lanes)],
            attributes,
        ).results[0]
        for number, cut in enumerate(splitter.cuts(result))
    ]


def _constant(splitter: _Splitter, op: Operation) -> None:
    (result,) = op.results
    attribute = op.attributes["value"]
    if not isinstance(attribute, DenseElementsAttr) or not attribute.is_splat:
        raise _refusal(op, "has elements that differ")
    value = arith.constant(VectorType(result.type).element_type, attribute.get_splat_value())
    splitter.pieces[result] = [
        vector_pieces.broadcast(value, cut.lanes) for cut in splitter.cuts(result)
    ]


def _broadcast(splitter: _Splitter, op: Operation) -> None:
    (source,), (result,) = op.operands, op.results
    if isinstance(source.type, VectorType):
        raise _refusal(op, "broadcasts a vector")
    splitter.pieces[result] = [
        vector_pieces.broadcast(source, cut.lanes) for cut in splitter.cuts(result)
    ]


def _extract(splitter: _Splitter, op: Operation) -> None:
    """An element, or the subvector at constant positions of the first dimensions."""
    (source, *dynamic), (result,) = op.operands, op.results
    position = tuple(op.attributes["static_position"])
    if dynamic:
        raise _refusal(op, "has a position that is not constant")
    cuts, pieces = splitter.cuts(source), splitter.pieces[source]
    if isinstance(result.type, VectorType):
        splitter.pieces[result] = [
            piece
            for cut, piece in zip(cuts, pieces, strict=True)
            if cut.outer[: len(position)] == position
        ]
        return
    for cut, piece in zip(cuts, pieces, strict=True):
        lane = position[-1] - cut.start if position else 0
        if cut.outer == position[:-1] and 0 <= lane < cut.used:
            result.replace_all_uses_with(vector_pieces.lane_of(piece, cut, lane))


def _read(splitter: _Splitter, op: Operation) -> None:
    (result,) = op.results
    source, *rest = op.operands
    access = _access(op, source, rest[: len(rest) - 1])
    splitter.pieces[result] = [vector_pieces.read(access, cut) for cut in splitter.cuts(result)]


def _write(splitter: _Splitter, op: Operation) -> None:
    value, target, *indices = op.operands
    access = _access(op, target, indices)
    if None in access.dims:
        raise _refusal(op, "writes several elements to one place")
    pieces = zip(splitter.pieces[value], splitter.cuts(value), strict=True)
    for piece, cut in pieces:
        vector_pieces.write(piece, access, cut)


def _access(op: Operation, memref: Value, indices: Sequence[Value]) -> Access:
    """The location that a transfer accesses. Raises CompileError if it may leave the buffer."""
    segments = list(op.attributes["operandSegmentSizes"])
    if segments[-1] or not all(bound.value for bound in op.attributes["in_bounds"]):
        raise _refusal(op, "may leave its buffer, or has a mask")
    index_map: AffineMap = AffineMapAttr(op.attributes["permutation_map"]).value
    return Access.of(memref, indices, index_map)


_RULES: dict[str, Callable[[_Splitter, Operation], None]] = {
    "arith.constant": _constant,
    "vector.broadcast": _broadcast,
    "vector.extract": _extract,
    "vector.transfer_read": _read,
    "vector.transfer_write": _write,
}
