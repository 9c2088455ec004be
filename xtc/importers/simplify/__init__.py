# SPDX-License-Identifier: Apache-2.0
"""Simplifies the nodes that an importer wrote, before they become a graph."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.activations import find_activations
from xtc.importers.simplify.affine import join_factors, join_sums, scale_weights
from xtc.importers.simplify.constants import fold
from xtc.importers.simplify.guards import drop_guards
from xtc.importers.simplify.normalisations import find_layer_norm
from xtc.importers.simplify.rewriter import rewritten
from xtc.importers.simplify.shapes import join_reshapes, join_transposes, reshape_for_transpose
from xtc.importers.simplify.subnormals import flush_weights
from xtc.importers.simplify.transposes import sink_transposes

RULES = (
    # First what needs no operator at all.
    fold,
    join_reshapes,
    join_transposes,
    # Layouts meet and cancel behind elementwise operators.
    sink_transposes,
    # What files write out of small operators.
    find_activations,
    find_layer_norm,
    drop_guards,
    join_factors,
    # Factors and summands of channels, which only now stand next to the convolution.
    scale_weights,
    join_sums,
)

# Only then: a transpose that became a reshape would meet no other transpose, and weights are what
# scales and layouts have made of them.
LAST_RULES = (fold, join_reshapes, join_transposes, reshape_for_transpose, flush_weights)


def simplified(nodes: Sequence[Node], outputs: Sequence[Tensor]) -> tuple[list[Node], list[Tensor]]:
    """The same outputs by fewer and better nodes."""
    return rewritten(*rewritten(nodes, outputs, RULES), LAST_RULES)
