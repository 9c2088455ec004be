# SPDX-License-Identifier: Apache-2.0
"""map-tensors: adds tensor maps, and the memory layout that bulk copies and wgmma need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from xtc.core.errors import UserError
from xtc.ir.attributes import TF32, WARPS
from xtc.ir.builders.tile import dims_of, location_text, number_of, tensor_map
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    Type,
    Value,
    all_operations,
)
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._kernels import add_argument
from xtc_targets.nvgpu.passes._launch_maps import add_launch_map
from xtc_targets.nvgpu.passes._tiles.shared_memory import PANEL, bytes_of

MAP = "nvgpu.map"
"""Integer on a bulk copy: the index of the kernel argument that is its map."""

ROW_BYTES = 128
_ROWS = (16, 32, 64)
_MOST_ROWS = 256  # of a box, "CUDA Driver API", cuTensorMapEncodeTiled
_MAP = "memref<128xi8, 1>"
_HOPPER = ("tile.mbarrier_", "tile.tma_", "tile.wgmma", "tile.fence_proxy", "tile.cluster_")
NewMap: TypeAlias = Callable[[Operation, Value, list[int], int, bool], int]
"""Adds a map of a tensor, a box, a swizzle, and whether copies round to tfloat32, to a kernel;
returns its argument's index."""
MULTICAST = "tile.tma_multicast"
_COPIES = {"tile.tma_load": (1, 0), MULTICAST: (1, 0), "tile.tma_store": (0, 1)}
"""Bulk copies, with the operand indices of their shared and global tensors."""


@dataclass(frozen=True)
class MapTensors(Pass):
    """Add an argument for each tensor map that bulk copies need, and divide rows into panels.

    Before:
        %s = memref.alloc() : memref<128x128xf16, 2>
        "tile.tma_load"(%g, %s, %barrier, %i, %m, %k) : ...
    After, with another argument %map of the kernel:
        %s = memref.alloc() {nvgpu.panel = 64} : memref<128x128xf16, 2>
        "tile.tensor_map"(%map, %g) {box = array<i64: 128, 64>, swizzle = 128}
        "tile.tma_load"(...) {nvgpu.map = 3} : ...

    A map is acquired by the threads that read it: in the innermost branch around its copies, but
    outside of loops.

    With `by_launch` a launch encodes the maps, from the addresses of the kernel's other arguments:
        func.func @f(.., %map: !llvm.ptr) attributes {nvgpu.maps = [array<i64: ..>]}

    Raises UserError for rows that are neither 16, 32 or 64 bytes nor a multiple of 128, and for
    these instructions if the GPU does not support them.

    Attributes:
        bulk: whether the GPU supports bulk copies and warpgroups.
        by_launch: whether launches encode the maps; else the arguments are their addresses.
    """

    name: ClassVar[str] = "map-tensors"
    bulk: bool = True
    by_launch: bool = False

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in top_level(module):
                if WARPS in kernel.attributes:
                    _require(kernel, self.bulk)
                    _arrange(kernel, add_launch_map if self.by_launch else _new_map)


def _require(kernel: Operation, bulk: bool) -> None:
    for op in all_operations(kernel):
        if op.name.startswith(_HOPPER) and not bulk:
            raise UserError(
                f"{op.name.partition('.')[2]} is an instruction of sm_90a",
                where=location_text(op.location),
                hints=["compile for it: NvgpuOptions(arch='sm_90a')"],
            )


def _arrange(kernel: Operation, new_map: NewMap) -> None:
    ops = all_operations(kernel)
    for op in ops:
        shared = [op.operands[_COPIES[op.name][0]]] if op.name in _COPIES else []
        if op.name == "tile.wgmma":
            shared = [v for v in list(op.operands)[:2] if isinstance(v.type, MemRefType)]
        for value in shared:
            _set_panel(value, op)
    known: dict[Any, int] = {}
    copies = [op for op in ops if op.name in _COPIES]
    for op in copies:
        _set_map(kernel, op, known, new_map)
    for op in all_operations(kernel):
        if op.name == "tile.tensor_map":
            number = op.operands[0].arg_number
            _acquire_late(op, [copy for copy in copies if number_of(copy, MAP) == number])


def root_of(value: Value) -> Operation:
    """The allocation that a shared tensor is a part of."""
    op: Operation = value.owner.operation
    while op.name != "memref.alloc":
        op = op.operands[0].owner.operation
    return op


def _reshaped(op: Operation) -> list[Operation]:
    """The views of an allocation, or of a view, in another shape."""
    users = [use.owner.operation for use in op.results[0].uses]
    found = [each for each in users if each.name == "memref.reinterpret_cast"]
    return [*found, *(inner for each in found for inner in _reshaped(each))]


