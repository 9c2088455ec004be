# SPDX-License-Identifier: Apache-2.0
"""The instructions of a thread block, as methods of a kernel's class; names as in Tilus 0.2.

They are called while a kernel is transcribed, and build operations. Each raises UserError for
invalid operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NoReturn

from xtc.core.errors import UserError
from xtc.core.tile_layout import RegisterLayout
from xtc.ir.builders import tile
from xtc.tile import cuda
from xtc.tile.instructions import memory, moves, shapes
from xtc.tile.instructions.atomics import Atomic, scatter
from xtc.tile.instructions.between_blocks import BetweenBlocks
from xtc.tile.instructions.block_clusters import Cluster
from xtc.tile.instructions.conditions import Conditions
from xtc.tile.instructions.dot_operands import dot_result
from xtc.tile.instructions.groups import ThreadGroups
from xtc.tile.instructions.mbarriers import Fence, MBarrier
from xtc.tile.instructions.printing import Printing
from xtc.tile.instructions.random_numbers import RandomNumbers
from xtc.tile.instructions.tma import Tma
from xtc.tile.instructions.wgmma import Wgmma
from xtc.tile.ir.layout.shared_layout import SharedLayout
from xtc.tile.types import DataType, int32
from xtc.tile.values import arithmetic
from xtc.tile.values.ranges import Range
from xtc.tile.values.runtime import Data, GlobalTensor, RegisterTensor, Scalar, SharedTensor

_LATER = ("tcgen05", "clc")
"""Instruction groups of Tilus for Blackwell GPUs, which are not supported."""


class Dim3:
    """The run-time numbers `x`, `y` and `z`."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Scalar:
        if name not in ("x", "y", "z"):
            raise UserError(f"there is no dimension {name!r}", hints=["x, y and z"])
        return Scalar(self._make("xyz".index(name)), int32)

    def __iter__(self) -> Iterator[Scalar]:
        return iter(self.to_tuple())

    def __len__(self) -> int:
        return 3

    def to_tuple(self) -> tuple[Scalar, Scalar, Scalar]:
        """`x`, `y` and `z`."""
        return self.x, self.y, self.z


