# SPDX-License-Identifier: Apache-2.0
"""Types and expressions."""

from xtc.tile.hidet.ir.expr import Expr, Var
from xtc.tile.types import DataType, PointerType, void_p

__all__ = ["DataType", "Expr", "PointerType", "Var", "void_p"]
