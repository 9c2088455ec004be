# SPDX-License-Identifier: Apache-2.0
"""Divides a kernel's work and buffers among DPUs: by rows of the results, or not at all.

If all operations of a kernel have the same outermost loop over rows of their results, each DPU has
a range of these rows: of every result, and of the operands whose first dimension only this loop
indexes. Other operands are replicated on every DPU. Otherwise the first DPU does everything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import Structured, shape_of
from xtc.ir.analysis.views import root
from xtc.ir.mlir import DenseI64ArrayAttr, OpResult, Value
from xtc_passes.local._view_layouts import element_bytes

GRANULE = 8
"""The size of a buffer on a DPU is a multiple of this number of bytes."""
REPLICATED = 0
_SPARE = 16  # a DPU may have this fraction of its share in additional rows
_RESHAPES = ("memref.expand_shape", "memref.collapse_shape")


@dataclass(frozen=True)
class Shards:
    """The division of a kernel among DPUs.

    Attributes:
        rows: rows per DPU, by operation.
        each: bytes of a buffer on each DPU, or REPLICATED.
    """

    rows: dict[Structured, int]
    each: dict[Value, int]


def row_loop(nest: Structured) -> int | None:
    """The loop over rows of the result: the first of its dimensions that is not 1."""
    dimension = row_dimension(nest.op.operands[nest.destination])
    if dimension is None:
        return None
    return nest.indices[nest.destination][dimension].loop


def row_dimension(buffer: Value) -> int | None:
    """The first dimension of a buffer that is not 1."""
    sizes = shape_of(buffer)
    return next((dimension for dimension, size in enumerate(sizes) if size > 1), None)


def nbytes_of(buffer: Value) -> int:
    """Bytes of a dense buffer."""
    return math.prod(shape_of(buffer)) * element_bytes(buffer)


def shards_of(nests: Sequence[Structured], dpus: int) -> Shards:
    """The division of operations on buffers among this number of DPUs."""
    found = _by_rows(nests, dpus) if dpus > 1 else None
    return found or _alone(nests)


def _alone(nests: Sequence[Structured]) -> Shards:
    rows = {nest: _extent(nest) for nest in nests}
    each = {buffer: _rounded(nbytes_of(buffer)) for buffer in _buffers(nests)}
    return Shards(rows, each)


def _extent(nest: Structured) -> int:
    loop = row_loop(nest)
    return 1 if loop is None else nest.extents[loop]


def _rounded(nbytes: int) -> int:
    return (nbytes + GRANULE - 1) // GRANULE * GRANULE


def _buffers(nests: Sequence[Structured]) -> list[Value]:
    values = (value for nest in nests for value in nest.op.operands if _is_buffer(value))
    return list(dict.fromkeys(root(value) for value in values))


def _is_buffer(value: Value) -> bool:
    return hasattr(value.type, "shape")


def _by_rows(nests: Sequence[Structured], dpus: int) -> Shards | None:
    loops = [row_loop(nest) for nest in nests]
    if None in loops or len({_extent(nest) for nest in nests}) != 1:
        return None
    total = _extent(nests[0])
    written = {root(nest.op.operands[nest.destination]) for nest in nests}
    sharded = {
        buffer
        for buffer in _buffers(nests)
        if all(_walks_rows(nest, buffer, total) for nest in nests)
    }
    if not written <= sharded:
        return None
    rows = rows_of_each(total, dpus)
    each = {
        buffer: rows * (nbytes_of(buffer) // total) if buffer in sharded else REPLICATED
        for buffer in _buffers(nests)
    }
    return Shards(dict.fromkeys(nests, rows), each)


def _walks_rows(nest: Structured, buffer: Value, total: int) -> bool:
    """Whether an operation accesses a buffer only in the row of the current iteration."""
    loop = row_loop(nest)
    for number, value in enumerate(nest.op.operands):
        if not _is_buffer(value) or root(value) != buffer:
            continue
        dimension = row_dimension(value)
        if dimension is None or shape_of(value)[dimension] != total:
            return False
        if not _is_whole(value) and not _has_all_rows(value, dimension):
            return False
        if nest.position(number, loop if loop is not None else -1) != dimension:
            return False
    return True


def _is_whole(value: Value) -> bool:
    """Whether a value is a whole buffer, possibly reshaped."""
    while isinstance(value, OpResult) and value.owner.name in _RESHAPES:
        value = value.owner.operands[0]
    return bool(value == root(value))


def _has_all_rows(value: Value, dimension: int) -> bool:
    """Whether a value has a part of every row of a buffer, with rows along `dimension`."""
    while isinstance(value, OpResult) and value.owner.name == "memref.subview":
        op = value.owner
        (source, *dynamic) = op.operands
        offsets, steps = (
            DenseI64ArrayAttr(op.attributes[name]) for name in ("static_offsets", "static_strides")
        )
        if dynamic or len(shape_of(source)) != len(shape_of(value)):
            return False
        if offsets[dimension] != 0 or steps[dimension] != 1 or row_dimension(source) != dimension:
            return False
        if shape_of(source)[dimension] != shape_of(value)[dimension]:
            return False
        value = source
    return bool(value == root(value))


def rows_of_each(total: int, dpus: int) -> int:
    """Rows per DPU: equal for all kernels with `total` rows, which then agree on their buffers.

    Tiles must divide both these rows and all rows, so a DPU may have a few more than its share.
    """
    least = -(-total // dpus)
    most = least + least // _SPARE
    steps = [step for step in range(1, most + 1) if total % step == 0]
    rows = [(step, -(-least // step) * step) for step in steps]
    return max((step, count) for step, count in rows if count <= most)[1]
