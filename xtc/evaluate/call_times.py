# SPDX-License-Identifier: Apache-2.0
"""Statistics for call times on a busy machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xtc.core.errors import UserError

_NOTCH = 1.57
"""Half of a confidence interval of a median, of about 95 %, in quartile ranges over the root of the
number of samples (R. McGill, J. W. Tukey, W. A. Larsen, Variations of Box Plots, 1978)."""


def middle_half(seconds: Sequence[float]) -> list[int]:
    """The calls in neither the fastest nor the slowest quarter.

    Means over these calls are additive, unlike medians of single operators.
    """
    order = np.argsort(seconds, kind="stable")
    left_out = len(seconds) // 4
    return sorted(int(number) for number in order[left_out : len(seconds) - left_out])


def median_ratio(above: Sequence[float], below: Sequence[float]) -> tuple[float, float]:
    """The median of the ratios of pairs, and its noise."""
    ratios = np.array(above) / np.array(below)
    low, middle, high = np.percentile(ratios, (25, 50, 75))
    return float(middle), float(_NOTCH * (high - low) / np.sqrt(len(ratios)))


def require_calls(repeat: object) -> None:
    """Raise UserError for an invalid number of calls."""
    if not isinstance(repeat, int | np.integer):
        raise UserError(f"repeat={repeat!r} is not an integer")
    if repeat < 1:
        raise UserError(f"repeat={repeat} is not 1 or more")
