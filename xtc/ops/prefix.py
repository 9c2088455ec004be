# SPDX-License-Identifier: Apache-2.0
"""Shared by cumsum and cumprod: a prefix scan along one axis.

Each step combines an element with the total that ends `distance` before it, and the distance
doubles from step to step (W. D. Hillis and G. L. Steele, "Data parallel algorithms", CACM 29(12),
1986): log2(n) operations without a dependence between their iterations.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.operator import Array, Operator
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_axis, check_flag, check_operands
from xtc.ops.elementwise import dim_loops, emit_elementwise, require_number, widened
from xtc.ops.gathering import INDEX


@dataclass(frozen=True)
class Prefix(Operator):
    """The totals of all elements up to each along `axis`.

    `exclusive` excludes the element itself, `reverse` starts from the end. The steps are "by1",
    "by2", "by4", ...; the last one is the main operation.
    """

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False

    @abstractmethod
    def combine(self, body: ScalarBuilder, a: Scalar, b: Scalar) -> Scalar:
        """The combination of two partial results."""

    @abstractmethod
    def accumulated(self, x: Array) -> Array:
        """NumPy's totals along `axis`."""

    @property
    @abstractmethod
    def start(self) -> int:
        """The neutral element of the operation."""

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        require_number(self.name, x)
        check_axis(self.name, "axis", self.axis, x.rank)
        check_flag(self.name, "exclusive", self.exclusive)
        check_flag(self.name, "reverse", self.reverse)
        return x

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        x = np.flip(x, self.axis) if self.reverse else x
        total = self.accumulated(x)
        if self.exclusive:
            total = np.roll(total, 1, self.axis)
            total[(slice(None),) * self.axis + (0,)] = self.start
        return np.flip(total, self.axis) if self.reverse else total

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return dim_loops(inputs[0].rank)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        (value,) = inputs
        wide = result.element.accumulator if result.element.is_float else result.element
        distances = []
        distance = 1
        while distance < result.sizes[self.axis]:
            distances.append(distance)
            distance *= 2
        for distance in distances:
            value = self._step(builder, value, result.with_element(wide), distance)
        return self._last(builder, value, result)

    def _step(
        self, builder: LinalgBuilder, value: Value, result: TensorType, distance: int
    ) -> Value:
        def body(scalars: ScalarBuilder, x: Scalar, _old: Scalar) -> Scalar:
            before, inside = self._before(scalars, value, distance)
            own = scalars.cast(x, result.element)
            total = self.combine(scalars, scalars.cast(before, result.element), own)
            return scalars.select(inside, total, own)

        return emit_elementwise(builder, [value], result, body, step=f"by{distance}")

    def _last(self, builder: LinalgBuilder, value: Value, result: TensorType) -> Value:
        """Rounded to the result's type; shifted by one position for `exclusive`."""

        def body(scalars: ScalarBuilder, x: Scalar, _old: Scalar) -> Scalar:
            if not self.exclusive:
                return scalars.cast(x, result.element)
            before, inside = self._before(scalars, value, 1)
            start = scalars.constant(self.start, before.element)
            return scalars.cast(scalars.select(inside, before, start), result.element)

        return emit_elementwise(builder, [value], result, body)

    def _before(self, body: ScalarBuilder, value: Value, distance: int) -> tuple[Scalar, Scalar]:
        """The element `distance` positions before, and whether it exists; otherwise any element."""
        size = value.type.sizes[self.axis]
        indices = [body.index(d) for d in range(value.type.rank)]
        step = body.constant(distance if self.reverse else -distance, INDEX)
        moved = body.add(indices[self.axis], step)
        limit = body.constant(size if self.reverse else 0, INDEX)
        inside = body.compare("lt" if self.reverse else "ge", moved, limit)
        indices[self.axis] = body.clamp(moved, size)
        return body.read(value.ssa, value.type, indices), inside

    def reduction_size(self, *inputs: TensorType) -> int:
        return int(inputs[0].sizes[self.axis])
