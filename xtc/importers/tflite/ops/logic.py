# SPDX-License-Identifier: Apache-2.0
"""Comparisons, logic and selection."""

from __future__ import annotations

from collections.abc import Callable

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.tflite.call import Call
from xtc.importers.tflite.table import reads
from xtc.importers.values import Unsupported


def _comparison(name: str, write: Callable[[Tensor, Tensor], Tensor]) -> None:
    @reads(name)
    def read(call: Call) -> Tensor:
        a, b = call.tensor(0), call.tensor(1)
        if a.dtype == "int8" and call.scale(0) != call.scale(1):
            raise Unsupported("operands of different scales")
        return write(a, b)


for _name, _write in (
    ("EQUAL", O.equal),
    ("NOT_EQUAL", O.not_equal),
    ("GREATER", O.greater),
    ("GREATER_EQUAL", O.greater_equal),
    ("LESS", O.less),
    ("LESS_EQUAL", O.less_equal),
    ("LOGICAL_AND", O.bitwise_and),
    ("LOGICAL_OR", O.bitwise_or),
):
    _comparison(_name, _write)


@reads("LOGICAL_NOT")
def logical_not(call: Call) -> Tensor:
    return O.logical_not(call.tensor(0))


@reads("SELECT", "SELECT_V2")
def select(call: Call) -> Tensor:
    condition, a, b = (call.tensor(position) for position in range(3))
    if a.dtype == "int8" and not (call.scale(1) == call.scale(2) == call.result_scale):
        raise Unsupported("operands and result of different scales")
    if call.operator.name == "SELECT" and condition.type.rank not in (0, a.type.rank):
        raise Unsupported(f"a condition of rank {condition.type.rank} for rank {a.type.rank}")
    return O.where(condition, a, b)
