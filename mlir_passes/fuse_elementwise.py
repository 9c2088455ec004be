# SPDX-License-Identifier: Apache-2.0
"""fuse-elementwise: chains of elementwise operations become one; nothing is computed twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xtc.core.mlir import (
    Attribute,
    Block,
    DenseElementsAttr,
    InsertionPoint,
    Operation,
    Value,
)
from xtc.core.passes import Pass
from xtc_passes._build import generic
from xtc_passes._function_view import FunctionView, functions
from xtc_passes._structured import Index, Structured, body_operations, is_id, labels

Leaf = tuple[Value, tuple[Index, ...]]


@dataclass(frozen=True)
class FuseElementwise(Pass):
    """Inline an elementwise operation into the only operation that reads its result.

    The reader must read every element once, so nothing is computed twice: a row's factor that is
    broadcast over the row stays where it is. Both must run on the same device and have no schedule
    of the user's. Constants whose elements are all equal are written into the bodies. The fused
    operation has the ids of all its parts, and the loop names of the last one.

        %a = linalg.generic ... ins(%x) { math.exp }
        %b = linalg.generic ... ins(%a, %y) { arith.addf }
    becomes
        %b = linalg.generic ... ins(%x, %y) { math.exp; arith.addf }
    """

    name: ClassVar[str] = "fuse-elementwise"

    def run(self, module: Operation) -> None:
        with module.context:
            for view in functions(module):
                _fuse(view)


def _fuse(view: FunctionView) -> None:
    inlined = {nest.op for nest in view.nests.values() if _is_inlined(view, nest)}
    for op, nest in view.nests.items():
        if op not in inlined:
            cluster = _Cluster(view, inlined, nest)
            cluster.collect(nest, range(len(nest.extents)))
            if cluster.parts or cluster.splats:
                _build(cluster)


def _is_inlined(view: FunctionView, nest: Structured) -> bool:
    """True where one operation alone reads the result, and reads each element once."""
    if nest.reductions or nest.op.name == "linalg.fill" or nest.reads_destination:
        return False
    uses = view.uses.get(nest.result, [])
    readers = {op for op, _ in uses}
    reader = view.nests.get(uses[0][0]) if len(readers) == 1 else None
    if reader is None or reader.device != nest.device:
        return False
    rows = {reader.indices[number] for _, number in uses}
    if len(rows) > 1 or any(number == reader.destination for _, number in uses):
        return False
    return {index.loop for index in rows.pop()} == set(range(len(reader.extents)))


@dataclass
class _Cluster:
    """An operation with all that is inlined into it, directly or through another.

    Attributes:
        leaves: what the fused operation reads, each tensor with the same index once.
        parts: the inlined operations; each comes after the one that reads it.
        splats: constants that become scalars.
    """

    view: FunctionView
    inlined: set[Operation]
    root: Structured
    leaves: dict[Leaf, int] = field(default_factory=dict)
    parts: list[Structured] = field(default_factory=list)
    splats: dict[Value, Attribute] = field(default_factory=dict)

    def collect(self, nest: Structured, loops: Sequence[int]) -> None:
        """Find the leaves and parts of `nest`, whose loop n is loop `loops[n]` of the root."""
        for value, row in operands(nest, loops):
            producer = self.part(value)
            if producer is None:
                splat = self._splat(nest, value)
                if splat is None:
                    self.leaves.setdefault((value, row), len(self.leaves))
                else:
                    self.splats[value] = splat
            elif producer not in self.parts:
                self.parts.append(producer)
                self.collect(producer, part_loops(producer, row))

    def part(self, value: Value) -> Structured | None:
        """The inlined operation that computes `value`."""
        producer = self.view.nest_of(value)
        return producer if producer is not None and producer.op in self.inlined else None

    def _splat(self, nest: Structured, value: Value) -> Attribute | None:
        """The one value of a constant's elements; named operations keep their tensors."""
        if nest.op.name != "linalg.generic" or not self.view.is_made_by(value, "arith.constant"):
            return None
        content = self.view.makers[value].attributes["value"]
        if not isinstance(content, DenseElementsAttr):
            return None
        return content.get_splat_value() if content.is_splat else None


def operands(nest: Structured, loops: Sequence[int]) -> list[Leaf]:
    """The inputs of `nest` with their indices in the loops of the root."""
    rows = [tuple(index.renamed(loops) for index in row) for row in nest.indices]
    return list(zip(nest.op.operands, rows, strict=True))[: nest.destination]


def part_loops(part: Structured, row: Sequence[Index]) -> list[int]:
    """For each loop of an inlined operation, the root's loop; `row` reads its result."""
    loops = {inner: index.loop for inner, index in zip(part.out, row, strict=True)}
    return [loop for inner in range(len(loops)) if (loop := loops[inner]) is not None]


def _build(cluster: _Cluster) -> None:
    root = cluster.root
    ids = {name: value for part in cluster.parts for name, value in labels(part.op).items()}
    attributes = {name: value for name, value in ids.items() if is_id(name)} | labels(root.op)
    destination = root.op.operands[root.destination], root.indices[root.destination]
    with root.op.location:
        fused = generic(
            [*cluster.leaves, destination],
            len(root.extents),
            root.reductions,
            attributes,
            InsertionPoint(root.op),
        )
        body = fused.regions[0].blocks[0]
        old = root.body.arguments[root.destination]
        old.replace_all_uses_with(body.arguments[len(cluster.leaves)])
        _Merge(cluster, body).merge(root, range(len(root.extents)))
    root.result.replace_all_uses_with(fused.results[0])
    for nest in (root, *cluster.parts):
        nest.op.erase()


@dataclass
class _Merge:
    """Moves the bodies of a cluster into one block."""

    cluster: _Cluster
    block: Block
    scalars: dict[Value, Value] = field(default_factory=dict)

    def merge(self, nest: Structured, loops: Sequence[int]) -> None:
        """Append the body of `nest`, after the bodies of those it reads."""
        elements = [self._element(leaf) for leaf in operands(nest, loops)]
        for argument, element in zip(nest.body.arguments, elements, strict=False):
            argument.replace_all_uses_with(element)
        for op in body_operations(nest.op):
            if op.name == "linalg.yield" and nest is not self.cluster.root:
                self.scalars[nest.result] = op.operands[0]
            else:
                self.block.append(op)

    def _element(self, leaf: Leaf) -> Value:
        value, row = leaf
        part = self.cluster.part(value)
        if part is None and value not in self.cluster.splats:
            return self.block.arguments[self.cluster.leaves[leaf]]
        if value not in self.scalars:
            if part is None:
                self.scalars[value] = self._constant(value)
            else:
                self.merge(part, part_loops(part, row))
        return self.scalars[value]

    def _constant(self, value: Value) -> Value:
        type = value.type.element_type
        attributes = {"value": self.cluster.splats[value]}
        ip = InsertionPoint(self.block)
        return Operation.create("arith.constant", [type], attributes=attributes, ip=ip).results[0]
