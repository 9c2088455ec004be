# SPDX-License-Identifier: Apache-2.0
"""Operations of the dialect `tile`, at the current insertion point and location."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.attributes import CLUSTER, PROMISE, TF32, WARPS
from xtc.ir.builders.operand_codes import codes_attribute
from xtc.ir.mlir import (
    Attribute,
    BlockArgument,
    BoolAttr,
    DenseI64ArrayAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Location,
    Operation,
    RankedTensorType,
    StringAttr,
    Type,
    UnitAttr,
    Value,
    scf,
)
from xtc.ir.tile_dialect import DIALECT, layout_of


def tile_type(shape: Sequence[int], element: Type) -> RankedTensorType:
    """The type of a tile in registers without a layout."""
    return RankedTensorType.get(list(shape), element)


def grid(sizes: Sequence[Value]) -> None:
    """Declare the blocks of a launch in x, y and z, as three i32."""
    _make("grid", sizes)


def block_id(dim: int) -> Value:
    """The block's index in dimension 0, 1 or 2 of the grid, an i32."""
    return _i32("block_id", dim)


def grid_dim(dim: int) -> Value:
    """The size of the grid in dimension 0, 1 or 2, an i32."""
    return _i32("grid_dim", dim)


def assume(condition: Value, promise: str = "") -> None:
    """Assert that an i1 is true; `promise` names what the user's program promises by it."""
    marks: dict[str, Attribute] = {PROMISE: StringAttr.get(promise)} if promise else {}
    _make("assume", [condition], **marks)


def load_global(source: Value, offsets: Sequence[Value], dims: Sequence[int], type: Type) -> Value:
    """Load a tile, whose dimension i is the tensor's `dims[i]`; 0 out of bounds."""
    return _result("load_global", [source, *offsets], type, dims=_numbers(dims))


def store_global(
    value: Value, destination: Value, offsets: Sequence[Value], dims: Sequence[int]
) -> None:
    """Store a tile to global memory; elements out of bounds are dropped."""
    _make("store_global", [value, destination, *offsets], dims=_numbers(dims))


def load_shared(source: Value, type: Type) -> Value:
    """Load a whole tensor from shared memory."""
    return _result("load_shared", [source], type)


def store_shared(value: Value, destination: Value) -> None:
    """Store a whole tensor to shared memory."""
    _make("store_shared", [value, destination])


def copy_async(
    source: Value,
    destination: Value,
    offsets: Sequence[Value],
    dims: Sequence[int],
    check_bounds: bool,
) -> None:
    """Start the copy of a tile from global to shared memory; 0 out of bounds."""
    operands = [source, destination, *offsets]
    checked = BoolAttr.get(check_bounds)
    _make("copy_async", operands, dims=_numbers(dims), check_bounds=checked)


def commit_group() -> None:
    """Commit the copies started since the last commit as a group."""
    _make("commit_group")


def wait_group(groups: int) -> None:
    """Wait until at most `groups` groups of copies are in flight."""
    _make("wait_group", n=_number(groups))


def wait_all() -> None:
    """Wait for all copies, committed or not."""
    _make("wait_all")


def sync() -> None:
    """Synchronize all threads of the block."""
    _make("sync")


def dot(a: Value, b: Value, c: Value, *, tf32: bool = False, codes: Sequence[str] = ()) -> Value:
    """`a @ b + c`, accumulated in the type of `c`; `tf32` rounds float32 operands to tfloat32.

    `codes`: the types of two operands of 8-bit floats or unsigned integers.
    """
    marks: dict[str, Attribute] = {TF32: UnitAttr.get()} if tf32 else {}
    marks |= codes_attribute(*codes)
    type = RankedTensorType.get(c.type.shape, c.type.element_type)
    return _result("dot", [a, b, c], type, **marks)


def indices(dim: int, type: Type) -> Value:
    """The index of each element along a dimension."""
    return _result("indices", [], type, dim=_number(dim))


def reduce(source: Value, dim: int, kind: str, type: Type) -> Value:
    """The "sum", "max" or "min" along a dimension, which keeps size 1."""
    return _result("reduce", [source], type, dim=_number(dim), kind=StringAttr.get(kind))


def broadcast(source: Value, type: Type) -> Value:
    """The tile with its dimensions of size 1 repeated."""
    return _result("broadcast", [source], type)


def transpose(source: Value, dims: Sequence[int], type: Type) -> Value:
    """Dimension i of the result is dimension `dims[i]` of the source."""
    return _result("transpose", [source], type, dims=_numbers(dims))


