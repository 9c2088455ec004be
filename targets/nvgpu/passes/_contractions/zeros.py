# SPDX-License-Identifier: Apache-2.0
"""Constants that are zero, with which sums begin and borders are filled."""

from __future__ import annotations

from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.mlir import Value


def is_zero(value: Value) -> bool:
    """Whether a value is the constant 0 of an integer type, or +0 of a float type."""
    producer = owner(value)
    if producer is None or producer.name != "arith.constant":
        return False
    number, _, _ = str(producer.attributes["value"]).partition(" : ")
    return number in ("0", "0.000000e+00")
