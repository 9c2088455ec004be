# SPDX-License-Identifier: Apache-2.0
"""Simplifies the nodes that an importer wrote, before they become a graph."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.affine import join_sums, scale_weights
from xtc.importers.simplify.constants import fold
from xtc.importers.simplify.rewriter import rewritten
from xtc.importers.simplify.shapes import join_reshapes, join_transposes, reshape_for_transpose
from xtc.importers.simplify.transposes import sink_transposes

RULES = (
    # First what needs no operator at all.
    fold,
    join_reshapes,
    join_transposes,
    reshape_for_transpose,
    # Layouts meet and cancel behind elementwise operators.
    sink_transposes,
    # Factors and summands of channels, which only now stand next to the convolution.
    scale_weights,
    join_sums,
)


def simplified(nodes: Sequence[Node], outputs: Sequence[Tensor]) -> tuple[list[Node], list[Tensor]]:
    """The same outputs by fewer and better nodes."""
    return rewritten(nodes, outputs, RULES)
