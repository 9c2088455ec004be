# SPDX-License-Identifier: Apache-2.0
"""Weights in 4-bit or 8-bit codes with group-wise scales, built from elementwise operators.

The host reads the stored codes and dequantizes them in the loops of the contraction that reads the
weights.
"""

from __future__ import annotations

import numpy as np

from xtc.core.errors import UserError
from xtc.graph.builder import tensor
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ops.attributes import user_function
from xtc.ops.bitwise_and import bitwise_and
from xtc.ops.cast import cast
from xtc.ops.mul import mul
from xtc.ops.reshape import reshape
from xtc.ops.sub import sub


@user_function
def coded_weights(
    codes: Array,
    scales: Array,
    zero_points: Array | None = None,
    *,
    bits: int = 8,
    name: str | None = None,
) -> Tensor:
    """The float32 weights (k, n) of the codes: (code - zero point) * scale.

    Args:
        codes: uint8 of shape (k, n), each below 2**bits.
        scales: of shape (groups, n); a group is k / groups neighboring rows.
        zero_points: of shape (groups, n); None for 2**(bits - 1).
        bits: 4 or 8. Two codes of 4 bits are stored in a byte.
        name: of the last operator.

    Raises UserError if shapes or codes do not fit, and for groups of an odd number of rows of 4
    bits.
    """
    k, n, groups = _check(codes, scales, bits)
    if zero_points is not None and zero_points.shape != (groups, n):
        raise UserError(f"zero points have the shape of scales, not {zero_points.shape}")
    parts = codes.reshape(groups, 1, k // groups, n)
    zeros = None if zero_points is None else _by_groups(zero_points)
    weights = _bytes(parts, zeros) if bits == 8 else _halves(parts, zeros)
    return reshape(mul(weights, _constant(_by_groups(scales))), (k, n), name=name)


def _check(codes: Array, scales: Array, bits: int) -> tuple[int, int, int]:
    """Rows, columns and groups."""
    if bits not in (4, 8):
        raise UserError(f"codes have 4 or 8 bits, not {bits}")
    if codes.dtype != np.uint8 or codes.ndim != 2:
        raise UserError(
            f"codes must be uint8 with two dimensions, not {codes.dtype} with {codes.ndim}"
        )
    if codes.size and int(codes.max()) >= 1 << bits:
        raise UserError(f"code {int(codes.max())} does not fit in {bits} bits")
    k, n = codes.shape
    if scales.ndim != 2 or scales.shape[1] != n or not scales.shape[0] or k % scales.shape[0]:
        raise UserError(
            f"scales {scales.shape} do not match groups of rows of codes {codes.shape}",
            hints=["scales have the shape (groups, columns), and groups divide the rows"],
        )
    groups = scales.shape[0]
    if bits == 4 and k // groups % 2:
        raise UserError(f"a group of {k // groups} rows of 4 bits does not fill whole bytes")
    return k, n, groups


def _by_groups(array: Array) -> Array:
    return np.asarray(array, np.float32)[:, None, None]


def _bytes(codes: Array, zeros: Array | None) -> Tensor:
    """Codes of a byte each, minus their zero points."""
    if zeros is None:
        return cast(_constant((codes ^ 0x80).view(np.int8)), "float32")
    return sub(cast(_constant(codes), "float32"), _constant(zeros))


def _halves(codes: Array, zeros: Array | None) -> Tensor:
    """The same for bytes with a code of a group's first half and one of its second half."""
    low, high = np.split(codes, 2, axis=2)
    masks = np.array([0x0F, 0xF0], np.uint8).reshape(1, 2, 1, 1)
    found = bitwise_and(_constant(low | high << 4), _constant(masks))
    # The high code is scaled by 16, and so is its zero point; the division by 16 is exact.
    times = np.array([1, 16], np.float32).reshape(1, 2, 1, 1)
    middle = np.float32(8) if zeros is None else zeros
    numbers = sub(cast(found, "float32"), _constant(middle * times))
    return mul(numbers, _constant(1 / times))


def _constant(array: Array) -> Tensor:
    return tensor(array.shape, array.dtype.name, const=np.ascontiguousarray(array))
