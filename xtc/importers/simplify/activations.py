# SPDX-License-Identifier: Apache-2.0
"""Recognizes gelu and silu in sequences of small operators.

D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units (GELUs)", arXiv 1606.08415, has both forms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.affine import product_of, times
from xtc.importers.simplify.polynomials import factors, polynomial
from xtc.importers.simplify.rewriter import Rewriter
from xtc.ops.add import Add
from xtc.ops.erf import Erf
from xtc.ops.gelu import Gelu
from xtc.ops.sigmoid import Sigmoid
from xtc.ops.silu import Silu
from xtc.ops.tanh import Tanh

# Files store these constants in float32, sometimes with only four digits.
_CLOSE = 1e-4
_ERF = (0.0, math.sqrt(0.5))
_TANH = (0.0, math.sqrt(2 / math.pi), 0.0, math.sqrt(2 / math.pi) * 0.044715)


def find_activations(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Replace c x (1 + erf(x / sqrt 2)), in any order, by 2 c gelu(x); x sigmoid(x) by silu(x)."""
    number, tensors = product_of(op, inputs)
    if len(tensors) != 2:
        return None
    shape = op.infer(*(x.type for x in inputs)).sizes
    for x, gate in (tensors, tensors[::-1]):
        found = _activation(x, gate)
        if found is not None and x.type.sizes == shape:
            gain, activation = found
            return times(rewriter, rewriter.write(activation, x), number * gain)
    return None


def _activation(x: Tensor, gate: Tensor) -> tuple[float, Operator] | None:
    """The activation that equals `x` times the gate, and its factor."""
    node = gate.producer
    if node is None:
        return None
    if isinstance(node.op, Sigmoid):
        return (1.0, Silu()) if node.inputs[0] is x else None
    if not isinstance(node.op, Add):
        return None
    # 1 + f(x), or a multiple of it.
    for inner in node.inputs:
        (scale, curves), other = factors(inner), _other(node.inputs, inner)
        if len(curves) == 1 and polynomial(other, curves[0]) == (scale,):
            kind = _gate(curves[0], x)
            return None if kind is None else (2 * scale, kind)
    return None


def _other(pair: Sequence[Tensor], x: Tensor) -> Tensor:
    return pair[1] if pair[0] is x else pair[0]


def _gate(curve: Tensor, x: Tensor) -> Operator | None:
    node = curve.producer
    if node is None or not isinstance(node.op, Erf | Tanh):
        return None
    within = polynomial(node.inputs[0], x)
    wanted = _ERF if isinstance(node.op, Erf) else _TANH
    if within is None or len(within) != len(wanted):
        return None
    if not np.allclose(within, wanted, rtol=_CLOSE, atol=0):
        return None
    return Gelu("none" if isinstance(node.op, Erf) else "tanh")