class Instructions(BetweenBlocks, Conditions, Printing, RandomNumbers, ThreadGroups):
    """The instructions of a thread block."""

    atomic = Atomic()
    mbarrier = MBarrier()
    fence = Fence()
    tma = Tma()
    wgmma = Wgmma()
    cluster = Cluster()
    cuda = cuda

    def __getattr__(self, name: str) -> NoReturn:
        if name in _LATER:
            raise UserError(
                f"'{name}' is not supported",
                notes=["it needs a Blackwell GPU; kernels are compiled for sm_80 to sm_90a"],
                hints=["dot multiplies on every GPU, wgmma.mma on sm_90a"],
            )
        what = f"'{type(self).__name__}' has no attribute '{name}'"
        raise AttributeError(what, name=name, obj=self)

    # --- where it runs ----------------------------------------------------------------------

    @property
    def blockIdx(self) -> Dim3:  # noqa: N802
        """The index of this block in the grid."""
        return Dim3(tile.block_id)

    @property
    def gridDim(self) -> Dim3:  # noqa: N802
        """The number of blocks of the grid."""
        return Dim3(tile.grid_dim)

    def range(
        self,
        start: Any,
        end: Any = None,
        step: Any = None,
        /,
        *,
        unroll: Literal["all"] | int | None = None,
    ) -> Range:
        """A loop range; `unroll="all"` unrolls the whole loop, whose bounds must be constants."""
        return Range.of(start, end, step, unroll)

    def sync(self) -> None:
        """Barrier of the active threads; each then sees what the others have written."""
        tile.sync()

    def cluster_sync(self) -> None:
        """The same as `cluster.sync`."""
        self.cluster.sync()

    # --- tensors -----------------------------------------------------------------------------

    def register_tensor(
        self, *, dtype: DataType, shape: Sequence[int], init: Any = None
    ) -> RegisterTensor:
        """A new register tile, filled with a number or a function of the indices; by default 0."""
        sizes = memory.sizes_of(shape, "register_tensor")
        if callable(init):
            indices = [self._indices(dim, sizes) for dim in range(len(sizes))]
            init = init(*indices)
        value = arithmetic.cast(0 if init is None else init, dtype)
        made = shapes.fitted(value, sizes, "register_tensor")
        return RegisterTensor(made.value, dtype, sizes)

    @staticmethod
    def _indices(dim: int, sizes: tuple[int, ...]) -> RegisterTensor:
        made = tile.indices(dim, tile.tile_type(sizes, arithmetic.mlir_type(int32.mlir)))
        return RegisterTensor(made, int32, sizes)

    def global_view(
        self,
        ptr: Any,
        *,
        dtype: DataType,
        shape: Sequence[Any],
        strides: Sequence[Any] | None = None,
    ) -> GlobalTensor:
        """A tensor over global memory. Sizes, and strides in elements, may be run-time numbers."""
        return memory.global_view(ptr, dtype, shape, strides)

    def shared_tensor(self, *, dtype: DataType, shape: Sequence[int]) -> SharedTensor:
        """A new tensor in shared memory, with undefined contents."""
        return memory.shared_tensor(dtype, shape)

    def free_shared(self, tensor: SharedTensor) -> None:
        """Free a shared tensor: its memory may be reused at once."""
        memory.free_shared(_shared(tensor, "free_shared"), tile.location_text())

    def reshape_shared(self, tensor: SharedTensor, shape: Sequence[int]) -> SharedTensor:
        """A view of a shared tensor with another shape."""
        return memory.reshaped(_shared(tensor, "reshape_shared"), shape)

    def annotate_layout(
        self, tensor: RegisterTensor | SharedTensor, layout: RegisterLayout | SharedLayout
    ) -> None:
        """Give a register tensor this layout, including for its earlier uses.

        A shared tensor keeps the layout that the compiler chooses.
        """
        if isinstance(tensor, SharedTensor) and isinstance(layout, SharedLayout):
            if layout.shape != tensor.shape:
                raise UserError(
                    f"annotate_layout: {tensor!r} does not have shape {list(layout.shape)}",
                    hints=["the layout of a shared tensor has the tensor's shape"],
                )
            return
        if not isinstance(tensor, RegisterTensor) or not isinstance(layout, RegisterLayout):
            raise UserError(
                "annotate_layout takes a register tensor and a register layout",
                hints=["tile.layout.spatial(8, 4) * tile.layout.local(2, 2)"],
            )
        if layout.shape != tensor.shape:
            raise UserError(
                f"annotate_layout: {tensor!r} gets a layout of shape {list(layout.shape)}",
                hints=["multiply it by tile.layout.local(...)"],
            )
        tensor.value = tile.annotate_layout(tensor.value, layout)

    # --- data movement -----------------------------------------------------------------------

    def load_global(
        self,
        src: GlobalTensor,
        /,
        *,
        offsets: Sequence[Any],
        shape: Sequence[int],
        dims: Sequence[int] | None = None,
        out: RegisterTensor | None = None,
    ) -> RegisterTensor:
        """Load a tile from global memory; elements outside of the tensor are 0."""
        source = _global(src, "load_global")
        sizes = memory.sizes_of(shape, "load_global")
        tile_read: RegisterTensor = _out(moves.load_global(source, offsets, sizes, dims), out)
        return tile_read

    def store_global(
        self,
        dst: GlobalTensor,
        src: RegisterTensor,
        *,
        offsets: Sequence[Any],
        dims: Sequence[int] | None = None,
    ) -> None:
        """Store a tile to global memory; elements outside of the tensor are dropped.

        A single value, such as the sum of all elements, needs `dims=[]`.
        """
        moves.store_global(_global(dst, "store_global"), src, offsets, dims)

    def load_shared(
        self, src: SharedTensor, *, out: RegisterTensor | None = None
    ) -> RegisterTensor:
        """Load a shared tensor, or an indexed part of it, into registers."""
        tile_read: RegisterTensor = _out(moves.load_shared(_shared(src, "load_shared")), out)
        return tile_read

    def store_shared(
        self,
        dst: SharedTensor,
        src: RegisterTensor,
        *,
        offsets: Sequence[Any] | None = None,
        dims: Sequence[int] | None = None,
    ) -> None:
        """Store a tile to a shared tensor, or to the part at `offsets` along `dims`."""
        target = _shared(dst, "store_shared")
        if offsets is not None:
            src, dims = shapes.element_of(src, dims, len(target.shape))
            shape = shapes.tensor_of(src, "store_shared").shape
            along = moves.dimensions(dims, len(shape), len(target.shape), "store_shared")
            target = memory.shared_slice(target, offsets, along, shape)
        moves.store_shared(target, src)

    def store_global_scatter(
        self, dst: GlobalTensor, *, dim: int, indices: RegisterTensor, values: RegisterTensor
    ) -> None:
        """Store each value at its index along `dim`; of equal indices any one value remains."""
        where, what, along = scatter(
            _global(dst, "store_global_scatter"), dim, indices, values, "store_global_scatter"
        )
        tile.store_scatter(what.value, dst.value, where.value, along)

    def store_shared_scatter(
        self, dst: SharedTensor, *, dim: int, indices: RegisterTensor, values: RegisterTensor
    ) -> None:
        """Store each value at its index along `dim`; of equal indices any one value remains."""
        where, what, along = scatter(
            _shared(dst, "store_shared_scatter"), dim, indices, values, "store_shared_scatter"
        )
        tile.store_scatter(what.value, dst.value, where.value, along)

    def copy_async(
        self,
        src: GlobalTensor,
        dst: SharedTensor,
        offsets: Sequence[Any],
        dims: Sequence[int] | None = None,
        evict: str | None = None,
        check_bounds: bool = True,
    ) -> None:
        """Start an asynchronous copy of a tile to shared memory, with 0 outside of the tensor.

        Call `copy_async_wait_group` or `copy_async_wait_all`, and then `sync`, before reading
        it.
        """
        source, target = _global(src, "copy_async"), _shared(dst, "copy_async")
        if evict not in (None, "evict_normal", "evict_first"):
            raise UserError(
                f"copy_async: evict={evict!r}", hints=["'evict_normal' or 'evict_first', a hint"]
            )
        if source.dtype != target.dtype:
            raise UserError(
                f"copy_async from {source!r} to {target!r}: types differ",
                hints=["load, cast and store: self.store_shared(s, self.cast(t, dtype=...))"],
            )
        values, along = moves.located(source, offsets, dims, len(target.shape), "copy_async")
        tile.copy_async(source.value, target.value, values, along, bool(check_bounds))

    def copy_async_commit_group(self) -> None:
        """Commit the copies started since the last commit as a group."""
        tile.commit_group()

    def copy_async_wait_group(self, n: int) -> None:
        """Wait until at most the last `n` groups are in flight."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise UserError(
                f"copy_async_wait_group takes a constant number of groups, not {n!r}",
                hints=["write the number, or unroll the loop: self.range(n, unroll='all')"],
            )
        tile.wait_group(n)

    def copy_async_wait_all(self) -> None:
        """Wait for all asynchronous copies of the calling threads."""
        tile.wait_all()

    # --- arithmetic --------------------------------------------------------------------------

    def dot(
        self,
        a: RegisterTensor,
        b: RegisterTensor,
        c: RegisterTensor | None = None,
        /,
        *,
        acc_dtype: DataType | None = None,
        out: RegisterTensor | None = None,
    ) -> RegisterTensor:
        """`a @ b + c`, accumulated in the type of `c`, or in `acc_dtype` without `c`."""
        result: RegisterTensor = _out(dot_result(a, b, c, acc_dtype), out)
        return result

    def cast(self, x: Any, dtype: DataType) -> Any:
        """Convert a tile or a number to another element type."""
        return arithmetic.cast(x, dtype)

    def view(
        self, x: Any, *, layout: RegisterLayout | None = None, dtype: DataType | None = None
    ) -> RegisterTensor:
        """Reinterpret each thread's bits as another type or in another layout."""
        return moves.viewed(shapes.tensor_of(x, "view"), layout, dtype)

    def fast_divmod(self, a: Any, b: Any) -> tuple[Any, Any]:
        """`a // b` and `a % b` of non-negative integers."""
        quotient = a // b
        return quotient, a - quotient * b

    def assign(self, dst: RegisterTensor, src: RegisterTensor) -> None:
        """Copy the contents of `src` to `dst`, under all names of `dst`."""
        _out(shapes.tensor_of(src, "assign"), dst)

    def squeeze(self, x: Any, *, dim: int | Sequence[int], out: Any = None) -> Any:
        """Remove dimensions of size 1."""
        return _out(shapes.squeezed(x, dim), out)

    def unsqueeze(self, x: Any, *, dim: int | Sequence[int], out: Any = None) -> Any:
        """Insert dimensions of size 1."""
        return _out(shapes.unsqueezed(x, dim), out)

    def transpose(self, x: Any, *, out: Any = None) -> RegisterTensor:
        """Exchange the two dimensions of a tile."""
        found: RegisterTensor = _out(shapes.transposed(x), out)
        return found

    def reshape(self, tensor: Any, shape: Sequence[int], *, out: Any = None) -> Any:
        """The elements, in order, in another shape."""
        sizes = memory.sizes_of(shape, "reshape")
        return _out(shapes.in_shape(tensor, sizes), out)

    def flatten(self, x: Any, start_dim: int = 0, end_dim: int = -1, *, out: Any = None) -> Any:
        """Merge the dimensions from `start_dim` to `end_dim`."""
        return _out(shapes.flattened(x, start_dim, end_dim), out)

    def scan(
        self, x: Any, *, dim: int, op: str, exclusive: bool = False, out: Any = None
    ) -> RegisterTensor:
        """Combine each element with those before it along `dim`, or with `exclusive` only those."""
        found: RegisterTensor = _out(shapes.scanned(x, dim, op, exclusive), out)
        return found

    def cumsum(self, x: Any, *, dim: int, exclusive: bool = False, out: Any = None) -> Any:
        """Prefix sum along `dim`."""
        return self.scan(x, dim=dim, op="add", exclusive=exclusive, out=out)

    def cumprod(self, x: Any, *, dim: int, exclusive: bool = False, out: Any = None) -> Any:
        """Prefix product along `dim`."""
        return self.scan(x, dim=dim, op="mul", exclusive=exclusive, out=out)

    def repeat(self, x: Any, repeats: Sequence[int], *, out: Any = None) -> Any:
        """Repeat the tile along each dimension."""
        return _out(shapes.repeated(x, repeats, interleaved=False), out)

    def repeat_interleave(self, x: Any, repeats: Sequence[int], *, out: Any = None) -> Any:
        """Repeat each element along each dimension."""
        return _out(shapes.repeated(x, repeats, interleaved=True), out)

    def sum(self, x: Any, *, dim: Any = None, keepdim: bool = False, out: Any = None) -> Any:
        """Sum along dimensions, or of all elements."""
        return _out(shapes.reduced(x, dim, keepdim, "sum"), out)

    def max(self, x: Any, *, dim: Any = None, keepdim: bool = False, out: Any = None) -> Any:
        """Maximum along dimensions, or of all elements."""
        return _out(shapes.reduced(x, dim, keepdim, "max"), out)

    def min(self, x: Any, *, dim: Any = None, keepdim: bool = False, out: Any = None) -> Any:
        """Minimum along dimensions, or of all elements."""
        return _out(shapes.reduced(x, dim, keepdim, "min"), out)

    def any(self, x: Any, *, dim: Any = None, keepdim: bool = False, out: Any = None) -> Any:
        """Whether any element along dimensions is not 0."""
        return _out(shapes.reduced(x, dim, keepdim, "any"), out)

    def all(self, x: Any, *, dim: Any = None, keepdim: bool = False, out: Any = None) -> Any:
        """Whether all elements along dimensions are not 0."""
        return _out(shapes.reduced(x, dim, keepdim, "all"), out)

    def add(self, lhs: Any, rhs: Any, out: Any = None) -> Any:
        """`lhs + rhs`."""
        return _out(arithmetic.binary("add", lhs, rhs), out)

    def maximum(self, lhs: Any, rhs: Any, out: Any = None) -> Any:
        """Elementwise maximum."""
        return _out(arithmetic.binary("max", lhs, rhs), out)

    def minimum(self, lhs: Any, rhs: Any, out: Any = None) -> Any:
        """Elementwise minimum."""
        return _out(arithmetic.binary("min", lhs, rhs), out)

    def logical_not(self, x: Any, *, out: Any = None) -> Any:
        """Whether each element is 0."""
        return _out(arithmetic.unary("not", x), out)

    def where(self, condition: Any, x: Any, y: Any, *, out: Any = None) -> Any:
        """`x` where the condition holds, `y` elsewhere."""
        return _out(arithmetic.select(condition, x, y), out)

    def clip(self, x: Any, min: Any, max: Any, *, out: Any = None) -> Any:
        """Limit each element to the range from `min` to `max`."""
        limited = arithmetic.binary("max", x, min)
        return _out(arithmetic.binary("min", limited, max), out)

    def square(self, x: Any, *, out: Any = None) -> Any:
        """Square of each element."""
        return _out(arithmetic.binary("mul", x, x), out)


