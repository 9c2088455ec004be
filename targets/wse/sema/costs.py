# SPDX-License-Identifier: Apache-2.0
"""Modelled cycles of scalar code, by class of instruction.

Sources: scalar loops published for the WSE-3 simulator. GEMM 16^3 in three `while` loops took
119,197 cycles, 29.1 per iteration; SAXPY of 512 took 11,276, 22.0 per iteration; a dependent
floating-point operation takes 2 cycles, a taken branch 6, a loop's back edge 9 to 10.
"""

from __future__ import annotations

from xtc_targets.wse.sema import types as t

LOAD = 1
STORE = 2
ADDRESS = 1
"""Computing an element's address."""
DESCRIPTOR = 4
"""Copying a descriptor."""
BRANCH = 3
"""A conditional branch; half of them are taken."""
BACK_EDGE = 6
"""The back edge of a loop, in addition to the branch of its condition."""
CALL = 6
RETURN = 6
MAPPED = 2
"""A call by @map: published tiles of 16 and columns of 28 leave 0 to 3 for it."""
_DIVISION = 40
_FLOAT = 2


def cost_of(op: str, kind: t.Type) -> int:
    """The cost of an operator on a type."""
    words = max(1, kind.size // 2)
    if isinstance(kind, t.Float):
        return _DIVISION if op in ("/", "%") else _FLOAT
    if op in ("/", "%"):
        return _DIVISION
    if op == "*":
        return 4 * words
    return words
