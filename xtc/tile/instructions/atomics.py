# SPDX-License-Identifier: Apache-2.0
"""The instruction group `atomic`: atomic read-modify-write operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtc.core.errors import UserError, close_match
from xtc.ir.builders import tile
from xtc.tile.instructions.shapes import tensor_of
from xtc.tile.types import boolean, int32
from xtc.tile.values import arithmetic
from xtc.tile.values.idioms import not_in_group
from xtc.tile.values.runtime import GlobalTensor, Memory, RegisterTensor, SharedTensor

_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_BITS = (32, 64)


class Atomic:
    """Atomic instructions on whole tiles; the result is the old contents of memory.

    `shared_add(dst, values)` and the like work elementwise.
    `shared_scatter_add(dst, dim=, indices=, values=)` takes the position in one dimension from
    `indices`; elements outside of the tensor are dropped. `sem` orders other accesses around it
    for the whole device, even if `scope` is narrower.
    """

    def __getattr__(self, name: str) -> Any:
        raise not_in_group("atomic", name, dir(self))


def scatter(dst: Any, dim: int, indices: Any, values: Any, name: str) -> tuple[Any, Any, int]:
    """Indices and values of a scatter. Raises UserError if they do not match the tensor."""
    where, what = tensor_of(indices, name), tensor_of(values, name)
    if not isinstance(dst, GlobalTensor | SharedTensor) or getattr(dst, "fixed", None):
        raise UserError(
            f"{name} takes a whole tensor in memory, not {dst!r}",
            hints=["pass what global_view or shared_tensor returned"],
        )
    if where.shape != what.shape or len(what.shape) != len(dst.shape):
        raise UserError(
            f"{name}: {where!r} and {what!r} for {dst!r}",
            notes=["indices and values have the same shape, with the rank of the tensor"],
            hints=["give each value an index: broadcast the indices by '+', or reshape both"],
        )
    if where.dtype.kind != "int" or where.dtype.bits > 32:
        raise UserError(
            f"{name}: indices are integers of at most 32 bits, not {where!r}",
            hints=["convert them: self.cast(indices, dtype=int32)"],
        )
    if not isinstance(dim, int) or not -len(dst.shape) <= dim < len(dst.shape):
        raise UserError(
            f"{name}: {dim!r} is not a dimension of {dst!r}",
            hints=["dimensions are numbered from 0"],
        )
    _require_type(dst, what, name)
    return arithmetic.cast(where, int32), what, dim % len(dst.shape)


def _require_type(dst: Any, values: RegisterTensor, name: str) -> None:
    if dst.dtype != values.dtype:
        raise UserError(
            f"{name} writes {values!r} to {dst!r}",
            hints=[f"cast it: self.cast(x, dtype={dst.dtype})"],
        )
    if dst.dtype.is_packed or dst.dtype == boolean:
        raise UserError(
            f"{name} does not take elements of {dst.dtype}, which are packed in bytes",
            hints=["use elements of 8 bits or more"],
        )


def _elementwise(memory: type[Memory], kind: str, name: str) -> Callable[..., Any]:
    def method(
        self: Atomic,
        dst: Any,
        *given: Any,
        sem: str = "relaxed",
        scope: str = "",
        output: Any = None,
        **named: Any,
    ) -> Any:
        operands = list(given)
        for key in ("compare", "values"):
            if key in named:
                operands.append(named.pop(key))
        wanted = 2 if kind == "cas" else 1
        for unknown in named:
            raise UserError(
                f"{name} takes no argument '{unknown}'",
                notes=[
                    f"it is {name}(dst, {'compare, ' * (wanted - 1)}values, *, sem, scope, output)"
                ],
                hints=_hints(unknown, memory),
            )
        if len(operands) != wanted:
            raise UserError(
                f"{name} takes a tensor and {'compare, ' * (wanted - 1)}values",
                hints=["self.atomic.global_add(tensor, values)"],
            )
        _require(memory, dst, kind, sem, scope, name)
        tiles = [tensor_of(value, name) for value in operands]
        for value in tiles:
            _require_type(dst, value, name)
            if isinstance(dst, SharedTensor) and value.shape != tuple(dst.shape):
                raise UserError(
                    f"{name} combines {value!r} with {dst!r}: shapes differ",
                    hints=["global_view(~g[i], ...) is a view of a part of a tensor"],
                )
        return _made(dst, tiles[-1], [value.value for value in tiles[:-1]], kind, -1, sem, output)

    return _named(method, name)


def _hints(unknown: str, memory: type[Memory]) -> list[str]:
    """What to write for an argument that other stores take."""
    if unknown not in ("offsets", "dims") or memory is not GlobalTensor:
        return close_match(unknown, ("sem", "scope", "output", "values")) or [
            "sem= is the memory order, scope= the threads that observe it, output= a tile for what "
            "was there"
        ]
    return [
        "begin a view there: self.global_view(g[i, j].item_ptr(), dtype=, shape=, strides=)",
        "or give each element its index: global_scatter_add(dst, dim=, indices=, values=)",
    ]


def _scattered(memory: type[Memory], kind: str, name: str) -> Callable[..., Any]:
    def method(
        self: Atomic,
        dst: Any,
        *,
        dim: int,
        indices: Any,
        values: Any,
        sem: str = "relaxed",
        scope: str = "",
        output: Any = None,
    ) -> Any:
        _require(memory, dst, kind, sem, scope, name)
        where, what, along = scatter(dst, dim, indices, values, name)
        return _made(dst, what, [where.value], kind, along, sem, output)

    return _named(method, name)


def _made(
    dst: Any, values: RegisterTensor, extras: list[Any], kind: str, dim: int, sem: str, output: Any
) -> RegisterTensor:
    value: Any = values
    if kind == "sub":
        value, kind = arithmetic.unary("neg", values), "add"
    if kind in ("min", "max") and not values.dtype.signed:
        kind = f"u{kind}"
    before = tile.atomic(dst.value, value.value, extras, kind, dim, sem)
    result = RegisterTensor(before, values.dtype, values.shape)
    if output is None:
        return result
    if tensor_of(output, "output=").shape != result.shape or output.dtype != result.dtype:
        raise UserError(
            f"output={output!r} cannot hold {result!r}",
            hints=[
                "self.register_tensor(dtype=..., shape=...) of the type and shape of the values"
            ],
        )
    output.change(before)
    return output  # type: ignore[no-any-return]


def _require(memory: type[Memory], dst: Any, kind: str, sem: str, scope: str, name: str) -> None:
    if not isinstance(dst, memory):
        raise UserError(
            f"atomic.{name} does not take {dst!r}",
            hints=["global_... takes a global tensor, shared_... a shared one"],
        )
    if sem not in _ORDERS or scope not in ("", *_SCOPES):
        raise UserError(
            f"atomic.{name}: sem={sem!r}, scope={scope!r}",
            notes=[f"sem is one of {', '.join(_ORDERS)}", f"scope is one of {', '.join(_SCOPES)}"],
            hints=["sem='acq_rel' is the strongest; omit scope="],
        )
    dtype = dst.dtype
    allowed = dtype.bits in _BITS and (not dtype.is_float() or kind in ("add", "sub", "exch"))
    if not allowed or dtype.name == "tfloat32":
        raise UserError(
            f"atomic.{name} does not take elements of {dtype}",
            notes=["integers of 32 and 64 bits; float32 and float64 for add, sub and exch"],
            hints=["convert the tensor, or order the blocks: self.lock_semaphore"],
        )


def _named(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    method.__name__ = name
    method.__doc__ = f"The instruction `atomic.{name}`; returns the old contents of memory."
    return method


_MEMORIES: dict[str, type[Memory]] = {"shared": SharedTensor, "global": GlobalTensor}
for _where, _memory in _MEMORIES.items():
    for _kind in ("add", "sub", "min", "max", "exch", "cas"):
        _name = f"{_where}_{_kind}"
        setattr(Atomic, _name, _elementwise(_memory, _kind, _name))
    for _kind in ("add", "sub", "min", "max"):
        _name = f"{_where}_scatter_{_kind}"
        setattr(Atomic, _name, _scattered(_memory, _kind, _name))
