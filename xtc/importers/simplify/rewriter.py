# SPDX-License-Identifier: Apache-2.0
"""Writes a graph's nodes anew, one after the other, each through rules that know better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xtc.core.location import SourceLocation
from xtc.graph.node import Node
from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.ops.reshape import Reshape
from xtc.ops.transpose import Transpose

_DEEPEST = 64  # rules within rules: so that two that undo each other come to an end

Rule = Callable[["Rewriter", Operator, Sequence[Tensor]], Tensor | None]


@dataclass
class Rewriter:
    """The nodes written so far.

    Attributes:
        rules: each gives the tensor that an operator on operands computes, by other operators where
            that is better, or None. What a rule writes goes through all rules as well, so each must
            bring the graph nearer to one in which it has nothing to do.
        uses: how often each tensor is used in the old graph, outputs included, or how often what it
            stands for is; nothing for those that rules make on their way.
        nodes: written, in order.
    """

    rules: Sequence[Rule]
    uses: dict[Tensor, int]
    nodes: list[Node] = field(default_factory=list)
    where: SourceLocation | None = None
    _depth: int = 0
    _known: dict[tuple[Operator, tuple[Tensor, ...]], Tensor] = field(default_factory=dict)

    def write(self, op: Operator, *inputs: Tensor) -> Tensor:
        """What `op` computes, by the first rule that has a way, or by the operator itself."""
        if self._depth < _DEEPEST:
            self._depth += 1
            try:
                for rule in self.rules:
                    result = rule(self, op, inputs)
                    if result is not None:
                        return result
            finally:
                self._depth -= 1
        key = (op, inputs)
        if key not in self._known:
            self._known[key] = self._append(op, inputs)
        return self._known[key]

    def is_shared(self, x: Tensor) -> bool:
        """Whether a tensor has other uses than the one at hand."""
        return self.uses.get(x, 1) > 1

    def _append(self, op: Operator, inputs: tuple[Tensor, ...]) -> Tensor:
        type = op.infer(*(tensor.type for tensor in inputs))
        output = Tensor(None, type, where=self.where)
        output.producer = Node(op, inputs, output, None, self.where)
        self.nodes.append(output.producer)
        return output


def rewritten(
    nodes: Sequence[Node], outputs: Sequence[Tensor], rules: Sequence[Rule]
) -> tuple[list[Node], list[Tensor]]:
    """The nodes and outputs of a graph after `rules`, names kept where the results still exist."""
    uses: dict[Tensor, int] = {}
    for tensor in (*(x for node in nodes for x in node.inputs), *outputs):
        uses[tensor] = uses.get(tensor, 0) + 1
    rewriter = Rewriter(rules, uses)
    values: dict[Tensor, Tensor] = {}
    for node in nodes:
        rewriter.where = node.where
        result = rewriter.write(node.op, *(values.get(x, x) for x in node.inputs))
        if result.name is None and result.producer is not None:
            result.name = node.output.name
        values[node.output] = result
        _count(uses, node.output, result)
    return rewriter.nodes, [values.get(tensor, tensor) for tensor in outputs]


def _count(uses: dict[Tensor, int], old: Tensor, new: Tensor) -> None:
    """Those who used `old` use `new`, or what `new` is a view of."""
    if new is not old:
        uses[new] = uses.get(new, 0) + uses.get(old, 0)
    while new.producer is not None and isinstance(new.producer.op, Reshape | Transpose):
        (source,) = new.producer.inputs
        uses[source] = max(uses.get(source, 1), uses[new])
        new = source
