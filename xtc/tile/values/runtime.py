# SPDX-License-Identifier: Apache-2.0
"""Run-time values of a kernel: scalars, tiles in registers, tensors in memory."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from xtc.core.errors import UserError
from xtc.ir.builders.tile import current_group
from xtc.ir.mlir import Type
from xtc.tile.types import DataType
from xtc.tile.values.methods import call

if TYPE_CHECKING:
    from xtc.ir.mlir import Value


def apart(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two groups, their first threads and their sizes, have no thread in common."""
    return a[0] + a[1] <= b[0] or b[0] + b[1] <= a[0]


class Data:
    """A value in registers: of `dtype`, with a shape that is empty for a scalar.

    `value` is the current SSA value; instructions with `out=` and loops replace it.
    """

    def __init__(self, value: Value, dtype: DataType, shape: tuple[int, ...] = ()) -> None:
        self.value, self.dtype, self.shape = value, dtype, shape

    @property
    def dtype_mlir(self) -> Type:
        """MLIR's type of an element."""
        return Type.parse(self.dtype.mlir)

    def __bool__(self) -> bool:
        raise UserError(
            f"{self!r} is a run-time value and cannot be a compile-time condition",
            hints=["annotate the parameter with int or bool to make it a constant"],
        )

    def __index__(self) -> int:
        raise UserError(
            f"{self!r} is a run-time value, and a constant is needed",
            hints=[
                "annotate a parameter with int to make it a constant; "
                "a loop over self.range(..., unroll='all') has constants",
            ],
        )

    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return _unary("neg", self)

    def __invert__(self) -> Any:
        return _unary("invert", self)

    def __abs__(self) -> Any:
        return _unary("abs", self)


class Scalar(Data):
    """A run-time number, the same for all threads of a block."""

    def __repr__(self) -> str:
        return f"a run-time {self.dtype}"

    def item(self) -> Scalar:
        """The number itself, because reducing the only dimension of a tile yields a scalar."""
        return self

    def tolist(self) -> Scalar:
        """The number, like `item`."""
        return self

    def to(self, dtype: DataType) -> Any:
        """Convert the number to another type."""
        return call("cast", self, dtype)

    def unsqueeze(self, dim: int | Sequence[int]) -> Any:
        """A tile of this number with dimensions of size 1."""
        return call("unsqueezed", self, dim)


class Storage:
    """The state shared by names that may denote one tile, as a run-time branch or loop decides."""

    def __init__(self, owner: RegisterTensor) -> None:
        self._tiles = [weakref.ref(owner)]

    def add(self, tile: RegisterTensor) -> None:
        """Let a tile share it, too."""
        self._tiles.append(weakref.ref(tile))

    def tiles(self) -> list[RegisterTensor]:
        """The tiles that share it and that something still names."""
        found = [(ref, tile) for ref in self._tiles if (tile := ref()) is not None]
        self._tiles = [ref for ref, _ in found]
        return [tile for _, tile in found]


def stale(tile: RegisterTensor) -> UserError:
    """The error of a tile that may have changed."""
    return UserError(
        f"{tile!r} may be the tile that was changed under another name",
        notes=["a run-time branch or loop decides which tile a name denotes"],
        hints=["x = x + y binds x to another tile; x += y changes the tile itself"],
    )


class RegisterTensor(Data):
    """A tile in registers."""

    _lost: tuple[tuple[int, int], ...] = ()
    storages: tuple[Storage, ...] = ()
    """Of this tile, and of those that it may be; none where no other may be this one."""
    __iter__ = None
    is_stale = False
    """Whether another tile was changed that may be this one."""
    changes = 0
    """How often instructions have changed the tile itself."""
    reads = 0

    @property
    def value(self) -> Value:
        """The current SSA value. Raises UserError if only some threads know it, or if it may have
        changed under another name."""
        if self.is_stale:
            raise stale(self)
        self.reads += 1
        return self.raw

    @value.setter
    def value(self, value: Value) -> None:
        self._value = value
        if current_group() is None:
            self._lost = ()

    @property
    def raw(self) -> Value:
        """The current SSA value. Raises UserError if only some threads know it."""
        if self.is_lost:
            raise UserError(
                f"{self!r} was changed in a thread group, and only its threads know it",
                hints=["use it there, or pass it on through shared memory"],
            )
        return self._value

    def change(self, value: Value) -> None:
        """Let the tile hold this, and no other tile that may be this one be read later."""
        self.value, self.is_stale = value, False
        self.changes += 1
        for storage in self.storages:
            for tile in storage.tiles():
                tile.is_stale = tile is not self

    def copy(self) -> RegisterTensor:
        """Another tile that holds the same."""
        made = RegisterTensor(self._value, self.dtype, self.shape)
        made._lost, made.is_stale = self._lost, self.is_stale
        return made

    def may_be(self, *others: Any) -> RegisterTensor:
        """This tile, which may be any of the others that are tiles."""
        for other in others:
            if isinstance(other, RegisterTensor) and other is not self:
                own = self.storages or (Storage(self),)
                self.storages = tuple(dict.fromkeys((*own, *other._handed_on(self))))
                self.is_stale = self.is_stale or other.is_stale
        return self

    def _handed_on(self, other: RegisterTensor) -> list[Storage]:
        """The storages that a tile gets which may be this one."""
        self.storages = self.storages or (Storage(self),)
        shared = [each for each in self.storages if len(each.tiles()) > 1]
        shared = shared or [self.storages[0]]
        for storage in shared:
            storage.add(other)
        return shared

    @property
    def is_lost(self) -> bool:
        """Whether groups that include active threads have changed it."""
        if not self._lost:
            return False
        now = current_group()
        return now is None or not all(apart(now, group) for group in self._lost)

    def lose(self, threads: tuple[int, int]) -> None:
        """Record that only threads other than these have the current value."""
        self._lost = (*self._lost, threads)

    def __repr__(self) -> str:
        return f"a register tensor {self.dtype}{list(self.shape)}"

    def to(self, dtype: DataType) -> Any:
        """Convert the tile to another element type."""
        return call("cast", self, dtype)

    def transpose(self) -> Any:
        """Exchange the two dimensions."""
        return call("transposed", self)

    def squeeze(self, dim: int | Sequence[int]) -> Any:
        """Remove dimensions of size 1."""
        return call("squeezed", self, dim)

    def unsqueeze(self, dim: int | Sequence[int]) -> Any:
        """Insert dimensions of size 1."""
        return call("unsqueezed", self, dim)

    def item(self) -> Any:
        """The only element of the tile."""
        return call("item", self)

    def tolist(self) -> Any:
        """All elements as nested lists of numbers, which every thread has."""
        return call("listed", self, ())

    def __getitem__(self, index: Any) -> Any:
        return call("register_part", self, index)


