# SPDX-License-Identifier: Apache-2.0
"""bit_cast: the same bits as numbers of another type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.core.types import TensorType, element_type
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_operands, user_function
from xtc.ops.elementwise import Elementwise, emit_elementwise


@dataclass(frozen=True)
class BitCast(Elementwise):
    """The bits of every element, reinterpreted as the equally wide type called `dtype`."""

    name: ClassVar[str] = "bit_cast"
    flops_per_element: ClassVar[int] = 0
    dtype: str = "int32"
    source: str = "float32"

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        to = element_type(self.dtype)
        if x.element != element_type(self.source):
            raise UserError(f"{self.name} of {self.source} cannot take {x.element}")
        if to.bits != x.element.bits or "bool" in (to.kind, x.element.kind):
            raise UserError(f"bits of {x.element} cannot be reinterpreted as {to}")
        return x.with_element(to)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        return body.bitcast(elements[0], element_type(self.dtype))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(scalars: ScalarBuilder, x: Scalar, _old: Scalar) -> Scalar:
            return self.scalar(scalars, x)

        return emit_elementwise(builder, inputs, result, body)

    def reference(self, *arrays: Array) -> Array:
        bits = arrays[0].astype(element_type(self.source).numpy)
        return bits.view(element_type(self.dtype).numpy)


@user_function
def bit_cast(x: Tensor, dtype: object, *, name: str | None = None, device: object = None) -> Tensor:
    """The bits of `x` reinterpreted as the equally wide element type `dtype`; not for bool.

    Raises UserError if the widths differ.
    """
    return apply(BitCast(element_type(dtype).name, x.dtype), x, name=name, device=device)
