# SPDX-License-Identifier: Apache-2.0
"""Iterations as one loop of the IR, or written out: what Loop and Scan share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xtc.core.errors import UserError
from xtc.importers.compositions.movement import stacked
from xtc.importers.compositions.repetition import Step, repeated
from xtc.importers.onnx.call import Call
from xtc.importers.values import Array, Unsupported, Value, as_tensor

LONGEST = 4096  # iterations of an unrolled loop
MOST_UNROLLED = 8  # of one that can be a loop in the IR


def attempted(
    call: Call, step: Step, carried: Sequence[Value], rows: Sequence[Value]
) -> list[Value] | None:
    """What a loop in the IR carries in the end, then what it collects; None if it cannot be."""
    try:
        with call.trial():
            found = repeated(step, [as_tensor(x) for x in carried], [as_tensor(x) for x in rows])
    except (Unsupported, UserError):
        return None  # written out, its numbers are known
    return [*found[0], *found[1]]


def stack_of(column: Sequence[Value], axis: int) -> Value:
    """What the iterations collected, stacked; an array where all of it is known."""
    if not column:
        raise Unsupported("results of no iteration")
    arrays = [value for value in column if isinstance(value, np.ndarray)]
    if len(arrays) == len(column):
        stack: Array = np.stack(arrays, axis)
        return stack
    return stacked([as_tensor(value) for value in column], axis)
