# SPDX-License-Identifier: Apache-2.0
"""Evaluates an expression to learn its kind and its effects, and undoes what that has done."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from xtc.ir.mlir import InsertionPoint, Operation, all_operations
from xtc.tile.transcription.branches import Frames, restore, state
from xtc.tile.values.runtime import Data

_READS = frozenset(
    f"tile.{name}"
    for name in (
        "block_id grid_dim load_global load_shared dot indices reduce broadcast transpose reshape "
        "convert_layout item view scan in_group"
    ).split()
)
"""Operations of the dialect `tile` that change nothing."""


class Trial:
    """An expression that has been evaluated.

    Attributes:
        found: its value; once undone, only its kind may be used.
        is_undone: whether its operations are removed again: always for run-time data, and for
            constants unless they are kept.
        has_effects: whether its operations, now removed, change memory, wait or print.
    """

    def __init__(
        self, frames: Frames, evaluate: Callable[[], Any], *, is_kept: bool = True
    ) -> None:
        block = InsertionPoint.current.block
        before, count = state(frames), len(block.operations)
        self.found = evaluate()
        self.has_effects = False
        self.is_undone = isinstance(self.found, Data) or not is_kept
        if self.is_undone:
            added = [op.operation for op in block.operations][count:]
            self.has_effects = any(map(_has_effect, added))
            restore(before, state(frames))
            for op in reversed(added):
                op.erase()


def has_calls(node: ast.expr) -> bool:
    """Whether an expression contains a call; others have no effects."""
    return any(isinstance(each, ast.Call) for each in ast.walk(node))


def _has_effect(operation: Operation) -> bool:
    return any(
        op.name.startswith("tile.") and op.name not in _READS for op in all_operations(operation)
    )