def _set_panel(value: Value, op: Operation) -> None:
    root = root_of(value)
    type = MemRefType(root.results[0].type)
    nbytes = bytes_of(type.element_type)
    row = type.shape[-1] * nbytes
    if row % ROW_BYTES and row not in _ROWS:
        raise UserError(
            f"{op.name.partition('.')[2]}: rows of a shared tensor have {row} bytes",
            where=location_text(op.location),
            notes=[f"it is allocated at {location_text(root.location)}"],
            hints=["use rows of 16, 32 or 64 bytes, or of a multiple of 128"],
        )
    for reshaped in _reshaped(root):
        columns = MemRefType(reshaped.results[0].type).shape[-1]
        if columns != type.shape[-1]:
            raise UserError(
                "reshape_shared changes the rows of a tensor that bulk copies or wgmma access",
                where=location_text(reshaped.location),
                notes=[f"its rows have {type.shape[-1]} elements, which the hardware swizzles"],
                hints=[
                    "keep the size of the last dimension, or allocate the tensor with rows "
                    f"of {columns} elements"
                ],
            )
    if row > ROW_BYTES:
        panel = ROW_BYTES // nbytes
        root.attributes[PANEL] = IntegerAttr.get(IntegerType.get_signless(64), panel)


def box_of(value: Value) -> list[int]:
    """The box of one bulk copy of a shared tensor: rows of a panel, the last dimension last."""
    type, root = MemRefType(value.type), root_of(value)
    panel = int(IntegerAttr(root.attributes[PANEL]).value) if PANEL in root.attributes else 0
    box = [1] * (len(type.shape) - 1) + [min(type.shape[-1], panel or type.shape[-1])]
    if len(type.shape) > 1:
        rows = type.shape[-2]
        box[-2] = max(n for n in range(1, min(rows, _MOST_ROWS) + 1) if rows % n == 0)
    return box


def swizzle_of(value: Value) -> int:
    """Bytes of the swizzle pattern of a shared tensor; 0 if it is not swizzled."""
    type = MemRefType(root_of(value).results[0].type)
    row = min(type.shape[-1] * bytes_of(type.element_type), ROW_BYTES)
    return 0 if row == _ROWS[0] else row


def _set_map(kernel: Operation, op: Operation, known: dict[Any, int], new_map: NewMap) -> None:
    shared, tensor = (op.operands[number] for number in _COPIES[op.name])
    rank = len(MemRefType(tensor.type).shape)
    box = [1] * rank
    for dim, size in zip(dims_of(op), box_of(shared), strict=True):
        box[dim] = size
    if rank > 5:
        raise UserError(
            f"{op.name.partition('.')[2]} of a tensor of {rank} dimensions",
            where=location_text(op.location),
            hints=["a bulk copy supports up to 5"],
        )
    tf32 = TF32 in op.attributes
    key = (tensor, tuple(box), swizzle_of(shared), tf32)
    i64 = IntegerType.get_signless(64)
    if key not in known:
        with op.location:
            known[key] = new_map(kernel, tensor, box, swizzle_of(shared), tf32)
    op.attributes[MAP] = IntegerAttr.get(i64, known[key])


def _acquire_late(op: Operation, copies: list[Operation]) -> None:
    """Move a tile.tensor_map to just before the copies with this map, outside of their loops."""
    maker = op.operands[1].owner.operation
    first, *others = (_path(maker, copy) for copy in copies)
    depth = 0
    while all(
        depth + 1 < len(path) and path[depth + 1].block == first[depth + 1].block
        for path in (first, *others)
    ):
        depth += 1
    around = [view.operation for view in first[depth].block.operations]
    op.move_before(min((path[depth] for path in (first, *others)), key=around.index))


def _path(maker: Operation, op: Operation) -> list[Operation]:
    """The operations that contain `op`, each a branch in the previous one, from the block of
    `maker` on; the last one is `op` or a loop around it."""
    path = [op]
    while path[0].block != maker.block:
        path.insert(0, path[0].parent.operation)
    for depth, each in enumerate(path):
        if each.name != "scf.if":
            return path[: depth + 1]
    return path


def _new_map(kernel: Operation, tensor: Value, box: list[int], swizzle: int, tf32: bool) -> int:
    argument = add_argument(kernel, Type.parse(_MAP))
    maker = tensor.owner.operation
    around = [view.operation for view in maker.block.operations]
    with InsertionPoint(around[around.index(maker) + 1]):
        tensor_map(argument, tensor, box, swizzle, tf32=tf32)
    return int(argument.arg_number)
