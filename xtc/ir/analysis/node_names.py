# SPDX-License-Identifier: Apache-2.0
"""The graph nodes of operations of any dialect, from their ids and locations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xtc.ir.analysis.linalg_ops import graph_node, graph_nodes
from xtc.ir.attributes import NODE_NAMESPACES

if TYPE_CHECKING:
    from xtc.ir.mlir import Attribute, Location, Operation


def node_of(op: Operation) -> str:
    """The graph node of an operation: its id, else the name in its location; "" if unknown."""
    return graph_node(op) or _name(op.location)


def nodes_of(op: Operation) -> list[str]:
    """All graph nodes of an operation: its ids, else the names in its location."""
    return graph_nodes(op) or list(_names(op.location))


def node_attributes(op: Operation) -> dict[str, Attribute]:
    """The attributes that a replacement with other loops keeps: the graph node and the device."""
    return {name: op.attributes[name] for name in op.attributes if name.startswith(NODE_NAMESPACES)}


def _name(location: Location) -> str:
    """The first name in a location, or ""."""
    return next(_names(location), "")


def _names(location: Location) -> Iterator[str]:
    if location.is_a_name():
        yield str(location.name_str)
    elif location.is_a_fused():
        for part in location.locations:
            yield from _names(part)
    elif location.is_a_callsite():
        yield from _names(location.callee)
