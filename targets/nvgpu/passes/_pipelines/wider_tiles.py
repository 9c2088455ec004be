# SPDX-License-Identifier: Apache-2.0
"""Merges two adjacent tiles of a user's kernel to one of 128 x 256 for two warpgroups."""

from __future__ import annotations

import math

from xtc.ir.builders.numbers import as_value, known, multiply
from xtc.ir.builders.tile import dims_of, number_of
from xtc.ir.mlir import (
    DenseElementsAttr,
    DenseI64ArrayAttr,
    InsertionPoint,
    IntegerType,
    MemRefType,
    Operation,
    RankedTensorType,
    ShapedType,
    StridedLayoutAttr,
    Value,
    all_operations,
)
from xtc_targets.nvgpu.passes._pipelines.block_pairs import position_of
from xtc_targets.nvgpu.passes._pipelines.declined import Declined
from xtc_targets.nvgpu.passes._pipelines.dot_loops import DotLoop, dot_loop, dot_loops
from xtc_targets.nvgpu.passes._pipelines.loop_forms import Form
from xtc_targets.nvgpu.passes._tiles.classes import is_tile
from xtc_targets.nvgpu.passes._tiles.numbers import Numbers
from xtc_targets.nvgpu.passes.map_tensors import root_of

_TILE, _MERGED = (128, 128), 2
"""The tiles that are merged, and their number: one of 128 x 256, where a warpgroup has 64 rows and
all columns, reads the fewest bytes per multiply-add."""
_UNKNOWN = ShapedType.get_dynamic_stride_or_offset()
_ELEMENTWISE = ("arith.", "math.")
_ADDS = ("arith.addi", "arith.muli", "arith.index_cast")


