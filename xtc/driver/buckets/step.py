# SPDX-License-Identifier: Apache-2.0
"""One operator of the unpadded and the padded graph: the input of the padding rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import xtc.ops as O
from xtc.driver.buckets.extents import Extent, is_whole, leading, sizes
from xtc.graph.builder import apply
from xtc.graph.node import Node
from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor

Number = float | int | bool
Written = tuple[int, int, int, str, Number]  # node, operand, axis, mask, number


class InexactPaddingError(Exception):
    """Padding would change results; names the node and the reason."""


@dataclass
class Walk:
    """The padded graph under construction.

    Attributes:
        pairs: tensors of the unpadded graph, each with the padded one that holds its elements.
        copies: the tensor of the new graph for each tensor of the unpadded graph.
        extents: the extents of its dimensions.
        masks: inputs of the new graph, by the extent whose valid positions they flag.
        written: the operands that were masked so far.
        number: the number of the current node.
    """

    pairs: dict[Tensor, Tensor] = field(default_factory=dict)
    copies: dict[Tensor, Tensor] = field(default_factory=dict)
    extents: dict[Tensor, tuple[Extent, ...]] = field(default_factory=dict)
    masks: dict[Extent, Tensor] = field(default_factory=dict)
    written: list[Written] = field(default_factory=list)
    number: int = 0

    def note(self, small: Tensor, large: Tensor, copy: Tensor, extents: Sequence[Extent]) -> None:
        """Record the new graph's tensor for a tensor of the unpadded graph."""
        self.pairs[small], self.copies[small] = large, copy
        self.extents[small] = tuple(extents)

    def mask(self, extent: Extent) -> Tensor:
        """The mask input for an extent's valid positions."""
        if extent not in self.masks:
            name = f"valid_{len(self.masks)}"
            self.masks[extent] = O.tensor((sizes(extent)[1],), "bool", name=name)
        return self.masks[extent]


@dataclass
class Step:
    """A pair of nodes: the input of a rule.

    Attributes:
        walk: the padded graph so far.
        small: the node of the unpadded graph.
        large: the node of the padded graph.
        operands: the operands of the new node; a rule masks elements that must not be read.
    """

    walk: Walk
    small: Node
    large: Node
    operands: list[Tensor]

    @property
    def extents(self) -> list[tuple[Extent, ...]]:
        """The extents of the operands' dimensions."""
        return [self.walk.extents[tensor] for tensor in self.small.inputs]

    def overwrite(self, operand: int, axis: int, number: Number) -> None:
        """Replace the elements of an operand outside the valid positions of a dimension."""
        extent = self.extents[operand][axis]
        if is_whole(extent):
            return
        tensor, mask = self.operands[operand], self.walk.mask(extent)
        shape = [1] * tensor.type.rank
        shape[axis] = sizes(extent)[1]
        self.operands[operand] = O.where(O.reshape(mask, tuple(shape)), tensor, number)
        written = (self.walk.number, operand, axis, str(mask.name), number)
        self.walk.written.append(written)

    def require(self, holds: bool, why: str) -> None:
        """Raise InexactPaddingError with the reason unless `holds`."""
        if not holds:
            raise InexactPaddingError(f"'{self.large.name}', {self.large.op.name}: {why}")

    def output(self) -> list[Extent]:
        """The result's extents if its valid positions are the first of each dimension."""
        pairs = zip(self.small.output.type.sizes, self.large.output.type.sizes, strict=True)
        return [leading(*pair) for pair in pairs]

    def write(self, op: Operator | None = None) -> Tensor:
        """Create the new node, by default with the padded graph's operator."""
        return apply(op or self.large.op, *self.operands, device=self.large.placement)
