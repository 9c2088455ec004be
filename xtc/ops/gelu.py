# SPDX-License-Identifier: Apache-2.0
"""gelu: x times the probability that a standard normal variable is below x.

D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units", arXiv 1606.08415, equations 1 and 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_choice, user_function
from xtc.ops.elementwise import FloatElementwise, widened

APPROXIMATIONS = ("none", "tanh")
_CUBIC = 0.044715
_SCALE = math.sqrt(2 / math.pi)

# NumPy has no error function. The C library's is right to the last bits of a double, and calling it
# for each element costs less than summing a series of such accuracy over whole arrays.
_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)


def erf_reference(x: Array) -> Array:
    """The error function of every element, in the array's own type."""
    result: Array = np.asarray(_erf(x)).astype(x.dtype)
    return result


@dataclass(frozen=True)
class Gelu(FloatElementwise):
    """x / 2 * (1 + erf(x / sqrt(2))), or with approximate="tanh" the usual approximation of it.

    The first is computed as x / 2 * erfc(-x / sqrt(2)): where x is far below zero, 1 + erf cancels.

    -infinity gives NaN, as the formula does.
    """

    name: ClassVar[str] = "gelu"
    approximate: str = "none"

    def infer(self, *inputs: TensorType) -> TensorType:
        check_choice(self.name, "approximate", self.approximate, APPROXIMATIONS)
        return super().infer(*inputs)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements

        def times(factor: float, y: Scalar) -> Scalar:
            return body.mul(y, body.constant(factor, x.element))

        if self.approximate == "tanh":
            cube = body.mul(body.mul(x, x), x)
            step = body.math("tanh", times(_SCALE, body.add(x, times(_CUBIC, cube))))
            both = body.add(body.constant(1, x.element), step)
        else:
            both = body.math("erfc", times(-math.sqrt(0.5), x))
        return body.mul(times(0.5, x), both)

    def reference(self, *arrays: Array) -> Array:
        x = widened(arrays[0])
        number = x.dtype.type
        if self.approximate == "tanh":
            both = number(1) + np.tanh((x + x * x * x * number(_CUBIC)) * number(_SCALE))
        else:
            both = np.asarray(_erfc(x * number(-math.sqrt(0.5)))).astype(x.dtype)
        result: Array = x * number(0.5) * both
        return result

    def flops(self, *inputs: TensorType) -> int:
        return self.infer(*inputs).size * (9 if self.approximate == "tanh" else 5)


@user_function
def gelu(
    x: Tensor, *, approximate: str = "none", name: str | None = None, device: object = None
) -> Tensor:
    """The Gaussian error linear unit of `x`, of any shape and any float type.

    `approximate` is "none" for x / 2 * (1 + erf(x / sqrt(2))) or "tanh" for x / 2 * (1 +
    tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))). Half floats are computed in float32 and rounded
    once. Raises UserError for integers and bool, and for another `approximate`.
    """
    op = Gelu(check_choice("gelu", "approximate", approximate, APPROXIMATIONS))
    return apply(op, x, name=name, device=device)
