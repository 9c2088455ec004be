# SPDX-License-Identifier: Apache-2.0
"""topk: the positions of the largest elements along an axis, in order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import (
    check_axis,
    check_flag,
    check_int,
    check_operands,
    operand_type,
    user_function,
)
from xtc.ops.elementwise import DIM_NAMES, dim_loops
from xtc.ops.gathering import INDEX


@dataclass(frozen=True)
class Topk(Operator):
    """The positions of the `count` most extreme elements along `axis`, most extreme first.

    Of equal elements the first comes first; NaN counts as the largest. The step "ranks" counts for
    each element how many precede it, which takes n * n comparisons for n elements; the main
    operation collects the first ones.
    """

    name: ClassVar[str] = "topk"
    count: int
    axis: int = -1
    largest: bool = True

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        axis = check_axis(self.name, "axis", self.axis, x.rank)
        count = check_int(self.name, "count", self.count, minimum=1)
        check_flag(self.name, "largest", self.largest)
        if x.rank >= len(DIM_NAMES):
            raise UserError(f"the operand of topk has rank {x.rank}, more than 7")
        if count > x.sizes[axis]:
            raise UserError(f"count of topk is {count}, but axis {axis} has size {x.sizes[axis]}")
        return TensorType((*x.shape[:axis], count, *x.shape[axis + 1 :]), INDEX)

    def reference(self, *arrays: Array) -> Array:
        x = np.moveaxis(arrays[0], self.axis, -1)
        numbers = np.arange(x.shape[-1])
        missing = x != x
        keys = [np.where(missing, np.zeros((), x.dtype), x), missing]
        order = np.empty(x.shape, np.int64)
        for position in np.ndindex(x.shape[:-1]):
            row = sorted(numbers, key=lambda n: (bool(keys[1][position][n]), keys[0][position][n]))
            if self.largest:
                row = _stable_reverse(row, keys[0][position], keys[1][position])
            order[position] = row
        return np.moveaxis(order[..., : self.count], -1, self.axis)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        rank = inputs[0].rank
        return (*dim_loops(rank), Loop(DIM_NAMES[rank], reduction=True))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        (x,) = inputs
        ranks = self._ranks(builder, x)
        names = DIM_NAMES[: result.rank]
        other = DIM_NAMES[result.rank]
        read = tuple(other if d == self._axis(x) else name for d, name in enumerate(names))

        def body(scalars: ScalarBuilder, rank: Scalar, total: Scalar) -> Scalar:
            found = scalars.compare("eq", rank, scalars.index(self._axis(x)))
            return scalars.select(found, scalars.index(result.rank), total)

        init = (builder.fill(0, result), names)
        return builder.generic([(ranks, read)], init, self.loops(x.type), body)

    def _axis(self, x: Value) -> int:
        return check_axis(self.name, "axis", self.axis, x.type.rank)

    def _ranks(self, builder: LinalgBuilder, x: Value) -> Value:
        """The rank of each element: the number of elements that precede it along the axis."""
        rank, axis = x.type.rank, self._axis(x)
        names = DIM_NAMES[:rank]
        other = tuple(DIM_NAMES[rank] if d == axis else name for d, name in enumerate(names))

        def body(scalars: ScalarBuilder, own: Scalar, its: Scalar, total: Scalar) -> Scalar:
            ahead = self._before(scalars, own, its, scalars.index(axis), scalars.index(rank))
            more = scalars.add(total, scalars.constant(1, INDEX))
            return scalars.select(ahead, more, total)

        init = (builder.fill(0, x.type.with_element(INDEX), step="ranks.init"), names)
        return builder.generic(
            [(x, names), (x, other)], init, self.loops(x.type), body, step="ranks"
        )

    def _before(
        self, body: ScalarBuilder, own: Scalar, its: Scalar, position: Scalar, its_position: Scalar
    ) -> Scalar:
        """Whether the element at `its_position` comes before the one at `position`."""
        ahead = body.compare("gt" if self.largest else "lt", its, own)
        same = body.compare("eq", its, own)
        if own.element.is_float:
            missing, is_missing = (body.compare("ne", value, value) for value in (own, its))
            first, second = (is_missing, missing) if self.largest else (missing, is_missing)
            only = body.bits("and", first, body.opposite(second))
            ahead = body.bits("or", ahead, only)
            same = body.bits("or", same, body.bits("and", missing, is_missing))
        earlier = body.bits("and", same, body.compare("lt", its_position, position))
        return body.bits("or", ahead, earlier)

    def flops(self, *inputs: TensorType) -> int:
        return 0


@user_function
def topk(
    x: Tensor,
    count: int,
    *,
    axis: int = -1,
    largest: bool = True,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The int64 positions of the `count` largest, or smallest, elements of `x` along `axis`.

    They are sorted, the most extreme first, equal elements by position. `O.gather_elements` reads
    the elements themselves. Raises UserError if axis or count do not fit.
    """
    rank = operand_type("topk", x).rank
    op = Topk(count, check_axis("topk", "axis", axis, rank), largest)
    return apply(op, x, name=name, device=device)


def _stable_reverse(row: list[int], values: Array, missing: Array) -> list[int]:
    """Descending order, with equal elements in ascending positions."""
    groups = itertools.groupby(row, key=lambda n: (bool(missing[n]), values[n]))
    return [n for group in reversed([list(group) for _, group in groups]) for n in group]
