# SPDX-License-Identifier: Apache-2.0
"""Which loops are around others."""

from __future__ import annotations

from collections.abc import Iterable

from xtc.ir.mlir import Operation


def loop_around(op: Operation) -> Operation | None:
    """The innermost `scf.for` around an operation; None if there is none."""
    around = op.parent
    while around is not None and around.name != "scf.for":
        around = around.parent
    return around


def outer_loops(loops: Iterable[Operation]) -> set[Operation]:
    """The loops directly around these."""
    return {around for loop in loops if (around := loop_around(loop)) is not None}
