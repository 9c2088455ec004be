# SPDX-License-Identifier: Apache-2.0
"""lower-tiles: lowers a tile kernel to the code of a thread."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from xtc.core.errors import CompileError, UserError
from xtc.core.padded_layout import padded
from xtc.core.tile_layout import RegisterLayout, parse_layout
from xtc.ir.attributes import WARPS
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import Number, as_value, compare, subtract
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.builders.tile import dims_of, group_entered, location_text, number_of
from xtc.ir.mlir import (
    Block,
    BoolAttr,
    DenseElementsAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    RankedTensorType,
    StringAttr,
    Type,
    Value,
    VectorType,
    arith,
    vector,
)
from xtc.ir.mlir_nvvm import nvvm
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass
from xtc.ir.tile_dialect import known_layout
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._kernels import (
    GRID,
    SHARED_BYTES,
    THREAD_ID,
    WARP,
    set_apart,
    set_shape,
    shape,
    shared_bytes,
)
from xtc_targets.nvgpu.passes._shared import shared_memory
from xtc_targets.nvgpu.passes._thread_code import address_of, as_i32, register
from xtc_targets.nvgpu.passes._tiles.bits import regrouped
from xtc_targets.nvgpu.passes._tiles.carried import carried, carried_types, taken_over
from xtc_targets.nvgpu.passes._tiles.classes import is_tile
from xtc_targets.nvgpu.passes._tiles.copies import copy
from xtc_targets.nvgpu.passes._tiles.exchange import converted, permuted, reduced
from xtc_targets.nvgpu.passes._tiles.global_memory import GlobalTile, GlobalView, loads_in
from xtc_targets.nvgpu.passes._tiles.groups import barrier, threads_of
from xtc_targets.nvgpu.passes._tiles.hopper import HopperLowerings
from xtc_targets.nvgpu.passes._tiles.mma import (
    dot,
    read_matrices,
    stores_matrices,
    takes_matrices,
    write_matrices,
)
from xtc_targets.nvgpu.passes._tiles.numbers import (
    Numbers,
    global_sizes,
    is_ragged,
    packed_elements,
)
from xtc_targets.nvgpu.passes._tiles.promises import keep_promise
from xtc_targets.nvgpu.passes._tiles.scan import scanned
from xtc_targets.nvgpu.passes._tiles.scatter import combine, scatter
from xtc_targets.nvgpu.passes._tiles.semaphores import lock, release
from xtc_targets.nvgpu.passes._tiles.shared_memory import (
    SharedView,
    bytes_of,
    read_shared,
    thread_base,
    write_shared,
)
from xtc_targets.nvgpu.passes._tiles.shared_parts import permutation, shared_part
from xtc_targets.nvgpu.passes._tiles.texts import print_text

_GLOBAL = 1  # memory space
_BLOCK_IDS = (
    nvvm.read_ptx_sreg_ctaid_x,
    nvvm.read_ptx_sreg_ctaid_y,
    nvvm.read_ptx_sreg_ctaid_z,
)
_GRID_DIMS = (
    nvvm.read_ptx_sreg_nctaid_x,
    nvvm.read_ptx_sreg_nctaid_y,
    nvvm.read_ptx_sreg_nctaid_z,
)


@dataclass(frozen=True)
class LowerTiles(Pass):
    """Generate the code of a thread: tiles become vectors of its elements.

    Before, with `xtc.warps = 4`:
        %a = "tile.load_shared"(%sa) : (memref<64x32xf16, 2>) -> tensor<64x32xf16, #tile.layout<..>>
        %d = "tile.dot"(%a, %b, %c) : (...) -> tensor<64x64xf32, #tile.layout<..>>
    After, with `nvgpu.block = [128, 1, 1]`:
        nvvm.ldmatrix ; nvvm.mma.sync ; ... vector<32xf32>

    The layouts are from infer-tile-layouts, the addresses from place-tile-buffers.

    Attributes:
        stores_matrices: whether the GPU has stmatrix, for 16-bit results.
    """

    name: ClassVar[str] = "lower-tiles"
    stores_matrices: bool = False

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in top_level(module):
                if WARPS in kernel.attributes:
                    _Lowering(kernel, self.stores_matrices).run()


class _Lowering(HopperLowerings):
    """Generates the code of a thread for a kernel."""

    def __init__(self, kernel: Operation, stores_matrices: bool) -> None:
        self.kernel, self.stores_matrices = kernel, stores_matrices
        self.threads = number_of(kernel, WARPS) * WARP
        self.numbers = Numbers(kernel)
        self.values: dict[Value, Any] = {}
        self.unpinned: dict[Value, Any] = {}

    def run(self) -> None:
        kernel, block = self.kernel, self.kernel.regions[0].blocks[0]
        old = [view.operation for view in block.operations]
        set_apart(kernel)
        with kernel.location, InsertionPoint(old[0]):
            self.thread = self.first_thread = register(THREAD_ID)
            nbytes = shared_bytes(kernel)
            self.shared = shared_memory(kernel, nbytes) if nbytes else None
        for op in old[:-1]:
            with InsertionPoint(old[-1]):
                self.lower(op)
        for op in reversed(old[:-1]):
            op.erase()
        grid = shape(kernel)[0] if GRID in kernel.attributes else [0, 0, 0]
        set_shape(kernel, grid, [self.threads])
        del kernel.attributes[WARPS]
        if not nbytes and SHARED_BYTES in kernel.attributes:
            del kernel.attributes[SHARED_BYTES]

    def lower(self, op: Operation) -> None:
        """Emit a thread's code for an operation at the current insertion point."""
        with op.location:
            if op.name in _LOWERINGS:
                _LOWERINGS[op.name](self, op)
            elif op.name.startswith(("tile.", "tensor.", "memref.")):
                raise CompileError(f"{op.name} cannot be lowered", where=str(op.location))
            elif len(op.regions):
                self._with_regions(op)
            else:
                self._elementwise(op)

    def value(self, old: Value) -> Any:
        """The lowered value; arguments of the kernel are unchanged."""
        return self.values.get(old, old)

    def type(self, old: Type) -> Type:
        """The type of a thread's part of a value."""
        if not isinstance(old, RankedTensorType):
            return old
        return VectorType.get([known_layout(old).local_size], old.element_type)

    def shared_base(self) -> Value:
        """The address of the block's shared memory."""
        assert self.shared is not None  # noqa: S101
        return self.shared

    def _elementwise(self, op: Operation) -> None:
        operands = [self.value(operand) for operand in op.operands]
        types = [self.type(result.type) for result in op.results]
        attributes = {name: op.attributes[name] for name in op.attributes}
        if op.name == "arith.constant" and is_tile(op.results[0]):
            splat = DenseElementsAttr(attributes["value"]).get_splat_value()
            attributes["value"] = DenseElementsAttr.get_splat(types[0], splat)
        made = rebuilt(op, operands, types, attributes)
        for before, after in zip(op.results, made.results, strict=True):
            self.values[before] = after

    def _carried(self, values: Iterable[Value]) -> list[Any]:
        """The lowered values, in the form that loops and branches carry."""
        return [part for value in values for part in carried(value.type, self.value(value))]

    def _carried_types(self, values: Iterable[Value]) -> list[Type]:
        return [
            type for value in values for type in carried_types(value.type, self.type(value.type))
        ]

    def _take_over(self, values: Iterable[Value], parts: Iterable[Value]) -> None:
        left = iter(parts)
        for value in values:
            self.values[value] = taken_over(value.type, self.type(value.type), left)

    def end(self, op: Operation) -> None:
        """Write the terminator of a block, with the carried values."""
        rebuilt(op, self._carried(op.operands), [])

    def _with_regions(self, op: Operation) -> None:
        made = rebuilt(op, self._carried(op.operands), self._carried_types(op.results))
        group = group_entered(op)
        for before, after in zip(op.regions, made.regions, strict=True):
            for block in before.blocks:
                if group is None:
                    self._block(block, after)
                else:
                    self._group(group[0], block, after)
        self._take_over(op.results, made.results)

    def _group(self, begin: int, block: Block, region: Any) -> None:
        """Emit the code of a group's threads, numbered from the first of the group."""
        outer = self.thread
        new = Block.create_at_start(region, [])
        with InsertionPoint(new), self.in_block():
            self.thread = as_value(subtract(self.first_thread, begin))
            for view in block.operations:
                self.lower(view.operation)
        self.thread = outer

    def in_group(self, op: Operation) -> None:
        begin, size = number_of(op, "begin"), number_of(op, "size")
        self.values[op.results[0]] = compare("ult", subtract(self.first_thread, begin), size)

    def _block(self, block: Block, region: Any) -> None:
        new = Block.create_at_start(region, self._carried_types(block.arguments))
        with InsertionPoint(new), self.in_block():
            self._take_over(block.arguments, new.arguments)
            for view in block.operations:
                self.lower(view.operation)

    def skip(self, op: Operation) -> None:
        """Emit nothing for operations that only the compiler or the launch reads."""

    def same(self, op: Operation) -> None:
        """Use the same registers."""
        self.values[op.results[0]] = self.value(op.operands[0])

    def global_view(self, op: Operation) -> None:
        sizes, strides, offset = global_sizes(op.results[0])
        element = MemRefType(op.results[0].type).element_type
        address = address_of(self._argument_of(op.operands[0]), _GLOBAL)
        if isinstance(offset, int):
            address = advanced(address, offset * bytes_of(element))
        else:
            i64 = IntegerType.get_signless(64)
            wide = arith.index_cast(i64, self.value(offset))
            nbytes = arith.constant(i64, bytes_of(element))
            address = advanced(address, arith.muli(wide, nbytes))
        steps = [self._i32(stride, most=64) for stride in strides]
        view = GlobalView(address, [self._i32(n) for n in sizes], steps, element)
        self.values[op.results[0]] = view

    def _argument_of(self, value: Value) -> Value:
        while not hasattr(value, "arg_number"):
            value = value.owner.operands[0]
        return value

    def _i32(self, number: Value | int, most: int = 32) -> Number:
        """The integer that was cast to an index, of 32 bits, or of up to `most`."""
        if isinstance(number, int):
            return number
        new = self.value(number)
        owner = getattr(new, "owner", None)
        if owner is not None and getattr(owner, "name", "") == "arith.index_cast":
            source = owner.operands[0]
            if IntegerType(source.type).width in (32, most):
                return source
        return arith.index_cast(IntegerType.get_signless(most), new)

    def alloc(self, op: Operation) -> None:
        type = MemRefType(op.results[0].type)
        strides, _ = type.get_strides_and_offset()
        base, element = self.shared_base(), type.element_type
        view = SharedView.placed(base, op, type.shape, strides, element)
        self.values[op.results[0]] = view

    def part_of_shared(self, op: Operation) -> None:
        whole: SharedView = self.value(op.operands[0])
        indices = [self._i32(value) for value in list(op.operands)[1:]]
        self.values[op.results[0]] = shared_part(op, whole, indices)

    def permuted_shared(self, op: Operation) -> None:
        whole: SharedView = self.value(op.operands[0])
        order = permutation(op)
        self.values[op.results[0]] = replace(
            whole,
            shape=tuple(whole.shape[dim] for dim in order),
            strides=tuple(whole.strides[dim] for dim in order),
            _kept={},
        )

    def _reshaped_shared(self, op: Operation) -> None:
        whole: SharedView = self.value(op.operands[0])
        type = MemRefType(op.results[0].type)
        if whole.panel:
            raise UserError(
                "reshape_shared of a tensor that bulk copies or wgmma access",
                where=location_text(op.location),
                notes=[f"its rows are divided into panels of {whole.row_bytes} bytes"],
            )
        shape, strides = tuple(type.shape), tuple(type.get_strides_and_offset()[0])
        self.values[op.results[0]] = replace(whole, shape=shape, strides=strides, _kept={})

    def reinterpret(self, op: Operation) -> None:
        if isinstance(self.value(op.operands[0]), SharedView):
            self._reshaped_shared(op)
        else:
            self.global_view(op)

    def view_of(self, tensor: Value) -> SharedView:
        whole: SharedView = self.value(tensor)
        return replace(whole, _kept={})

    def _access(
        self, op: Operation, memory: Value, layout: RegisterLayout, shape: Sequence[int]
    ) -> GlobalTile:
        view: GlobalView = self.value(memory)
        offsets = list(op.operands)[-len(view.sizes) :]
        sizes, _, _ = global_sizes(memory)

        def inside(dim: int, extent: int) -> bool:
            return self.numbers.fits(offsets[dim], extent, sizes[dim])

        new = [self.value(offset) for offset in offsets]
        packed = packed_elements(self.numbers, op, memory)
        cut = is_ragged(self.numbers, op, memory, packed)
        return GlobalTile(view, layout, shape, dims_of(op), new, self.thread, inside, packed, cut)

    def inside(self, op: Operation) -> None:
        layout = parse_layout(StringAttr(op.attributes["layout"]).value)
        tile = self._access(op, op.operands[0], layout, layout.shape)
        found = tile.inside(layout.local_offsets[0])
        i1 = IntegerType.get_signless(1)
        self.values[op.results[0]] = arith.constant(i1, 1) if found is True else found

    def load_global(self, op: Operation) -> None:
        tile = self._access(op, op.operands[0], *_placed(op.results[0]))
        self.values[op.results[0]] = tile.load(loads_in(op, self.thread))

    def store_global(self, op: Operation) -> None:
        tile = self._access(op, op.operands[1], *_placed(op.operands[0]))
        tile.store(self.value(op.operands[0]), self.thread)

    def load_shared(self, op: Operation) -> None:
        view, layout = self.view_of(op.operands[0]), known_layout(op.results[0])
        read = read_matrices if takes_matrices(view, layout) else read_shared
        self.values[op.results[0]] = read(view, layout, self.thread)

    def store_shared(self, op: Operation) -> None:
        layout, value = known_layout(op.operands[0]), self.value(op.operands[0])
        view = self.view_of(op.operands[1])
        by_warps = self.stores_matrices and stores_matrices(view, layout)
        (write_matrices if by_warps else write_shared)(view, layout, self.thread, value)

    def copy_async(self, op: Operation) -> None:
        view = self.view_of(op.operands[1])
        packed = packed_elements(self.numbers, op, op.operands[0])
        threads = threads_of(op, self.threads)
        layout = padded(threads, view.shape, math.gcd(packed, ACCESS_BYTES // view.nbytes))
        tile = self._access(op, op.operands[0], layout, view.shape)
        checked = BoolAttr(op.attributes["check_bounds"]).value
        copy(tile, view, self.thread, not checked)

    def wait_group(self, op: Operation) -> None:
        nvvm.cp_async_wait_group(number_of(op, "n"))

    def wait_all(self, op: Operation) -> None:
        nvvm.cp_async_commit_group()
        nvvm.cp_async_wait_group(0)

    def sync(self, op: Operation) -> None:
        barrier(op)

    def dot(self, op: Operation) -> None:
        values = [self.value(operand) for operand in op.operands]
        self.values[op.results[0]] = dot(op, values, self.thread)

    def indices(self, op: Operation) -> None:
        layout, dim = known_layout(op.results[0]), number_of(op, "dim")
        i32 = IntegerType.get_signless(32)
        base = as_i32(thread_base(layout, self.thread)[dim])
        type = VectorType.get([layout.local_size], i32)
        steps = [IntegerAttr.get(i32, offset[dim]) for offset in layout.local_offsets]
        behind = arith.constant(type, DenseElementsAttr.get(steps, type))
        self.values[op.results[0]] = arith.addi(vector.broadcast(type, base), behind)

    def splat(self, op: Operation) -> None:
        type = self.type(op.results[0].type)
        self.values[op.results[0]] = vector.broadcast(type, self.value(op.operands[0]))

    def broadcast(self, op: Operation) -> None:
        source, result = known_layout(op.operands[0]), known_layout(op.results[0])
        positions = {offset: at for at, offset in enumerate(source.local_offsets)}
        order = [
            positions[tuple(0 if size == 1 else n for n, size in zip(o, source.shape, strict=True))]
            for o in result.local_offsets
        ]
        self.values[op.results[0]] = permuted(self.value(op.operands[0]), order)

    def reduce(self, op: Operation) -> None:
        value = self.value(op.operands[0])
        self.values[op.results[0]] = reduced(value, op, self.thread, self.shared_base)

    def scan(self, op: Operation) -> None:
        value = self.value(op.operands[0])
        self.values[op.results[0]] = scanned(value, op, self.thread, self.shared_base)

    def view(self, op: Operation) -> None:
        self.values[op.results[0]] = regrouped(self.value(op.operands[0]), op)

    def atomic(self, op: Operation) -> None:
        view, operands = self._memory(op.operands[0]), list(op.operands)[1:]
        values = [self.value(operand) for operand in operands]
        self.values[op.results[0]] = combine(op, view, values, self.thread, self.shared_base)

    def store_scatter(self, op: Operation) -> None:
        value, indices = self.value(op.operands[0]), self.value(op.operands[2])
        scatter(op, self._memory(op.operands[1]), value, indices, self.thread)

    def _memory(self, tensor: Value) -> GlobalView | SharedView:
        found: GlobalView | SharedView = self.value(tensor)
        return found if isinstance(found, GlobalView) else self.view_of(tensor)

    def lock(self, op: Operation) -> None:
        address = address_of(self._argument_of(op.operands[0]), _GLOBAL)
        lock(op, address, self.value(op.operands[1]), self.value(op.operands[2]), self.thread)

    def release(self, op: Operation) -> None:
        address = address_of(self._argument_of(op.operands[0]), _GLOBAL)
        release(address, self.value(op.operands[1]), self.value(op.operands[2]), self.thread)

    def printf(self, op: Operation) -> None:
        print_text(op, self.kernel, [self.value(value) for value in op.operands], self.thread)

    def convert_layout(self, op: Operation) -> None:
        value = self.value(op.operands[0])
        self.values[op.results[0]] = converted(value, op, self.thread, self.shared_base)

    def item(self, op: Operation) -> None:
        self.values[op.results[0]] = vector.extract(self.value(op.operands[0]), [], [0])

    def block_id(self, op: Operation) -> None:
        i32 = IntegerType.get_signless(32)
        self.values[op.results[0]] = _BLOCK_IDS[number_of(op, "dim")](i32)

    def grid_dim(self, op: Operation) -> None:
        i32 = IntegerType.get_signless(32)
        self.values[op.results[0]] = _GRID_DIMS[number_of(op, "dim")](i32)


def _placed(tile: Value) -> tuple[RegisterLayout, Sequence[int]]:
    """The layout and the shape of a tile."""
    return known_layout(tile), RankedTensorType(tile.type).shape


_LOWERINGS: Mapping[str, Callable[[_Lowering, Operation], None]] = MappingProxyType(
    {
        "tile.grid": _Lowering.skip,
        "tile.commit_group": lambda it, op: nvvm.cp_async_commit_group(),
        "tile.assume": lambda it, op: keep_promise(op, it.value(op.operands[0])),
        "tile.buffer": _Lowering.skip,
        "memref.dealloc": _Lowering.skip,
        "builtin.unrealized_conversion_cast": _Lowering.skip,
        **dict.fromkeys(("tile.transpose", "tile.reshape", "memref.cast"), _Lowering.same),
        "memref.reinterpret_cast": _Lowering.reinterpret,
        "memref.alloc": _Lowering.alloc,
        "memref.subview": _Lowering.part_of_shared,
        "memref.transpose": _Lowering.permuted_shared,
        "tensor.splat": _Lowering.splat,
        "scf.yield": _Lowering.end,
        "scf.condition": _Lowering.end,
        **{
            f"tile.{name}": getattr(_Lowering, name)
            for name in (
                *("load_global", "store_global", "load_shared", "store_shared", "copy_async"),
                *("wait_group", "wait_all", "sync", "dot", "indices"),
                *("scan", "view", "atomic", "store_scatter", "lock", "release", "printf"),
                *("broadcast", "reduce", "convert_layout", "item", "block_id", "grid_dim"),
                *("inside", "in_group", "mbarrier_alloc", "mbarrier_arrive", "mbarrier_expect"),
                *("mbarrier_wait", "fence_proxy", "tensor_map", "tma_load", "tma_store"),
                *("tma_commit", "tma_wait", "wgmma", "wgmma_fence", "wgmma_commit", "wgmma_wait"),
                *("tma_multicast", "cluster_sync", "cluster_arrive", "set_registers"),
            )
        },
    }
)
