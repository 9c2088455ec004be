# SPDX-License-Identifier: Apache-2.0
"""fuse-elementwise: fuses chains of elementwise operations without recomputing anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xtc.ir.analysis.function_view import FunctionView, functions_and_loops
from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import Structured, body_operations, element_bits, is_id, labels
from xtc.ir.builders.generic import generic
from xtc.ir.mlir import (
    Attribute,
    Block,
    DenseElementsAttr,
    InsertionPoint,
    Operation,
    Type,
    Value,
    arith,
)
from xtc.ir.passes import Pass

Row = tuple[Index, ...]
OperandOf = tuple[Structured, int]


@dataclass(frozen=True)
class FuseElementwise(Pass):
    """Inline an elementwise operation into the only operation that reads its result.

    The reader must read each element exactly once, so that nothing is computed twice: a value that
    is broadcast over a row stays a separate operation. Both operations must run on the same device
    and have no schedule from the user. A constant with equal elements becomes a scalar in the body.
    The fused operation keeps the node ids of all its parts and the loop names of the last.

    Before:
        %a = linalg.generic ins(%x) { math.exp }
        %b = linalg.generic ins(%a, %y) { arith.addf }
    After:
        %b = linalg.generic ins(%x, %y) { math.exp; arith.addf }

    Attributes:
        narrowing: whether to also inline operations whose result has narrower elements than an
            operand. If memory is scarce, the narrow result is the one to store.
    """

    name: ClassVar[str] = "fuse-elementwise"
    narrowing: bool = True

    def run(self, module: Operation) -> None:
        with module.context:
            # Operations that read one value may have become a single reader of it.
            joined = True
            while joined:
                views = functions_and_loops(module)
                joined = max((_fuse(view, self.narrowing) for view in views), default=False)


def _fuse(view: FunctionView, narrowing: bool) -> bool:
    """Fuse the operations of a block; whether several readers of a value became one."""
    inlined = {
        nest.op
        for nest in view.nests.values()
        if _is_inlined(view, nest) and (narrowing or not _narrows(nest))
    }
    clusters = []
    for op, nest in view.nests.items():
        if op not in inlined:
            cluster = _Cluster(view, inlined, nest)
            cluster.collect(nest, range(len(nest.extents)))
            if cluster.keep_extents():
                clusters.append(cluster)
    joined = any(cluster.joins_readers for cluster in clusters)
    for cluster in clusters:  # the view is out of date from here on
        if cluster.parts or cluster.splats:
            _build(cluster)
    return joined


def _narrows(nest: Structured) -> bool:
    """Whether an operand has wider elements than the result."""
    read = [nest.op.operands[n] for n in range(nest.destination) if nest.indices[n]]
    return any(element_bits(value) > element_bits(nest.result) for value in read)


def _is_inlined(view: FunctionView, nest: Structured) -> bool:
    """Whether a single operation reads the result, and reads each element once."""
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


@dataclass(eq=False)
class _Cluster:
    """An operation and all operations that are inlined into it, directly or indirectly.

    Attributes:
        sources: the source of each operand of the root and of the parts: the number of a leaf, a
            part, or the value that all elements of a constant have.
        leaves: the operands of the fused operation, each with its index; equal pairs occur once.
        parts: the inlined operations; each comes after its reader.
        splats: the constants with equal elements that become scalars, with their indices.
    """

    view: FunctionView
    inlined: set[Operation]
    root: Structured
    sources: dict[OperandOf, int | Structured | Attribute] = field(default_factory=dict)
    leaves: list[tuple[OperandOf, Row]] = field(default_factory=list)
    parts: list[Structured] = field(default_factory=list)
    splats: dict[OperandOf, Row] = field(default_factory=dict)
    _numbers: dict[tuple[Value, Row], int] = field(default_factory=dict)
    _seen: set[Structured] = field(default_factory=set)

    def collect(self, nest: Structured, loops: Sequence[int]) -> None:
        """Find the sources of the operands of `nest`; its loop n is loop `loops[n]` of the root."""
        under_way = [self._new_parts(nest, loops)]  # no recursion: chains may have any length
        while under_way:
            found = next(under_way[-1], None)
            if found is None:
                under_way.pop()
            else:
                under_way.append(self._new_parts(*found))

    def _new_parts(
        self, nest: Structured, loops: Sequence[int]
    ) -> Iterator[tuple[Structured, list[int]]]:
        """Find the sources of the operands of `nest`; yields each new part with its loops."""
        for number, value in enumerate(list(nest.op.operands)[: nest.destination]):
            row = tuple(index.renamed(loops) for index in nest.indices[number])
            source = self._source(nest, number, value, row)
            self.sources[nest, number] = source
            if isinstance(source, Structured) and source not in self._seen:
                self._seen.add(source)
                self.parts.append(source)
                yield source, _part_loops(source, row)

    def _source(
        self, nest: Structured, number: int, value: Value, row: Row
    ) -> int | Structured | Attribute:
        producer = self.view.nest_of(value)
        if producer is not None and producer.op in self.inlined:
            return producer
        splat = self._splat(nest, value)
        if splat is not None:
            self.splats[nest, number] = row
            return splat
        return self._leaf(nest, number, value, row)

    @property
    def joins_readers(self) -> bool:
        """Whether several of its operations read one result, whose operation may now be inlined."""
        readers: dict[int, set[Structured]] = {}
        for (nest, _), source in self.sources.items():
            if isinstance(source, int):
                readers.setdefault(source, set()).add(nest)
        return any(
            len(nests) > 1 and self.view.nest_of(self._value(leaf)) is not None
            for leaf, nests in readers.items()
        )

    def _value(self, leaf: int) -> Value:
        (nest, number), _ = self.leaves[leaf]
        value: Value = nest.op.operands[number]
        return value

    def keep_extents(self) -> bool:
        """Keep constants as tensors if no other operand determines the extent of a loop.

        Returns whether operands then determine the extents of all loops. Only the result of a
        gather, which reads elements at computed indices, has them, and the result would be gone.
        """
        rows = [*(row for _, row in self.leaves), self.root.indices[self.root.destination]]
        unknown = set(range(len(self.root.extents))) - {index.loop for row in rows for index in row}
        for (nest, number), row in list(self.splats.items()):
            loops = {index.loop for index in row}
            if loops & unknown:
                unknown -= loops
                del self.splats[nest, number]
                value = nest.op.operands[number]
                self.sources[nest, number] = self._leaf(nest, number, value, row)
        return not unknown

    def _leaf(self, nest: Structured, number: int, value: Value, row: Row) -> int:
        """The number of an operand of the fused operation; equal operands share a number."""
        known = self._numbers.setdefault((value, row), len(self.leaves))
        if known == len(self.leaves):
            self.leaves.append(((nest, number), row))
        return known

    def _splat(self, nest: Structured, value: Value) -> Attribute | None:
        """The value that all elements of a constant have; named operations keep their tensors."""
        if nest.op.name != "linalg.generic" or not self.view.is_produced_by(
            value, "arith.constant"
        ):
            return None
        content = self.view.producers[value].attributes["value"]
        if not isinstance(content, DenseElementsAttr) or not content.is_splat:
            return None
        return content.get_splat_value()


def _part_loops(part: Structured, row: Row) -> list[int]:
    """The root's loop for each loop of an inlined operation; `row` is the index of its result."""
    loops = {inner: index.loop for inner, index in zip(part.out, row, strict=True)}
    return [loop for inner in range(len(loops)) if (loop := loops[inner]) is not None]


