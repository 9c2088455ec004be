# SPDX-License-Identifier: Apache-2.0
"""Run-time numbers, such as the grid and trip counts, computed on the host from the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xtc.ir.mlir import BlockArgument, Value
from xtc.tile.interpreter.values import compute, is_computed


class Scalars:
    """The values of scalars that depend only on the arguments."""

    def __init__(self, arguments: Mapping[Value, Any]) -> None:
        self._known: dict[Value, Any] = dict(arguments)

    def number(self, value: Value, default: Any = None) -> Any:
        """The number of a value; `default` if it depends on more than the arguments."""
        found = self._number(value)
        return default if found is None else int(found)

    def _number(self, value: Value) -> Any:
        if value not in self._known:
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: Value) -> Any:
        if isinstance(value, BlockArgument):
            return None
        op = value.owner
        operation = getattr(op, "operation", op)
        if not is_computed(operation):
            return None
        operands = [self._number(operand) for operand in operation.operands]
        if any(operand is None for operand in operands):
            return None
        with np.errstate(all="ignore"):
            return compute(operation, operands)
