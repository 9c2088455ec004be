# SPDX-License-Identifier: Apache-2.0
"""flatten-contractions: writes contractions over several dimensions as matrix multiplications."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.contractions import Contraction, contraction
from xtc.ir.analysis.function_view import FunctionView, functions
from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.node_names import node_attributes
from xtc.ir.analysis.structured import Structured, element_bits, shape_of, structured
from xtc.ir.builders.generic import copy_body, generic
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import InsertionPoint, Operation, Value
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.description import ACCESS_BYTES, GIB, H100
from xtc_targets.nvgpu.passes._contractions.core_tiles import core_contraction, tile_of
from xtc_targets.nvgpu.passes._contractions.flat_matrices import Flat, Group, flat
from xtc_targets.nvgpu.passes._contractions.flat_readers import flatten_readers
from xtc_targets.nvgpu.passes._contractions.mma_contraction import mma_contraction
from xtc_targets.nvgpu.passes._contractions.patches import patches
from xtc_targets.nvgpu.passes._contractions.zero_padding import padded
from xtc_targets.nvgpu.passes._loop_parts import wider

_READS = 16
"""The minimum number of reads of each element of a copied operand."""


@dataclass(frozen=True)
class FlattenContractions(Pass):
    """Write convolutions, and other contractions over several dimensions, as multiplications of
    matrices, which have tiles in shared memory and run on tensor cores.

    Before:
        %c = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x16x16x32xf16>, tensor<3x3x32x64xf16>)
          outs(%zeros : tensor<1x14x14x64xf32>)
        %r = linalg.generic ins(%c, %bias)
    After:
        %a = scf.forall (%t) in (7056) { the 8 elements of %x for row %t / 36 .. }
            : tensor<196x288xf16>
        %b = tensor.collapse_shape %w : tensor<288x64xf16>
        %c = linalg.generic ins(%a, %b) outs(%zeros : tensor<196x64xf32>) { mulf ; addf }
        %s = linalg.generic ins(%c, %bias)
        %r = tensor.expand_shape %s : tensor<1x14x14x64xf16>

    An operand whose windows overlap is first copied, each window as a row (the patches), if at
    least 16 columns read a row. A thread copies 16 bytes if the channels allow it. Windows of a
    padded image are read from the image inside the border. Other operands are reshaped, and so are
    the elementwise operations that read the result, so that they remain the epilogue of the
    contraction. For tensor cores, a copied row is padded with zeros to a multiple of 16 bytes.

    Attributes:
        tf32: whether float32 operands may be rounded to TF32.
        sms: multiprocessors that run a kernel.
        most_bytes: maximum size of the patches; above it the contraction stays.
    """

    name: ClassVar[str] = "flatten-contractions"
    tf32: bool = False
    sms: int = H100.sms
    most_bytes: int = GIB

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for view in functions(module):
                found = [_matrices(view, nest) for nest in view.nests.values()]
                for matrices in found:
                    if matrices is not None and matrices.copied_bytes <= self.most_bytes:
                        with matrices.nest.op.location:
                            self._rewrite(matrices)

    def _rewrite(self, matrices: _Matrices) -> None:
        op = matrices.write()
        by_tiles = core_contraction(found) if (found := structured(op)) is not None else None
        by_mma = mma_contraction(op, self.tf32) is not None
        if not by_mma and (by_tiles is None or tile_of(by_tiles, self.sms) is None):
            op.erase()  # what it read is dead
            return
        matrices.copy_operands(op, aligned=by_mma)
        flatten_readers(matrices.replace(op))


@dataclass(frozen=True, eq=False)
class _Matrices:
    """A contraction and the groups of its loops: the batch loops, rows, columns and K.

    Attributes:
        nest: the contraction.
        groups: batch loops, one per group; then the result's last two groups, then K.
        operands: the reshapes of operands 0 and 1; None for one that is copied.
        own: the groups of the copies' dimensions.
        result: the reshape of the result.
    """

    nest: Structured
    groups: tuple[Group, ...]
    operands: tuple[Flat | None, Flat | None]
    own: tuple[tuple[int, ...], tuple[int, ...]]
    result: Flat

    @property
    def copied_bytes(self) -> int:
        """Bytes of the copies of operands."""
        return sum(
            math.prod(self.groups[group].extent(self.nest) for group in self.own[number])
            * element_bits(self.nest.op.operands[number])
            // 8
            for number in (0, 1)
            if self.operands[number] is None
        )

    @property
    def reads(self) -> int:
        """The minimum number of reads of an element of a copied operand."""
        return min(
            (
                math.prod(
                    group.extent(self.nest)
                    for position, group in enumerate(self.groups)
                    if position not in self.own[number]
                )
                for number in (0, 1)
                if self.operands[number] is None
            ),
            default=_READS,
        )

    def write(self) -> Operation:
        """Insert the multiplication of matrices; operands that are copied are still empty."""
        nest, ip = self.nest, InsertionPoint(self.nest.op)
        operands = [self._operand(number, ip) for number in (0, 1)]
        start = nest.op.operands[nest.destination]
        sizes = [math.prod(shape_of(start)[dim] for dim in dims) for dims in self.result.dims]
        result = wider(start, sizes, ip), list(self.result.row)
        named = node_attributes(nest.op)
        k = len(self.groups) - 1
        op = generic([*operands, result], len(self.groups), (k,), named, ip)
        copy_body(nest.op, op)
        return op

    def _operand(self, number: int, ip: InsertionPoint) -> tuple[Value, list[Index]]:
        found, source = self.operands[number], self.nest.op.operands[number]
        if found is not None:
            return found.collapse(source, ip), list(found.row)
        own = self.own[number]
        sizes = [self.groups[group].extent(self.nest) for group in own]
        return empty(sizes, source, ip), [Index(((group, 1),), 0) for group in own]

    def copy_operands(self, op: Operation, *, aligned: bool) -> None:
        """Copy the windows; `aligned` pads K with zeros to a multiple of 16 bytes."""
        if None not in self.operands:
            return
        extents = [group.extent(self.nest) for group in self.groups]
        lanes = 8 * ACCESS_BYTES // element_bits(op.operands[0])
        if aligned:
            extents[-1] = -(-extents[-1] // lanes) * lanes
        for number in (0, 1):
            found, own = self.operands[number], self.own[number]
            if found is None:
                groups = [self.groups[group] for group in own]
                sizes = [extents[group] for group in own]
                op.operands[number] = patches(self.nest, number, groups, sizes, InsertionPoint(op))
                continue
            rows = [index.loop for index in found.row]
            sizes = [
                size if loop is None else extents[loop]
                for loop, size in zip(rows, shape_of(op.operands[number]), strict=True)
            ]
            op.operands[number] = padded(op.operands[number], sizes, op)

    def replace(self, op: Operation) -> Value:
        """Replace the contraction; returns the result in its original shape."""
        old = self.nest.result
        result = self.result.expand(op.results[0], shape_of(old), InsertionPoint.after(op))
        old.replace_all_uses_with(result)
        self.nest.op.erase()
        return result


def _matrices(view: FunctionView, nest: Structured) -> _Matrices | None:
    """The contraction as matrices; None for others, and for those that are matrices already."""
    found = contraction(nest)
    start = None if found is None else view.nest_of(nest.op.operands[nest.destination])
    if found is None or start is None or start.op.name != "linalg.fill" or not _is_new(found):
        return None
    groups = _groups(found)
    if groups is None:
        return None
    for order in _orders(found):
        whole = (*groups, Group(order))
        result = flat(nest, nest.destination, whole)
        operands = flat(nest, 0, whole), flat(nest, 1, whole)
        if result is not None and operands != (None, None):
            own = _own(found, whole, 0), _own(found, whole, 1)
            matrices = _Matrices(nest, whole, operands, own, result)
            return matrices if matrices.reads >= _READS else None
    return None


def _is_new(found: Contraction) -> bool:
    """Whether a role has several loops, or a loop shares a dimension of an operand."""
    roles, extents = found.roles, found.nest.extents
    counts = [sum(extents[loop] > 1 for loop in role) for role in (roles.m, roles.n, roles.k)]
    return min(counts) > 0 and (max(counts) > 1 or not found.is_plain)


def _groups(found: Contraction) -> tuple[Group, ...] | None:
    """The groups of the result's loops: the batch loops, then rows and columns."""
    roles, out = found.roles, found.nest.out
    count = len(roles.batch)
    if set(out[:count]) != set(roles.batch):
        return None
    for rows in (roles.m, roles.n):
        if set(out[count : count + len(rows)]) == set(rows):
            parts = out[count : count + len(rows)], out[count + len(rows) :]
            return (*(Group((loop,)) for loop in out[:count]), *map(Group, parts))
    return None


def _orders(found: Contraction) -> list[tuple[int, ...]]:
    """Orders of the reduction loops: those of the operands' dimensions, then the operation's."""
    k = found.roles.k
    orders = []
    for row in found.nest.indices[:2]:
        walked = [loop for index in row for loop, _ in index.factors if loop in k]
        orders.append(tuple(dict.fromkeys([*walked, *k])))
    return [*orders, k]


def _own(found: Contraction, groups: tuple[Group, ...], number: int) -> tuple[int, ...]:
    """The groups of an operand's loops: batch loops, then rows and K, or K and columns."""
    used = [
        position
        for position, group in enumerate(groups)
        if any(found.nest.uses_loop(number, loop) for loop in group.loops)
    ]
    k = len(groups) - 1
    others = [position for position in used if position != k]
    return (*others, k) if number == 0 else (*others[:-1], k, *others[-1:])
