# SPDX-License-Identifier: Apache-2.0
"""Default tolerances: how far a correct result may differ from its reference.

For a result of unit roundoff u (half of eps) after reductions of length n, which are computed in
float32 or wider (unit roundoff v, see xtc/core/types.py) and rounded to the result once; if the
operands were rounded to fewer bits than the result, u is their unit roundoff:

    rtol = min(1/4, 4 (4 u + sqrt(n) v))
    atol = rtol * scale + the smallest normal number of the result's type

An element is correct if |actual - expected| <= atol + rtol * |expected|.

- sqrt(n) v: rounding errors behave as independent with mean zero, so those of n operations grow as
  sqrt(n) v and not as the worst case n v (N. J. Higham, Accuracy and Stability of Numerical
  Algorithms, 2nd ed., SIAM 2002, section 2.8; proved for inner products with high probability by
  N. J. Higham and T. Mary, SIAM J. Sci. Comput. 41(5), 2019). The factor 4 is a margin: sequential
  summation of n independent terms of mean zero has a relative RMS error of sqrt(n) v / sqrt(6), a
  tenth of the tolerance.
- 4 u: the last rounding, elementary functions and the operations around a reduction, with errors
  of a few units each.
- scale: the error of a sum is proportional to the magnitude of its terms, which cancellation hides.
  It is estimated by the root mean square of the reference, but by at most 16 times the median of
  its elements, so that a few huge elements do not hide errors in small ones.
- 1/4: a looser tolerance would accept a half-wrong result.
- the smallest normal number: underflow may flush to zero.
- Instructions that sum pairs of bfloat16 products need no extra tolerance: a product of two
  bfloat16 is exact in float32, so a sum is rounded as often as with fused multiply-adds, or half as
  often. But they treat subnormal operands as zero (Intel, Architecture Instruction Set Extensions
  Programming Reference, VDPBF16PS), which the tolerance does not cover: if such operands are
  multiplied by huge ones, the check reports a difference.

Integers and booleans are compared exactly.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xtc.evaluate.dtypes import kind_of

Array = npt.NDArray[Any]

_ACCUMULATOR_ROUNDOFF = 2.0**-24
_CONFIDENCE = 4.0
_FEW_OPERATIONS = 4.0
_BLOCKS = 16.0
_LOOSEST = 0.25
_MEDIANS = 16.0


def default_tolerances(
    actual: Array,
    expected: Array,
    reduction: int = 1,
    scale: float | None = None,
    roundoff: float = 0.0,
) -> tuple[float, float]:
    """(rtol, atol) by the module's formula; (0, 0) for integers and booleans.

    `scale` is the typical magnitude of a sum without cancellation; None estimates it from
    `expected`. `roundoff` is that of operands which were rounded on purpose.
    """
    if kind_of(actual.dtype) != "float":
        return 0.0, 0.0
    types = [ml_dtypes.finfo(array.dtype) for array in (actual, expected)]
    own = max(float(info.eps) for info in types) / 2
    summing = math.sqrt(reduction) * min(own, _ACCUMULATOR_ROUNDOFF)
    rtol = min(_LOOSEST, _CONFIDENCE * (_FEW_OPERATIONS * max(own, roundoff) + summing))
    size = _typical_size(expected) if scale is None else scale
    return rtol, rtol * size + float(types[0].smallest_normal)


def rounding_noise(rounded: Array, precise: Array) -> float:
    """An addition to `atol` for functions that magnify rounding errors, such as exp and casts.

    It is sixteen times the largest difference between the references in the declared types and in
    float64. Another correct evaluation order differs from both by a similar amount, but NumPy sums
    in blocks, to which plain loops lose an order of magnitude.
    """
    with np.errstate(all="ignore"):
        gap = np.abs(rounded.astype(np.float64) - precise.astype(np.float64))
    finite = gap[np.isfinite(gap)]
    return _BLOCKS * float(finite.max()) if finite.size else 0.0


def _typical_size(expected: Array) -> float:
    """The root mean square of the finite elements, at most 16 times their non-zero median."""
    sizes = np.abs(expected.astype(np.float64)).ravel()
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if sizes.size == 0:
        return 0.0
    largest = float(sizes.max())
    root_mean_square = largest * math.sqrt(float(np.mean((sizes / largest) ** 2)))
    return min(root_mean_square, _MEDIANS * float(np.quantile(sizes, 0.5, method="lower")))
