# SPDX-License-Identifier: Apache-2.0
"""Operations of the dialect `tile`, at the current insertion point and location."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.attributes import CLUSTER, TF32, WARPS
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
from xtc.ir.tile_dialect import DIALECT, layout_of, with_layout


def tile_type(shape: Sequence[int], element: Type) -> RankedTensorType:
    """The type of a tile in registers whose layout is not known yet."""
    return RankedTensorType.get(list(shape), element)


def grid(sizes: Sequence[Value]) -> None:
    """State the blocks in x, y and z that a launch has, as three i32."""
    _make("grid", sizes)


def block_id(dim: int) -> Value:
    """The position of the block in dimension 0, 1 or 2 of the grid, an i32."""
    return _i32("block_id", dim)


def grid_dim(dim: int) -> Value:
    """The blocks of the grid in dimension 0, 1 or 2, an i32."""
    return _i32("grid_dim", dim)


def assume(condition: Value) -> None:
    """State that an i1 holds."""
    _make("assume", [condition])


def load_global(source: Value, offsets: Sequence[Value], dims: Sequence[int], type: Type) -> Value:
    """A tile of global memory; dimension i of it runs along `dims[i]`; 0 outside of the tensor."""
    return _result("load_global", [source, *offsets], type, dims=_numbers(dims))


def store_global(
    value: Value, destination: Value, offsets: Sequence[Value], dims: Sequence[int]
) -> None:
    """Write a tile to global memory; what lies outside of the tensor is dropped."""
    _make("store_global", [value, destination, *offsets], dims=_numbers(dims))


def load_shared(source: Value, type: Type) -> Value:
    """A whole tensor of shared memory."""
    return _result("load_shared", [source], type)


def store_shared(value: Value, destination: Value) -> None:
    """Write a whole tensor of shared memory."""
    _make("store_shared", [value, destination])


def copy_async(
    source: Value,
    destination: Value,
    offsets: Sequence[Value],
    dims: Sequence[int],
    check_bounds: bool,
) -> None:
    """Begin to copy a tile of global memory to shared memory; 0 outside of the tensor."""
    operands = [source, destination, *offsets]
    checked = BoolAttr.get(check_bounds)
    _make("copy_async", operands, dims=_numbers(dims), check_bounds=checked)


def commit_group() -> None:
    """Close the group of copies begun since the last one was closed."""
    _make("commit_group")


def wait_group(groups: int) -> None:
    """Wait until at most the last `groups` groups of copies are in flight."""
    _make("wait_group", n=_number(groups))


def wait_all() -> None:
    """Wait for all copies, in a group or not."""
    _make("wait_all")


def sync() -> None:
    """All threads of the block wait for each other."""
    _make("sync")


def dot(a: Value, b: Value, c: Value, *, tf32: bool = False) -> Value:
    """`a @ b + c`, accumulated in the type of `c`; with `tf32`, float32 operands are tfloat32."""
    marks: dict[str, Attribute] = {TF32: UnitAttr.get()} if tf32 else {}
    type = RankedTensorType.get(c.type.shape, c.type.element_type)
    return _result("dot", [a, b, c], type, **marks)


def indices(dim: int, type: Type) -> Value:
    """The index of each element in a dimension."""
    return _result("indices", [], type, dim=_number(dim))


def reduce(source: Value, dim: int, kind: str, type: Type) -> Value:
    """The "sum", "max" or "min" along a dimension, of which size 1 is left."""
    return _result("reduce", [source], type, dim=_number(dim), kind=StringAttr.get(kind))


def broadcast(source: Value, type: Type) -> Value:
    """The tile with dimensions of size 1 repeated."""
    return _result("broadcast", [source], type)


def transpose(source: Value, dims: Sequence[int], type: Type) -> Value:
    """Dimension i of the result is dimension `dims[i]` of the source."""
    return _result("transpose", [source], type, dims=_numbers(dims))


def reshape(source: Value, type: Type) -> Value:
    """The same elements, in order, in another shape."""
    return _result("reshape", [source], type)


def convert_layout(source: Value, layout: RegisterLayout) -> Value:
    """The same tile, held by other threads."""
    return _result("convert_layout", [source], with_layout(source.type, layout))


def annotate_layout(source: Value, layout: RegisterLayout) -> Value:
    """The same tile, whose layout the user has given."""
    type = RankedTensorType(source.type)
    plain = RankedTensorType.get(type.shape, type.element_type)
    return _result("annotate_layout", [source], plain, layout=StringAttr.get(str(layout)))


def item(source: Value) -> Value:
    """The element of a tile that has one, a scalar that all threads have."""
    return _result("item", [source], RankedTensorType(source.type).element_type)


def view(
    source: Value, from_bits: int, to_bits: int, layout: RegisterLayout | None, type: Type
) -> Value:
    """The bits that each thread holds, as elements of another size.

    Elements of fewer than 8 bits are held in 8, and count with their own bits. Without a layout the
    last dimension is cut into the fewest elements that fill whole bytes, on both sides.
    """
    text = StringAttr.get("" if layout is None else str(layout))
    bits = {"from_bits": _number(from_bits), "to_bits": _number(to_bits)}
    return _result("view", [source], type, layout=text, **bits)


def scan(source: Value, dim: int, kind: str, exclusive: bool) -> Value:
    """Each element combined with those before it along a dimension, or these alone."""
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
    """Combine each value with an element of memory in one step; what was there before.

    Extras are the values to compare with for "cas", and for `dim` of 0 or more the index of each
    element in this dimension. `order` is "relaxed", "acquire", "release" or "acq_rel".
    """
    operands = [destination, values, *extras]
    texts = {"kind": StringAttr.get(kind), "order": StringAttr.get(order)}
    return _result("atomic", operands, values.type, dim=_number(dim), **texts)


def store_scatter(value: Value, destination: Value, indices: Value, dim: int) -> None:
    """Write each value to the element that its index names in a dimension."""
    _make("store_scatter", [value, destination, indices], dim=_number(dim))


def buffer(memory: Value, sizes: Sequence[Value], clean: bool) -> None:
    """State the size, in elements, of an argument that a launch allocates; and that it holds 0."""
    _make("buffer", [memory, *sizes], clean=BoolAttr.get(clean))


def lock(semaphore: Value, offset: Value, value: Value) -> None:
    """Wait until the i32 at an offset of a buffer has this value; then see what its writer saw."""
    _make("lock", [semaphore, offset, value])


def release(semaphore: Value, offset: Value, value: Value) -> None:
    """Write an i32, for others that wait for it and see then what this block has seen."""
    _make("release", [semaphore, offset, value])


def printf(format: str, values: Sequence[Value]) -> None:
    """Print a text from one thread, by the rules of C; i64 values hold the bits of numbers."""
    _make("printf", values, format=StringAttr.get(format))


def inside(
    source: Value, offsets: Sequence[Value], dims: Sequence[int], layout: RegisterLayout
) -> Value:
    """Whether the first element that a thread has of a tile of global memory is there, an i1."""
    i1, text = IntegerType.get_signless(1), StringAttr.get(str(layout))
    return _result("inside", [source, *offsets], i1, dims=_numbers(dims), layout=text)


def in_group(begin: int, size: int) -> Value:
    """Whether a thread is one of `size` from `begin` on, an i1: what a group's branch asks."""
    i1 = IntegerType.get_signless(1)
    return _result("in_group", [], i1, begin=_number(begin), size=_number(size))