def reshape(source: Value, type: Type) -> Value:
    """The same elements, in order, in another shape."""
    return _result("reshape", [source], type)


def convert_layout(source: Value, type: Type) -> Value:
    """The same elements, in order, in the shape and the layout of `type`."""
    return _result("convert_layout", [source], type)


def annotate_layout(source: Value, layout: RegisterLayout) -> Value:
    """The same tile with the layout that the user specified."""
    type = RankedTensorType(source.type)
    plain = RankedTensorType.get(type.shape, type.element_type)
    return _result("annotate_layout", [source], plain, layout=StringAttr.get(str(layout)))


def item(source: Value) -> Value:
    """The element of a tile with a single element, as a scalar in all threads."""
    return _result("item", [source], RankedTensorType(source.type).element_type)


def view(
    source: Value, from_bits: int, to_bits: int, layout: RegisterLayout | None, type: Type
) -> Value:
    """The bits of each thread's elements as elements of another width.

    Elements of fewer than 8 bits are stored in 8 but count with their own width. Without a layout,
    the last dimension is split into the fewest elements that fill whole bytes in both widths.
    """
    text = StringAttr.get("" if layout is None else str(layout))
    bits = {"from_bits": _number(from_bits), "to_bits": _number(to_bits)}
    return _result("view", [source], type, layout=text, **bits)


def scan(source: Value, dim: int, kind: str, exclusive: bool) -> Value:
    """The prefix reduction along a dimension, inclusive or `exclusive`."""
    return _result(
        "scan",
        [source],
        source.type,
        dim=_number(dim),
        kind=StringAttr.get(kind),
        exclusive=BoolAttr.get(exclusive),
    )


def atomic(
    destination: Value, values: Value, extras: Sequence[Value], kind: str, dim: int, order: str
) -> Value:
    """Atomically combine each value with an element of memory; the result is the old element.

    `extras` are the values to compare with, for "cas", and the index of each element in dimension
    `dim`, if that is not negative. `order` is "relaxed", "acquire", "release" or "acq_rel".
    """
    operands = [destination, values, *extras]
    texts = {"kind": StringAttr.get(kind), "order": StringAttr.get(order)}
    return _result("atomic", operands, values.type, dim=_number(dim), **texts)


def store_scatter(value: Value, destination: Value, indices: Value, dim: int) -> None:
    """Store each value to the element at its index in dimension `dim`."""
    _make("store_scatter", [value, destination, indices], dim=_number(dim))


def buffer(memory: Value, sizes: Sequence[Value], clean: bool) -> None:
    """Declare the sizes, in elements, of an argument that a launch allocates; zeroed if `clean`."""
    _make("buffer", [memory, *sizes], clean=BoolAttr.get(clean))


def lock(semaphore: Value, offset: Value, value: Value) -> None:
    """Wait, with acquire semantics, until the i32 at an offset of a buffer has this value."""
    _make("lock", [semaphore, offset, value])


def release(semaphore: Value, offset: Value, value: Value) -> None:
    """Store an i32 at an offset of a buffer, with release semantics."""
    _make("release", [semaphore, offset, value])


def printf(format: str, values: Sequence[Value]) -> None:
    """Print from one thread with a C format; i64 values contain the bits of the numbers."""
    _make("printf", values, format=StringAttr.get(format))


def inside(
    source: Value, offsets: Sequence[Value], dims: Sequence[int], layout: RegisterLayout
) -> Value:
    """Whether a thread's first element of a tile of global memory is in bounds, an i1."""
    i1, text = IntegerType.get_signless(1), StringAttr.get(str(layout))
    return _result("inside", [source, *offsets], i1, dims=_numbers(dims), layout=text)


def in_group(begin: int, size: int) -> Value:
    """Whether a thread is in the group of `size` threads from `begin`, an i1."""
    i1 = IntegerType.get_signless(1)
    return _result("in_group", [], i1, begin=_number(begin), size=_number(size))


@contextmanager
def elected() -> Iterator[None]:
    """Only the first of the running threads executes the operations created in the context."""
    group = current_group()
    if group is not None and group[1] == 1:
        yield
        return
    created = scf.IfOp(in_group(group[0] if group else 0, 1))
    with InsertionPoint(created.then_block):
        yield
        scf.yield_([])