class Pointer:
    """An address in global memory: a buffer that an argument names, and an offset in elements."""

    def __init__(self, base: Value, dtype: DataType | None, offset: Any = 0) -> None:
        self.base, self.dtype, self.offset = base, dtype, offset

    def __add__(self, elements: Any) -> Pointer:
        dtype = getattr(elements, "dtype", None)
        if dtype.kind != "int" if isinstance(dtype, DataType) else not isinstance(elements, int):
            return NotImplemented
        return Pointer(self.base, self.dtype, self.offset + elements)

    __radd__ = __add__

    def __repr__(self) -> str:
        return f"a pointer to {self.dtype or 'void'}"


class Memory:
    """A tensor in memory; `value` is a memref."""

    where = "memory"

    def __init__(self, value: Value, dtype: DataType, shape: Sequence[Any]) -> None:
        self.value, self.dtype, self.shape = value, dtype, tuple(shape)

    def __repr__(self) -> str:
        sizes = [size if isinstance(size, int) else "?" for size in self.shape]
        return f"a {self.where} tensor {self.dtype}[{', '.join(map(str, sizes))}]"


class GlobalTensor(Memory):
    """A view of global memory; sizes are integers or run-time scalars.

    Attributes:
        pointer: to its first element.
        strides: of all dimensions of the memory.
        fixed: the indices of the memory dimensions that the tensor does not have.
    """

    where = "global"

    def __init__(
        self,
        value: Value,
        dtype: DataType,
        shape: Sequence[Any],
        pointer: Pointer,
        strides: Sequence[Any],
        fixed: Mapping[int, Any] | None = None,
    ) -> None:
        super().__init__(value, dtype, shape)
        self.pointer, self.strides, self.fixed = pointer, tuple(strides), dict(fixed or {})

    def dimensions(self) -> list[int]:
        """The memory dimension of each dimension of the tensor."""
        return [dim for dim in range(len(self.strides)) if dim not in self.fixed]

    def __getitem__(self, index: Any) -> Any:
        return call("global_part", self, index)

    def item(self) -> Any:
        """The only element, as a number."""
        return call("global_item", self)

    def item_ptr(self) -> Any:
        """The address of the only element."""
        return call("global_item_pointer", self)

    __invert__ = item_ptr


class SharedTensor(Memory):
    """A tensor in the shared memory of a block.

    Attributes:
        root: the allocated tensor of which this is a part.
    """

    where = "shared"

    def __init__(
        self,
        value: Value,
        dtype: DataType,
        shape: Sequence[int],
        root: SharedTensor | None = None,
    ) -> None:
        super().__init__(value, dtype, shape)
        self.root = root or self
        self.freed: str | None = None

    def __getitem__(self, index: Any) -> Any:
        return call("shared_part", self, index)

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return int(prod(self.shape)) * self.dtype.nbits // 8

    def item(self) -> Any:
        """The only element, as a number."""
        return call("shared_item", self)

    def item_ptr(self) -> Any:
        """Raises UserError: shared memory has no addresses in kernels."""
        raise UserError(
            f"item_ptr of {self!r} is not supported: shared memory has no addresses in kernels",
            notes=["barriers are what mbarrier.alloc returns; cluster.map_shared_addr maps them"],
            hints=["s[i].item() and store_shared access an element"],
        )

    __invert__ = item_ptr

    def slice(
        self, offsets: Sequence[Any], slice_dims: Sequence[int], slice_shape: Sequence[int]
    ) -> Any:
        """A part at offsets, spanning some of the dimensions."""
        return call("shared_slice", self, offsets, slice_dims, slice_shape)

    def transpose(self) -> Any:
        """Exchange the two dimensions."""
        return self.permute((1, 0))

    def permute(self, dims: Sequence[int]) -> Any:
        """The tensor whose dimension i is dimension `dims[i]` of this one."""
        return call("permuted", self, dims)


def _unary(name: str, value: Data) -> Any:
    return call("unary", name, value)


def _binary(name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    def method(self: Data, other: Any) -> Any:
        if not isinstance(other, Data | int | float):
            return NotImplemented
        return call("binary", name, other, self) if swapped else call("binary", name, self, other)

    return method


for _name in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("and", "or", "xor", "lshift", "rshift"),
):
    setattr(Data, f"__{_name}__", _binary(_name, swapped=False))
    setattr(Data, f"__r{_name}__", _binary(_name, swapped=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Data, f"__{_name}__", _binary(_name, swapped=False))

BINARY = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
}
"""Python's operators by the names of their syntax nodes."""
