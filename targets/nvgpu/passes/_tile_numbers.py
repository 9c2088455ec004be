# SPDX-License-Identifier: Apache-2.0
"""What is known of the run-time integers of a tile kernel: divisors, and bounds of loops."""

from __future__ import annotations

import math

from xtc.ir.builders.numbers import known
from xtc.ir.builders.tile import dims_of
from xtc.ir.mlir import (
    BlockArgument,
    IntegerAttr,
    MemRefType,
    Operation,
    RankedTensorType,
    ShapedType,
    Value,
    all_operations,
)
from xtc_targets.nvgpu.description import ACCESS_BYTES

_UNKNOWN = ShapedType.get_dynamic_size()
_EQUAL = 0  # the predicate of arith.cmpi
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui")


class Numbers:
    """Facts about the integers of one kernel."""

    def __init__(self, kernel: Operation) -> None:
        self._assumed: dict[Value, int] = {}
        self._divisors: dict[Value, int] = {}
        for op in all_operations(kernel):
            if op.name == "tile.assume":
                self._assume(op.operands[0])

    def _assume(self, condition: Value) -> None:
        """Learn from `x % c == 0`, and from several such conditions joined by `and`."""
        op = _owner(condition)
        if op is None:
            return
        if op.name == "arith.andi":
            for part in op.operands:
                self._assume(part)
        if op.name != "arith.cmpi" or IntegerAttr(op.attributes["predicate"]).value != _EQUAL:
            return
        rest, zero = (_owner(value) for value in op.operands)
        if known(op.operands[1]) != 0 or rest is None or zero is None:
            return
        divisor = known(rest.operands[1]) if rest.name in ("arith.remsi", "arith.remui") else None
        if isinstance(divisor, int):
            value = rest.operands[0]
            self._assumed[value] = math.lcm(self._assumed.get(value, 1), divisor)

    def divisor(self, value: Value | int) -> int:
        """A number that divides the value; 0 divides only 0."""
        if isinstance(value, int):
            return abs(value)
        if value not in self._divisors:
            self._divisors[value] = 1  # of a value that depends on itself
            self._divisors[value] = math.lcm(self._found(value), self._assumed.get(value, 1))
        return self._divisors[value]

    def _found(self, value: Value) -> int:
        number = known(value)
        if isinstance(number, int):
            return abs(number)
        if isinstance(value, BlockArgument):
            return self._of_argument(value)
        op = _owner(value)
        if op is None:
            return 1
        if op.name == "arith.muli":
            return self.divisor(op.operands[0]) * self.divisor(op.operands[1])
        if op.name in ("arith.addi", "arith.subi", "arith.remsi", "arith.remui"):
            return math.gcd(*(self.divisor(operand) for operand in op.operands))
        if op.name == "arith.select":
            return math.gcd(*(self.divisor(operand) for operand in list(op.operands)[1:]))
        if op.name == "arith.shli":
            shift = known(op.operands[1])
            return self.divisor(op.operands[0]) << shift if isinstance(shift, int) else 1
        return self.divisor(op.operands[0]) if op.name in _CASTS else 1

    def _of_argument(self, value: BlockArgument) -> int:
        op = value.owner.owner
        if op.name == "scf.for" and value.arg_number == 0:
            return math.gcd(self.divisor(op.operands[0]), self.divisor(op.operands[2]))
        return 1

    def fits(self, offset: Value, extent: int, size: Value | int) -> bool:
        """Whether `offset + extent` is known to be at most `size`, and `offset` not negative."""
        number = known(offset)
        if isinstance(number, int) and isinstance(size, int):
            return number >= 0 and number + extent <= size
        if not isinstance(offset, BlockArgument) or offset.arg_number != 0:
            return False
        op = offset.owner.owner
        if op.name != "scf.for":
            return False
        lower, upper, step = (known(operand) for operand in list(op.operands)[:3])
        if not isinstance(lower, int) or not isinstance(step, int) or lower < 0:
            return False
        return (
            isinstance(upper, int)
            and isinstance(size, int)
            and (lower % step == 0 and upper % step == 0 and extent <= step and upper <= size)
        )


def global_sizes(memory: Value) -> tuple[list[Value | int], list[Value | int], Value | int]:
    """Sizes, strides and offset of a view of global memory, integers where they are known."""
    op = _owner(memory)
    assert op is not None  # noqa: S101  a view is made by an operation
    type = MemRefType(memory.type)
    strides, offset = type.get_strides_and_offset()
    segments = list(op.attributes["operandSegmentSizes"])
    dynamic = list(op.operands)
    first = segments[0]
    offsets = dynamic[first : first + segments[1]]
    sizes = iter(dynamic[first + segments[1] : first + segments[1] + segments[2]])
    steps = iter(dynamic[first + segments[1] + segments[2] :])
    return (
        [next(sizes) if size == _UNKNOWN else size for size in type.shape],
        [next(steps) if stride == _UNKNOWN else stride for stride in strides],
        offsets[0] if offsets else offset,
    )


def packed_elements(numbers: Numbers, op: Operation, memory: Value) -> int:
    """How many neighbours of a tile's last dimension may be accessed at once.

    They are contiguous and aligned, and all inside of the tensor or all outside.
    """
    sizes, strides, offset = global_sizes(memory)
    dims = dims_of(op)
    element = MemRefType(memory.type).element_type
    last = dims[-1]
    if strides[last] != 1:
        return 1
    given = list(op.operands)[-len(sizes) :]
    others = [stride for at, stride in enumerate(strides) if at != last]
    facts = (offset, sizes[last], given[last], *others)
    return math.gcd(ACCESS_BYTES // max(1, element.width // 8), *map(numbers.divisor, facts))


def tile_of(op: Operation) -> RankedTensorType:
    """The type of the tile that an access moves."""
    value = op.results[0] if len(op.results) else op.operands[0]
    return RankedTensorType(value.type)


def _owner(value: Value) -> Operation | None:
    if isinstance(value, BlockArgument):
        return None
    found: Operation = value.owner.operation if hasattr(value.owner, "operation") else value.owner
    return found
