# SPDX-License-Identifier: Apache-2.0
"""Which node of the graph an operation of any dialect came from, by its location."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtc.ir.analysis.linalg_ops import graph_node

if TYPE_CHECKING:
    from xtc.ir.mlir import Location, Operation


def node_of(op: Operation) -> str:
    """The graph node of an operation: its id, else the name in its location; "" where unknown."""
    return graph_node(op) or _name(op.location)


def _name(location: Location) -> str:
    """The first name in a location."""
    if location.is_a_name():
        return str(location.name_str)
    if location.is_a_fused():
        names = (_name(part) for part in location.locations)
        return next((name for name in names if name), "")
    if location.is_a_callsite():
        return _name(location.callee)
    return ""
