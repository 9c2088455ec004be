# SPDX-License-Identifier: Apache-2.0
"""Analyzes the run-time integers of a tile kernel: divisors and upper bounds."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping

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
from xtc_targets.nvgpu.passes._kernels import GRID, shape

_UNKNOWN = ShapedType.get_dynamic_size()
_EQUAL, _BELOW = 0, 6  # predicates of arith.cmpi
_WRAPS = 1 << 31
_ARITHMETIC = ("arith.addi", "arith.muli", "arith.divui", "arith.remui")
_KEEPING_DIVISORS = (
    *("arith.addi", "arith.subi", "arith.remsi", "arith.remui"),
    *("arith.minsi", "arith.minui", "arith.maxsi", "arith.maxui"),
)
"""Operations whose result has the common divisors of their operands."""
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui")


class Numbers:
    """Known divisors and bounds of the integers of a kernel."""

    def __init__(self, kernel: Operation) -> None:
        self._grid = shape(kernel)[0] if GRID in kernel.attributes else None
        self._below: dict[Value, int] = {}
        self._assumed: dict[Value, int] = {}
        self._divisors: dict[Value, int] = {}
        for op in all_operations(kernel):
            if op.name == "tile.assume":
                self._assume(op.operands[0])

    def assuming(self, divisors: Mapping[Value, int]) -> Numbers:
        """The same, with further divisors of some values."""
        found = copy.copy(self)
        found._assumed = dict(self._assumed)
        for value, divisor in divisors.items():
            found._assumed[value] = math.lcm(self._assumed.get(value, 1), divisor)
        found._divisors = {}
        return found

    def _assume(self, condition: Value) -> None:
        """Record `x % c == 0`, `x < c` and conjunctions of such conditions."""
        op = _owner(condition)
        if op is None:
            return
        if op.name == "arith.andi":
            for part in op.operands:
                self._assume(part)
        predicate = IntegerAttr(op.attributes["predicate"]).value if op.name == "arith.cmpi" else -1
        limit = known(op.operands[1]) if predicate == _BELOW else None
        if isinstance(limit, int):
            self._below[op.operands[0]] = limit - 1
        if predicate != _EQUAL:
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
            self._divisors[value] = 1  # for a value that depends on itself
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
        if op.name in _KEEPING_DIVISORS:
            return math.gcd(*(self.divisor(operand) for operand in op.operands))
        if op.name == "arith.select":
            return math.gcd(*(self.divisor(operand) for operand in list(op.operands)[1:]))
        if op.name == "arith.andi":
            return max(_lowest_bit(known(operand)) for operand in op.operands)
        if op.name == "arith.shli":
            shift = known(op.operands[1])
            return self.divisor(op.operands[0]) << shift if isinstance(shift, int) else 1
        return self.divisor(op.operands[0]) if op.name in _CASTS else 1

    def _of_argument(self, value: BlockArgument) -> int:
        op = value.owner.owner
        if op.name == "scf.for" and value.arg_number == 0:
            return math.gcd(self.divisor(op.operands[0]), self.divisor(op.operands[2]))
        return 1

    def most(self, value: Value) -> int | None:
        """An upper bound of a non-negative number; None if it is unknown."""
        number = known(value)
        if isinstance(number, int):
            return number if number >= 0 else None
        found = self._below.get(value)
        if found is None:
            found = self._most_of_result(value)
        return found if found is not None and found < _WRAPS else None

    def _most_of_result(self, value: Value) -> int | None:
        if isinstance(value, BlockArgument):
            op = value.owner.owner
            return self._most_of_index(op) if value.arg_number == 0 else None
        op = _owner(value)
        if op is None:
            return None
        if op.name == "tile.block_id" and self._grid is not None:
            return int(self._grid[IntegerAttr(op.attributes["dim"]).value]) - 1
        if op.name in _CASTS:
            return self.most(op.operands[0])
        return self._most_of_arithmetic(op)

    def _most_of_index(self, op: Operation) -> int | None:
        if op.name != "scf.for":
            return None
        lower, upper, step = (known(bound) for bound in list(op.operands)[:3])
        if not (isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int)):
            return None
        return lower + max(0, upper - 1 - lower) // step * step if lower >= 0 else None

    def _most_of_arithmetic(self, op: Operation) -> int | None:
        if op.name not in _ARITHMETIC:
            return None
        first, second = (self.most(operand) for operand in op.operands)
        divisor = known(op.operands[1])
        if op.name == "arith.remui" and isinstance(divisor, int) and divisor > 0:
            return divisor - 1 if first is None else min(first, divisor - 1)
        if first is None or second is None:
            return None
        if op.name == "arith.divui":
            return first // divisor if isinstance(divisor, int) and divisor > 0 else None
        return first + second if op.name == "arith.addi" else first * second

    def fits(self, offset: Value, extent: int, size: Value | int) -> bool:
        """Whether `offset + extent` is known to be at most `size`, and `offset` non-negative."""
        number = known(offset)
        if isinstance(number, int) and isinstance(size, int):
            return number >= 0 and number + extent <= size
        most = self.most(offset)
        if most is not None and isinstance(size, int) and most + extent <= size:
            return True
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


def _lowest_bit(mask: Value | int) -> int:
    """A power of two that divides every `x & mask`."""
    return int(mask & -mask) if isinstance(mask, int) and mask else 1


def global_sizes(memory: Value) -> tuple[list[Value | int], list[Value | int], Value | int]:
    """Sizes, strides and offset of a view of global memory, as integers if known."""
    op = _owner(memory)
    assert op is not None  # noqa: S101  a view is an operation's result
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
    """The number of elements along a tile's last dimension that one access may have.

    They are contiguous and aligned. The end of the tensor may divide them: see `is_ragged`.
    """
    _, strides, offset = global_sizes(memory)
    last = dims_of(op)[-1]
    if strides[last] != 1:
        return 1
    others = [stride for at, stride in enumerate(strides) if at != last]
    facts = (offset, _offset_along(op, memory, last), *others)
    return math.gcd(widest_access(memory), *map(numbers.divisor, facts))


def shared_width(packed: int, size: int, threads: int) -> int:
    """The width of accesses at which all threads take part in a tile of `size` elements.

    Wider ones would leave threads without elements, which then hold replicas.
    """
    while packed > 1 and packed * threads > size:
        packed //= 2
    return packed


def is_ragged(numbers: Numbers, op: Operation, memory: Value, packed: int) -> bool:
    """Whether the end of a tensor may lie between the elements of an access."""
    size = global_sizes(memory)[0][dims_of(op)[-1]]
    return numbers.divisor(size) % packed != 0


def widest_access(memory: Value) -> int:
    """The number of elements in the widest access."""
    element = MemRefType(memory.type).element_type
    return ACCESS_BYTES // max(1, int(element.width) // 8)


def _offset_along(op: Operation, memory: Value, dim: int) -> Value:
    """The offset of an access in a dimension of the tensor."""
    rank = len(MemRefType(memory.type).shape)
    return list(op.operands)[dim - rank]


def tile_of(op: Operation) -> RankedTensorType:
    """The type of the tile that an access loads or stores."""
    value = op.results[0] if len(op.results) else op.operands[0]
    return RankedTensorType(value.type)


def _owner(value: Value) -> Operation | None:
    if isinstance(value, BlockArgument):
        return None
    found: Operation = value.owner.operation if hasattr(value.owner, "operation") else value.owner
    return found
