# SPDX-License-Identifier: Apache-2.0
"""Folds operators on constants whose results the host would send to a device in each call."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from xtc.graph.graph import Graph
from xtc.graph.node import Node
from xtc.graph.operator import Array
from xtc.graph.rewritten import rewritten
from xtc.graph.tensor import Tensor

VIEWS = frozenset({"reshape", "slice", "transpose"})
"""Applied to a constant they stay: passes store the result on the device or read the constant."""
MOVEMENT = VIEWS | {"cast", "concat", "expand", "flip", "pad", "pad_mirrored", "tile", "unpad"}
"""Operators with bit-identical results on every machine."""
MAX_GROWTH = 4
"""The largest ratio of a result's size to that of its operands; small results are exempt."""
SMALL_BYTES = 1 << 16


def fold_constants(graph: Graph, kept: Collection[str] = ()) -> Graph:
    """The graph with casts, pads, concatenations and similar operators on constants evaluated.

    Only results that the host computes and a device reads are folded: each call would send them.
    `kept` names nodes that stay, such as those with a schedule.
    """
    folding = _Folding(graph, frozenset(kept))
    folding.evaluate()
    read = {
        tensor
        for node in graph.nodes
        if node.placement is not None
        for tensor in node.inputs
        if folding.is_rewritten(tensor)
    }
    return rewritten(graph, {tensor: folding.constant(tensor) for tensor in read})


@dataclass
class _Folding:
    """Known values of results, by tensor."""

    graph: Graph
    kept: frozenset[str]
    values: dict[Tensor, Array] = field(default_factory=dict)

    def evaluate(self) -> None:
        """Evaluate the nodes that depend only on constants."""
        given = {*self.graph.outputs, *(value for _, value in self.graph.updates)}
        for node in self.graph.nodes:
            if node.output not in given and self._is_known(node):
                with np.errstate(all="ignore"):
                    found = node.op.reference(*map(self._value, node.inputs))
                type = node.output.type
                array = np.array(found, type.element.numpy, order="C").reshape(type.sizes)
                array.flags.writeable = False
                self.values[node.output] = array

    def is_rewritten(self, tensor: Tensor) -> bool:
        """Whether the value is known and is not a plain view of a constant."""
        node = tensor.producer
        if tensor not in self.values or node is None:
            return False
        return node.op.name not in VIEWS or any(t in self.values for t in node.inputs)

    def constant(self, tensor: Tensor) -> Tensor:
        """The constant that replaces a result."""
        value = self.values[tensor]
        return Tensor(tensor.name, tensor.type, const=value, where=tensor.where)

    def _is_known(self, node: Node) -> bool:
        if node.op.name not in MOVEMENT or node.placement is not None or node.name in self.kept:
            return False
        if any(t.const is None and t not in self.values for t in node.inputs):
            return False
        operands = sum(tensor.type.nbytes for tensor in node.inputs)
        return node.output.type.nbytes <= max(SMALL_BYTES, MAX_GROWTH * operands)

    def _value(self, tensor: Tensor) -> Array:
        return self.values[tensor] if tensor.const is None else tensor.const
