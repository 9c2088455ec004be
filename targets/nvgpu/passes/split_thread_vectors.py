# SPDX-License-Identifier: Apache-2.0
"""split-thread-vectors: splits a thread's long vectors into vectors that fit registers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.mlir import (
    BlockArgument,
    DenseElementsAttr,
    DenseI64ArrayAttr,
    DenseIntElementsAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    Value,
    VectorType,
    all_operations,
    arith,
    vector,
)
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._kernels import kernels

_LONG = 16
"""Elements of a vector that is not split."""

_PIECE = 4
"""Elements of a piece: what one access to memory transfers, and half a packed operation's."""


@dataclass(frozen=True)
class SplitThreadVectors(Pass):
    """Split vectors of more than 16 elements into vectors of 4.

    Before:
        %v = vector.from_elements %0, ..., %399 : vector<400xf32>
        %w = arith.addf %v, %v : vector<400xf32>
        %x = vector.extract %w[0] : f32 from vector<400xf32>
    After:
        %v = vector.from_elements %0, %1, %2, %3 : vector<4xf32>
        %w = arith.addf %v, %v : vector<4xf32>
        %x = vector.extract %w[0] : f32 from vector<4xf32>

    LLVM and MLIR take quadratic time for the elements of long vectors. A vector remains whole
    where an operation of another kind, such as a loop, needs it.
    """

    name: ClassVar[str] = "split-thread-vectors"

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in kernels(module):
                _Splitter().run(kernel)


