# SPDX-License-Identifier: Apache-2.0
"""Conditions that a kernel states for the compiler, as methods of its class."""

from __future__ import annotations

from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.values.runtime import Data


class Conditions:
    """Directives that take a condition."""

    def assume(self, cond: Any) -> None:
        """State a fact for the compiler, such as `m % 8 == 0`, which can allow wider accesses."""
        if isinstance(cond, str) or (isinstance(cond, Data) and cond.dtype.kind != "bool"):
            raise UserError(
                f"assume takes a condition, not {cond!r}",
                hints=["compare numbers: self.assume(n % 8 == 0)"],
            )
        if isinstance(cond, Data):
            if cond.shape:
                raise UserError(
                    f"assume takes a condition of numbers, not {cond!r}",
                    hints=["self.assume(self.all(condition))"],
                )
            tile.assume(cond.value, "assume")
        elif not cond:
            raise UserError(
                "assume: the condition is false",
                hints=["remove it, or let the kernel take other constants"],
            )

    @staticmethod
    def static_assert(cond: Any, msg: str) -> None:
        """Refuse to compile with this message unless a constant condition holds."""
        if isinstance(cond, Data):
            raise UserError(
                "static_assert takes a compile-time condition",
                hints=["self.assume(condition) states what holds at run time"],
            )
        if not cond:
            raise UserError(f"static_assert: {msg}")
