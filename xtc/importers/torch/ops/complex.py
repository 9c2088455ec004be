# SPDX-License-Identifier: Apache-2.0
"""Complex arithmetic and Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.fourier import transformed
from xtc.importers.compositions.movement import constant, expanded, part, same
from xtc.importers.torch.complex import Complex, as_complex, writes_complex
from xtc.importers.torch.ops.arithmetic import atan2, operand, result_type
from xtc.importers.torch.ops.movement import unsqueeze
from xtc.importers.values import Unsupported


@writes_complex("view_as_complex")
def view_as_complex(x: Tensor) -> Complex:
    return _split(x)


@writes_complex("view_as_real")
def view_as_real(x: Complex) -> Tensor:
    return _joined(x)


@writes_complex("complex")
def complex_of(re: Tensor, im: Tensor) -> Complex:
    return Complex(re, im)


@writes_complex("polar")
def polar(length: Tensor, angle: Tensor) -> Complex:
    return Complex(O.mul(length, O.cos(angle)), O.mul(length, O.sin(angle)))


@writes_complex("_to_copy")
def converted(x: Any, **_: Any) -> Complex:
    if not isinstance(x, Complex):
        return as_complex(x, operand(0, result_type()))
    return Complex(operand(x.re, result_type()), operand(x.im, result_type()))


@writes_complex("full", "zeros", "empty.memory_format")
def full(shape: Sequence[int], value: complex = 0, **_: Any) -> Complex:
    filled = np.full(tuple(shape), value, complex)
    re, im = (operand(constant(x), result_type()) for x in (filled.real, filled.imag))
    return Complex(re, im)


@writes_complex("real")
def real(x: Complex) -> Tensor:
    return same(x.re)


@writes_complex("imag")
def imaginary(x: Complex) -> Tensor:
    return same(x.im)


@writes_complex("_conj", "conj_physical", "_conj_physical")
def conjugate(x: Complex) -> Complex:
    return Complex(x.re, O.neg(x.im))


@writes_complex("add.Tensor", "add.Scalar")
def add(x: Any, y: Any, alpha: complex = 1) -> Complex:
    return _combined(O.add, x, y, alpha)


@writes_complex("sub.Tensor", "sub.Scalar")
def sub(x: Any, y: Any, alpha: complex = 1) -> Complex:
    return _combined(O.sub, x, y, alpha)


def _combined(write: Callable[..., Tensor], x: Any, y: Any, alpha: complex) -> Complex:
    a, b = _pair(x, y if alpha == 1 else mul(y, alpha))
    return Complex(write(a.re, b.re), write(a.im, b.im))


@writes_complex("mul.Tensor", "mul.Scalar")
def mul(x: Any, y: Any) -> Complex:
    for a, b in ((x, y), (y, x)):
        if isinstance(a, Complex) and not isinstance(b, Complex | complex):
            return Complex(O.mul(a.re, b), O.mul(a.im, b))
    return _product(O.mul, x, y)


@writes_complex("mm", "bmm", "matmul")
def matmul(x: Any, y: Any) -> Complex:
    return _product(O.matmul, x, y)


def _product(write: Callable[..., Tensor], x: Any, y: Any) -> Complex:
    a, b = _pair(x, y)
    return Complex(
        O.sub(write(a.re, b.re), write(a.im, b.im)), O.add(write(a.re, b.im), write(a.im, b.re))
    )


@writes_complex("div.Tensor", "div.Scalar")
def div(x: Any, y: Any) -> Complex:
    if isinstance(x, Complex) and not isinstance(y, Complex | complex):
        return Complex(O.div(x.re, y), O.div(x.im, y))
    a, b = _pair(x, y)
    size = O.add(O.mul(b.re, b.re), O.mul(b.im, b.im))
    turned = mul(a, conjugate(b))
    return Complex(O.div(turned.re, size), O.div(turned.im, size))


@writes_complex("reciprocal")
def reciprocal(x: Complex) -> Complex:
    return div(1.0, x)


@writes_complex("copy")
def copied(x: Any, source: Any, non_blocking: bool = False) -> Complex:
    like = x.re if isinstance(x, Complex) else x
    given = as_complex(source, operand(0, result_type()))
    return Complex(expanded(given.re, like.type.sizes), expanded(given.im, like.type.sizes))


@writes_complex("abs")
def absolute(x: Complex) -> Tensor:
    """The magnitude, scaled by the larger part, whose square may overflow."""
    parts = (O.abs(x.re), O.abs(x.im))
    large, small = O.maximum(*parts), O.minimum(*parts)
    ratio = O.div(small, O.where(O.equal(large, 0.0), 1.0, large))
    return O.mul(large, O.sqrt(O.add(O.mul(ratio, ratio), 1.0)))


@writes_complex("angle")
def angle(x: Complex) -> Tensor:
    return atan2(x.im, x.re)


@writes_complex("exp")
def exp(x: Complex) -> Complex:
    return polar(O.exp(x.re), x.im)


@writes_complex("_fft_r2c")
def fft_of_real(x: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Complex:
    last = dim[-1] % x.type.rank
    first = _transformed(unsqueeze(x, x.type.rank), last, x.type.sizes[last], onesided=onesided)
    scale = _scale([x.type.sizes[d] for d in dim], normalization)
    rest = _split(_along(first, dim[:-1], inverse=False))
    return rest if scale == 1 else mul(rest, scale)


@writes_complex("_fft_c2c")
def fft(x: Complex, dim: Sequence[int], normalization: int, forward: bool) -> Complex:
    result = _split(_along(_joined(x), dim, inverse=not forward))
    lengths = [x.re.type.sizes[d] for d in dim]
    scale = _scale(lengths, normalization) * (1 if forward else math.prod(lengths))
    return result if scale == 1 else mul(result, scale)


@writes_complex("_fft_c2r")
def fft_to_real(x: Complex, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
    axis = dim[-1] % x.re.type.rank
    rest = _along(_joined(x), dim[:-1], inverse=True)
    result = transformed(rest, axis, last_dim_size, inverse=True, onesided=True)
    lengths = [*(x.re.type.sizes[d] for d in dim[:-1]), last_dim_size]
    scale = _scale(lengths, normalization) * math.prod(lengths)
    flat = O.reshape(result, result.type.sizes[:-1])
    return flat if scale == 1 else O.mul(flat, scale)


def _scale(lengths: Sequence[int], normalization: int) -> float:
    """The factor of PyTorch's normalization mode: 0 none, 1 by the square root, 2 by the points."""
    if normalization not in (0, 1, 2):
        raise Unsupported(f"a transform with normalization {normalization}")
    points = math.prod(lengths)
    return (1.0, points**-0.5, 1 / points)[normalization]


