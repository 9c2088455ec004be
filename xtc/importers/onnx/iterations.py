# SPDX-License-Identifier: Apache-2.0
"""Iterations as one loop of the IR, or unrolled; shared by Loop and Scan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xtc.core.errors import UserError
from xtc.importers.compositions.movement import stacked
from xtc.importers.compositions.repetition import Step, repeated
from xtc.importers.onnx.call import Call
from xtc.importers.values import Array, Unsupported, Value, as_tensor

LONGEST = 4096  # trip count of an unrolled loop
MOST_UNROLLED = 8  # trip count up to which loops are unrolled even if the IR could hold them


def attempted(
    call: Call, step: Step, carried: Sequence[Value], rows: Sequence[Value]
) -> list[Value] | None:
    """The carried and collected values of a loop in the IR; None if it cannot be written."""
    try:
        with call.trial():
            found = repeated(step, [as_tensor(x) for x in carried], [as_tensor(x) for x in rows])
    except (Unsupported, UserError):
        return None  # unrolled, its counters are known
    return [*found[0], *found[1]]


def stack_of(column: Sequence[Value], axis: int) -> Value:
    """The collected values, stacked; an array if all are known."""
    if not column:
        raise Unsupported("results of no iteration")
    arrays = [value for value in column if isinstance(value, np.ndarray)]
    if len(arrays) == len(column):
        stack: Array = np.stack(arrays, axis)
        return stack
    return stacked([as_tensor(value) for value in column], axis)
