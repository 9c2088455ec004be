# SPDX-License-Identifier: Apache-2.0
"""Tensors in global and shared memory, and views of them."""

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
from xtc.tile.types import DataType, int32, int64, require_type
from xtc.tile.values.arithmetic import cast, data
from xtc.tile.values.indexing import indexed, parts
from xtc.tile.values.methods import method
from xtc.tile.values.runtime import GlobalTensor, Pointer, Scalar, SharedTensor

GLOBAL, SHARED = 1, 2
"""Memory spaces: a device's main memory, and on-chip memory."""

_UNKNOWN = ShapedType.get_dynamic_size()
_UNKNOWN_STRIDE = ShapedType.get_dynamic_stride_or_offset()


def sizes_of(given: Any, name: str) -> tuple[int, ...]:
    """A compile-time shape. Raises UserError for any other."""
    if isinstance(given, int):
        given = (given,)
    if not isinstance(given, list | tuple) or not given:
        raise UserError(f"{name} takes a shape, not {given!r}", hints=["shape=[64, 64]"])
    for size in given:
        if isinstance(size, Scalar):
            raise UserError(
                f"{name}: the shape has {size!r}",
                notes=["the sizes of tiles are compile-time constants"],
                hints=[
                    "annotate a parameter with int; unroll a loop that changes a size: "
                    "self.range(..., unroll='all')"
                ],
            )
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise UserError(
                f"{name}: {size!r} is not a size: an integer of 1 or more",
                hints=["write a constant, or a parameter of __init__"],
            )
    return tuple(given)


def pointer_type(dtype: DataType | None) -> MemRefType:
    """The type of a pointer parameter: a buffer of one element of the type."""
    element = stored_type(dtype) if dtype else Type.parse("i8")
    return MemRefType.get([], element, None, space(GLOBAL))


def stored_type(dtype: DataType) -> Type:
    """The storage type of an element type: bytes for bools and packed types. Raises UserError."""
    require_type(dtype)
    return Type.parse("i8" if dtype.kind == "bool" else dtype.mlir)


def stored_size(size: Any, dtype: DataType) -> Any:
    """The number of elements of `stored_type` for this number of neighboring elements."""
    return size * dtype.bits // 8 if dtype.is_packed else size


def stored_shape(shape: Sequence[Any], dtype: DataType, name: str) -> list[Any]:
    """A shape in elements of `stored_type`. Raises UserError if a row ends within a byte."""
    last = shape[-1]
    if require_type(dtype).is_packed and isinstance(last, int) and last * dtype.bits % 8:
        raise UserError(
            f"{name}: a row of {last} elements of {dtype} is not a whole number of bytes",
            notes=[f"it has {last * dtype.bits} bits"],
            hints=["make the last size a multiple of 8, or of 8 divided by the bits of an element"],
        )
    return [*shape[:-1], stored_size(last, dtype)]


def is_whole(value: Any) -> bool:
    """Whether a value is a compile-time or run-time integer."""
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
            hints=["dims= names the dimensions that the tile spans; the others need offsets too"],
        )
    for offset in offsets:
        if not is_whole(offset) and not (isinstance(offset, float) and offset.is_integer()):
            raise UserError(
                f"{name}: the offset {offset!r} is not an integer",
                hints=["an offset is a number of elements, the same for all threads"],
            )
    return [cast(data(offset, int32), int32).value for offset in offsets]


