# SPDX-License-Identifier: Apache-2.0
"""Shared by argmax and argmin: the position of an extreme element along one axis."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xtc.core.types import ELEMENT_TYPES, ElementType, TensorType
from xtc.graph.operator import Array, Operator
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_axis, check_flag, check_operands
from xtc.ops.elementwise import DIM_NAMES
from xtc.ops.gathering import INDEX
from xtc.ops.reduction import Combine, kept_names, reduce, reduced_shape, reduction_loops


@dataclass(frozen=True)
class Selection(Operator):
    """The int64 position along `axis` of the extreme element: the first, or `last`, of equals.

    NaN counts as extreme. The step "extreme" finds the element, the main operation its position.
    """

    axis: int = 0
    keepdims: bool = False
    last: bool = False

    @abstractmethod
    def combine(self, body: ScalarBuilder, total: Scalar, element: Scalar) -> Scalar:
        """The more extreme of two elements."""

    @abstractmethod
    def start(self, element: ElementType) -> float | int | bool:
        """The least extreme value of the type."""

    @abstractmethod
    def positions(self, x: Array) -> Array:
        """NumPy's positions along `axis`, the first of equals."""

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        axis = check_axis(self.name, "axis", self.axis, x.rank)
        keepdims = check_flag(self.name, "keepdims", self.keepdims)
        check_flag(self.name, "last", self.last)
        shape = reduced_shape(x.shape, (axis,), keepdims=keepdims)
        return TensorType(shape, ELEMENT_TYPES["int64"])

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        found = self.positions(np.flip(x, self.axis) if self.last else x)
        found = x.shape[self.axis] - 1 - found if self.last else found
        return np.expand_dims(found, self.axis) if self.keepdims else np.asarray(found)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return reduction_loops(inputs[0].rank, (self.axis,))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        (x,) = inputs
        element, rank = x.type.element, x.type.rank
        combine: Combine = self.combine
        extreme = reduce(
            builder, x, (self.axis,), element, self.start(element), combine, step="extreme"
        )
        start = -1 if self.last else x.type.sizes[self.axis]
        init = builder.fill(start, TensorType(extreme.type.shape, INDEX))

        def body(scalars: ScalarBuilder, value: Scalar, best: Scalar, total: Scalar) -> Scalar:
            position = scalars.index(self.axis)
            nearer = (scalars.maximum if self.last else scalars.minimum)(total, position)
            found = scalars.compare("eq", value, best)
            if element.is_float:
                found = scalars.bits("or", found, scalars.compare("ne", value, value))
            return scalars.select(found, nearer, total)

        names, kept = DIM_NAMES[:rank], kept_names(rank, (self.axis,))
        loops = reduction_loops(rank, (self.axis,))
        found = builder.generic([(x, names), (extreme, kept)], (init, kept), loops, body)
        return builder.reshape(found, result.sizes)

    def flops(self, *inputs: TensorType) -> int:
        return 2 * inputs[0].size