@contextmanager
def elected() -> Iterator[None]:
    """What is written in the context, the first thread alone of those that run does."""
    group = current_group()
    if group is not None and group[1] == 1:
        yield
        return
    made = scf.IfOp(in_group(group[0] if group else 0, 1))
    with InsertionPoint(made.then_block):
        yield
        scf.yield_([])


def mbarrier_alloc(counts: Sequence[int], type: Type) -> Value:
    """Barriers in shared memory with these expected arrival counts, visible to all threads."""
    return _result("mbarrier_alloc", [], type, counts=_numbers(counts))


def mbarrier_arrive(barrier: Value, index: Value, count: Value) -> None:
    """Each thread arrives `count` times."""
    _make("mbarrier_arrive", [barrier, index, count])


def mbarrier_expect(barrier: Value, index: Value, nbytes: Value) -> None:
    """Each thread announces bytes that copies will bring, and arrives."""
    _make("mbarrier_expect", [barrier, index, nbytes])


def mbarrier_wait(barrier: Value, index: Value, phase: Value) -> None:
    """Wait until the phase of this parity, 0 or 1, is complete."""
    _make("mbarrier_wait", [barrier, index, phase])


def fence_proxy(space: str) -> None:
    """Let asynchronous operations see what threads have written before."""
    _make("fence_proxy", space=StringAttr.get(space))


def tensor_map(map: Value, source: Value, box: Sequence[int], swizzle: int) -> None:
    """State that an argument is the map of a view, of which copies bring boxes."""
    _make("tensor_map", [map, source], box=_numbers(box), swizzle=_number(swizzle))


def tma_load(
    source: Value,
    destination: Value,
    barrier: tuple[Value, Value],
    offsets: Sequence[Value],
    dims: Sequence[int],
) -> None:
    """Each thread begins to copy a tile to shared memory; a barrier counts its bytes."""
    _make("tma_load", [source, destination, *barrier, *offsets], dims=_numbers(dims))


def tma_multicast(
    source: Value,
    destination: Value,
    barrier: tuple[Value, Value],
    mask: Value,
    offsets: Sequence[Value],
    dims: Sequence[int],
) -> None:
    """The same to the shared memory of each block of the cluster whose bit is set in an i32."""
    _make("tma_multicast", [source, destination, *barrier, mask, *offsets], dims=_numbers(dims))


def cluster_sync() -> None:
    """All threads of the cluster's blocks wait for each other."""
    _make("cluster_sync")


def cluster_arrive(barrier: tuple[Value, Value], mask: Value, count: Value, nbytes: Value) -> None:
    """Each thread arrives `count` times at the barrier of each block of the cluster whose bit is
    set in an i32, and announces bytes that copies will bring there."""
    _make("cluster_arrive", [*barrier, mask, count, nbytes])


