# SPDX-License-Identifier: Apache-2.0
"""Tensors in global and shared memory: how views of them are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.ir.mlir import (
    AffineMap,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ShapedType,
    StridedLayoutAttr,
    Type,
    Value,
    arith,
    memref,
)
from xtc.tile.arithmetic import cast, data
from xtc.tile.indexing import indexed
from xtc.tile.methods import method
from xtc.tile.types import DataType, int32, require_type
from xtc.tile.values import GlobalTensor, Pointer, Scalar, SharedTensor

GLOBAL, SHARED = 1, 2
"""Memory spaces: a device's main memory, and memory on the chip."""

_UNKNOWN = ShapedType.get_dynamic_size()
_UNKNOWN_STRIDE = ShapedType.get_dynamic_stride_or_offset()


def sizes_of(given: Any, name: str) -> tuple[int, ...]:
    """A shape known when compiling. Raises UserError for any other."""
    if isinstance(given, int):
        given = (given,)
    if not isinstance(given, list | tuple) or not given:
        raise UserError(f"{name} takes a shape, not {given!r}")
    for size in given:
        if isinstance(size, Scalar):
            raise UserError(
                f"{name}: the shape has {size!r}", hints=["tiles have sizes known when compiling"]
            )
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise UserError(f"{name}: {size!r} is no size; it is an integer, 1 or more")
    return tuple(given)


def pointer_type(dtype: DataType | None) -> MemRefType:
    """How a kernel takes a pointer: a buffer of one element of the type."""
    element = stored_type(dtype) if dtype else Type.parse("i8")
    return MemRefType.get([], element, None, space(GLOBAL))


def stored_type(dtype: DataType) -> Type:
    """How memory holds a type: a bool, and what shares bytes, as bytes. Raises UserError."""
    require_type(dtype)
    return Type.parse("i8" if dtype.kind == "bool" else dtype.mlir)


def stored_size(size: Any, dtype: DataType) -> Any:
    """How many elements of `stored_type` this many neighbors have."""
    return size * dtype.bits // 8 if dtype.is_packed else size


def stored_shape(shape: Sequence[Any], dtype: DataType, name: str) -> list[Any]:
    """A shape in elements of `stored_type`. Raises UserError where a row ends within a byte."""
    last = shape[-1]
    if require_type(dtype).is_packed and isinstance(last, int) and last * dtype.bits % 8:
        raise UserError(
            f"{name}: a row of {last} elements of {dtype} is not a whole number of bytes",
            notes=[f"it has {last * dtype.bits} bits"],
        )
    return [*shape[:-1], stored_size(last, dtype)]


def is_whole(value: Any) -> bool:
    """Whether a value is an integer, known when compiling or at run time."""
    if isinstance(value, Scalar):
        return value.dtype.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def index(value: Any) -> Value:
    """A number as a value of type index."""
    if isinstance(value, int):
        return arith.constant(IndexType.get(), value)
    return arith.index_cast(IndexType.get(), value.value)


def offset_values(offsets: Sequence[Any], rank: int, name: str) -> list[Value]:
    """Offsets as values of type i32. Raises UserError."""
    if not isinstance(offsets, list | tuple) or len(offsets) != rank:
        raise UserError(
            f"{name} takes {rank} offsets, one for each dimension of the global tensor",
            notes=[f"it has {offsets!r}"],
        )
    for offset in offsets:
        if not is_whole(offset) and not (isinstance(offset, float) and offset.is_integer()):
            raise UserError(
                f"{name}: the offset {offset!r} is no integer",
                hints=["an offset is a number of elements, the same for all threads"],
            )
    return [cast(data(offset, int32), int32).value for offset in offsets]


