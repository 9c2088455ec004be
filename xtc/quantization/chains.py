# SPDX-License-Identifier: Apache-2.0
"""Chains of operators to fuse: a contraction or a sum with its bias and its activation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from xtc.graph.graph import Graph
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor

CONTRACTIONS = ("conv2d", "matmul")
_BEGIN = (*CONTRACTIONS, "add", "sub", "mul")


@dataclass(frozen=True)
class Chain:
    """Nodes of which each except the last is used only by the next.

    Attributes:
        nodes: in order.
        bias: the constant summand of a contraction.
        low, high: the limits of the activation.
    """

    nodes: tuple[Node, ...]
    bias: Tensor | None
    low: float
    high: float

    @property
    def result(self) -> Tensor:
        """The result of the last node."""
        return self.nodes[-1].output


def chains_of(graph: Graph) -> Iterator[Chain]:
    """The chains of a graph; each node is in at most one."""
    users: dict[Tensor, list[Node]] = {}
    for node in graph.nodes:
        for tensor in node.inputs:
            users.setdefault(tensor, []).append(node)
    for tensor in graph.outputs:
        users.setdefault(tensor, []).extend(graph.nodes[:2])  # an output never has a single user
    taken: set[Node] = set()
    for node in graph.nodes:
        if node.op.name in _BEGIN and node not in taken:
            chain = _chain(node, users)
            taken.update(chain.nodes)
            yield chain


def _chain(first: Node, users: dict[Tensor, list[Node]]) -> Chain:
    nodes, bias = [first], None
    low, high = -math.inf, math.inf
    while True:
        found = users.get(nodes[-1].output, [])
        if len(found) != 1:
            break
        (user,) = found
        addend = _bias(first, user, nodes[-1].output) if len(nodes) == 1 else None
        limits = _limits(user, nodes[-1].output)
        if addend is not None:
            bias = addend
        elif limits is not None:
            low, high = max(low, limits[0]), min(high, limits[1])
        else:
            break
        nodes.append(user)
    return Chain(tuple(nodes), bias, low, high)


def _bias(first: Node, user: Node, sums: Tensor) -> Tensor | None:
    """The constant that is added for each filter of a contraction."""
    if first.op.name not in CONTRACTIONS or user.op.name != "add":
        return None
    (other,) = [x for x in user.inputs if x is not sums] or (None,)
    if other is None or other.const is None or user.output.shape != sums.shape:
        return None
    filters = sums.shape[-1]
    fits = other.const.size in (1, filters) and other.shape[-1:] in ((), (1,), (filters,))
    return other if fits else None


def _limits(user: Node, x: Tensor) -> tuple[float, float] | None:
    """The limits of an activation."""
    if user.op.name == "relu":
        return 0.0, math.inf
    if user.op.name not in ("maximum", "minimum"):
        return None
    (other,) = [y for y in user.inputs if y is not x] or (None,)
    if other is None or other.const is None or other.const.size != 1:
        return None
    value = float(other.const.reshape(()))
    return (value, math.inf) if user.op.name == "maximum" else (-math.inf, value)