class _Splitter:
    """Splits the vectors of a kernel."""

    def __init__(self) -> None:
        self._pieces: dict[Value, list[Value]] = {}
        self._elements: dict[Value, list[Value]] = {}

    def run(self, kernel: Operation) -> None:
        found = [op for op in all_operations(kernel) if any(map(_is_long, _values(op)))]
        for op in found:
            with op.location, InsertionPoint(op):
                self._split(op)
        for op in reversed(found):
            if op.name in _SPLIT or _is_elementwise(op):
                self._erase_unused(op)

    def _erase_unused(self, op: Operation) -> None:
        if not any(len(list(result.uses)) for result in op.results):
            op.erase()

    def _split(self, op: Operation) -> None:
        if op.name in _SPLIT:
            _SPLIT[op.name](self, op)
        elif _is_elementwise(op):
            self._elementwise(op)

    def _elementwise(self, op: Operation) -> None:
        """Apply an operation to each piece."""
        columns = [
            self._pieces_of(operand) if _is_long(operand) else itertools.repeat(operand)
            for operand in op.operands
        ]
        (result,) = op.results
        element = VectorType(result.type).element_type
        self._pieces[result] = [
            rebuilt(op, operands, [VectorType.get([size], element)]).results[0]
            for size, *operands in zip(_sizes(result), *columns, strict=False)
        ]

    def constant(self, op: Operation) -> None:
        """Split a constant; a splat is one short constant, and one number."""
        (result,) = op.results
        element = VectorType(result.type).element_type
        whole = DenseElementsAttr(op.attributes["value"])
        if whole.is_splat:
            value = whole.get_splat_value()
            shapes = {size: VectorType.get([size], element) for size in set(_sizes(result))}
            pieces = {
                size: arith.constant(type, DenseElementsAttr.get_splat(type, value))
                for size, type in shapes.items()
            }
            self._pieces[result] = [pieces[size] for size in _sizes(result)]
            self._elements[result] = [arith.constant(element, value)] * _count(result)
            return
        if isinstance(element, IntegerType):
            numbers = DenseIntElementsAttr(whole)
            self._elements[result] = [
                arith.constant(element, IntegerAttr.get(element, numbers[at]))
                for at in range(_count(result))
            ]

    def from_elements(self, op: Operation) -> None:
        """Keep the elements; pieces are made where they are needed."""
        self._elements[op.results[0]] = list(op.operands)

    def broadcast(self, op: Operation) -> None:
        """Broadcast a scalar."""
        if not isinstance(op.operands[0].type, VectorType):
            self._elements[op.results[0]] = [op.operands[0]] * _count(op.results[0])

    def shuffle(self, op: Operation) -> None:
        """Pick the elements of one or two vectors."""
        first, second = op.operands
        count = _count(first)
        picked = [
            self._element(first, n) if n < count else self._element(second, n - count)
            for n in DenseI64ArrayAttr(op.attributes["mask"])
        ]
        self._hand(op, picked)

    def extract(self, op: Operation) -> None:
        """Take an element."""
        positions = list(DenseI64ArrayAttr(op.attributes["static_position"]))
        if len(op.operands) == 1 and len(positions) == 1:
            op.results[0].replace_all_uses_with(self._element(op.operands[0], positions[0]))

    def bitcast(self, op: Operation) -> None:
        """Reinterpret each piece."""
        (result,), source = op.results, op.operands[0]
        element = VectorType(result.type).element_type
        bits = [
            _count(piece) * VectorType(piece.type).element_type.width
            for piece in self._pieces_of(source)
        ]
        if any(n % element.width for n in bits):
            return
        elements: list[Value] = []
        for piece, n in zip(self._pieces_of(source), bits, strict=True):
            type = VectorType.get([n // element.width], element)
            cast = vector.bitcast(type, piece)
            elements += [vector.extract(cast, [], [at]) for at in range(type.shape[0])]
        self._hand(op, elements)

    def _hand(self, op: Operation, elements: list[Value]) -> None:
        """Keep a result's elements; a short result becomes a vector again."""
        (result,) = op.results
        if _is_long(result):
            self._elements[result] = elements
        else:
            result.replace_all_uses_with(vector.from_elements(result.type, elements))

    def _element(self, whole: Value, at: int) -> Value:
        if whole in self._elements:
            return self._elements[whole][at]
        if whole in self._pieces:
            return vector.extract(self._pieces[whole][at // _PIECE], [], [at % _PIECE])
        return vector.extract(whole, [], [at])

    def _pieces_of(self, whole: Value) -> list[Value]:
        if whole not in self._pieces:
            element = VectorType(whole.type).element_type
            with _defined(whole):
                elements = [self._element(whole, at) for at in range(_count(whole))]
                self._pieces[whole] = [
                    vector.from_elements(
                        VectorType.get([size], element), elements[first : first + size]
                    )
                    for first, size in zip(itertools.count(0, _PIECE), _sizes(whole), strict=False)
                ]
        return self._pieces[whole]


_SPLIT: Mapping[str, Callable[[_Splitter, Operation], None]] = MappingProxyType(
    {
        "arith.constant": _Splitter.constant,
        "vector.from_elements": _Splitter.from_elements,
        "vector.broadcast": _Splitter.broadcast,
        "vector.shuffle": _Splitter.shuffle,
        "vector.extract": _Splitter.extract,
        "vector.bitcast": _Splitter.bitcast,
    }
)
"""How operations other than elementwise ones are split, by name."""


def _values(op: Operation) -> list[Value]:
    return [*op.operands, *op.results]


def _is_long(value: Value) -> bool:
    return isinstance(value.type, VectorType) and _count(value) > _LONG


def _count(value: Value) -> int:
    return int(VectorType(value.type).shape[0])


def _sizes(value: Value) -> list[int]:
    """The elements of each piece."""
    count = _count(value)
    return [min(_PIECE, count - first) for first in range(0, count, _PIECE)]


def _is_elementwise(op: Operation) -> bool:
    """Whether an operation computes each element of its only result from those of operands."""
    if not op.name.startswith(("arith.", "math.")) or len(op.results) != 1 or len(op.regions):
        return False
    return op.name != "arith.constant" and all(
        _is_long(value) or not isinstance(value.type, VectorType) for value in _values(op)
    )


def _defined(value: Value) -> InsertionPoint:
    """Where a value is known first; an operation that defines it is still there."""
    if isinstance(value, BlockArgument):
        return InsertionPoint.at_block_begin(value.owner)
    return InsertionPoint.after(value.owner)