def widen_tiles(kernel: Operation) -> None:
    """Let each block compute two tiles that are adjacent in a row.

    The kernel must use the block's position in one dimension of the grid only to choose columns of
    B and of the result: `tile columns * position`. Its number of tiles there must be known, and
    what follows the loop must be elementwise.

    Raises Declined if the kernel is another one; it may have changed by then.
    """
    loop, *others = dot_loops(kernel)
    body = kernel.regions[0].blocks[0]
    ops = [view.operation for view in body.operations]
    if others or loop not in ops:
        raise Declined("the loop is nested, or there are several", loop)
    matched = dot_loop(loop, ops[: ops.index(loop)], Numbers(kernel))
    m, n, _ = matched.sizes
    if (m, n) != _TILE:
        raise Declined(f"tiles of {m}x{n} are not merged", loop)
    (store,) = _only(kernel, "tile.store_global", loop)
    (grid,) = _only(kernel, "tile.grid", loop)
    ids = [op for op in all_operations(kernel) if op.name == "tile.block_id"]
    dim = _columns_dim(matched, store, ids, n)
    tiles, factor = known(grid.operands[dim]), _MERGED
    if not isinstance(tiles, int) or tiles % factor:
        raise Declined("the number of tiles is not known, or odd", loop)
    if any(number_of(op, "dim") == dim for op in _named(kernel, "tile.grid_dim")):
        raise Declined("the kernel reads the number of blocks", loop)
    with kernel.location, InsertionPoint(grid):
        _widen_memory(matched, factor)
        _widen_sums(matched, store, factor)
        i32 = IntegerType.get_signless(32)
        grid.operands[dim] = as_value(tiles // factor, type=i32)
    for op in ids:
        if number_of(op, "dim") == dim:
            _scale(op, factor)


def _named(kernel: Operation, name: str) -> list[Operation]:
    return [op for op in all_operations(kernel) if op.name == name]


def _only(kernel: Operation, name: str, loop: Operation) -> list[Operation]:
    found = _named(kernel, name)
    if len(found) != 1 or found[0].block != kernel.regions[0].blocks[0]:
        raise Declined(f"not a single {name}", loop)
    return found


def _columns_dim(matched: DotLoop, store: Operation, ids: list[Operation], columns: int) -> int:
    """The dimension of the grid that only chooses the columns."""
    b, forms = matched.b, matched.forms
    first = b.offsets[b.dims[b.order[1]]]
    asked = {("tile.block_id", number_of(op, "dim")): op for op in ids}
    for op in ids:
        dim, key = number_of(op, "dim"), forms.key(op.results[0])
        alone = Form(terms=frozenset({(key, columns)}))
        stored = forms.of(list(store.operands)[2 + len(dims_of(store)) - 1])
        rest = [form for form in b.offsets if form is not first]
        others = [forms.of(value) for value in list(store.operands)[2:-1]]
        is_alone = first == stored == alone and all(
            form is not None and not form.terms & alone.terms for form in (*rest, *others)
        )
        rows = position_of(matched, matched.a, asked)
        if is_alone and rows is not None and dim not in rows and _ends_in(op, store, b.stream.root):
            return dim
    raise Declined("no dimension of the grid chooses columns alone", matched.loop)


def _ends_in(op: Operation, store: Operation, root: Operation) -> bool:
    """Whether a number is only used to compute offsets of columns: of copies of B, and a store."""
    left = [op]
    while left:
        for use in left.pop().results[0].uses:
            user = use.owner.operation
            is_last = use.operand_number == len(user.operands) - 1
            if user == store and is_last:
                continue
            if user.name == "tile.copy_async" and root_of(user.operands[1]) == root:
                continue
            if user.name not in _ADDS:
                return False
            left.append(user)
    return True


def _widen_memory(matched: DotLoop, factor: int) -> None:
    """Retype the shared tensor of B or its slots, and what is loaded from it."""
    b = matched.b
    if list(b.stream.dims) != sorted(b.stream.dims):
        raise Declined("the copy of B transposes it", b.stream.copy)
    root = b.stream.root.results[0]
    type = MemRefType(root.type)
    shape = list(type.shape)
    shape[len(shape) - 2 + b.order[1]] *= factor
    root.set_type(MemRefType.get(shape, type.element_type, None, type.memory_space))
    _widen_users(root, shape)


def _widen_users(memory: Value, shape: list[int]) -> None:
    """Retype views of a shared tensor that has this shape now, and loads of it."""
    for use in memory.uses:
        user = use.owner.operation
        if user.name in ("tile.copy_async", "memref.dealloc"):
            continue
        if user.name == "tile.load_shared":
            _retype(user.results[0], shape)
            _widen_tiles(user.results[0], shape)
        elif user.name == "memref.cast":
            strides, _ = MemRefType(memory.type).get_strides_and_offset()
            _, offset = MemRefType(user.results[0].type).get_strides_and_offset()
            _review(user.results[0], shape, strides, offset)
        elif user.name == "memref.transpose":
            strides, offset = MemRefType(memory.type).get_strides_and_offset()
            _review(user.results[0], shape[::-1], strides[::-1], offset)
        elif user.name == "memref.subview" and len(shape) == 3:
            user.attributes["static_sizes"] = DenseI64ArrayAttr.get([1, *shape[1:]])
            begin = DenseI64ArrayAttr(user.attributes["static_offsets"])[0]
            offset = _UNKNOWN if begin == _UNKNOWN else begin * shape[1] * shape[2]
            _review(user.results[0], shape[1:], [shape[2], 1], offset)
        else:
            raise Declined(f"B has another user: {user.name}", user)


def _review(view: Value, shape: list[int], strides: list[int], offset: int) -> None:
    """Retype a view of a shared tensor, and its users."""
    old = MemRefType(view.type)
    layout = StridedLayoutAttr.get(offset, strides)
    view.set_type(MemRefType.get(shape, old.element_type, layout, old.memory_space))
    _widen_users(view, shape)


def _widen_tiles(tile: Value, shape: list[int]) -> None:
    """Retype transposes of a loaded tile."""
    for use in tile.uses:
        user = use.owner.operation
        if user.name == "tile.transpose":
            _retype(user.results[0], shape[::-1])
            _widen_tiles(user.results[0], shape[::-1])
        elif user.name != "tile.dot":
            raise Declined(f"B has another user: {user.name}", user)


def _widen_sums(matched: DotLoop, store: Operation, factor: int) -> None:
    """Retype the accumulators, and the elementwise operations up to the store."""
    m, n, _ = matched.sizes
    shape = [m, n * factor]
    loop, at = matched.loop, matched.carried
    first = loop.operands[3 + at]
    _widen_constant(first, shape)
    body = loop.regions[0].blocks[0]
    _retype(body.arguments[1 + at], shape)
    _retype(matched.dot.results[0], shape)
    _retype(loop.results[at], shape)
    ops = [view.operation for view in store.block.operations]
    known_tiles = {loop.results[at]}
    for op in ops[ops.index(loop) + 1 :]:
        tiles = [operand for operand in op.operands if is_tile(operand)]
        if not tiles and not any(is_tile(result) for result in op.results):
            continue
        if op != store and not op.name.startswith(_ELEMENTWISE):
            raise Declined(f"a tile is used by {op.name}", op)
        for tile in tiles:
            if tile not in known_tiles:
                _widen_constant(tile, shape)
                known_tiles.add(tile)
        if op.name == "arith.constant" and list(op.results[0].uses):
            continue  # widened with its user
        for result in op.results:
            _retype(result, shape)
            known_tiles.add(result)


def _widen_constant(value: Value, shape: list[int]) -> None:
    op = getattr(value.owner, "operation", None)
    if op is None or op.name != "arith.constant":
        raise Declined("a tile is not a constant", value.owner)
    type = RankedTensorType.get(shape, RankedTensorType(value.type).element_type)
    if value.type == type:
        return
    if len(list(value.uses)) > 1 and math.prod(RankedTensorType(value.type).shape) == 1:
        raise Declined("a constant has several users", op)
    splat = DenseElementsAttr(op.attributes["value"]).get_splat_value()
    op.attributes["value"] = DenseElementsAttr.get_splat(type, splat)
    value.set_type(type)


def _retype(value: Value, shape: list[int]) -> None:
    value.set_type(RankedTensorType.get(shape, RankedTensorType(value.type).element_type))


def _scale(op: Operation, factor: int) -> None:
    """Let a block's position count tiles of the user's kernel."""
    block = [view.operation for view in op.block.operations]
    users = list(op.results[0].uses)
    with op.location, InsertionPoint(block[block.index(op) + 1]):
        scaled = multiply(op.results[0], factor)
    for use in users:
        use.owner.operation.operands[use.operand_number] = as_value(scaled)