def _along(x: Tensor, dim: Sequence[int], *, inverse: bool) -> Tensor:
    """Transform (..., 2) along several dimensions."""
    rank = x.type.rank - 1
    for d in dim:
        axis = d % rank
        x = transformed(x, axis, x.type.sizes[axis], inverse=inverse, onesided=False)
    return x


def _transformed(x: Tensor, axis: int, length: int, *, onesided: bool) -> Tensor:
    return transformed(x, axis, length, inverse=False, onesided=onesided)


def _pair(x: Any, y: Any) -> tuple[Complex, Complex]:
    parts = [value.re if isinstance(value, Complex) else value for value in (x, y)]
    like = next(value for value in parts if isinstance(value, Tensor))
    return as_complex(x, like), as_complex(y, like)


def _split(x: Tensor) -> Complex:
    """Split (..., 2) into real and imaginary parts."""
    *shape, _ = x.type.sizes
    last = x.type.rank - 1
    re, im = (O.reshape(part(x, last, n, n + 1), tuple(shape)) for n in (0, 1))
    return Complex(re, im)


def _joined(x: Complex) -> Tensor:
    """Stack the parts as (..., 2)."""
    rank = x.re.type.rank
    return O.concat(unsqueeze(x.re, rank), unsqueeze(x.im, rank), axis=rank)
