# SPDX-License-Identifier: Apache-2.0
"""Writes the loop nest of an operation whose tiles do not fit into SMEM: PEs work in DDR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.affine import apply, digits
from xtc.ir.builders.control import BLOCKS, THREADS, for_each, forall
from xtc.ir.builders.slices import Offset, empty, extract_slice, insert_slice
from xtc.ir.mlir import (
    AffineConstantExpr,
    AffineDimExpr,
    InsertionPoint,
    Value,
    arith,
)
from xtc_passes.tensor._tile import Member
from xtc_targets.mppa.passes._fusion_groups import Group
from xtc_targets.mppa.passes._part_costs import part_sizes
from xtc_targets.mppa.passes._smem_tiles import part_offsets


@dataclass(frozen=True)
class UntiledLoops:
    """The loop nest of a single operation, one element of the tiled dimensions at a time.

    for each cluster, at the same time
      for each of its PEs, at the same time
        for every n-th element, in DDR
    """

    group: Group
    clusters: int
    pes: int

    def write(self) -> None:
        """Replace the operation by the loop nest."""
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
            number = arith.addi(first, inner.number, ip=inner.ip)
            step = pes * min(self.clusters, -(-count // pes))
            inner.write_all([self._elements(number, count, step, inner.shared[0], inner.ip)])
            outer.write_all(list(inner.op.results))
        root.result.replace_all_uses_with(outer.op.results[0])

    def _into(self, ip: InsertionPoint) -> Value:
        """The destination, with its contents if the operation reads them."""
        root = self.group.root
        if root.reads_destination:
            return root.op.operands[root.destination]
        return empty(shape_of(root.result), root.result, ip)

    def _elements(
        self, first: Value, count: int, step: int, into: Value, ip: InsertionPoint
    ) -> Value:
        if count == 1:
            return self._element([0] * len(self.group.loops), into, ip)

        def body(number: Value, carried: list[Value], inside: InsertionPoint) -> list[Value]:
            position = digits(number, self.group.extents, inside)
            return [self._element(position, carried[0], inside)]

        return for_each(first, count, step, [into], body, ip)[0]

    def _element(self, positions: Sequence[Offset], into: Value, ip: InsertionPoint) -> Value:
        """The operation on one element of each tiled dimension."""
        member = self.group.members[0]
        nest = member.nest
        operands = [
            self._part(member, number, into if number == nest.destination else value, positions, ip)
            for number, value in enumerate(nest.op.operands)
        ]
        op = nest.op.clone(ip=ip)
        for number, value in enumerate(operands):
            op.operands[number] = value
        op.results[0].set_type(operands[nest.destination].type)
        offsets = part_offsets(member, nest.destination, positions, ip)
        return insert_slice(op.results[0], into, offsets, ip)

    def _part(
        self,
        member: Member,
        number: int,
        value: Value,
        positions: Sequence[Offset],
        ip: InsertionPoint,
    ) -> Value:
        if not member.nest.indices[number]:
            return value
        sizes = part_sizes(member, number, [1] * len(positions))
        return extract_slice(value, part_offsets(member, number, positions, ip), sizes, ip)
