# SPDX-License-Identifier: Apache-2.0
"""inline-producers: computes elementwise producers on the vectors that read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import Structured, body_operations, is_shaped, structured
from xtc.ir.builders import numbers
from xtc.ir.builders.numbers import Number
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.mlir import (
    AffineConstantExpr,
    AffineDimExpr,
    AffineMap,
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    InsertionPoint,
    Operation,
    Value,
    VectorType,
    outer_operations,
    ub,
    vector,
)
from xtc.ir.passes import Pass
from xtc_targets.host.passes._vector_readings import Reading, reading_of


@dataclass(frozen=True)
class InlineProducers(Pass):
    """Compute an elementwise operation on the vectors that read its result, each element once.

    The result needs no buffer, and its operands are read as stored: quantized weights are converted
    in registers. Nothing is computed twice: each iteration of the loops between the operation and
    the vector must read a different part of the result.

    Before:
        %w = linalg.generic ins(%codes : tensor<16x64xi8>) { arith.sitofp }
        scf.for %k = 0 to 16 {
          %row = tensor.extract_slice %w[%k, 0] [1, 64] [1, 1]
          %v = vector.transfer_read %row[%c0]
    After:
        scf.for %k = 0 to 16 {
          %u = vector.transfer_read %codes[%k, %c0] : tensor<16x64xi8>, vector<64xi8>
          %v = arith.sitofp %u : vector<64xi8> to vector<64xf32>
    """

    name: ClassVar[str] = "inline-producers"

    def run(self, module: Operation) -> None:
        with module.context:
            generics = [op for op in outer_operations(module) if op.name == "linalg.generic"]
            for op in generics:
                nest = structured(op)
                if nest is not None and _is_suitable(nest):
                    reading = reading_of(nest.op)
                    if reading is not None:
                        with op.location:
                            _inline(nest, reading)


def _is_suitable(nest: Structured) -> bool:
    """Whether the body works on vectors, and each operand has an element per lane."""
    indices = [index for row in nest.indices for index in row]
    return (
        len(nest.op.results) == 1
        and not nest.reductions
        and not nest.reads_destination
        and all(is_shaped(operand) for operand in nest.op.operands)
        and all(index.loop is not None or not index.factors for index in indices)
        and all(op.name.startswith("arith.") for op in body_operations(nest.op)[:-1])
    )


def _inline(nest: Structured, reading: Reading) -> None:
    """Compute the vector that is read, and erase the operation."""
    vectors = _Vectors(VectorType(reading.op.results[0].type).shape, reading.ip)
    begins = [vectors.sum(row) for row in reading.offsets]
    values = {
        nest.body.arguments[number]: vectors.read(operand, *_window(nest, number, reading, begins))
        for number, operand in enumerate(list(nest.op.operands)[: nest.destination])
    }
    *body, result = body_operations(nest.op)
    for op in body:
        values[op.results[0]] = vectors.compute(op, [values.get(v, v) for v in op.operands])
    (found,) = result.operands
    reading.op.results[0].replace_all_uses_with(vectors.of(values.get(found, found)))
    reading.erase()
    nest.op.erase()


def _window(
    nest: Structured, number: int, reading: Reading, begins: Sequence[Number]
) -> tuple[list[Number], list[int | None]]:
    """The offsets of the vector in an operand, and the operand's dimensions along it."""
    dims = {loop: dim for dim, loop in enumerate(nest.out)}
    row = nest.indices[number]
    own = {dims[index.loop]: n for n, index in enumerate(row) if index.loop is not None}
    starts = [index.offset if index.loop is None else begins[dims[index.loop]] for index in row]
    return starts, [own.get(dim) if dim is not None else None for dim in reading.lanes]


@dataclass(frozen=True)
class _Vectors:
    """Vectors of one shape, computed at one point."""

    shape: Sequence[int]
    ip: InsertionPoint

    def sum(self, terms: Sequence[Number]) -> Number:
        total: Number = 0
        for term in terms:
            total = numbers.add(total, term, self.ip)
        return total

    def read(self, source: Value, starts: Sequence[Number], dims: Sequence[int | None]) -> Value:
        """Read a vector from a tensor along these of its dimensions; None broadcasts."""
        lanes = [AffineConstantExpr.get(0) if d is None else AffineDimExpr.get(d) for d in dims]
        element = source.type.element_type
        return vector.transfer_read(
            VectorType.get(self.shape, element),
            source,
            [numbers.as_value(start, self.ip) for start in starts],
            AffineMapAttr.get(AffineMap.get(len(starts), 0, lanes)),
            ub.poison(element, ip=self.ip),
            ArrayAttr.get([BoolAttr.get(True)] * len(lanes)),
            ip=self.ip,
        )

    def compute(self, op: Operation, operands: Sequence[Value]) -> Value:
        """The result of an operation of a body on vectors."""
        if not operands:
            return op.clone(ip=self.ip).operation.results[0]
        type = VectorType.get(self.shape, op.results[0].type)
        return rebuilt(op, [self.of(value) for value in operands], [type], ip=self.ip).results[0]

    def of(self, value: Value) -> Value:
        """`value` as a vector; a scalar is broadcast."""
        if isinstance(value.type, VectorType):
            return value
        return vector.broadcast(VectorType.get(self.shape, value.type), value, ip=self.ip)