def mbarrier_alloc(counts: Sequence[int], type: Type) -> Value:
    """Barriers in shared memory with these expected arrivals, initialized for all threads."""
    return _result("mbarrier_alloc", [], type, counts=_numbers(counts))


BY_WARPS = "by_warps"  # unit attribute on an arrival: a thread arrives for all of its warp


def mbarrier_arrive(barrier: Value, index: Value, count: Value) -> Operation:
    """Arrive `count` times in each thread, or in each warp if the operation has `BY_WARPS`."""
    return _make("mbarrier_arrive", [barrier, index, count])


def mbarrier_expect(barrier: Value, index: Value, nbytes: Value) -> None:
    """Arrive in each thread, and expect `nbytes` from copies."""
    _make("mbarrier_expect", [barrier, index, nbytes])


NO_WRITES = "no_writes"
"""Unit attribute on an arrival in other blocks, or a barrier of the cluster: its threads have
written nothing that must become visible there, except for initialized mbarriers."""
IN_CLUSTER = "in_cluster"
"""Unit attribute on a wait at an mbarrier that acquires what the cluster's blocks have written."""


def mbarrier_wait(barrier: Value, index: Value, phase: Value, *, in_cluster: bool = False) -> None:
    """Wait until the phase with this parity, 0 or 1, is complete."""
    marks = {IN_CLUSTER: UnitAttr.get()} if in_cluster else {}
    _make("mbarrier_wait", [barrier, index, phase], **marks)


def fence_proxy(space: str) -> None:
    """Make earlier writes of threads visible to asynchronous operations."""
    _make("fence_proxy", space=StringAttr.get(space))


def tensor_map(
    map: Value, source: Value, box: Sequence[int], swizzle: int, *, tf32: bool = False
) -> None:
    """Declare that an argument is the tensor map of a view, copied in tiles of shape `box`; with
    `tf32`, copies round to tfloat32."""
    marks: dict[str, Attribute] = {TF32: UnitAttr.get()} if tf32 else {}
    _make("tensor_map", [map, source], box=_numbers(box), swizzle=_number(swizzle), **marks)


def tma_load(
    source: Value,
    destination: Value,
    barrier: tuple[Value, Value],
    offsets: Sequence[Value],
    dims: Sequence[int],
) -> Operation:
    """Start in each thread the copy of a tile to shared memory; a barrier counts its bytes."""
    return _make("tma_load", [source, destination, *barrier, *offsets], dims=_numbers(dims))


def tma_multicast(
    source: Value,
    destination: Value,
    barrier: tuple[Value, Value],
    mask: Value,
    offsets: Sequence[Value],
    dims: Sequence[int],
) -> Operation:
    """Like `tma_load`, to the shared memory of each block of the cluster in the i32 `mask`."""
    operands = [source, destination, *barrier, mask, *offsets]
    return _make("tma_multicast", operands, dims=_numbers(dims))


def cluster_sync() -> Operation:
    """Synchronize all threads of the cluster's blocks."""
    return _make("cluster_sync")


def cluster_arrive(barrier: tuple[Value, Value], *mask_count_nbytes: Value) -> Operation:
    """Like `mbarrier_arrive`, in each block of the i32 mask; and expect bytes from copies there."""
    return _make("cluster_arrive", [*barrier, *mask_count_nbytes])


def tma_store(
    source: Value, destination: Value, offsets: Sequence[Value], dims: Sequence[int]
) -> None:
    """Start in each thread the copy of a tile from shared memory; drop elements out of bounds."""
    _make("tma_store", [source, destination, *offsets], dims=_numbers(dims))


def tma_commit() -> None:
    """Commit the stores started since the last commit as a group."""
    _make("tma_commit")


def tma_wait(groups: int, read: bool) -> None:
    """Wait until at most `groups` groups are in flight, or with `read`, still read their source."""
    _make("tma_wait", n=_number(groups), read=BoolAttr.get(read))


def wgmma(a: Value, b: Value, c: Value, codes: str = "") -> Value:
    """Start `a @ b + c` on shared tensors; `a` may be a tile. `codes`: the type of other operands
    than 16-bit floats."""
    type = RankedTensorType.get(c.type.shape, c.type.element_type)
    return _result("wgmma", [a, b, c], type, **(codes_attribute(codes) if codes else {}))


def wgmma_fence() -> None:
    """Order earlier accesses to registers before the next wgmma."""
    _make("wgmma_fence")


def wgmma_commit() -> None:
    """Commit the wgmma started since the last commit as a group."""
    _make("wgmma_commit")


