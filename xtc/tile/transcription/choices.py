# SPDX-License-Identifier: Apache-2.0
"""`and`, `or` and conditional expressions: operands with effects run where Python runs them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.mlir import Value
from xtc.tile.transcription import branches
from xtc.tile.transcription.evaluation import Expressions
from xtc.tile.transcription.slots import Unset
from xtc.tile.transcription.trials import Trial, has_calls
from xtc.tile.types import boolean
from xtc.tile.values import arithmetic
from xtc.tile.values.runtime import Data, Scalar

_CHOSEN = ".chosen"
"""The value of the side that runs; not a valid identifier."""


class Choices(Expressions):
    """Evaluates expressions whose operands do not all run."""

    def _BoolOp(self, node: ast.BoolOp) -> Any:  # noqa: N802
        """As in Python for constants; run-time operands without effects are all evaluated."""
        is_and = isinstance(node.op, ast.And)
        found: Any = is_and
        for part in node.values:
            if not isinstance(found, Data):
                if bool(found) != is_and:
                    return found
                found = self.evaluate(part)
            elif self.has_effects(part):
                sides = partial(self._truth_of, part), lambda: arithmetic.data(not is_and)
                found = self.chosen(found, *(sides if is_and else sides[::-1]))
            else:
                value = self.evaluate(part)
                both = isinstance(value, Data | bool | int)
                name = "and" if is_and else "or"
                found = arithmetic.binary(name, found, value) if both else value
        return found

    def _IfExp(self, node: ast.IfExp) -> Any:  # noqa: N802
        condition = self.evaluate(node.test)
        if not isinstance(condition, Data):
            return self.evaluate(node.body if condition else node.orelse)
        if self.has_effects(node.body) or self.has_effects(node.orelse):
            sides = partial(self.evaluate, node.body), partial(self.evaluate, node.orelse)
            return self.chosen(condition, *sides)
        values = self.evaluate(node.body), self.evaluate(node.orelse)
        self.require_going()
        return arithmetic.select(condition, *values)

    def has_effects(self, node: ast.expr) -> bool:
        """Whether a run-time expression changes memory, waits or prints."""
        if not has_calls(node):
            return False
        return Trial(self._names(), partial(self.evaluate, node), is_kept=False).has_effects

    def chosen(
        self, condition: Data, if_true: Callable[[], Any], if_false: Callable[[], Any]
    ) -> Any:
        """The value of the side that a run-time condition selects; only this side runs."""
        names = self.frame.names

        def run(side: Callable[[], Any]) -> None:
            names[_CHOSEN] = side()
            self.require_going()

        sides = partial(run, if_true), partial(run, if_false)
        branches.branch(self._names(), truth(condition), sides)
        found = names.pop(_CHOSEN)
        if isinstance(found, Unset):
            raise UserError(
                "the two sides of a conditional expression differ in type or shape",
                notes=["one of them has effects, so that only the one that is chosen runs"],
                hints=["write if and else, and cast both values to one type"],
            )
        return found

    def _truth_of(self, node: ast.expr) -> Data:
        return Scalar(truth(self.evaluate(node)), boolean)

    def _names(self) -> list[dict[str, Any]]:
        return [frame.names for frame in self.frames]  # type: ignore[misc]


def truth(condition: Any) -> Value:
    """A condition as a value of type i1. Raises UserError for a tile."""
    found = arithmetic.data(condition)
    if found.shape:
        raise UserError(
            f"a condition is {found!r}",
            hints=[
                "x.item() is the number of a tile of one element"
                if prod(found.shape) == 1
                else "use where, or any(...) and all(...) of it"
            ],
        )
    return found.value if found.dtype.kind == "bool" else arithmetic.binary("ne", found, 0).value
