# SPDX-License-Identifier: Apache-2.0
"""Loads and stores of tiles: converts between element types and storage types."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Any

from xtc.core.errors import UserError
from xtc.core.tile_layout import RegisterLayout
from xtc.ir.builders import tile
from xtc.tile.instructions import shapes
from xtc.tile.instructions.memory import offset_values, stored_shape, stored_size, stored_type
from xtc.tile.types import DataType, boolean, uint8
from xtc.tile.values import arithmetic
from xtc.tile.values.runtime import Data, GlobalTensor, RegisterTensor, SharedTensor

_BYTE = 8


def load_global(
    source: GlobalTensor, offsets: Sequence[Any], sizes: tuple[int, ...], dims: Any
) -> RegisterTensor:
    """Load a tile from global memory, with 0 outside of the tensor."""
    values, along = located(source, offsets, dims, len(sizes), "load_global")
    stored = stored_shape(sizes, source.dtype, "load_global")
    made = tile.load_global(
        source.value, values, along, tile.tile_type(stored, stored_type(source.dtype))
    )
    return from_memory(made, source.dtype, sizes)


def store_global(target: GlobalTensor, src: Any, offsets: Sequence[Any], dims: Any) -> None:
    """Store a tile to global memory; elements outside of the tensor are dropped."""
    src, dims = shapes.element_of(src, dims, len(target.shape))
    value = same_type(shapes.tensor_of(src, "store_global"), target, "store_global")
    values, along = located(target, offsets, dims, len(value.shape), "store_global")
    tile.store_global(to_memory(value, "store_global").value, target.value, values, along)


def load_shared(source: SharedTensor) -> RegisterTensor:
    """Load a whole shared tensor."""
    stored = stored_shape(source.shape, source.dtype, "load_shared")
    made = tile.load_shared(source.value, tile.tile_type(stored, stored_type(source.dtype)))
    return from_memory(made, source.dtype, source.shape)


def store_shared(target: SharedTensor, src: Any) -> None:
    """Store a whole shared tensor."""
    value = same_type(shapes.tensor_of(src, "store_shared"), target, "store_shared")
    if value.shape != target.shape:
        raise UserError(
            f"store_shared writes {src!r} to {target!r}",
            hints=["both have one type and one shape; offsets= and dims= choose a part"],
        )
    tile.store_shared(to_memory(value, "store_shared").value, target.value)


def located(
    tensor: GlobalTensor, offsets: Sequence[Any], dims: Any, rank: int, name: str
) -> tuple[list[Any], list[int]]:
    """Offsets in all dimensions of the memory, and the dimensions of a tile of `rank`."""
    free = tensor.dimensions()
    if isinstance(offsets, list | tuple) and len(offsets) == len(free):
        everywhere = {**tensor.fixed, **dict(zip(free, offsets, strict=True))}
        offsets = [everywhere[dim] for dim in sorted(everywhere)]
    else:
        offset_values(offsets, len(tensor.shape), name)
    along = [free[n] for n in dimensions(dims, rank, len(tensor.shape), name)]
    if tensor.dtype.is_packed:
        offsets = _byte_offsets(tensor, offsets, along, name)
    return offset_values(offsets, len(offsets), name), along


def _byte_offsets(
    tensor: GlobalTensor, offsets: Sequence[Any], along: Sequence[int], name: str
) -> list[Any]:
    """Offsets of packed elements in bytes. Raises UserError if one is within a byte."""
    if along[-1] != len(offsets) - 1:
        raise UserError(
            f"{name}: {tensor!r} shares bytes along its last dimension, as tiles do",
            hints=["the last dimension of the tile must be that of the tensor"],
        )
    last, together = offsets[-1], _BYTE // gcd(_BYTE, tensor.dtype.bits)
    if isinstance(last, int) and last % together:
        raise UserError(
            f"{name}: element {last} of {tensor!r} begins within a byte",
            hints=[f"begin at a multiple of {together}"],
        )
    if isinstance(last, Data):
        begins = arithmetic.binary("eq", arithmetic.binary("mod", last, together), 0)
        tile.assume(begins.value, "byte")
    return [*offsets[:-1], stored_size(last, tensor.dtype)]


def dimensions(dims: Any, rank: int, of: int, name: str) -> list[int]:
    """The memory dimension of each dimension of a tile."""
    if dims is None:
        if rank != of:
            raise UserError(
                f"{name}: a tile of rank {rank} of a tensor of rank {of}",
                hints=["name the dimensions of the tensor that it spans: dims=[...]"],
            )
        return list(range(of))
    found = shapes.dimensions(dims, of)
    if len(found) != rank:
        raise UserError(
            f"{name}: dims={list(dims)} for a tile of rank {rank}",
            hints=["dims= names a dimension of the tensor for each dimension of the tile"],
        )
    return found


def same_type(value: RegisterTensor, target: Any, name: str) -> RegisterTensor:
    """The tile. Raises UserError if the memory has another element type."""
    if value.dtype != target.dtype:
        raise UserError(
            f"{name} writes {value!r} to {target!r}",
            hints=[f"cast it: self.cast(x, dtype={target.dtype})"],
        )
    return value


def from_memory(value: Any, dtype: DataType, shape: Sequence[int]) -> RegisterTensor:
    """Convert a tile from its storage type: a bool is a byte, small integers are packed."""
    if dtype.is_packed:
        type = tile.tile_type(shape, stored_type(dtype))
        unpacked = tile.view(value, _BYTE, _signed(dtype), None, type)
        return RegisterTensor(unpacked, dtype, tuple(shape))
    if dtype != boolean:
        return RegisterTensor(value, dtype, tuple(shape))
    made = arithmetic.binary("ne", RegisterTensor(value, uint8, tuple(shape)), 0)
    return RegisterTensor(made.value, boolean, tuple(shape))


def to_memory(value: RegisterTensor, name: str) -> RegisterTensor:
    """Convert a tile to its storage type."""
    if value.dtype.is_packed:
        stored = stored_shape(value.shape, value.dtype, name)
        type = tile.tile_type(stored, stored_type(value.dtype))
        packed = tile.view(value.value, _signed(value.dtype), _BYTE, None, type)
        return RegisterTensor(packed, uint8, tuple(stored))
    found: RegisterTensor = arithmetic.cast(value, uint8) if value.dtype == boolean else value
    return found


def viewed(x: RegisterTensor, layout: Any, dtype: DataType | None) -> RegisterTensor:
    """Reinterpret the bits that each thread holds as another type in another layout."""
    kind = x.dtype if dtype is None else dtype
    if boolean in (kind, x.dtype):
        raise UserError("view: a boolean cannot be reinterpreted", hints=["cast it to int8"])
    if not isinstance(layout, RegisterLayout | None):
        raise UserError(
            f"view takes a register layout, not {layout!r}",
            hints=["tile.layout.spatial(8, 4) * tile.layout.local(2, 2)"],
        )
    shape = x.shape if layout is None else layout.shape
    if layout is None and kind.bits != x.dtype.bits:
        raise UserError(
            f"view of {x!r} as {kind} needs layout=, as elements have another number of bits",
            hints=["self.view(x, layout=..., dtype=...)"],
        )
    if prod(shape) * kind.bits != prod(x.shape) * x.dtype.bits:
        raise UserError(
            f"view of {x!r} as {kind}{list(shape)}: the number of bits differs",
            hints=["choose a shape with as many bits in each thread"],
        )
    type = tile.tile_type(shape, arithmetic.mlir_type(kind.mlir))
    made = tile.view(x.value, _signed(x.dtype), _signed(kind), layout, type)
    return RegisterTensor(made, kind, tuple(shape))


def _signed(dtype: DataType) -> int:
    """The width of an element; negative if a thread holds it sign-extended."""
    return -dtype.bits if dtype.is_packed and dtype.kind == "int" and dtype.signed else dtype.bits
