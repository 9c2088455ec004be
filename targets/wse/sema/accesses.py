# SPDX-License-Identifier: Apache-2.0
"""Tensor accesses, `|i, j|{M, N} -> A[i, 2 * j]`: their parts, and the equivalent struct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.evaluate import evaluate, known_int
from xtc_targets.wse.sema.frame import Frame, Memory
from xtc_targets.wse.sema.lvalues import location_of, pointed, value_of
from xtc_targets.wse.sema.values import (
    AccessValue,
    Address,
    Const,
    Run,
    Value,
    integer,
    struct_value,
)


@dataclass(frozen=True)
class AccessParts:
    """The parts; `offset` and `strides` count elements, and the slowest index comes first."""

    base: Memory
    element: t.Type
    offset: int
    strides: list[int]
    extents: list[Value]


def parts_of(access: AccessValue) -> AccessParts:
    """Evaluate an access in its scope. Raises CslError if it is not linear."""
    frame: Frame = access.frame
    names, extents = access.tree.names, access.tree.extents
    if len(names) != len(extents):
        raise CslError(f"{len(names)} indices with {len(extents)} extents", where=access.tree.at)
    counts = [evaluate(frame, each) for each in extents]
    base, indices = _indexed_base(frame, access.tree.body)
    shape = base.type.shape if isinstance(base.type, t.Array) else (1,)
    element = base.type.element if isinstance(base.type, t.Array) else base.type
    first, *others = (
        _linear(frame, indices, shape, _unit(names, axis)) for axis in range(-1, len(names))
    )
    strides = [each - first for each in others]
    far = _linear(frame, indices, shape, dict.fromkeys(names, 3))
    if far != first + 3 * sum(strides):
        raise CslError("the index of a tensor access is not linear", where=access.tree.at)
    return AccessParts(base, element, first, strides, counts)


def struct_of(access: AccessValue) -> Const:
    """The struct of base address, offset, stride and extent, for `@get_dsd`.

    Each stride is the distance from the last element of the inner indices; the fastest index comes
    first.
    """
    parts = parts_of(access)
    kind = t.Pointer(parts.base.type)
    address = parts.base.address
    pointer: Value = (
        Const(kind, address) if isinstance(address, Address) else Run(kind, str(address))
    )
    jumps, inside = [], 0
    for extent, stride in zip(reversed(parts.extents), reversed(parts.strides), strict=True):
        if not isinstance(extent, Const):
            raise CslError("the extents of this access must be known", where=access.tree.at)
        jumps.append(integer(stride - inside))
        inside += (int(extent.value) - 1) * stride
    return struct_value(
        base_address=pointer,
        offset=integer(parts.offset),
        stride=_tuple(jumps),
        extent=_tuple(parts.extents),
    )


def _tuple(values: Sequence[Value]) -> Const:
    return Const(t.ANONYMOUS, {str(number): each for number, each in enumerate(values)})


def _unit(names: Sequence[str], axis: int) -> dict[str, int]:
    return {name: int(number == axis) for number, name in enumerate(names)}


def _indexed_base(frame: Frame, body: tree.Expr) -> tuple[Memory, list[tree.Expr]]:
    indices: list[tree.Expr] = []
    while isinstance(body, tree.Index):
        indices = [*body.indices, *indices]
        body = body.base
    found = location_of(frame, body)
    if isinstance(found.type if not hasattr(found, "cell") else t.VOID, t.Pointer):
        found = pointed(frame, value_of(frame, found, body.at), body.at)
    if isinstance(found, Const) and isinstance(found.type, t.Array):
        found = Memory(found.type, Address(frame.program.constant(found, body.at)), True)
    if not isinstance(found, Memory):
        raise CslError("a tensor access refers to an array on the PE", where=body.at)
    return found, indices


def _linear(
    frame: Frame, indices: list[tree.Expr], shape: tuple[int, ...], point: dict[str, int]
) -> int:
    """The flat index of the element at these indices."""
    if len(indices) != len(shape) and indices:
        raise CslError(f"{len(indices)} indices into {len(shape)} dimensions", where=indices[0].at)
    total = 0
    with frame.comptime(), frame.block():
        for name, value in point.items():
            frame.scope.names[name] = integer(value)
        for extent, index in zip(shape, indices, strict=False):
            total = total * extent + known_int(frame, index, "an index of a tensor access")
    return total
