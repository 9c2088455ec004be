# SPDX-License-Identifier: Apache-2.0
"""Writes the nest of one operation whose tiles do not fit into SMEM: PEs work in DDR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.affine import apply, digits
from xtc.ir.builders.control import BLOCKS, THREADS, forall
from xtc.ir.builders.numbers import index_constant
from xtc.ir.builders.tensors import Offset, empty, extract_slice, insert_slice
from xtc.ir.mlir import (
    AffineConstantExpr,
    AffineDimExpr,
    IndexType,
    InsertionPoint,
    Operation,
    Value,
)
from xtc_passes.tensor._tile import Member
from xtc_targets.mppa.passes._fusion_groups import Group
from xtc_targets.mppa.passes._part_costs import part_sizes
from xtc_targets.mppa.passes._smem_tiles import part_offsets


@dataclass(frozen=True)
class PlainNest:
    """The nest of a group of one member, one element of the tiled dimensions at a time.

    for each cluster, at the same time
      for each of its PEs, at the same time
        for every so many elements, in DDR
    """

    group: Group
    clusters: int
    pes: int

    def write(self) -> None:
        """Put the nest where the operation stands."""
        root = self.group.root
        ip = InsertionPoint(root.op)
        count = math.prod(self.group.extents)
        with root.op.location:
            pes = min(self.pes, count)
            outer = forall(min(self.clusters, -(-count // pes)), BLOCKS, [self._into(ip)], ip)
            first = apply(
                AffineDimExpr.get(0) * AffineConstantExpr.get(pes), outer.number, outer.ip
            )
            inner = forall(pes, THREADS, outer.shared, outer.ip)
            place = Operation.create(
                "arith.addi", [IndexType.get()], [first, inner.number], ip=inner.ip
            ).results[0]
            step = pes * min(self.clusters, -(-count // pes))
            inner.write_all([self._elements(place, count, step, inner.shared[0], inner.ip)])
            outer.write_all(list(inner.op.results))
        root.result.replace_all_uses_with(outer.op.results[0])

    def _into(self, ip: InsertionPoint) -> Value:
        """What is written, with its contents where the operation reads them."""
        root = self.group.root
        if root.reads_destination:
            return root.op.operands[root.destination]
        return empty(shape_of(root.result), root.result, ip)

    def _elements(
        self, first: Value, count: int, step: int, into: Value, ip: InsertionPoint
    ) -> Value:
        if count == 1:
            return self._element([0] * len(self.group.loops), into, ip)
        bounds = [index_constant(one, ip) for one in (count, step)]
        loop = Operation.create("scf.for", [into.type], [first, *bounds, into], regions=1, ip=ip)
        block = loop.regions[0].blocks.append(IndexType.get(), into.type)
        inside = InsertionPoint(block)
        places = digits(block.arguments[0], self.group.extents, inside)
        result = self._element(places, block.arguments[1], inside)
        Operation.create("scf.yield", operands=[result], ip=inside)
        return loop.results[0]

    def _element(self, places: Sequence[Offset], into: Value, ip: InsertionPoint) -> Value:
        """The operation on one element of each tiled dimension."""
        member = self.group.members[0]
        nest = member.nest
        operands = [
            self._part(member, number, into if number == nest.destination else value, places, ip)
            for number, value in enumerate(nest.op.operands)
        ]
        op = nest.op.clone(ip=ip)
        for number, value in enumerate(operands):
            op.operands[number] = value
        op.results[0].set_type(operands[nest.destination].type)
        offsets = part_offsets(member, nest.destination, places, ip)
        return insert_slice(op.results[0], into, offsets, ip)

    def _part(
        self,
        member: Member,
        number: int,
        value: Value,
        places: Sequence[Offset],
        ip: InsertionPoint,
    ) -> Value:
        if not member.nest.indices[number]:
            return value
        sizes = part_sizes(member, number, [1] * len(places))
        return extract_slice(value, part_offsets(member, number, places, ip), sizes, ip)
