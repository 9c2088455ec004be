# SPDX-License-Identifier: Apache-2.0
"""Changes the strides of a buffer: finds valid strides, and updates the types of views."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xtc.ir.analysis.views import VIEWS, root
from xtc.ir.mlir import (
    AffineMap,
    ArrayAttr,
    InsertionPoint,
    IntegerAttr,
    MemRefType,
    Operation,
    OpResult,
    StridedLayoutAttr,
    Value,
    memref,
)
from xtc_passes.local._retyped_views import kept_dimensions, retype_subview
from xtc_passes.local._view_layouts import mixed

_COLLAPSE, _EXPAND, _SUBVIEW = "memref.collapse_shape", "memref.expand_shape", "memref.subview"
_CAST = "memref.reinterpret_cast"
_RESHAPES = (_COLLAPSE, _EXPAND)
_ANY_STRIDES = (
    "linalg.",
    "vector.transfer_",
    "memref.copy",
    "memref.load",
    "memref.store",
    "memref.dim",
)  # operations that read and write buffers of any strides
_Groups = list[list[int]]


def views_before(view: Value) -> list[Operation]:
    """The chain of views from a buffer to `view`, that of the buffer first."""
    found: list[Operation] = []
    while isinstance(view, OpResult) and view.owner.name in VIEWS:
        found.insert(0, view.owner)
        view = view.owner.operands[0]
    return found


def is_whole(view: Value) -> bool:
    """Whether `view` is a whole buffer, possibly reshaped."""
    return all(op.name in _RESHAPES for op in views_before(view))


def is_static(view: Value) -> bool:
    """Whether all offsets, sizes and strides of the views from a buffer to `view` are static."""
    return all(
        op.name in _RESHAPES or (op.name in (_SUBVIEW, _CAST) and len(op.operands) == 1)
        for op in views_before(view)
    )


def strides_of(view: Value) -> tuple[int, ...]:
    """The strides of a memref, in elements."""
    return tuple(MemRefType(view.type).get_strides_and_offset()[0])


def strides_before(view: Value, strides: Sequence[int]) -> tuple[int, ...] | None:
    """Strides of the whole buffer for which `view`, a reshape of it, has `strides`.

    None if no strides of the buffer allow such a reshape.
    """
    for op in reversed(views_before(view)):
        groups = _groups(op)
        shapes = [list(MemRefType(value.type).shape) for value in (op.operands[0], op.results[0])]
        if op.name == _COLLAPSE:
            followed = _expanded(strides, groups, shapes[0])
        else:
            followed = _collapsed(strides, groups, shapes[1])
        if followed is None:
            return None
        strides = followed
    return tuple(strides)


def allows_strides(buffer: Value, strides: Sequence[int]) -> bool:
    """Whether all users of a buffer work with these strides."""
    for use in buffer.uses:
        op = use.owner.operation
        if op.name in VIEWS:
            followed = _strides_after(op, strides)
            if followed is None or not allows_strides(op.results[0], followed):
                return False
        elif not op.name.startswith(_ANY_STRIDES):
            return False
    return True


def _strides_after(view: Operation, strides: Sequence[int]) -> tuple[int, ...] | None:
    """The strides of a view of a buffer with `strides`; None if they cannot be expressed."""
    shape = list(MemRefType(view.results[0].type).shape)
    if view.name == _SUBVIEW:
        steps = mixed(view, "static_strides", 3)
        kept = kept_dimensions(mixed(view, "static_sizes", 2), shape)
        if len(kept) != len(shape) or any(step != 1 for step in steps):
            return None
        return tuple(strides[d] for d in kept)
    if view.name == _EXPAND:
        return _expanded(strides, _groups(view), shape)
    if view.name == _COLLAPSE:
        return _collapsed(strides, _groups(view), list(MemRefType(view.operands[0].type).shape))
    return None


def _groups(reshape: Operation) -> _Groups:
    attribute = ArrayAttr(reshape.attributes["reassociation"])
    return [[IntegerAttr(d).value for d in ArrayAttr(group)] for group in attribute]


def _expanded(
    strides: Sequence[int], groups: _Groups, shape: Sequence[int]
) -> tuple[int, ...] | None:
    """The strides of `shape` after expanding dimensions into `groups`."""
    if not groups:
        return None
    return tuple(
        stride * prod(shape[d] for d in group if d > inner)
        for stride, group in zip(strides, groups, strict=True)
        for inner in group
    )


def _collapsed(
    strides: Sequence[int], groups: _Groups, shape: Sequence[int]
) -> tuple[int, ...] | None:
    """The strides after collapsing each of `groups` of the dimensions of `shape`."""
    found: list[int] = []
    for group in groups:
        last = max((d for d in group if shape[d] != 1), default=group[0])
        if any(
            strides[d] != strides[last] * prod(shape[e] for e in group if e > d)
            for d in group
            if shape[d] != 1
        ):
            return None
        found.append(strides[last])
    return tuple(found) if groups else None


def as_buffer(whole: Value, view: Value, strides: Sequence[int], ip: InsertionPoint) -> Value:
    """`view`, recreated at `ip` in the shape of the buffer that `whole` covers.

    The buffer's `strides` come from `strides_before`. A reshape is expressed by strides alone,
    because addresses in a reshape operation are computed by divisions.
    """
    chain = views_before(view)
    value = chain[0].operands[0] if chain else view
    for op in chain:
        clone = op.clone(ip=ip)
        clone.operation.operands[0] = value
        value = clone.operation.results[0]
    if not views_before(whole):
        return value
    type, shape = MemRefType(value.type), list(MemRefType(root(whole).type).shape)
    offset = type.get_strides_and_offset()[1]
    layout = StridedLayoutAttr.get(offset, strides)
    shaped = MemRefType.get(shape, type.element_type, layout, type.memory_space)
    static = ([offset], shape, list(strides))
    return memref.ReinterpretCastOp(shaped, value, [], [], [], *static, ip=ip).result


def _with_layout(source: Value, shape: Sequence[int], strides: Sequence[int] | None) -> MemRefType:
    """The type of a reshape of `source`; a reshape of a dense buffer is dense."""
    type = MemRefType(source.type)
    if type.affine_map == AffineMap.get_identity(type.rank):
        return MemRefType.get(shape, type.element_type, None, type.memory_space)
    layout = StridedLayoutAttr.get(type.get_strides_and_offset()[1], strides)
    return MemRefType.get(shape, type.element_type, layout, type.memory_space)


def replace_by_view(buffer: Value, view: Value) -> None:
    """Use `view` instead of a buffer, and update the types of the views of that buffer."""
    uses = [use.owner.operation for use in buffer.uses]
    buffer.replace_all_uses_with(view)
    for op in uses:
        _retype(op)


def _retype(op: Operation) -> None:
    if op.name not in VIEWS:
        return
    if op.name == _SUBVIEW:
        retype_subview(op)
    else:
        source, result = op.operands[0], op.results[0]
        shape = list(MemRefType(result.type).shape)
        strides = _strides_after(op, strides_of(source))
        result.set_type(_with_layout(source, shape, strides))
    for use in op.results[0].uses:
        _retype(use.owner.operation)
