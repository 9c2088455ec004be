# SPDX-License-Identifier: Apache-2.0
"""The graph nodes of operations."""

from __future__ import annotations

from xtc.ir.attributes import NODE_ID_PREFIX
from xtc.ir.mlir import Operation


def last_node(op: Operation) -> str | None:
    """The node of an operation; for several fused nodes, the node of the result."""
    ids = [name for name in op.attributes if name.startswith(NODE_ID_PREFIX)]
    names = [name.removeprefix(NODE_ID_PREFIX).removesuffix("_") for name in ids]
    whole = [name for name in names if "." not in name]
    return (whole or names or [""])[-1].partition(".")[0] or None
