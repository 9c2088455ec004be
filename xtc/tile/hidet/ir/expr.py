# SPDX-License-Identifier: Apache-2.0
"""Run-time numbers, for annotations."""

from xtc.tile.values.runtime import Scalar

Expr = Var = Scalar

__all__ = ["Expr", "Var"]
