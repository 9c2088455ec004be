# SPDX-License-Identifier: Apache-2.0
"""Subviews and permuted views of shared tensors."""

from __future__ import annotations

from dataclasses import replace

from xtc.core.errors import UserError
from xtc.ir.analysis.views import dropped_dimensions
from xtc.ir.builders.numbers import Number, add, multiply
from xtc.ir.builders.tile import location_text
from xtc.ir.mlir import DenseI64ArrayAttr, MemRefType, Operation, ShapedType
from xtc_targets.nvgpu.passes._tiles.shared_memory import SharedView


def permutation(op: Operation) -> list[int]:
    """The dimension of the source for each dimension of a permuted view."""
    source, result = (MemRefType(value.type) for value in (op.operands[0], op.results[0]))
    left = list(
        zip(source.get_strides_and_offset()[0], source.shape, range(len(source.shape)), strict=True)
    )
    order = []
    for stride, size in zip(result.get_strides_and_offset()[0], result.shape, strict=True):
        found = next(entry for entry in left if entry[:2] == (stride, size))
        left.remove(found)
        order.append(found[2])
    return order


def _panels(op: Operation, whole: SharedView, index: Number) -> Number:
    """Offset of a part that begins in the middle of rows. Raises UserError if within a panel."""
    if not isinstance(index, int) or index % whole.panel:
        raise UserError(
            "a part of a tensor that bulk copies or wgmma access begins within a panel",
            where=location_text(op.location),
            notes=[f"its rows are divided into panels of {whole.panel} elements"],
            hints=["begin at a constant multiple of this number"],
        )
    return index // whole.panel * whole.panel_step


def shared_part(op: Operation, whole: SharedView, indices: list[Number]) -> SharedView:
    """The part of a shared tensor at these indices."""
    unknown = ShapedType.get_dynamic_stride_or_offset()
    given = iter(indices)
    begin, slot = whole.part, whole.slot
    for number, stride in zip(
        DenseI64ArrayAttr(op.attributes["static_offsets"]), whole.strides, strict=True
    ):
        index = next(given) if number == unknown else number
        if whole.panel and stride == 1 and index != 0:
            begin = add(begin, _panels(op, whole, index))
        elif not isinstance(index, int) and stride * whole.nbytes % whole.period == 0:
            slot = add(slot, multiply(index, stride))
        else:
            begin = add(begin, multiply(index, stride))
    shape = tuple(MemRefType(op.results[0].type).shape)
    sizes = list(DenseI64ArrayAttr(op.attributes["static_sizes"]))
    dropped = dropped_dimensions(sizes, shape)
    strides = tuple(stride for dim, stride in enumerate(whole.strides) if dim not in dropped)
    return replace(whole, part=begin, slot=slot, shape=shape, strides=strides, _kept={})
