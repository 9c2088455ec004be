# SPDX-License-Identifier: Apache-2.0
"""What a kernel's author promises, in the code of a thread."""

from __future__ import annotations

from xtc.ir.attributes import PROMISE
from xtc.ir.mlir import Operation, StringAttr, Value, cf


def keep_promise(op: Operation, holds: Value) -> None:
    """Keep a `tile.assume` as an assertion, if the author promises it: the simulator checks it."""
    if PROMISE in op.attributes:
        cf.AssertOp(holds, StringAttr(op.attributes[PROMISE]).value)
