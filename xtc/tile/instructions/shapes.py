# SPDX-License-Identifier: Apache-2.0
"""Shape operations on tiles, such as transpose, squeeze and repeat, and reductions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.instructions.memory import sizes_of
from xtc.tile.types import boolean, int32
from xtc.tile.values.arithmetic import binary, broadcast_shape, cast, reshaped, spread
from xtc.tile.values.methods import method
from xtc.tile.values.runtime import Data, RegisterTensor, Scalar
from xtc.tile.values.small_floats import refuse_codes


def tensor_of(value: Any, name: str) -> RegisterTensor:
    """The register tensor operand of an instruction. Raises UserError for anything else."""
    if not isinstance(value, RegisterTensor):
        raise UserError(
            f"{name} takes a register tensor, not {value!r}",
            hints=[
                "load it first: self.load_shared(s), self.load_global(g, offsets=..., shape=...)"
            ],
        )
    return value


def element_of(value: Any, dims: Any, rank: int) -> tuple[Any, Any]:
    """Convert a single run-time value to a tile of one element along the last of `rank` dimensions.

    Other operands are unchanged.
    """
    if not isinstance(value, Scalar) or dims not in (None, [], ()):
        return value, dims
    return fitted(value, (1,), "store"), [rank - 1]


@method("transposed")
def transposed(x: RegisterTensor) -> RegisterTensor:
    """Transpose a tile of two dimensions."""
    tensor_of(x, "transpose")
    if len(x.shape) != 2:
        raise UserError(
            f"transpose takes a tile of 2 dimensions, not {x!r}", hints=["reshape it first"]
        )
    shape = x.shape[::-1]
    type = tile.tile_type(shape, x.dtype_mlir)
    return RegisterTensor(tile.transpose(x.value, (1, 0), type), x.dtype, shape)


@method("squeezed")
def squeezed(x: RegisterTensor, dim: int | Sequence[int]) -> Data:
    """Remove dimensions of size 1."""
    tensor_of(x, "squeeze")
    gone = dimensions(dim, len(x.shape))
    if any(x.shape[number] != 1 for number in gone):
        raise UserError(
            f"dimensions {gone} of {x!r} do not have size 1",
            hints=["squeeze removes dimensions of size 1; reshape or a reduction removes others"],
        )
    return reshaped(x, tuple(size for at, size in enumerate(x.shape) if at not in gone))


@method("unsqueezed")
def unsqueezed(x: Data, dim: int | Sequence[int]) -> Data:
    """Insert dimensions of size 1 at these positions of the result."""
    count = len(dim) if isinstance(dim, list | tuple) else 1
    if isinstance(x, Scalar):
        return spread(x, (1,) * len(dimensions(dim, count)))
    tensor_of(x, "unsqueeze")
    shape = list(x.shape)
    for number in sorted(dimensions(dim, len(x.shape) + count)):
        shape.insert(number, 1)
    return reshaped(x, tuple(shape))


def in_shape(x: Data, sizes: tuple[int, ...]) -> Data:
    """The elements of a tile in another shape; a number is a tile of one element."""
    given = spread(x, (1,)) if isinstance(x, Scalar) else tensor_of(x, "reshape")
    return reshaped(given, sizes)


def repeated(x: RegisterTensor, repeats: Sequence[int], *, interleaved: bool) -> Data:
    """Repeat the tile along each dimension, like `numpy.tile` or `numpy.repeat`."""
    tensor_of(x, "repeat")
    repeats = sizes_of(repeats, "repeat")
    rank = max(len(repeats), len(x.shape))
    repeats = (1,) * (rank - len(repeats)) + tuple(repeats)
    x = _as_tile(reshaped(x, (1,) * (rank - len(x.shape)) + x.shape))
    shape: list[int] = []
    target: list[int] = []
    for size, times in zip(x.shape, repeats, strict=True):
        shape += [size, 1] if interleaved else [1, size]
        target += [size, times] if interleaved else [times, size]
    whole = spread(reshaped(x, tuple(shape)), tuple(target))
    return reshaped(whole, tuple(a * b for a, b in zip(x.shape, repeats, strict=True)))


def _as_tile(x: Data) -> RegisterTensor:
    assert isinstance(x, RegisterTensor)  # noqa: S101
    return x


def flattened(x: RegisterTensor, start_dim: int, end_dim: int) -> Data:
    """Merge the dimensions from `start_dim` to `end_dim`."""
    rank = len(tensor_of(x, "flatten").shape)
    (first,), (last,) = dimensions(start_dim, rank), dimensions(end_dim, rank)
    if last < first:
        raise UserError(
            f"flatten: dimensions {first} to {last} of {x!r}",
            hints=["dimensions are numbered from 0, the first one not after the last"],
        )
    whole = prod(x.shape[first : last + 1])
    return reshaped(x, (*x.shape[:first], whole, *x.shape[last + 1 :]))


_SCANS = ("add", "mul", "max", "min", "and", "or", "xor")


def scanned(x: RegisterTensor, dim: int, op: str, exclusive: bool) -> RegisterTensor:
    """A prefix scan along a dimension."""
    tensor_of(x, "scan")
    if op not in _SCANS:
        raise UserError(
            f"scan: op={op!r}",
            notes=[f"one of {', '.join(_SCANS)}"],
            hints=["self.cumsum and self.cumprod are add and mul"],
        )
    if x.dtype.is_coded or x.dtype.is_packed or x.dtype.kind == "bool":
        raise UserError(f"scan does not take {x!r}", hints=["cast it to int32 or float32 first"])
    if x.dtype.is_float() and op in ("and", "or", "xor"):
        raise UserError(
            f"scan: {op} takes integers, not {x!r}", hints=["convert it: self.cast(x, dtype=int32)"]
        )
    (number,) = dimensions(dim, len(x.shape))
    kind = f"u{op}" if op in ("max", "min") and not x.dtype.signed else op
    return RegisterTensor(tile.scan(x.value, number, kind, exclusive), x.dtype, x.shape)


@method("item")
def item(x: RegisterTensor) -> Scalar:
    """The only element of a tile."""
    tensor_of(x, "item")
    if any(size != 1 for size in x.shape):
        raise UserError(
            f"{x!r} has more than one element",
            hints=["reduce it first: self.sum(x), or take an element: x[0, 0]"],
        )
    return Scalar(tile.item(x.value), x.dtype)


def reduced(x: RegisterTensor, dim: int | Sequence[int] | None, keepdim: bool, kind: str) -> Data:
    """The sum, maximum or minimum along dimensions, by default all.

    Without `keepdim` these dimensions are removed; a reduction of all yields a scalar.
    """
    refuse_codes(tensor_of(x, kind).dtype, kind)
    if x.dtype.is_packed:
        return cast(reduced(cast(x, int32), dim, keepdim, kind), x.dtype)  # type: ignore[no-any-return]
    if x.dtype == boolean:  # i1 has neither a sum nor an order
        kind = {"max": "any", "min": "all"}.get(kind, kind)
        x = cast(x, int32) if kind == "sum" else x
    if kind in ("any", "all"):
        bits = cast(binary("ne", x, 0) if x.dtype != boolean else x, int32)
        found = reduced(bits, dim, keepdim, "max" if kind == "any" else "min")
        return binary("ne", found, 0)
    if x.dtype.kind == "int" and not x.dtype.signed and kind != "sum":
        kind = f"u{kind}"
    dims = list(range(len(x.shape))) if dim is None else dimensions(dim, len(x.shape))
    result = x
    for number in dims:
        shape = tuple(1 if at == number else size for at, size in enumerate(result.shape))
        type = tile.tile_type(shape, x.dtype_mlir)
        result = RegisterTensor(tile.reduce(result.value, number, kind, type), x.dtype, shape)
    if keepdim:
        return result
    return item(result) if len(dims) == len(x.shape) else squeezed(result, dims)


def dimensions(dim: int | Sequence[int], rank: int) -> list[int]:
    """Dimensions as non-negative numbers; negative ones count from the end. Raises UserError."""
    given: list[Any] = list(dim) if isinstance(dim, list | tuple) else [dim]
    if not all(isinstance(number, int) for number in given):
        raise UserError(
            f"{dim!r} is not a dimension or a list of dimensions",
            hints=["dimensions are constants: 0, -1, ..."],
        )
    if any(not -rank <= number < rank for number in given):
        raise UserError(
            f"a tile of rank {rank} does not have dimensions {given}",
            hints=["dimensions are numbered from 0, and from -1 backwards"],
        )
    found = [number % rank for number in given]
    if len(set(found)) != len(found):
        raise UserError(
            f"dimensions {given} contain a duplicate", hints=["name each dimension once"]
        )
    return found


def fitted(x: Data, shape: Sequence[int], name: str) -> Data:
    """Broadcast the tile to `shape`. Raises UserError if that is not possible."""
    if broadcast_shape(name, x.shape, shape) != tuple(shape):
        raise UserError(
            f"{name}: {x!r} cannot be broadcast to shape {list(shape)}",
            hints=["sizes are equal, or 1 where the tile is repeated"],
        )
    return spread(x, shape)