def global_view(
    pointer: Any, dtype: DataType, shape: Sequence[Any], strides: Sequence[Any] | None
) -> GlobalTensor:
    """A tensor over the memory behind a pointer; dense, the last dimension fastest, by default."""
    if not isinstance(pointer, Pointer):
        raise UserError(
            f"global_view takes a pointer, not {pointer!r}",
            hints=["a parameter annotated ~float32 or void_p, or g[i].item_ptr()"],
        )
    if pointer.dtype is not None and pointer.dtype != dtype:
        raise UserError(
            f"global_view: a {pointer.dtype} pointer is viewed as {dtype}",
            hints=["annotate the parameter with void_p to view it as any type"],
        )
    if not isinstance(shape, list | tuple) or not shape:
        raise UserError(f"global_view takes a shape, not {shape!r}", hints=["shape=[64, 64]"])
    if not isinstance(strides, list | tuple | None):
        raise UserError(
            f"global_view takes a stride for each size, not {strides!r}", hints=["strides=[n, 1]"]
        )
    given = _dense_wide(shape) if strides is None else list(strides)
    if len(given) != len(shape):
        raise UserError(
            f"global_view: {len(shape)} sizes and {len(given)} strides",
            hints=["strides=[n, 1] for shape=[m, n]"],
        )
    for number in (*shape, *given, pointer.offset):
        if not is_whole(number):
            raise UserError(
                f"global_view: {number!r} is not a size or stride",
                hints=["an integer: a constant, a parameter or a computed number"],
            )
    for size in shape:
        if isinstance(size, int) and size < 0:
            raise UserError(
                f"global_view: {size} is not a size",
                notes=["a size is 0 or more"],
                hints=["pass the tensor's size in that dimension"],
            )
    if pointer.dtype is None and not dtype.is_packed:
        pointer = Pointer(pointer.base, dtype, _elements_before(pointer.offset, dtype))
    if dtype.is_packed and given[-1] != 1:
        raise UserError(
            f"global_view: elements of {dtype} share bytes: the last stride must be 1",
            hints=["strides=[n, 1]"],
        )
    made = _strided(
        pointer,
        stored_type(dtype),
        stored_shape(shape, dtype, "global_view"),
        [*(stored_size(stride, dtype) for stride in given[:-1]), given[-1]],
    )
    return GlobalTensor(made, dtype, shape, pointer, given)


def _elements_before(nbytes: Any, dtype: DataType) -> Any:
    """The elements in the bytes before the view of an untyped pointer. Raises UserError, or makes
    a promise of a run-time number, if these are not whole elements."""
    size = max(1, dtype.bits // 8)
    if size == 1:
        return nbytes
    if isinstance(nbytes, int):
        if nbytes % size:
            raise UserError(
                f"global_view: elements of {dtype} at byte {nbytes}",
                notes=["an untyped pointer counts bytes", f"an element has {size} bytes"],
                hints=[f"add a multiple of {size} to the pointer"],
            )
        return nbytes // size
    tile.assume((nbytes % size == 0).value, "element")
    return nbytes // size


def _strided(pointer: Pointer, element: Type, shape: Sequence[Any], given: Sequence[Any]) -> Value:
    """A view of a pointer's memory as elements of this type."""
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
    """Free a tensor's shared memory. Raises UserError if it is a part, or was freed."""
    if tensor.root is not tensor:
        raise UserError(
            "free_shared takes the tensor that was allocated, not a part of it",
            hints=["self.free_shared(s) of what shared_tensor returned"],
        )
    require_live(tensor, "free_shared")
    tensor.freed = where
    memref.dealloc(tensor.value)


def require_live(tensor: SharedTensor, name: str) -> None:
    """Raise UserError if the tensor's memory was freed."""
    if tensor.root.freed is not None:
        raise UserError(
            f"{name} uses {tensor!r} after free_shared",
            notes=[f"it was freed at {tensor.root.freed}"],
            hints=["free it after its last use, or create another tensor"],
        )


@method("shared_part")
def shared_part(tensor: SharedTensor, position: Any) -> SharedTensor:
    """The part of a tensor selected by indices in some of its dimensions."""
    position, ranges = parts(position, tensor.shape)
    indices = indexed(position, len(tensor.shape), tensor)
    for at, number in enumerate(indices):
        if isinstance(number, int) and not 0 <= number < tensor.shape[at]:
            raise UserError(
                f"index {number} is outside of dimension {at} of {tensor!r}",
                hints=["indices are numbered from 0"],
            )
    kept = [dim for dim, at in enumerate(indices) if at is None]
    whole = [(0, size) for size in tensor.shape]
    begins = [ranges.get(dim, each)[0] for dim, each in enumerate(whole)]
    sizes = [ranges.get(dim, whole[dim])[1] for dim in kept]
    offsets = [first if at is None else at for first, at in zip(begins, indices, strict=True)]
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
            f"slice takes lists of offsets and of dimensions, not {offsets!r}, {dims!r}",
            hints=["s.slice(offsets=[0, 0], slice_dims=[1], slice_shape=[64])"],
        )
    if len(offsets) != rank or sorted(dims) != list(dims) or len(dims) != len(kept):
        raise UserError(
            f"{tensor!r} has no part at {offsets!r} along {list(dims)}",
            hints=["offsets lie inside of the tensor, and a part does not reach over its end"],
        )
    for number in offsets:
        if not is_whole(number):
            raise UserError(
                f"{number!r} is not an index of a shared tensor",
                hints=["an integer, or ':' for a whole dimension"],
            )
    bounds = [1] * rank
    for dim, size in zip(dims, kept, strict=True):
        bounds[dim] = size
    for at, (number, size) in enumerate(zip(offsets, bounds, strict=True)):
        if isinstance(number, int) and not 0 <= number <= tensor.shape[at] - size:
            raise UserError(
                f"elements {number} to {number + size} are outside of {tensor!r}",
                hints=["offsets lie inside of the tensor, and a part does not reach over its end"],
            )
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
        raise UserError(
            f"permute takes an order of the dimensions of {tensor!r}, not {dims!r}",
            hints=["dims=[1, 0]"],
        )
    whole = MemRefType(tensor.value.type)
    if tensor.dtype.is_packed:
        raise UserError(
            f"{tensor!r} is stored in whole bytes and cannot be permuted",
            hints=["use elements of 8 bits or more"],
        )
    strides, offset = whole.get_strides_and_offset()
    shape = [tensor.shape[dim] for dim in dims]
    layout = StridedLayoutAttr.get(offset, [strides[dim] for dim in dims])
    type = MemRefType.get(shape, whole.element_type, layout, space(SHARED))
    made = memref.transpose(type, tensor.value, AffineMap.get_permutation(list(dims)))
    return SharedTensor(made, tensor.dtype, shape, tensor.root)


