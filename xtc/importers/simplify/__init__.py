# SPDX-License-Identifier: Apache-2.0
"""Simplifies the nodes that an importer has written, before they become a graph."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.activations import find_activations
from xtc.importers.simplify.affine import join_factors, join_sums, scale_weights
from xtc.importers.simplify.constants import fold
from xtc.importers.simplify.guards import drop_guards
from xtc.importers.simplify.normalizations import find_layer_norm
from xtc.importers.simplify.rewriter import rewritten
from xtc.importers.simplify.shapes import join_reshapes, join_transposes, reshape_for_transpose
from xtc.importers.simplify.subnormals import flush_weights
from xtc.importers.simplify.transposes import sink_transposes

RULES = (
    # Operators that vanish come first.
    fold,
    join_reshapes,
    join_transposes,
    # Transposes sink below elementwise operators and cancel.
    sink_transposes,
    # Operators that files spell out as several smaller ones.
    find_activations,
    find_layer_norm,
    drop_guards,
    join_factors,
    # Per-channel factors and addends, which are adjacent to the convolution only now.
    scale_weights,
    join_sums,
)

# These run last: a transpose that became a reshape could not cancel another transpose, and the
# weights must have absorbed scales and layouts.
LAST_RULES = (fold, join_reshapes, join_transposes, reshape_for_transpose, flush_weights)


def simplified(nodes: Sequence[Node], outputs: Sequence[Tensor]) -> tuple[list[Node], list[Tensor]]:
    """Equivalent outputs, computed by fewer and cheaper nodes."""
    return rewritten(*rewritten(nodes, outputs, RULES), LAST_RULES)