def _unary_instruction(name: str) -> Callable[..., Any]:
    def method(self: Instructions, x: Any, *, out: Any = None) -> Any:
        return _out(arithmetic.unary(name, x), out)

    method.__name__ = name
    method.__doc__ = f"The function `{name}` of each element."
    return method


_FUNCTIONS = (
    *("abs", "ceil", "cos", "erf", "exp", "exp2", "floor", "log", "log2", "neg", "round", "rsqrt"),
    *("sin", "sqrt", "tanh"),
)
for _name in _FUNCTIONS:
    setattr(Instructions, _name, _unary_instruction(_name))


def _out(value: Any, out: Any) -> Any:
    """The result, copied to `out` if given."""
    if out is None:
        return value
    if not isinstance(out, RegisterTensor) or not isinstance(value, Data):
        raise UserError(
            f"out= takes a register tensor, not {out!r}",
            hints=["self.register_tensor(dtype=..., shape=...)"],
        )
    if out.shape != value.shape or out.dtype != value.dtype:
        raise UserError(
            f"out={out!r} cannot hold {value!r}",
            hints=["cast the result first: self.cast(x, dtype=...)"],
        )
    out.change(value.value)
    return out


def _global(value: Any, name: str) -> GlobalTensor:
    if not isinstance(value, GlobalTensor):
        raise UserError(
            f"{name} takes a global tensor, not {value!r}",
            hints=_other_memory(name, value, SharedTensor, "global", "shared")
            or ["self.global_view(pointer, dtype=..., shape=...)"],
        )
    return value


def _shared(value: Any, name: str) -> SharedTensor:
    if not isinstance(value, SharedTensor):
        raise UserError(
            f"{name} takes a shared tensor, not {value!r}",
            hints=_other_memory(name, value, GlobalTensor, "shared", "global")
            or ["self.shared_tensor(dtype=..., shape=...)"],
        )
    memory.require_live(value, name)
    return value


def _other_memory(name: str, value: Any, memory: type, here: str, there: str) -> list[str]:
    """The instruction that takes a tensor in the other memory."""
    is_other = isinstance(value, memory) and name in (f"load_{here}", f"store_{here}")
    return [f"self.{name.replace(here, there)} does"] if is_other else []
