# SPDX-License-Identifier: Apache-2.0
"""Single elements: of tensors in global and shared memory, and of register tiles."""

from __future__ import annotations

import itertools
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.instructions.moves import load_global, load_shared
from xtc.tile.instructions.shapes import fitted, item, reduced
from xtc.tile.types import boolean, int32
from xtc.tile.values.arithmetic import binary, cast, mlir_type, reshaped, select
from xtc.tile.values.indexing import indexed
from xtc.tile.values.methods import method
from xtc.tile.values.runtime import (
    Data,
    GlobalTensor,
    Memory,
    Pointer,
    RegisterTensor,
    Scalar,
    SharedTensor,
)


@method("global_part")
def global_part(tensor: GlobalTensor, location: Any) -> GlobalTensor:
    """The part of a tensor selected by indices in some of its dimensions."""
    indices = indexed(location, len(tensor.shape), tensor)
    sizes = [size for size, at in zip(tensor.shape, indices, strict=True) if at is None]
    chosen = zip(tensor.dimensions(), indices, strict=True)
    fixed = {**tensor.fixed, **{dim: at for dim, at in chosen if at is not None}}
    return GlobalTensor(tensor.value, tensor.dtype, sizes, tensor.pointer, tensor.strides, fixed)


@method("global_item")
def global_item(tensor: GlobalTensor) -> Any:
    """The only element of a part of a tensor; 0 outside of the tensor."""
    _require_element(tensor)
    last = len(tensor.strides) - 1
    fixed = {dim: tensor.fixed.get(dim, 0) for dim in range(last)}
    whole = GlobalTensor(tensor.value, tensor.dtype, [1], tensor.pointer, tensor.strides, fixed)
    return item(load_global(whole, [tensor.fixed.get(last, 0)], (1,), None))


@method("global_item_pointer")
def global_item_pointer(tensor: GlobalTensor) -> Pointer:
    """The address of the only element of a part of a tensor."""
    _require_element(tensor)
    offset: Any = tensor.pointer.offset
    for dim, number in tensor.fixed.items():
        offset = number * tensor.strides[dim] + offset
    return Pointer(tensor.pointer.base, tensor.dtype, offset)


def _require_element(tensor: GlobalTensor) -> None:
    if any(not isinstance(size, int) or size != 1 for size in tensor.shape):
        raise UserError(
            f"{tensor!r} has more than one element", hints=["index all its dimensions first"]
        )
    if tensor.dtype.is_packed:
        raise UserError(
            f"an element of {tensor!r} shares its byte with others", hints=["load a tile of them"]
        )


@method("shared_item")
def shared_item(tensor: SharedTensor) -> Any:
    """The only element of a shared tensor."""
    if any(size != 1 for size in tensor.shape):
        raise UserError(
            f"{tensor!r} has more than one element", hints=["index all its dimensions first"]
        )
    return item(load_shared(tensor))


@method("register_part")
def register_part(x: RegisterTensor, location: Any) -> Data:
    """The elements selected by indices in some dimensions, as a smaller tile."""
    indices = indexed(location, len(x.shape), x)
    dims = [dim for dim, at in enumerate(indices) if at is not None]
    if not dims:
        return RegisterTensor(x.value, x.dtype, x.shape)
    value: Any = x if x.dtype.kind != "bool" else cast(x, int32)
    nothing = -0.0 if value.dtype.is_float() else 0  # the neutral element of sums, also for -0.0
    value = select(_chosen(x, indices), value, cast(nothing, value.dtype))
    found = reduced(value, dims, True, "sum")
    if x.dtype.kind == "bool":
        found = cast(found, boolean)
    return reshaped(found, _kept(x, indices) or (1,))


@method("with_part")
def with_part(x: RegisterTensor, location: Any, value: Any) -> Data:
    """The tile with the elements replaced that indices in some dimensions select."""
    indices = indexed(location, len(x.shape), x)
    if isinstance(value, RegisterTensor):
        value = _along(value, x, indices)
    chosen = _chosen(x, indices)
    made = value if chosen is None else select(chosen, value, x)
    return fitted(cast(made, x.dtype), x.shape, "=")


def _kept(x: RegisterTensor, indices: list[Any]) -> tuple[int, ...]:
    """The sizes of the dimensions without an index."""
    return tuple(size for size, at in zip(x.shape, indices, strict=True) if at is None)


def _along(value: RegisterTensor, x: RegisterTensor, indices: list[Any]) -> Any:
    """Expand a tile of the dimensions without an index to the rank of `x`; or its element."""
    if value.shape == (1,) and not _kept(x, indices):
        return item(value)
    if value.shape != _kept(x, indices):
        return value
    ones = [size if at is None else 1 for size, at in zip(x.shape, indices, strict=True)]
    return reshaped(value, ones)


def _chosen(x: RegisterTensor, indices: list[Any]) -> Any:
    """A mask of the elements that the indices select; None selects all."""
    chosen: Any = None
    for dim, number in enumerate(indices):
        if number is None:
            continue
        if isinstance(number, int) and not 0 <= number < x.shape[dim]:
            raise UserError(
                f"index {number} is outside of dimension {dim} of {x!r}",
                hints=["indices are numbered from 0"],
            )
        along = tile.indices(dim, tile.tile_type(x.shape, mlir_type(int32.mlir)))
        here = binary("eq", RegisterTensor(along, int32, x.shape), number)
        chosen = here if chosen is None else binary("and", chosen, here)
    return chosen


@method("listed")
def listed(x: RegisterTensor, location: tuple[int, ...]) -> Any:
    """All elements with these leading indices, as nested lists of scalars."""
    if len(location) == len(x.shape):
        return item(register_part(x, location))  # type: ignore[arg-type]
    return [listed(x, (*location, number)) for number in range(x.shape[len(location)])]


def positions(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every index of a tile, the last dimension fastest."""
    return list(itertools.product(*(range(size) for size in shape)))


def bind_attribute(owner: Any, name: str, value: Any) -> None:
    """`owner.name = value`. Raises UserError for tensors and numbers, which keep theirs."""
    if isinstance(owner, Data | Memory):
        raise UserError(
            f"an attribute of {owner!r} cannot be assigned",
            hints=["self.assign(x, y) changes a tile, x = y binds the name to another one"],
        )
    if name == "attrs":
        raise UserError(
            "self.attrs cannot be assigned", hints=["self.attrs.blocks = ..., self.attrs.warps = 4"]
        )
    setattr(owner, name, of_kind(getattr(owner, "__dict__", {}).get(name), value))


def of_kind(before: Any, value: Any) -> Any:
    """A number that takes the place of a run-time number gets its type, as in C."""
    if not isinstance(before, Scalar) or not isinstance(value, int | float):
        return value
    is_possible = before.dtype.is_float() or isinstance(value, int)
    return cast(value, before.dtype) if is_possible else value