def wgmma_wait(groups: int) -> None:
    """Wait until at most `groups` groups of wgmma are in flight."""
    _make("wgmma_wait", n=_number(groups))


def set_registers(count: int, *, increase: bool) -> None:
    """Set the number of registers per thread of each running warpgroup."""
    _make("set_registers", count=_number(count), increase=BoolAttr.get(increase))


def current_group() -> tuple[int, int] | None:
    """The first thread and size of the group whose code is being built; None for all threads."""
    owner = InsertionPoint.current.block.owner.operation
    return group_entered(owner) or (None if owner.name == "func.func" else group_of(owner))


def group_of(op: Operation) -> tuple[int, int] | None:
    """The first thread and size of the group that runs an operation; None for all threads."""
    while op.name != "func.func":
        op = op.parent.operation
        if (found := group_entered(op)) is not None:
            return found
    return None


def group_entered(op: Operation) -> tuple[int, int] | None:
    """The first thread and size of the group that enters a branch; None for other operations."""
    if op.name != "scf.if":
        return None
    if isinstance(op.operands[0], BlockArgument):
        return None
    condition = op.operands[0].owner.operation
    if condition.name != f"{DIALECT}.in_group":
        return None
    return number_of(condition, "begin"), number_of(condition, "size")


def current_kernel() -> Operation | None:
    """The kernel that is being built, or None."""
    try:
        op = InsertionPoint.current.block.owner.operation
    except ValueError:
        return None
    while op is not None and op.name not in ("func.func", "builtin.module"):
        op = op.parent.operation
    return op if op is not None and op.name == "func.func" else None


def set_warps(warps: int) -> None:
    """Set the warps of a block of the kernel that is being built, if any."""
    kernel = current_kernel()
    if kernel is not None:
        kernel.attributes[WARPS] = _number(warps)


def block_warps() -> int | None:
    """The warps of a block of the kernel that is being built; None if not known yet."""
    kernel = current_kernel()
    if kernel is None or WARPS not in kernel.attributes:
        return None
    return number_of(kernel, WARPS)


def set_cluster(sizes: Sequence[int]) -> None:
    """Set the blocks of a cluster of the kernel in x, y and z."""
    kernel = current_kernel()
    if kernel is not None:
        kernel.attributes[CLUSTER] = _numbers(sizes)


def cluster_of(kernel: Operation | None) -> tuple[int, int, int]:
    """The blocks of a kernel's clusters in x, y and z."""
    if kernel is None or CLUSTER not in kernel.attributes:
        return 1, 1, 1
    x, y, z = dims_of(kernel, CLUSTER)
    return x, y, z


def location_text(location: Location | None = None) -> str:
    """`file:line:column` of a location, or of the code that is being transcribed."""
    location = location or Location.current
    if isinstance(location, Location) and location.is_a_file():
        return f"{location.filename}:{location.start_line}:{location.start_col}"
    return str(location)


def retyped(buffer: Value, type: Type) -> Value:
    """The same memory with another type."""
    return Operation.create("builtin.unrealized_conversion_cast", [type], [buffer]).results[0]


def dims_of(op: Operation, name: str = "dims") -> list[int]:
    """An operation's attribute that is an array of integers."""
    return list(DenseI64ArrayAttr(op.attributes[name]))


def number_of(op: Operation, name: str) -> int:
    """An operation's integer attribute."""
    return int(IntegerAttr(op.attributes[name]).value)


def has_layout(value: Value) -> bool:
    """Whether a value is a tile whose layout is known."""
    return isinstance(value.type, RankedTensorType) and layout_of(value.type) is not None


def _i32(name: str, dim: int) -> Value:
    return _result(name, [], IntegerType.get_signless(32), dim=_number(dim))


def _number(number: int) -> IntegerAttr:
    return IntegerAttr.get(IntegerType.get_signless(64), number)


def _numbers(numbers: Sequence[int]) -> Attribute:
    return DenseI64ArrayAttr.get(list(numbers))


def _result(name: str, operands: Sequence[Value], type: Type, **attributes: Attribute) -> Value:
    return _make(name, operands, [type], **attributes).results[0]


def _make(
    name: str,
    operands: Sequence[Value] = (),
    results: Sequence[Type] = (),
    **attributes: Attribute,
) -> Operation:
    return Operation.create(
        f"{DIALECT}.{name}", list(results), list(operands), attributes=attributes
    )