def tma_store(
    source: Value, destination: Value, offsets: Sequence[Value], dims: Sequence[int]
) -> None:
    """Each thread begins to copy a tile from shared memory; what lies outside is dropped."""
    _make("tma_store", [source, destination, *offsets], dims=_numbers(dims))


def tma_commit() -> None:
    """Close the group of such stores begun since the last one was closed."""
    _make("tma_commit")


def tma_wait(groups: int, read: bool) -> None:
    """Wait until at most `groups` groups are in flight, or only until they have read."""
    _make("tma_wait", n=_number(groups), read=BoolAttr.get(read))


CODES = "codes"
"""String on a wgmma whose operands are floats held as codes: "float8_e4m3" or "float8_e5m2"."""


def wgmma(a: Value, b: Value, c: Value, codes: str = "") -> Value:
    """Begin `a @ b + c`, of shared tensors; `a` may be a tile. `codes` names small floats."""
    type = RankedTensorType.get(c.type.shape, c.type.element_type)
    result = _result("wgmma", [a, b, c], type)
    if codes:
        result.owner.attributes[CODES] = StringAttr.get(codes)
    return result


def codes_of(op: Operation) -> str:
    """The type of small floats that a wgmma multiplies, "" for others."""
    return str(StringAttr(op.attributes[CODES]).value) if CODES in op.attributes else ""


def wgmma_fence() -> None:
    """Order what was done to registers before the multiplications that follow."""
    _make("wgmma_fence")


def wgmma_commit() -> None:
    """Close the group of multiplications begun since the last one was closed."""
    _make("wgmma_commit")


def wgmma_wait(groups: int) -> None:
    """Wait until at most `groups` groups of multiplications are in flight."""
    _make("wgmma_wait", n=_number(groups))


def set_registers(count: int, *, increase: bool) -> None:
    """The threads of each warpgroup that runs have this many registers from now on."""
    _make("set_registers", count=_number(count), increase=BoolAttr.get(increase))


def current_group() -> tuple[int, int] | None:
    """The threads for which operations are being written; None: all of a block."""
    owner = InsertionPoint.current.block.owner.operation
    return group_entered(owner) or (None if owner.name == "func.func" else group_of(owner))


def group_of(op: Operation) -> tuple[int, int] | None:
    """The first thread and the number of threads that run an operation; None: all of a block."""
    while op.name != "func.func":
        op = op.parent.operation
        if (found := group_entered(op)) is not None:
            return found
    return None


def group_entered(op: Operation) -> tuple[int, int] | None:
    """The threads that a branch for a group of them lets in; None for other operations."""
    if op.name != "scf.if":
        return None
    if isinstance(op.operands[0], BlockArgument):
        return None
    condition = op.operands[0].owner.operation
    if condition.name != f"{DIALECT}.in_group":
        return None
    return number_of(condition, "begin"), number_of(condition, "size")


def current_kernel() -> Operation | None:
    """The kernel in which operations are being written; None if there is none."""
    try:
        op = InsertionPoint.current.block.owner.operation
    except ValueError:
        return None
    while op is not None and op.name not in ("func.func", "builtin.module"):
        op = op.parent.operation
    return op if op is not None and op.name == "func.func" else None


def set_warps(warps: int) -> None:
    """State how many warps a block of the kernel has that is being written, if there is one."""
    kernel = current_kernel()
    if kernel is not None:
        kernel.attributes[WARPS] = _number(warps)


def block_warps() -> int | None:
    """The warps of a block of the kernel that is being written; None: not known yet."""
    kernel = current_kernel()
    if kernel is None or WARPS not in kernel.attributes:
        return None
    return number_of(kernel, WARPS)


def set_cluster(sizes: Sequence[int]) -> None:
    """State how many blocks a cluster of the kernel has in x, y and z."""
    kernel = current_kernel()
    if kernel is not None:
        kernel.attributes[CLUSTER] = _numbers(sizes)


def cluster_of(kernel: Operation | None) -> tuple[int, int, int]:
    """The blocks of a kernel's clusters in x, y and z."""
    if kernel is None or CLUSTER not in kernel.attributes:
        return 1, 1, 1
    x, y, z = dims_of(kernel, CLUSTER)
    return x, y, z


def current_location() -> str:
    """`file:line:column` of the user's code that is being transcribed."""
    return location_text(Location.current)


def location_text(location: Location) -> str:
    """`file:line:column` of a location."""
    if isinstance(location, Location) and location.is_a_file():
        return f"{location.filename}:{location.start_line}:{location.start_col}"
    return str(location)


def retyped(buffer: Value, type: Type) -> Value:
    """The same memory, seen as elements of another type."""
    return Operation.create("builtin.unrealized_conversion_cast", [type], [buffer]).results[0]


def dims_of(op: Operation, name: str = "dims") -> list[int]:
    """The array of integers that an operation has."""
    return list(DenseI64ArrayAttr(op.attributes[name]))


def number_of(op: Operation, name: str) -> int:
    """The integer that an operation has."""
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
