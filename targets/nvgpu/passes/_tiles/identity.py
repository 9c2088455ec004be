# SPDX-License-Identifier: Apache-2.0
"""The identity elements of reductions and scans."""

from __future__ import annotations

from xtc.ir.mlir import FloatAttr, FloatType, Type, Value, arith


def identity(kind: str, type: Type) -> Value:
    """The identity element of a combination; of "sum", also where all elements are -0."""
    if isinstance(type, FloatType):
        infinite = float("inf")
        numbers = {"add": 0.0, "sum": -0.0, "mul": 1.0, "max": -infinite, "min": infinite}
        return arith.constant(type, FloatAttr.get(type, numbers[kind]))
    width = type.width
    integers = {"mul": 1, "and": -1, "umin": -1, "max": -(1 << (width - 1))}
    return arith.constant(type, {**integers, "min": (1 << (width - 1)) - 1}.get(kind, 0))
