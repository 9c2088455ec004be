# SPDX-License-Identifier: Apache-2.0
"""fill-borders: of a padded tensor only the border is filled; threads share large insides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from xtc.core.mlir import InsertionPoint, Operation, Value
from xtc.core.passes import Pass
from xtc_passes._build import body_of, extract_slice, insert_slice, linear_offset
from xtc_passes._linalg import all_operations, dict_of, owner
from xtc_passes._parallel import digits, forall
from xtc_passes._structured import shape_of

_PARALLEL_ELEMENTS = 1 << 18  # of an inside that are worth waking threads for
_PARTS = 32  # that share out well among threads
_STORED = ("bufferization.to_tensor", "arith.constant")
_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


class Slab(NamedTuple):
    """A part of a tensor: where it begins, and its sizes."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class FillBorders(Pass):
    """Fill what an insertion leaves of a tensor, instead of all of it before.

    Each dimension has a slab before the inside and one after it. Rows of them that are one run of
    memory stay one: what is above and below an image is as wide as the padded image.

    Before:
        %f = linalg.fill ins(%v) outs(%e : tensor<6x10xf32>)
        %p = tensor.insert_slice %x into %f[1, 1] [4, 8] [1, 1]
    After:
        %s = tensor.extract_slice %e[0, 0] [1, 10] [1, 1]
        %t = linalg.fill ins(%v) outs(%s)
        %u = tensor.insert_slice %t into %e[0, 0] [1, 10] [1, 1]  (and three more)
        %p = tensor.insert_slice %x into %w[1, 1] [4, 8] [1, 1]

    An inside that nothing computes here is copied. Where it is large, its rows are copied by an
    `scf.forall`.

    Attributes:
        parallel: whether threads share loops.
    """

    name: ClassVar[str] = "fill-borders"
    parallel: bool = False

    def run(self, module: Operation) -> None:
        with module.context:
            for op in all_operations(module):
                fill = _fill_below(op)
                if fill is not None:
                    _narrow(op, fill)
                    if self.parallel and _is_long_copy(op):
                        _share(op)


def _fill_below(op: Operation) -> Operation | None:
    """The fill that an insertion writes over, where nothing else reads it."""
    if op.name != "tensor.insert_slice" or len(op.operands) != 2:
        return None
    source, into = op.operands
    plain = all(stride == 1 for stride in op.attributes["static_strides"])
    fill = owner(into)
    if not plain or len(shape_of(source)) != len(shape_of(into)):
        return None
    if fill is None or fill.name != "linalg.fill" or len(list(into.uses)) != 1:
        return None
    return fill


def _narrow(insertion: Operation, fill: Operation) -> None:
    """Fill the slabs around the inside where it is inserted."""
    value, around = fill.operands
    inside = shape_of(insertion.operands[0])
    ip = InsertionPoint(insertion)
    with fill.location:
        for slab in slabs(shape_of(around), _offsets(insertion), inside):
            part = _filled(fill, value, extract_slice(around, slab.offsets, slab.sizes, ip), ip)
            around = insert_slice(part, around, slab.offsets, ip)
    insertion.operands[1] = around
    fill.erase()


def slabs(shape: Sequence[int], offsets: Sequence[int], sizes: Sequence[int]) -> Iterator[Slab]:
    """Parts of a tensor that cover all but the inside at `offsets`, nothing twice."""
    for d, (extent, start, size) in enumerate(zip(shape, offsets, sizes, strict=True)):
        for first, count in ((0, start), (start + size, extent - start - size)):
            if count:
                yield Slab(
                    (*offsets[:d], first, *(0 for _ in shape[d + 1 :])),
                    (*sizes[:d], count, *shape[d + 1 :]),
                )


def _filled(fill: Operation, value: Value, part: Value, ip: InsertionPoint) -> Value:
    """The part, filled as the whole was."""
    new = Operation.create(fill.name, [part.type], [value, part], dict_of(fill), regions=1, ip=ip)
    body = body_of(new, [value, part])
    Operation.create("linalg.yield", operands=[body.arguments[0]], ip=InsertionPoint(body))
    return new.results[0]


def _is_long_copy(insertion: Operation) -> bool:
    """True where the inside is large, and in a buffer already."""
    source = insertion.operands[0]
    if math.prod(shape_of(source)) < _PARALLEL_ELEMENTS:
        return False
    maker = owner(source)
    while maker is not None and maker.name in _RESHAPES:
        maker = owner(maker.operands[0])
    return maker is None or maker.name in _STORED


def _share(insertion: Operation) -> None:
    """Copy the inside by a parallel loop over as few leading dimensions as make enough parts."""
    source, around = insertion.operands
    shape = shape_of(source)
    depth = next((d for d in range(1, len(shape)) if math.prod(shape[:d]) >= _PARTS), len(shape))
    counts = shape[:depth]
    with insertion.location:
        loop = forall(math.prod(counts), None, [around], InsertionPoint(insertion))
        places = digits(loop.number, counts, loop.ip)
        rest = [0 for _ in shape[depth:]]
        row = extract_slice(source, [*places, *rest], [1] * depth + [*shape[depth:]], loop.ip)
        shifted = [
            linear_offset([(place, 1), (offset, 1)], loop.ip)
            for place, offset in zip([*places, *rest], _offsets(insertion), strict=True)
        ]
        loop.write(row, loop.shared[0], shifted)
    insertion.results[0].replace_all_uses_with(loop.op.results[0])
    insertion.erase()


def _offsets(insertion: Operation) -> tuple[int, ...]:
    return tuple(insertion.attributes["static_offsets"])