def reshaped(tensor: SharedTensor, shape: Sequence[int]) -> SharedTensor:
    """A view of a whole tensor in another shape."""
    sizes = sizes_of(shape, "reshape_shared")
    if math.prod(sizes) != math.prod(tensor.shape):
        raise UserError(
            f"reshape_shared: {tensor!r} cannot have shape {list(sizes)}",
            notes=[f"it has {math.prod(tensor.shape)} elements, not {math.prod(sizes)}"],
            hints=["a part, s[i], has fewer elements: reshape the tensor first, then take a part"],
        )
    whole = MemRefType(tensor.value.type)
    strides, offset = whole.get_strides_and_offset()
    stored = stored_shape(sizes, tensor.dtype, "reshape_shared")
    if strides != _dense(list(whole.shape)) or offset == _UNKNOWN_STRIDE:
        raise UserError(
            "reshape_shared takes a whole tensor, not a part or a permuted one",
            hints=["reshape the tensor first, then take a part"],
        )
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


def _dense_wide(shape: Sequence[Any]) -> list[Any]:
    """The strides of a dense tensor in global memory.

    Products of run-time sizes have 64 bits: the tensor may have more than 2**31 elements.
    """
    strides: list[Any] = []
    for at in range(1, len(shape) + 1):
        sizes = [size for size in shape[at:] if not (isinstance(size, int) and size == 1)]
        if len(sizes) > 1 and not all(isinstance(size, int) for size in sizes):
            sizes = [size if isinstance(size, int) else cast(size, int64) for size in sizes]
        strides.append(math.prod(sizes))
    return strides


def _known(number: Any, unknown: int) -> int:
    return number if isinstance(number, int) else unknown


def space(number: int) -> IntegerAttr:
    """The attribute of a memory space."""
    return IntegerAttr.get(IntegerType.get_signless(64), number)