def global_view(
    pointer: Any, dtype: DataType, shape: Sequence[Any], strides: Sequence[Any] | None
) -> GlobalTensor:
    """A tensor over the memory behind a pointer; dense, the last dimension fastest, by default."""
    if not isinstance(pointer, Pointer):
        raise UserError(f"global_view takes a pointer, not {pointer!r}")
    if pointer.dtype is not None and pointer.dtype != dtype:
        raise UserError(
            f"global_view: a {pointer.dtype} pointer is viewed as {dtype}",
            hints=["annotate the parameter with void_p to view it as any type"],
        )
    if not isinstance(shape, list | tuple) or not shape:
        raise UserError(f"global_view takes a shape, not {shape!r}")
    if not isinstance(strides, list | tuple | None):
        raise UserError(f"global_view takes a stride for each size, not {strides!r}")
    given = _dense(shape) if strides is None else list(strides)
    if len(given) != len(shape):
        raise UserError(f"global_view: {len(shape)} sizes and {len(given)} strides")
    for number in (*shape, *given, pointer.offset):
        if not is_whole(number):
            raise UserError(f"global_view: {number!r} is no size or stride")
    for size in shape:
        if isinstance(size, int) and size < 0:
            raise UserError(f"global_view: {size} is no size", notes=["a size is 0 or more"])
    if dtype.is_packed and given[-1] != 1:
        raise UserError(f"global_view: elements of {dtype} share bytes: the last stride is 1")
    made = _strided(
        pointer,
        stored_type(dtype),
        stored_shape(shape, dtype, "global_view"),
        [*(stored_size(stride, dtype) for stride in given[:-1]), given[-1]],
    )
    return GlobalTensor(made, dtype, shape, pointer, given)


def _strided(pointer: Pointer, element: Type, shape: Sequence[Any], given: Sequence[Any]) -> Value:
    """A view of what a pointer points to, as elements of this type."""
    base = pointer.base
    if MemRefType(base.type).element_type != element:
        base = tile.retyped(base, MemRefType.get([], element, None, space(GLOBAL)))
    static = [_known(size, _UNKNOWN) for size in shape]
    layout = StridedLayoutAttr.get(
        _known(pointer.offset, _UNKNOWN_STRIDE), [_known(s, _UNKNOWN_STRIDE) for s in given]
    )
    return memref.ReinterpretCastOp(
        MemRefType.get(static, element, layout, space(GLOBAL)),
        base,
        [index(pointer.offset)] if not isinstance(pointer.offset, int) else [],
        [index(size) for size in shape if not isinstance(size, int)],
        [index(stride) for stride in given if not isinstance(stride, int)],
        [_known(pointer.offset, _UNKNOWN_STRIDE)],
        static,
        [_known(stride, _UNKNOWN_STRIDE) for stride in given],
    ).result


def shared_tensor(dtype: DataType, shape: Sequence[int]) -> SharedTensor:
    """A new tensor in shared memory."""
    sizes = sizes_of(shape, "shared_tensor")
    stored = stored_shape(sizes, dtype, "shared_tensor")
    type = MemRefType.get(stored, stored_type(dtype), None, space(SHARED))
    return SharedTensor(memref.alloc(type, [], []), dtype, sizes)


def free_shared(tensor: SharedTensor, where: str) -> None:
    """Give a tensor's shared memory back. Raises UserError where it is a part, or was freed."""
    if tensor.root is not tensor:
        raise UserError("free_shared takes the tensor that was allocated, not a part of it")
    require_live(tensor, "free_shared")
    tensor.freed = where
    memref.dealloc(tensor.value)


def require_live(tensor: SharedTensor, name: str) -> None:
    """Raise UserError where the tensor's memory was given back."""
    if tensor.root.freed is not None:
        raise UserError(
            f"{name} uses {tensor!r} after free_shared",
            notes=[f"it was freed at {tensor.root.freed}"],
        )


@method("shared_part")
def shared_part(tensor: SharedTensor, position: Any) -> SharedTensor:
    """The part of a tensor that indices in some of its dimensions name."""
    indices = indexed(position, len(tensor.shape), tensor)
    for at, number in enumerate(indices):
        if isinstance(number, int) and not 0 <= number < tensor.shape[at]:
            raise UserError(f"index {number} is outside of dimension {at} of {tensor!r}")
    kept = [dim for dim, at in enumerate(indices) if at is None]
    sizes = [tensor.shape[dim] for dim in kept]
    offsets = [0 if at is None else at for at in indices]
    if not kept:  # an element keeps the last dimension
        kept, sizes = [len(tensor.shape) - 1], [1]
    return shared_slice(tensor, offsets, kept, sizes)


