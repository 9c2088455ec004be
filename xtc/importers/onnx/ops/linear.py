# SPDX-License-Identifier: Apache-2.0
"""Matmuls, einsums and determinants."""

from __future__ import annotations

import string

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.table import reads
from xtc.importers.values import Unsupported


@reads("MatMul", 1, 9, 13)
def matmul(call: Call) -> Tensor:
    return matmul_of(call.tensor(0), call.tensor(1))


def matmul_of(a: Tensor, b: Tensor) -> Tensor:
    """NumPy's matmul, including vectors, in the operands' element type."""
    rows, columns = a.type.sizes, b.type.sizes
    left = O.reshape(a, (1, *rows)) if len(rows) == 1 else a
    right = O.reshape(b, (*columns, 1)) if len(columns) == 1 else b
    result = O.matmul(left, right)
    shape = list(result.type.sizes)
    if len(columns) == 1:
        del shape[-1]
    if len(rows) == 1:
        del shape[-1 if len(columns) == 1 else -2]
    if len(shape) != result.type.rank:
        result = O.reshape(result, tuple(shape))
    return result if result.dtype == a.dtype else O.cast(result, a.dtype)


@reads("Gemm", 7, 9, 11, 13)
def gemm(call: Call) -> Tensor:
    a, b, c = call.tensor(0), call.tensor(1), call.optional(2)
    flags = {side: bool(call.attribute(side, 0)) for side in ("transA", "transB")}
    product = O.matmul(a, b, transpose_a=flags["transA"], transpose_b=flags["transB"])
    result = _scaled(product, float(call.attribute("alpha", 1.0)))
    if c is not None:
        result = O.add(result, _scaled(c, float(call.attribute("beta", 1.0))))
    return result if result.dtype == a.dtype else O.cast(result, a.dtype)


def _scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1 else O.mul(x, factor)


@reads("Einsum", 12, 28)
def einsum(call: Call) -> Tensor:
    terms, result = _letters(str(call.required("equation")), call)
    operands = call.tensors()
    value, letters = operands[0], terms[0]
    if len(operands) == 1:
        value = O.einsum(f"{letters}->{result}", value)
    for position, (term, x) in enumerate(zip(terms[1:], operands[1:], strict=True), start=1):
        later = "".join(terms[position + 1 :]) + result
        kept = "".join(dict.fromkeys(c for c in letters + term if c in later))
        out = result if position == len(terms) - 1 else kept
        value, letters = O.einsum(f"{letters},{term}->{out}", value, x), out
    dtype = operands[0].dtype
    return value if value.dtype == dtype else O.cast(value, dtype)


def _letters(equation: str, call: Call) -> tuple[list[str], str]:
    """The subscripts of each operand and of the result, with ellipses expanded."""
    text = "".join(equation.split())
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    free = [c for c in string.ascii_letters if c not in text]
    if len(terms) != len(call.inputs):
        raise Unsupported(f"equation {equation!r} of {len(call.inputs)} operands")
    more = [call.rank(n) - len(term.replace("...", "")) for n, term in enumerate(terms)]
    most = max((m for term, m in zip(terms, more, strict=True) if "..." in term), default=0)
    if min(more) < 0 or most > len(free):
        raise Unsupported(f"equation {equation!r}, which does not match the operands' ranks")
    dots = "".join(free[:most])
    full = [
        term.replace("...", dots[most - m :] if m else "")
        for term, m in zip(terms, more, strict=True)
    ]
    if arrow:
        return full, right.replace("...", dots)
    joined = "".join(full)
    single = sorted(c for c in set(joined) if joined.count(c) == 1 and c not in dots)
    return full, dots + "".join(single)


@reads("Det", 11, 22)
def det(call: Call) -> Tensor:
    """Determinant by Gaussian elimination with partial pivoting, unrolled over the columns."""
    x = call.tensor(0)
    size = x.type.sizes[-1]
    if x.type.rank < 2 or x.type.sizes[-2] != size or size > 32:
        raise Unsupported(f"matrices of shape {x.type.sizes}")
    lead = x.type.sizes[:-2]
    count = int(np.prod(lead, dtype=np.int64))
    rows = O.reshape(x, (count, size, size))
    result = None
    for _ in range(size):
        rows, factor = _eliminated(rows)
        result = factor if result is None else O.mul(result, factor)
    if result is None:
        raise Unsupported("empty matrices")
    return O.reshape(result, lead)


def _eliminated(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Eliminate one column: the remaining submatrices, and the factor of the determinant."""
    count, size, _ = rows.type.sizes
    first = O.slice(rows, (0, 0, 0), (count, size, 1))
    position = O.argmax(O.abs(first), axis=1, keepdims=True)
    numbers = O.tensor((1, size, 1), "int64", const=np.arange(size).reshape(1, size, 1))
    chosen = O.equal(numbers, position)
    pivot_row = O.reduce_sum(O.where(chosen, rows, 0.0), axes=(1,), keepdims=True)
    pivot = O.slice(pivot_row, (0, 0, 0), (count, 1, 1))
    sign = _sign(position, rows)
    factor = O.mul(pivot, sign)
    if size == 1:
        return rows, factor
    safe = O.where(O.equal(pivot, 0.0), 1.0, pivot)
    rest = O.sub(rows, O.mul(O.div(first, safe), pivot_row))
    # All rows but the pivot's, in order: rows from the pivot on shift by one.
    small = O.tensor((1, size - 1, 1), "int64", const=np.arange(size - 1).reshape(1, -1, 1))
    source = O.where(O.less(small, position), small, O.add(small, 1))
    source = O.expand(source, (count, size - 1, size))
    kept = O.gather_elements(rest, source, axis=1)
    return O.slice(kept, (0, 0, 1), (count, size - 1, size)), factor


def _sign(position: Tensor, like: Tensor) -> Tensor:
    """-1 for a pivot in an odd row, else 1."""
    odd = O.cast(O.remainder(position, 2), like.dtype)
    return O.add(O.mul(odd, -2.0), 1.0)
