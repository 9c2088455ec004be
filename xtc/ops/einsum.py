# SPDX-License-Identifier: Apache-2.0
"""einsum: sums of products along named dimensions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError, shown
from xtc.core.types import Dim, TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value, parallel, reduction
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.accumulation import accumulator_dtype, multiply_add, product_element, round_result
from xtc.ops.attributes import user_function
from xtc.ops.elementwise import require_number, require_same_element

_EQUATION = re.compile(r"[A-Za-z]*(,[A-Za-z]*)?->[A-Za-z]*")


@dataclass(frozen=True)
class Einsum(Operator):
    """The sum of products given by an equation such as "ij,jk->ik", of one or two operands.

    Letters name dimensions; letters missing from the result are summed over. Accumulates like
    matmul. The loops are the letters.
    """

    name: ClassVar[str] = "einsum"
    equation: str

    def infer(self, *inputs: TensorType) -> TensorType:
        terms, result = parsed(self.equation)
        if not 1 <= len(inputs) <= 2 or len(terms) != len(inputs):
            raise UserError(f"equation {self.equation!r} of einsum on {len(inputs)} operands")
        require_same_element(self.name, inputs)
        require_number(self.name, inputs[0])
        sizes = _sizes(self.equation, terms, inputs)
        unknown = [letter for letter in result if letter not in sizes]
        if unknown or len(set(result)) != len(result):
            raise UserError(f"the result of equation {self.equation!r} of einsum is ambiguous")
        return TensorType(
            tuple(sizes[letter] for letter in result), product_element(inputs[0].element)
        )

    def reference(self, *arrays: Array) -> Array:
        wide = [array.astype(accumulator_dtype(array.dtype)) for array in arrays]
        return np.asarray(np.einsum(self.equation, *wide))

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        terms, result = parsed(self.equation)
        summed = [x for x in dict.fromkeys("".join(terms)) if x not in result]
        return (*parallel(*result), *reduction(*summed))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        terms, out = parsed(self.equation)
        init = builder.fill(0, result.with_element(result.element.accumulator))
        operands = [(x, tuple(term)) for x, term in zip(inputs, terms, strict=True)]
        loops = self.loops(*(x.type for x in inputs))

        def single(body: ScalarBuilder, x: Scalar, total: Scalar) -> Scalar:
            return body.add(total, body.cast(x, total.element))

        body = multiply_add if len(inputs) == 2 else single
        value = builder.generic(operands, (init, tuple(out)), loops, body)
        return round_result(builder, value, result)

    def flops(self, *inputs: TensorType) -> int:
        return 2 * self.infer(*inputs).size * self.reduction_size(*inputs)

    def reduction_size(self, *inputs: TensorType) -> int:
        terms, result = parsed(self.equation)
        sizes = _sizes(self.equation, terms, inputs)
        return math.prod(int(size) for letter, size in sizes.items() if letter not in result)


@user_function
def einsum(
    equation: str,
    a: Tensor,
    b: Tensor | None = None,
    *,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The sum of products given by `equation`, such as "bij,bjk->bik".

    It has one or two operands; every dimension has a letter, and the result is explicit. float16
    and bfloat16 are summed in float32 and rounded once; int8 and int16 give int32. Raises UserError
    if letters and shapes do not fit.
    """
    text = "".join(equation.split()) if isinstance(equation, str) else equation
    operands = (a,) if b is None else (a, b)
    return apply(Einsum(text), *operands, name=name, device=device)


def parsed(equation: object) -> tuple[list[str], str]:
    """The letters of each operand, and those of the result. Raises UserError."""
    if not isinstance(equation, str) or not _EQUATION.fullmatch(equation):
        raise UserError(
            f"equation of einsum is {shown(equation)}",
            notes=["letters for the dimensions of each operand, as in 'ij,jk->ik'"],
        )
    terms, _, result = equation.partition("->")
    return terms.split(","), result


def _sizes(equation: str, terms: Sequence[str], inputs: Sequence[TensorType]) -> dict[str, Dim]:
    sizes: dict[str, Dim] = {}
    for term, type in zip(terms, inputs, strict=True):
        if len(term) != type.rank:
            raise UserError(
                f"'{term}' of equation {equation!r} of einsum is an operand of rank {type.rank}"
            )
        for letter, size in zip(term, type.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise UserError(
                    f"dimension '{letter}' of equation {equation!r} of einsum is both "
                    f"{sizes[letter]} and {size}"
                )
    return sizes
