# SPDX-License-Identifier: Apache-2.0
"""Recovers polynomials from chains of sums, products and powers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xtc.graph.tensor import Tensor
from xtc.ops.add import Add
from xtc.ops.div import Div
from xtc.ops.mul import Mul
from xtc.ops.neg import Neg
from xtc.ops.pow import Pow
from xtc.ops.sub import Sub

Polynomial = tuple[float, ...]
"""Coefficients of x^0, x^1, ...; the last one is not 0."""

HIGHEST = 4  # highest degree considered
_DEEPEST = 12  # depth of the chain considered


def scalar(x: Tensor) -> float | None:
    """The value of a constant with one element."""
    if x.const is None or x.type.size != 1 or not x.element.is_float:
        return None
    return float(np.asarray(x.const).reshape(-1)[0])


def factors(x: Tensor, depth: int = _DEEPEST) -> tuple[float, list[Tensor]]:
    """A product as a scalar and its tensor factors."""
    number = scalar(x)
    if number is not None:
        return number, []
    node = x.producer
    if node is not None and depth:
        if isinstance(node.op, Mul):
            (a, xs), (b, ys) = (factors(y, depth - 1) for y in node.inputs)
            return a * b, [*xs, *ys]
        divisor = scalar(node.inputs[1]) if isinstance(node.op, Div) else None
        if divisor:
            a, xs = factors(node.inputs[0], depth - 1)
            return a / divisor, xs
    return 1.0, [x]


def polynomial(y: Tensor, x: Tensor, depth: int = _DEEPEST) -> Polynomial | None:
    """The coefficients of `y` as a polynomial of `x`; None if it is not one of low degree."""
    if y is x:
        return (0.0, 1.0)
    number = scalar(y)
    if number is not None:
        return _trimmed([number])
    node = y.producer
    if node is None or not depth:
        return None
    for kind, combine in _RULES.items():
        if isinstance(node.op, kind):
            parts = [polynomial(z, x, depth - 1) for z in node.inputs]
            known = [part for part in parts if part is not None]
            return combine(*known) if len(known) == len(parts) else None
    return None


def _trimmed(values: list[float]) -> Polynomial | None:
    while values and values[-1] == 0:
        values.pop()
    return tuple(values) if len(values) <= HIGHEST + 1 else None


def _add(a: Polynomial, b: Polynomial) -> Polynomial | None:
    size = max(len(a), len(b))
    return _trimmed([sum(p[n] for p in (a, b) if n < len(p)) for n in range(size)])


def _mul(a: Polynomial, b: Polynomial) -> Polynomial | None:
    return _trimmed([float(value) for value in np.convolve(a or (0.0,), b or (0.0,))])


def _sub(a: Polynomial, b: Polynomial) -> Polynomial | None:
    return _add(a, tuple(-value for value in b))


def _div(a: Polynomial, b: Polynomial) -> Polynomial | None:
    return _mul(a, (1 / b[0],)) if len(b) == 1 else None


def _pow(a: Polynomial, b: Polynomial) -> Polynomial | None:
    power = b[0] if len(b) == 1 else 0.0
    if power not in range(1, HIGHEST + 1):
        return None
    result: Polynomial | None = a
    for _ in range(int(power) - 1):
        result = None if result is None else _mul(result, a)
    return result


_RULES: dict[type, Callable[..., Polynomial | None]] = {
    Add: _add,
    Sub: _sub,
    Mul: _mul,
    Div: _div,
    Pow: _pow,
    Neg: lambda a: tuple(-value for value in a),
}