@method("shared_slice")
def shared_slice(
    tensor: SharedTensor, offsets: Sequence[Any], dims: Sequence[int], shape: Sequence[int]
) -> SharedTensor:
    """A part that begins at `offsets` and has the extent `shape[i]` along dimension `dims[i]`."""
    rank, kept = len(tensor.shape), list(sizes_of(shape, "slice"))
    if not all(isinstance(each, list | tuple) for each in (offsets, dims)):
        raise UserError(
            f"slice takes lists of offsets and of dimensions, not {offsets!r}, {dims!r}"
        )
    if len(offsets) != rank or sorted(dims) != list(dims) or len(dims) != len(kept):
        raise UserError(f"{tensor!r} has no part at {offsets!r} along {list(dims)}")
    for number in offsets:
        if not is_whole(number):
            raise UserError(f"{number!r} is no index of a shared tensor")
    bounds = [1] * rank
    for dim, size in zip(dims, kept, strict=True):
        bounds[dim] = size
    for at, (number, size) in enumerate(zip(offsets, bounds, strict=True)):
        if isinstance(number, int) and not 0 <= number <= tensor.shape[at] - size:
            raise UserError(f"elements {number} to {number + size} are outside of {tensor!r}")
    given = [*offsets[:-1], stored_size(offsets[-1], tensor.dtype)]
    sizes = [*bounds[:-1], stored_size(bounds[-1], tensor.dtype)]
    stored = [sizes[dim] for dim in dims]
    whole = MemRefType(tensor.value.type)
    strides, offset = whole.get_strides_and_offset()
    fixed = [number if isinstance(number, int) else _UNKNOWN_STRIDE for number in given]
    known = offset != _UNKNOWN_STRIDE and _UNKNOWN_STRIDE not in fixed
    begin = offset + sum(a * b for a, b in zip(fixed, strides, strict=True)) if known else None
    layout = StridedLayoutAttr.get(_known(begin, _UNKNOWN_STRIDE), [strides[dim] for dim in dims])
    made = memref.SubViewOp(
        MemRefType.get(stored, whole.element_type, layout, space(SHARED)),
        tensor.value,
        [index(number) for number in given if not isinstance(number, int)],
        [],
        [],
        fixed,
        sizes,
        [1] * rank,
    ).result
    return SharedTensor(made, tensor.dtype, kept, tensor.root)


@method("permuted")
def permuted(tensor: SharedTensor, dims: Sequence[int]) -> SharedTensor:
    """A view with dimensions in another order."""
    if not isinstance(dims, list | tuple) or set(dims) != set(range(len(tensor.shape))):
        raise UserError(f"permute takes the dimensions of {tensor!r} in an order, not {dims!r}")
    whole = MemRefType(tensor.value.type)
    if tensor.dtype.is_packed:
        raise UserError(f"{tensor!r} is stored in whole bytes and cannot be permuted")
    strides, offset = whole.get_strides_and_offset()
    shape = [tensor.shape[dim] for dim in dims]
    layout = StridedLayoutAttr.get(offset, [strides[dim] for dim in dims])
    type = MemRefType.get(shape, whole.element_type, layout, space(SHARED))
    made = memref.transpose(type, tensor.value, AffineMap.get_permutation(list(dims)))
    return SharedTensor(made, tensor.dtype, shape, tensor.root)


def reshaped(tensor: SharedTensor, shape: Sequence[int]) -> SharedTensor:
    """A view of a whole tensor in another shape, the last dimension the same or a part of it."""
    sizes = sizes_of(shape, "reshape_shared")
    if math.prod(sizes) != math.prod(tensor.shape) or sizes[-1] != tensor.shape[-1]:
        raise UserError(
            f"reshape_shared: {tensor!r} cannot have shape {list(sizes)}",
            notes=["the last dimension keeps its size: rows are stored whole"],
        )
    whole = MemRefType(tensor.value.type)
    strides, offset = whole.get_strides_and_offset()
    stored = stored_shape(sizes, tensor.dtype, "reshape_shared")
    if strides != _dense(list(whole.shape)) or offset == _UNKNOWN_STRIDE:
        raise UserError("reshape_shared takes a whole tensor, not a part or a permuted one")
    layout = StridedLayoutAttr.get(offset, _dense(stored))
    made = memref.ReinterpretCastOp(
        MemRefType.get(stored, whole.element_type, layout, space(SHARED)),
        tensor.value,
        [],
        [],
        [],
        [offset],
        stored,
        _dense(stored),
    ).result
    return SharedTensor(made, tensor.dtype, sizes, tensor.root)


def _dense(shape: Sequence[Any]) -> list[Any]:
    strides: list[Any] = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return strides


def _known(number: Any, unknown: int) -> int:
    return number if isinstance(number, int) else unknown


def space(number: int) -> IntegerAttr:
    """The attribute of a memory space."""
    return IntegerAttr.get(IntegerType.get_signless(64), number)
