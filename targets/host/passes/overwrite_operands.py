# SPDX-License-Identifier: Apache-2.0
"""overwrite-operands: lets results overwrite operands that nothing reads later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.effects import is_memref
from xtc.ir.analysis.views import shares_nothing
from xtc.ir.mlir import (
    AffineMap,
    BlockArgument,
    InsertionPoint,
    MemRefType,
    Operation,
    Value,
    memref,
)
from xtc.ir.passes import Pass
from xtc_passes.local._functions import ancestor_in
from xtc_passes.local._view_layouts import nbytes
from xtc_targets.host.passes._element_order import Use, come_before, is_known, uses_of


@dataclass(frozen=True)
class OverwriteOperands(Pass):
    """Put a result into the buffer of an operand that its operation reads last.

    Before:
        linalg.generic ins(%x, %y) outs(%sum)    // %sum[i] = %x[i] + %y[i]; %x is not read again
    After:
        linalg.generic ins(%x, %y) outs(%x)

    The operation may be a loop nest if each iteration reads its elements of the operand before it
    writes those of the result, as in a row-wise normalization or in a loop that threads share by
    rows. A convolution that adds a residual starts its accumulators in the result first, so the
    residual keeps its buffer. Both buffers are dense and of the same size. If one of them is an
    argument for a result, the argument is kept.
    """

    name: ClassVar[str] = "overwrite-operands"

    def run(self, module: Operation) -> None:
        for function in [op.operation for op in module.regions[0].blocks[0].operations]:
            if function.name == "func.func" and len(function.regions[0].blocks) == 1:
                with module.context, function.location:
                    _overwrite(function)


@dataclass(frozen=True)
class _Buffer:
    """An allocation or an argument, and its uses by position of the function's operations."""

    value: Value
    uses: tuple[tuple[int, Use], ...]

    @property
    def first(self) -> int:
        """The position of the first operation that uses it."""
        return min(number for number, _ in self.uses)

    @property
    def last(self) -> int:
        """The position of the last operation that uses it."""
        return max(number for number, _ in self.uses)

    @property
    def type(self) -> MemRefType:
        """Its type: shape and element type."""
        return MemRefType(self.value.type)

    def at(self, number: int) -> list[Use]:
        """Its uses in an operation of the function."""
        return [use for around, use in self.uses if around == number]

    def fits(self, other: _Buffer) -> bool:
        """Whether it has the same size and element type."""
        same_element = self.type.element_type == other.type.element_type
        return same_element and nbytes(self.type) == nbytes(other.type)


def _overwrite(function: Operation) -> None:
    """Merge buffers, in the order in which results are written."""
    ending: dict[int, list[_Buffer]] = {}
    for result in sorted(_buffers(function), key=lambda buffer: buffer.first):
        at = result.first
        fitting = [operand for operand in ending.get(at, []) if _takes(result, operand, at)]
        if fitting:
            ending[at].remove(fitting[0])
        created = _merged(fitting[0], result) if fitting else result
        if not isinstance(created.value, BlockArgument):
            ending.setdefault(created.last, []).append(created)


def _takes(result: _Buffer, operand: _Buffer, at: int) -> bool:
    return operand.fits(result) and come_before(operand.at(at), result.at(at), operand.type.shape)


def _buffers(function: Operation) -> list[_Buffer]:
    """The allocations of a function and its arguments for results, if all uses are known."""
    ops = [op.operation for op in function.regions[0].blocks[0].operations]
    order = {op: number for number, op in enumerate(ops)}
    values = [op.results[0] for op in ops if op.name == "memref.alloc" and not len(op.operands)]
    arguments = function.regions[0].blocks[0].arguments
    values += [value for value in arguments if is_memref(value) and shares_nothing(value)]
    found = [_buffer(value, order, function) for value in values]
    return [buffer for buffer in found if buffer is not None]


def _buffer(value: Value, order: Mapping[Operation, int], function: Operation) -> _Buffer | None:
    type, uses = MemRefType(value.type), list(uses_of(value))
    is_dense = type.has_static_shape and type.affine_map == AffineMap.get_identity(type.rank)
    if not uses or not is_dense or not all(map(is_known, uses)):
        return None
    around = [ancestor_in(use.op, function) for use in uses]
    found = _Buffer(
        value, tuple((order[op], use) for op, use in zip(around, uses, strict=True) if op)
    )
    is_argument = isinstance(value, BlockArgument)
    return None if is_argument and not _is_for_a_result(found) else found


def _is_for_a_result(argument: _Buffer) -> bool:
    """Whether the initial contents of an argument are provably never read.

    It is only written, or its first use overwrites all of it.
    """
    if all(use.is_overwriting for _, use in argument.uses):
        return True
    uses = argument.at(argument.first)
    return len(uses) == 1 and uses[0].is_overwriting and uses[0].view == argument.value


def _merged(operand: _Buffer, result: _Buffer) -> _Buffer:
    """Use one buffer for both: an argument, or else the operand's."""
    is_argument = isinstance(result.value, BlockArgument)
    kept, other = (result, operand) if is_argument else (operand, result)
    alloc = other.value.owner
    if not is_argument and alloc.is_before_in_block(kept.value.owner):
        kept.value.owner.move_before(alloc)
    with alloc.location:
        other.value.replace_all_uses_with(_reshaped(kept.value, other.type, alloc))
    alloc.erase()
    return _Buffer(kept.value, (*operand.uses, *result.uses))


def _reshaped(value: Value, type: MemRefType, before: Operation) -> Value:
    """A dense buffer in another shape, or the buffer itself if it has that shape."""
    if value.type == type:
        return value
    static = ([0], list(type.shape), list(type.get_strides_and_offset()[0]))
    ip = InsertionPoint(before)
    return memref.ReinterpretCastOp(type, value, [], [], [], *static, ip=ip).result
