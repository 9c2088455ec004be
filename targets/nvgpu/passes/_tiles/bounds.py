# SPDX-License-Identifier: Apache-2.0
"""Which of a thread's elements lie inside a tile, where its layout is that of a larger one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.builders.numbers import Number, add, compare
from xtc.ir.mlir import InsertionPoint, Type, Value, VectorType, arith, scf, vector
from xtc_targets.nvgpu.passes._thread_code import all_of, as_i32, zeros


class TileBounds:
    """The bounds of a tile, for the elements of a thread.

    Args:
        layout: of the tile, or of a larger one.
        shape: of the tile.
        base: the index of the thread's first element.
    """

    def __init__(
        self, layout: RegisterLayout, shape: Sequence[int], base: Sequence[Number]
    ) -> None:
        self._shape, self._base = tuple(shape), base
        self._padded = [dim for dim, size in enumerate(shape) if layout.shape[dim] > size]
        self._furthest = [0] * len(self._shape)
        for dim, distance, size, _ in layout.thread_digits():
            self._furthest[dim] += (size - 1) * distance
        self._conditions: dict[tuple[int, int], Value | bool] = {}

    def inside(self, behind: Sequence[int]) -> Value | bool:
        """Whether the element at offset `behind` from the thread's first is inside the tile."""
        found = [self.inside_along(dim, behind[dim]) for dim in self._padded]
        if False in found:
            return False
        return all_of([condition for condition in found if not isinstance(condition, bool)])

    def inside_along(self, dim: int, steps: int) -> Value | bool:
        """The same for dimension `dim` alone, where the offset is `steps`."""
        size = self._shape[dim]
        if steps >= size or self._furthest[dim] + steps < size:
            return steps < size
        if (dim, steps) not in self._conditions:
            position = as_i32(add(self._base[dim], steps))
            self._conditions[dim, steps] = compare("ult", position, size)
        return self._conditions[dim, steps]


def both(first: Value | bool, second: Value | bool) -> Value | bool:
    """Whether both conditions hold."""
    if isinstance(first, bool):
        return second if first else False
    if isinstance(second, bool):
        return first if second else False
    return arith.andi(first, second)


def chosen(
    condition: Value | bool,
    types: Sequence[Type],
    make: Callable[[], Sequence[Value]],
    otherwise: Callable[[], Sequence[Value]],
) -> list[Value]:
    """The values of these types that `make` creates if a condition holds, else `otherwise`."""
    if isinstance(condition, bool):
        return list(make() if condition else otherwise())
    made = scf.IfOp(condition, list(types), has_else=True)
    for block, values in ((made.then_block, make), (made.else_block, otherwise)):
        with InsertionPoint(block):
            scf.yield_(list(values()))
    return list(made.results)


def loaded(inside: Value | bool, type: VectorType, load: Callable[[], Value]) -> Value:
    """A vector of type `type` that `load` loads where a condition holds, and zeros elsewhere."""
    return chosen(inside, [type], lambda: [load()], lambda: [zeros(type)])[0]


def filled(
    value: Value,
    bounds: TileBounds,
    layout: RegisterLayout,
    dim: int,
    identity: Callable[[Type], Value],
) -> Value:
    """A thread's elements of a tile, and `identity` for those outside of it along a dimension."""
    element = VectorType(value.type).element_type
    found = [bounds.inside_along(dim, behind[dim]) for behind in layout.local_offsets]
    if all(inside is True for inside in found):
        return value
    neutral = identity(element)
    parts = []
    for at, inside in enumerate(found):
        part = neutral if inside is False else vector.extract(value, [], [at])
        parts.append(part if isinstance(inside, bool) else arith.select(inside, part, neutral))
    return vector.from_elements(value.type, parts)