def _build(cluster: _Cluster) -> None:
    root = cluster.root
    ids = {name: value for part in cluster.parts for name, value in labels(part.op).items()}
    attributes = {name: value for name, value in ids.items() if is_id(name)} | labels(root.op)
    operands = [(nest.op.operands[number], row) for (nest, number), row in cluster.leaves]
    operands.append((root.op.operands[root.destination], root.indices[root.destination]))
    with root.op.location:
        fused = generic(
            operands, len(root.extents), root.reductions, attributes, InsertionPoint(root.op)
        )
        body = fused.regions[0].blocks[0]
        old = root.body.arguments[root.destination]
        old.replace_all_uses_with(body.arguments[len(cluster.leaves)])
        _Merge(cluster, body).merge(root)
    root.result.replace_all_uses_with(fused.results[0])
    for nest in (root, *cluster.parts):
        nest.op.erase()


@dataclass
class _Merge:
    """Moves the bodies of a cluster into one block; `results` are the results of the parts."""

    cluster: _Cluster
    block: Block
    results: dict[Structured, Value] = field(default_factory=dict)

    def merge(self, nest: Structured) -> None:
        """Append the body of `nest`, after the bodies of its producers."""
        under_way = [nest]
        while under_way:
            missing = next(self._missing(under_way[-1]), None)
            if missing is None:
                self._append(under_way.pop())
            else:
                under_way.append(missing)

    def _missing(self, nest: Structured) -> Iterator[Structured]:
        for number in range(nest.destination):
            source = self.cluster.sources[nest, number]
            if isinstance(source, Structured) and source not in self.results:
                yield source

    def _append(self, nest: Structured) -> None:
        elements = [self._element(nest, number) for number in range(nest.destination)]
        for argument, element in zip(nest.body.arguments, elements, strict=False):
            argument.replace_all_uses_with(element)
        for op in body_operations(nest.op):
            if op.name == "linalg.yield" and nest is not self.cluster.root:
                self.results[nest] = op.operands[0]
            else:
                self.block.append(op)

    def _element(self, nest: Structured, number: int) -> Value:
        source = self.cluster.sources[nest, number]
        if isinstance(source, int):
            return self.block.arguments[source]
        if isinstance(source, Structured):
            return self.results[source]
        return self._constant(source, nest.op.operands[number].type.element_type)

    def _constant(self, value: Attribute, type: Type) -> Value:
        ip = InsertionPoint(self.block)
        return arith.constant(type, value, ip=ip)
