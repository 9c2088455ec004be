# SPDX-License-Identifier: Apache-2.0
"""roll-elementwise: computes long elementwise sequences of large register tiles in loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders.control import loop
from xtc.ir.builders.llvm import advanced, stored_bytes
from xtc.ir.builders.numbers import constant
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.mlir import (
    DenseElementsAttr,
    InsertionPoint,
    IntegerType,
    Operation,
    Type,
    Value,
    VectorType,
    all_operations,
    arith,
    vector,
)
from xtc.ir.mlir_llvm import llvm
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._elementwise_groups import Group, groups_in, is_splat, is_vector
from xtc_targets.nvgpu.passes._kernels import kernels

_PIECE = 4
"""Elements that an iteration computes: independent instructions, and accesses of 16 bytes."""


@dataclass(frozen=True)
class RollElementwise(Pass):
    """Compute elementwise operations on long vectors of a thread in a loop, by four elements.

    Before:
        %y = math.sin %x : vector<128xf32>
        %z = arith.mulf %y, %y : vector<128xf32>
    After:
        llvm.store %x0, %array[0] ; ... ; llvm.store %x31, %array[496]
        scf.for %n = 0 to 32 {
          %v = llvm.load %array[16 * %n] : vector<4xf32>
          %y = math.sin %v ; %z = arith.mulf %y, %y ; llvm.store %z, %array[16 * %n] }
        %z0 = llvm.load %array[0] : vector<4xf32> ; ...

    Straight-line code is as long as the sequence times the elements. For long code, LLVM and ptxas
    take seconds, ptxas spills, and the instruction cache is too small. Registers cannot be indexed
    at run time, so operands and results pass through local memory.

    Attributes:
        most: the most instructions of a sequence that remains straight-line code.
        stack_bytes: the most bytes of a thread's arrays.
    """

    name: ClassVar[str] = "roll-elementwise"
    most: int = 4000
    stack_bytes: int = 16 << 10

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in kernels(module):
                arrays = _Arrays(kernel, self.stack_bytes)
                blocks = {op.block: None for op in all_operations(kernel)[1:]}
                for group in [group for block in blocks for group in groups_in(block)]:
                    if group.instructions > self.most:
                        with group.ops[0].location, InsertionPoint(group.before):
                            _roll(group, arrays)


class _Arrays:
    """The arrays of a thread, which groups use one after the other."""

    def __init__(self, kernel: Operation, most: int) -> None:
        self._kernel, self._left = kernel, most
        self._found: dict[tuple[Type, int], list[Value]] = {}

    def of_group(self, group: Group) -> dict[Value, Value] | None:
        """The arrays of a group's inputs and outputs; None if they take too many bytes.

        An output has the array of an input with elements of the same type, which an iteration has
        read before it writes.
        """
        pieces = -(-group.count // _PIECE)
        inputs = [(value, _stored(value)) for value in group.inputs()]
        outputs = [(value, _stored(value)) for value in group.outputs()]
        types = dict.fromkeys(type for _, type in (*inputs, *outputs))
        wanted = {t: max(sum(t == u for _, u in side) for side in (inputs, outputs)) for t in types}
        missing = {t: n - len(self._found.get((t, pieces), [])) for t, n in wanted.items()}
        nbytes = sum(max(0, n) * pieces * stored_bytes(t) for t, n in missing.items())
        if nbytes > self._left:
            return None
        self._left -= nbytes
        for type, number in missing.items():
            known = self._found.setdefault((type, pieces), [])
            known += [self._allocated(type, pieces) for _ in range(number)]
        return {
            value: array
            for side in (inputs, outputs)
            for type in types
            for value, array in zip(
                (v for v, t in side if t == type), self._found[type, pieces], strict=False
            )
        }

    def _allocated(self, type: Type, pieces: int) -> Value:
        ip = InsertionPoint.at_block_begin(self._kernel.regions[0].blocks[0])
        with self._kernel.location:
            number = arith.constant(IntegerType.get_signless(32), pieces, ip=ip)
            pointer = Type.parse("!llvm.ptr")
            return llvm.alloca(pointer, number, type, alignment=ACCESS_BYTES, ip=ip)


def _roll(group: Group, arrays: _Arrays) -> None:
    """Replace the operations of a group by a loop."""
    array_of = arrays.of_group(group)
    if array_of is None:
        return
    outputs = group.outputs()
    i32 = IntegerType.get_signless(32)
    for value in group.inputs():
        for number, piece in enumerate(_pieces(value)):
            _store(piece, array_of[value], number)
    first, end = (constant(n, i32) for n in (0, -(-group.count // _PIECE)))
    with loop(first, end) as pieces:
        _compute(group, array_of, outputs, pieces.index)
    for value in outputs:
        value.replace_all_uses_with(_whole(value.type, array_of[value]))
    for op in reversed(group.ops):
        op.erase()


def _compute(
    group: Group, array_of: dict[Value, Value], outputs: list[Value], number: Value
) -> None:
    """The operations of a group for one piece."""
    pieces = {
        value: _load(VectorType(value.type).element_type, array_of[value], number)
        for value in group.inputs()
    }
    for op in group.ops:
        for value in op.operands:
            if is_vector(value) and value not in pieces:
                pieces[value] = _splat(value)
        operands = [pieces.get(value, value) for value in op.operands]
        type = VectorType.get([_PIECE], VectorType(op.results[0].type).element_type)
        with op.location:
            pieces[op.results[0]] = rebuilt(op, operands, [type]).results[0]
    for value in outputs:
        _store(pieces[value], array_of[value], number)


def _splat(value: Value) -> Value:
    """A piece of a vector whose elements are one number."""
    assert is_splat(value)  # noqa: S101  other vectors are inputs, or results of the group
    owner = value.owner
    type = VectorType.get([_PIECE], VectorType(value.type).element_type)
    if owner.name == "vector.broadcast":
        return vector.broadcast(type, owner.operands[0])
    number = DenseElementsAttr(owner.attributes["value"]).get_splat_value()
    return arith.constant(type, DenseElementsAttr.get_splat(type, number))


def _pieces(value: Value) -> Iterator[Value]:
    """The pieces of a vector; its last element is repeated to fill the last one."""
    whole = VectorType(value.type)
    count = whole.shape[0]
    type = VectorType.get([_PIECE], whole.element_type)
    for first in range(0, count, _PIECE):
        taken = (min(at, count - 1) for at in range(first, first + _PIECE))
        yield vector.from_elements(type, [vector.extract(value, [], [at]) for at in taken])


def _whole(type: VectorType, array: Value) -> Value:
    """The vector that an array holds."""
    count = type.shape[0]
    pieces = [_load(type.element_type, array, n) for n in range(-(-count // _PIECE))]
    elements = [vector.extract(pieces[at // _PIECE], [], [at % _PIECE]) for at in range(count)]
    return vector.from_elements(type, elements)


def _stored(value: Value) -> VectorType:
    """The type of a piece in memory, where a truth value takes a byte."""
    element = VectorType(value.type).element_type
    return VectorType.get([_PIECE], IntegerType.get_signless(8) if _is_truth(element) else element)


def _is_truth(element: Type) -> bool:
    return isinstance(element, IntegerType) and element.width == 1


def _load(element: Type, array: Value, number: Value | int) -> Value:
    """A piece of an array."""
    type = VectorType.get([_PIECE], element)
    if _is_truth(element):
        return arith.trunci(type, _load(IntegerType.get_signless(8), array, number))
    return llvm.load(type, _address(type, array, number), alignment=_alignment(type))


def _store(piece: Value, array: Value, number: Value | int) -> None:
    """Write a piece of an array."""
    type = _stored(piece)
    stored = arith.extui(type, piece) if type != piece.type else piece
    llvm.store(stored, _address(type, array, number), alignment=_alignment(type))


def _address(type: VectorType, array: Value, number: Value | int) -> Value:
    nbytes = stored_bytes(type)
    if isinstance(number, int):
        return advanced(array, number * nbytes)
    return advanced(array, arith.muli(number, arith.constant(number.type, nbytes)))


def _alignment(type: VectorType) -> int:
    return min(ACCESS_BYTES, stored_bytes(type))
