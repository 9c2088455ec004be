# SPDX-License-Identifier: Apache-2.0
"""Single elements: of tensors in global and shared memory, and of register tiles."""

from __future__ import annotations

import itertools
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.arithmetic import binary, cast, mlir_type, reshaped, select
from xtc.tile.methods import method
from xtc.tile.moves import load_global, load_shared
from xtc.tile.shapes import item, reduced
from xtc.tile.types import boolean, int32
from xtc.tile.values import Data, GlobalTensor, Pointer, RegisterTensor, Scalar, SharedTensor


@method("global_part")
def global_part(tensor: GlobalTensor, location: Any) -> GlobalTensor:
    """The part of a tensor that an index in its first dimensions names."""
    indices = location if isinstance(location, tuple) else (location,)
    if len(indices) > len(tensor.shape):
        raise UserError(f"{tensor!r} is indexed in {len(indices)} dimensions")
    for number in indices:
        if not isinstance(number, int | Scalar) or isinstance(number, bool):
            raise UserError(f"{number!r} is no index of a global tensor")
    return GlobalTensor(
        tensor.value,
        tensor.dtype,
        tensor.shape[len(indices) :],
        tensor.pointer,
        tensor.strides,
        (*tensor.prefix, *indices),
    )


@method("global_item")
def global_item(tensor: GlobalTensor) -> Any:
    """The only element of a part of a tensor; 0 outside of the tensor."""
    _require_element(tensor)
    locations: list[Any] = [*tensor.prefix, *[0] * len(tensor.shape)]
    *first, last = locations
    whole = GlobalTensor(
        tensor.value, tensor.dtype, [1], tensor.pointer, tensor.strides, tuple(first)
    )
    return item(load_global(whole, [last], (1,), None))


@method("global_item_pointer")
def global_item_pointer(tensor: GlobalTensor) -> Pointer:
    """The address of the only element of a part of a tensor."""
    _require_element(tensor)
    offset: Any = tensor.pointer.offset
    for number, stride in zip(tensor.prefix, tensor.strides, strict=False):
        offset = number * stride + offset
    return Pointer(tensor.pointer.base, tensor.dtype, offset)


def _require_element(tensor: GlobalTensor) -> None:
    if any(not isinstance(size, int) or size != 1 for size in tensor.shape):
        raise UserError(
            f"{tensor!r} has more than one element", hints=["index all its dimensions first"]
        )
    if tensor.dtype.is_packed:
        raise UserError(f"an element of {tensor!r} shares its byte with others")


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
    """The elements that an index in the first dimensions names, as a smaller tile."""
    indices = location if isinstance(location, tuple) else (location,)
    if len(indices) > len(x.shape):
        raise UserError(f"{x!r} is indexed in {len(indices)} dimensions")
    chosen = _chosen(x, indices)
    value: Any = x if x.dtype.kind != "bool" else cast(x, int32)
    value = select(chosen, value, cast(0, value.dtype))
    dims = list(range(len(indices)))
    found = reduced(value, dims, True, "sum")
    if x.dtype.kind == "bool":
        found = cast(found, boolean)
    shape = x.shape[len(indices) :]
    return reshaped(found, shape or (1,))


@method("with_part")
def with_part(x: RegisterTensor, location: Any, value: Any) -> Data:
    """The tile with other elements where an index in the first dimensions names them."""
    indices = location if isinstance(location, tuple) else (location,)
    if isinstance(value, RegisterTensor) and value.shape == (1,) and len(indices) == len(x.shape):
        value = item(value)
    return cast(select(_chosen(x, indices), value, x), x.dtype)  # type: ignore[no-any-return]


def _chosen(x: RegisterTensor, indices: tuple[Any, ...]) -> Any:
    chosen: Any = None
    for dim, number in enumerate(indices):
        if not isinstance(number, int | Data) or isinstance(number, bool):
            raise UserError(f"{number!r} is no index of a register tensor")
        if isinstance(number, int) and not 0 <= number < x.shape[dim]:
            raise UserError(f"index {number} is outside of dimension {dim} of {x!r}")
        along = tile.indices(dim, tile.tile_type(x.shape, mlir_type(int32.mlir)))
        here = binary("eq", RegisterTensor(along, int32, x.shape), number)
        chosen = here if chosen is None else binary("and", chosen, here)
    return chosen


@method("listed")
def listed(x: RegisterTensor, location: tuple[int, ...]) -> Any:
    """All elements behind these first indices, as nested lists of scalars."""
    if len(location) == len(x.shape):
        return item(register_part(x, location))  # type: ignore[arg-type]
    return [listed(x, (*location, number)) for number in range(x.shape[len(location)])]


def positions(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every index of a tile, the last dimension fastest."""
    return list(itertools.product(*(range(size) for size in shape)))
