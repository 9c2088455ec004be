# SPDX-License-Identifier: Apache-2.0
"""Rewrites a graph node by node, applying rules to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xtc.core.location import SourceLocation
from xtc.graph.node import Node
from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.ops.reshape import Reshape
from xtc.ops.transpose import Transpose

_DEEPEST = 64  # nesting limit: two rules that undo each other must terminate

Rule = Callable[["Rewriter", Operator, Sequence[Tensor]], Tensor | None]


@dataclass
class Rewriter:
    """The rewritten nodes.

    Attributes:
        rules: each returns a tensor equivalent to the operator's result, or None to decline. The
            rules also apply to the operators that a rule writes, so each rule must make progress.
        uses: number of uses of each tensor in the old graph, outputs included; a replacement
            inherits the uses of the tensor that it replaces, intermediate tensors have none.
        nodes: in order.
    """

    rules: Sequence[Rule]
    uses: dict[Tensor, int]
    nodes: list[Node] = field(default_factory=list)
    where: SourceLocation | None = None
    _depth: int = 0
    _known: dict[tuple[Operator, tuple[Tensor, ...]], Tensor] = field(default_factory=dict)

    def write(self, op: Operator, *inputs: Tensor) -> Tensor:
        """The result of `op`, by the first rule that applies, or by the operator itself."""
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
        """Whether a tensor has more than one use."""
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
    """The nodes and outputs of a graph after `rules`; names are kept if the results still exist."""
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
    """Add the uses of `old` to `new` and to the tensors that `new` is a view of."""
    if new is not old:
        uses[new] = uses.get(new, 0) + uses.get(old, 0)
    while new.producer is not None and isinstance(new.producer.op, Reshape | Transpose):
        (source,) = new.producer.inputs
        uses[source] = max(uses.get(source, 1), uses[new])
        new = source
