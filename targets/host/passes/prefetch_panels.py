# SPDX-License-Identifier: Apache-2.0
"""prefetch-panels: prefetches the next panel of weights while one is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.accesses import Access
from xtc.ir.analysis.constant_sizes import constant_bytes, type_bytes
from xtc.ir.analysis.loop_nesting import outer_loops
from xtc.ir.analysis.structured import element_bits
from xtc.ir.builders import numbers
from xtc.ir.builders.control import new_loop
from xtc.ir.mlir import (
    AffineMap,
    BlockArgument,
    InsertionPoint,
    MemRefType,
    Operation,
    OpResult,
    Value,
    all_operations,
    memref,
    scf,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass

_LINE = 64  # bytes of a cache line
_FIRST_LEVEL = 3  # locality of `memref.prefetch`: into all caches, because lines are read again
_GROUP = 4  # iterations that prefetch together: copies of a body that LLVM may unroll
_MANY = 4  # most lines per iteration: processors have about ten requests in flight


@dataclass(frozen=True)
class PrefetchPanels(Pass):
    """Prefetch the next panel of a packed array, evenly over the iterations that read a panel.

    A panel is `%w[%n, ..]`: outer loops choose %n, inner loops run over all other dimensions, and
    some of the inner loops, over the rows of the result, read the whole panel again. The weights of
    a network come from memory in each call; without prefetches, the first row of each panel waits
    for them. A blocked reduction has panels `%w[%n, %b, ..]`, and %b + 1 or %n + 1 is next.

    Before:
        scf.for %j = 0 to 8 { scf.for %i = 0 to 14 { scf.for %k = 0 to 512 {
          vector.load %w[%j, %k, 0] : memref<8x512x32xf32>, vector<16xf32> } } }
    After:
        scf.for %j = 0 to 8 {
          %first = min(%j + 1, 7) * 1024
          %lines = memref.collapse_shape %w : memref<131072xf32>
          scf.for %i = 0 to 14 { scf.for %k = 0 to 512 {
            memref.prefetch %lines[16 * (%first + (%i * 512 + %k) * 1024 / 7168)]
            vector.load %w[%j, %k, 0] : memref<8x512x32xf32>, vector<16xf32> } } }

    The last panel prefetches itself, so that nothing beyond the array is accessed.

    Attributes:
        bytes: least size of an array whose panels are prefetched, or of all constants of the module
            together. Smaller ones stay in a cache between calls, and prefetches cost instructions
            (3 to 5 % of a convolution's time). If a network's constants do not fit into a cache,
            prefetches of small ones too save 5 % of its time.
    """

    name: ClassVar[str] = "prefetch-panels"
    bytes: int = 1048576

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        longest: dict[tuple[Value, ...], _Panel] = {}
        least = 0 if constant_bytes(module) >= self.bytes else self.bytes
        for panel in _panels(module):
            key = (panel.array, *panel.indices)
            best = longest.get(key)
            if panel.array_bytes >= least and (best is None or panel.trips > best.trips):
                longest[key] = panel
        with module.context:
            for panel in longest.values():
                with panel.loops[-1].location:
                    _fetch_next(panel)


@dataclass(frozen=True)
class _Panel:
    """A panel that a loop nest reads.

    Attributes:
        array: all panels.
        indices: the first indices of the array, which select this panel.
        loops: the loops that these indices do not depend on, outermost first, with known bounds.
    """

    array: Value
    indices: tuple[Value, ...]
    loops: tuple[Operation, ...]

    @property
    def type(self) -> MemRefType:
        """The type of the array."""
        return MemRefType(self.array.type)

    @property
    def array_bytes(self) -> int:
        """Bytes of all panels."""
        return type_bytes(self.type)

    @property
    def count(self) -> int:
        """The number of panels in the array."""
        return math.prod(self.type.shape[: len(self.indices)])

    @property
    def lines(self) -> int:
        """Cache lines of a panel; 0 if its size is not a multiple of a line."""
        size = self.array_bytes // self.count
        return 0 if size % _LINE else size // _LINE

    def following(self, ip: InsertionPoint) -> numbers.Number:
        """The position of the next panel in the array; the last panel is its own successor."""
        position: numbers.Number = 0
        for index, size in zip(self.indices, self.type.shape, strict=False):
            position = numbers.add(numbers.multiply(position, size, ip), index, ip)
        return numbers.minimum(numbers.add(position, 1, ip), self.count - 1, ip)

    @property
    def trips(self) -> int:
        """Iterations of the innermost loop per panel."""
        return math.prod(numbers.known_trips(loop) or 0 for loop in self.loops)


def _panels(module: Operation) -> Iterator[_Panel]:
    """Panels that vectors in innermost loops read, once per array and loop."""
    loops = [op for op in all_operations(module) if op.name == "scf.for"]
    outer = outer_loops(loops)
    for loop in [loop for loop in loops if loop not in outer]:
        seen: list[Value] = []
        for op in all_operations(loop)[1:]:
            access = Access.of(op) if op.name == "vector.load" else None
            if access is None or access.memref in seen:
                continue
            seen.append(access.memref)
            panel = _panel(access, loop)
            if panel is not None and 0 < panel.lines <= _MANY * panel.trips:
                yield panel


def _panel(access: Access, innermost: Operation) -> _Panel | None:
    """The panel that a read in this loop belongs to, the largest one; None for other reads."""
    type = MemRefType(access.memref.type)
    dense = type.has_static_shape and type.affine_map == AffineMap.get_identity(type.rank)
    if not dense or isinstance(numbers.known(access.indices[0]), int):
        return None
    for count in range(1, type.rank):
        selected, rest = access.indices[:count], access.indices[count:]
        loops = _inside(selected, innermost)
        if any(numbers.known_trips(loop) is None for loop in loops):
            return None
        sizes = zip(rest, type.shape[count:], strict=True)
        if loops and all(_is_whole(index, size, loops) for index, size in sizes):
            return _Panel(access.memref, tuple(selected), tuple(loops))
    return None


def _inside(selected: Sequence[Value], innermost: Operation) -> list[Operation]:
    """The innermost loop and those around it that no value depends on."""
    chain: list[Operation] = []
    loop = innermost
    while loop is not None and loop.name == "scf.for":
        chain.insert(0, loop)
        loop = loop.operation.parent
    needed = {argument for value in selected for argument in _arguments(value)}
    while chain and not needed.isdisjoint(_variables(chain)):
        chain.pop(0)
    return chain


def _variables(loops: Sequence[Operation]) -> list[Value]:
    return [argument for loop in loops for argument in loop.regions[0].blocks[0].arguments]


def _arguments(value: Value) -> Iterator[Value]:
    """The block arguments that a number is computed from."""
    if isinstance(value, BlockArgument):
        yield value
    elif isinstance(value, OpResult):
        for operand in value.owner.operands:
            yield from _arguments(operand)


def _is_whole(index: Value, size: int, loops: Sequence[Operation]) -> bool:
    """Whether an index is constant, or one of the loops runs over its whole dimension."""
    if isinstance(numbers.known(index), int):
        return True
    for loop in loops:
        if index == loop.regions[0].blocks[0].arguments[0]:
            lower, _, step = (numbers.known(value) for value in list(loop.operands)[:3])
            return lower == 0 and step == 1 and numbers.known_trips(loop) == size
    return False


def _fetch_next(panel: _Panel) -> None:
    """Prefetch lines of the next panel at the start of iterations of the fewest loops that suffice.

    Each prefetch costs an instruction, and a reduction has many iterations. If there are more
    iterations than lines, they run in groups with one prefetch per group.
    """
    lines, ip = panel.lines, InsertionPoint(panel.loops[0])
    base = numbers.multiply(panel.following(ip), lines, ip)
    flat = _flat(panel, ip)
    done: numbers.Number = 0
    trips = 1
    for loop in panel.loops:
        count = numbers.known_trips(loop) or 1
        around = loop
        if loop == panel.loops[-1]:
            group = _divisor(count, count * trips // lines)
            around, count = _grouped(loop, group), count // group
        ip = InsertionPoint.at_block_begin(around.regions[0].blocks[0])
        done = numbers.add(numbers.multiply(done, count, ip), _iteration(around, ip), ip)
        trips *= count
        if lines <= _MANY * trips:
            break
    reached = numbers.divide_unsigned(numbers.multiply(done, lines, ip), trips, ip)
    for ahead in range(-(-lines // trips)):
        line = numbers.minimum(numbers.add(reached, ahead, ip), lines - 1, ip)
        index = numbers.multiply(numbers.add(base, line, ip), _elements(panel), ip)
        memref.prefetch(flat, [numbers.as_value(index, ip)], False, _FIRST_LEVEL, True, ip=ip)


def _divisor(count: int, most: int) -> int:
    """The largest divisor of `count` up to `most` and _GROUP; at least 1."""
    return next(size for size in range(max(1, min(most, _GROUP)), 0, -1) if count % size == 0)


def _grouped(loop: Operation, size: int) -> Operation:
    """A new loop around `loop`, which runs `size` of its iterations per iteration."""
    if size == 1:
        return loop
    lower, upper, step, *initial = loop.operands
    stride = numbers.multiply(numbers.known(step), size)
    around = new_loop(lower, upper, stride, initial, InsertionPoint(loop))
    for old, new in zip(loop.results, around.results, strict=True):
        old.replace_all_uses_with(new)
    ip = InsertionPoint(around.op.regions[0].blocks[0])
    end = numbers.as_value(numbers.add(around.index, stride, ip), ip)
    loop.operation.move_before(scf.yield_(list(loop.results), ip=ip))
    for number, operand in enumerate((around.index, end, step, *around.carried)):
        loop.operation.operands[number] = operand
    return around.op


def _iteration(loop: Operation, ip: InsertionPoint) -> numbers.Number:
    """The number of a loop's current iteration."""
    lower, _, step = (numbers.known(value) for value in list(loop.operands)[:3])
    variable = loop.regions[0].blocks[0].arguments[0]
    return numbers.divide_unsigned(numbers.subtract(variable, lower, ip), step, ip)


def _elements(panel: _Panel) -> int:
    """Elements of a cache line."""
    return _LINE * 8 // element_bits(panel.array)


def _flat(panel: _Panel, ip: InsertionPoint) -> Value:
    """The array in one dimension."""
    size, space = math.prod(panel.type.shape), panel.type.memory_space
    type = MemRefType.get([size], panel.type.element_type, None, space)
    return memref.collapse_shape(type, panel.array, [list(range(panel.type.rank))], ip=ip)
