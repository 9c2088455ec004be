# SPDX-License-Identifier: Apache-2.0
"""infer-tile-layouts: infers the layout of every register tile from its instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from xtc.core.errors import UserError
from xtc.core.padded_layout import padded, reshaped
from xtc.core.tile_layout import RegisterLayout, parse_layout
from xtc.ir.attributes import K_STEP, WARPS
from xtc.ir.builders import tile
from xtc.ir.builders.tile import dims_of, group_of, location_text, number_of
from xtc.ir.mlir import (
    Block,
    BlockArgument,
    DenseElementsAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    RankedTensorType,
    StringAttr,
    Value,
    all_operations,
)
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass
from xtc.ir.tile_dialect import layout_of, with_layout
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._tiles.bits import view_layouts
from xtc_targets.nvgpu.passes._tiles.classes import Classes, is_tile
from xtc_targets.nvgpu.passes._tiles.dot import DotLayouts, dot_layouts
from xtc_targets.nvgpu.passes._tiles.numbers import Numbers, packed_elements, shared_width
from xtc_targets.nvgpu.passes._tiles.shared_memory import bytes_of
from xtc_targets.nvgpu.passes._tiles.wgmma import layout_of_sums
from xtc_targets.nvgpu.passes._tiles.wgmma_registers import operand_layout


@dataclass(frozen=True)
class InferTileLayouts(Pass):
    """Add the register layout to the type of each tile, and insert conversions between layouts.

    Before:
        %a = "tile.load_shared"(%sa) : (memref<64x32xf16, 2>) -> tensor<64x32xf16>
        %d = "tile.dot"(%a, %b, %c) : (...) -> tensor<64x64xf32>
    After:
        %a = "tile.load_shared"(%sa) : (..) -> tensor<64x32xf16, #tile.layout<"shape(64,32) ..">>

    Tiles that are connected by elementwise instructions, loops and branches have the same layout:
    the user's, else a dot's, else that of 16-byte accesses to global memory. A
    `tile.convert_layout` precedes an instruction that needs another layout. A layout in a tile's
    type applies to its class; kernels whose tiles all have layouts are unchanged.

    Raises UserError if a user's layout does not fit the block, or conflicts with another one.
    """

    name: ClassVar[str] = "infer-tile-layouts"

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in top_level(module):
                if WARPS in kernel.attributes and _lacks_layouts(kernel):
                    with kernel.location:
                        _Inference(kernel).run()


class _Inference:
    """Infers the layouts of a kernel."""

    def __init__(self, kernel: Operation) -> None:
        self.kernel, self.warps = kernel, number_of(kernel, WARPS)
        self.threads = self.warps * WARP
        _copy_free_tiles(kernel)
        self.ops = all_operations(kernel)
        require_one_group(self.ops)
        self.classes = Classes(self.ops)
        self.numbers = Numbers(kernel)
        self.layouts: dict[int, RegisterLayout] = {}
        self.givers: dict[int, Operation] = {}
        self.dots: dict[
            int, DotLayouts
        ] = {}  # by the operation's identity, since its hash changes with types

    def run(self) -> None:
        self._given()
        self._annotations()
        self._views()
        self._warpgroups()
        self._dots()
        self._accesses()
        for op in self.ops:
            for value in _tiles(op):
                self._assign(value, self._default(value, 1), op)
        self._write()

    def _threads_of(self, op: Operation) -> int:
        """The number of threads that run an operation."""
        group = group_of(op)
        return self.threads if group is None else group[1]

    def _assign(self, value: Value, layout: RegisterLayout, op: Operation) -> None:
        """Assign a layout to a tile's class, and propagate it to related classes without one."""
        number = self.classes.of(value)
        if number in self.layouts:
            return
        self.layouts[number] = layout
        self.givers[number] = op
        for user in self.classes.relations[number]:
            for other, wanted in self._follows(user, number, layout):
                if wanted is not None:
                    self._assign(other, wanted, user)

    def _follows(
        self, op: Operation, number: int, layout: RegisterLayout
    ) -> list[tuple[Value, RegisterLayout | None]]:
        """The layouts of an operation's tiles that follow from the layout of class `number`."""
        if op.name == "tile.dot":
            if self.classes.of(op.operands[2]) == number and id(op) in self.dots:
                dot = self.dots[id(op)]
                return [(op.operands[0], dot.a), (op.operands[1], dot.b)]
            return []
        source, result = op.operands[0], op.results[0]
        if self.classes.of(source) == number:
            return [(result, _forward(op, layout))]
        return [(source, _backward(op, layout))]

    def _given(self) -> None:
        """Assign the layouts in the types of tiles."""
        for op in self.ops:
            for value in _tiles(op):
                layout = layout_of(value)
                if layout is not None:
                    self._assign(value, layout, op)

    def _annotations(self) -> None:
        for op in self.ops:
            if op.name != "tile.annotate_layout":
                continue
            layout = parse_layout(StringAttr(op.attributes["layout"]).value).merged()
            where = location_text(op.location)
            self._require_threads(op, layout, "annotate_layout", where)
            number = self.classes.of(op.results[0])
            if number in self.layouts and self.layouts[number] != layout:
                first = location_text(self.givers[number].location)
                raise UserError(
                    "annotate_layout: the tile already has another layout",
                    where=where,
                    notes=[f"given at {first}: {self.layouts[number]}", f"given here: {layout}"],
                    hints=["annotate a tile once, or annotate a copy of it"],
                )
            self._assign(op.results[0], layout, op)

    def _views(self) -> None:
        """Assign the layouts that users specify for results of views."""
        for op in self.ops:
            if op.name == "tile.view" and StringAttr(op.attributes["layout"]).value:
                layout = parse_layout(StringAttr(op.attributes["layout"]).value).merged()
                self._require_threads(op, layout, "view", location_text(op.location))
                self._assign(op.results[0], layout, op)

    def _require_threads(
        self, op: Operation, layout: RegisterLayout, name: str, where: str
    ) -> None:
        threads = self._threads_of(op)
        if layout.spatial_size != threads:
            who = f"the group has {threads}"
            if threads == self.threads:
                who = f"the block has {threads}: {self.warps} warps"
            raise UserError(
                f"{name}: the layout is for {layout.spatial_size} threads",
                where=where,
                notes=[who, f"layout: {layout}"],
            )

    def _warpgroups(self) -> None:
        """Assign layouts to accumulators of warpgroups, which cannot be converted before a wait."""
        for op in self.ops:
            if op.name == "tile.wgmma":
                self._assign(op.results[0], layout_of_sums(op, self._threads_of(op)), op)
        for op in self.ops:
            if op.name == "tile.wgmma" and is_tile(op.operands[0]):
                self._assign(op.operands[0], self._fragments(op), op)

    def _fragments(self, op: Operation) -> RegisterLayout:
        """Assign the layout of a warpgroup's operand A in registers."""
        type = RankedTensorType(op.operands[0].type)
        (m, k), nbytes = type.shape, bytes_of(type.element_type)
        return operand_layout(m, k, self._threads_of(op), nbytes)

    def _dots(self) -> None:
        dots = [op for op in self.ops if op.name == "tile.dot"]
        chained = [op for op in dots if self._feeds_from_dot(op, dots)]
        sources = {self.classes.of(dot.operands[0]) for dot in chained}
        for op in dots:
            rows_only = op in chained or self.classes.of(op.results[0]) in sources
            layouts = dot_layouts(op, self._threads_of(op), rows_only)
            given = self.layouts.get(self.classes.of(op.results[0]))
            self.dots[id(op)] = layouts
            if given is None:
                self._assign(op.results[0], layouts.c, op)

    def _feeds_from_dot(self, op: Operation, dots: list[Operation]) -> bool:
        """Whether operand A is computed elementwise from another dot's result."""
        number = self.classes.of(op.operands[0])
        return any(self.classes.of(dot.results[0]) == number for dot in dots)

    def _accesses(self) -> None:
        """Assign layouts with contiguous accesses to tiles of global memory, the largest first."""
        found = [
            (op, op.results[0] if op.name == "tile.load_global" else op.operands[0])
            for op in self.ops
            if op.name in ("tile.load_global", "tile.store_global")
        ]
        for op, value in sorted(found, key=lambda pair: -_size(pair[1])):
            memory = op.operands[0 if op.name == "tile.load_global" else 1]
            packed = packed_elements(self.numbers, op, memory)
            packed = shared_width(packed, _size(value), self._threads_of(_maker(value)))
            self._assign(value, self._default(value, packed), op)

    def _default(self, value: Value, packed: int) -> RegisterLayout:
        shape = RankedTensorType(value.type).shape
        return padded(self._threads_of(_maker(value)), shape, packed)

    def _write(self) -> None:
        values = [value for op in self.ops for value in _tiles(op)]
        blocks = [b for op in self.ops for region in op.regions for b in region.blocks]
        values += [
            argument for block in blocks for argument in block.arguments if is_tile(argument)
        ]
        for value in values:
            number = self.classes.of(value)
            if number not in self.layouts:
                self._assign(value, self._default(value, 1), _maker(value))
            value.set_type(with_layout(value.type, self.layouts[number]))
        for op in self.ops:
            with op.location:
                self._convert(op)

    def _convert(self, op: Operation) -> None:
        """Convert operands and results whose class has another layout than the operation needs."""
        if op.name == "arith.constant" and is_tile(op.results[0]):
            _retype_constant(op)
        elif op.name == "tile.dot":
            dot = self.dots[id(op)]
            for number, wanted in enumerate((dot.a, dot.b, dot.c)):
                _convert_operand(op, number, wanted)
            _convert_result(op, dot.c)
            if dot.step:
                op.attributes[K_STEP] = IntegerAttr.get(IntegerType.get_signless(64), dot.step)
        elif op.name == "tile.wgmma":
            layout = layout_of_sums(op, self._threads_of(op))
            if is_tile(op.operands[0]):
                _convert_operand(op, 0, self._fragments(op), early=True)
            _convert_operand(op, 2, layout)
            _convert_result(op, layout)
        elif op.name == "tile.broadcast":
            _convert_operand(op, 0, _backward(op, layout_of(op.results[0])))
        elif op.name in ("tile.reduce", "tile.transpose"):
            _convert_result(op, _forward(op, layout_of(op.operands[0])))
        elif op.name == "tile.reshape":
            _convert_reshape(op)
        elif op.name == "tile.view":
            wanted, made = view_layouts(op, self._threads_of(op))
            _convert_operand(op, 0, wanted)
            _convert_result(op, made)
        elif op.name == "tile.annotate_layout":
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()


def _convert_reshape(op: Operation) -> None:
    """Convert a reshape whose result cannot have the layout of its operand."""
    follows = _forward(op, layout_of(op.operands[0]))
    if follows is not None:
        _convert_result(op, follows)
        return
    with InsertionPoint(op):
        made = tile.convert_layout(op.operands[0], op.results[0].type)
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _forward(op: Operation, layout: RegisterLayout | None) -> RegisterLayout | None:
    """The layout of the result that follows from the operand's."""
    if layout is None or op.name == "tile.broadcast":
        return None
    if op.name == "tile.reduce":
        return layout.reduced([number_of(op, "dim")])
    if op.name == "tile.transpose":
        return layout.permuted(dims_of(op)).merged()
    before, after = (
        RankedTensorType(value.type).shape for value in (op.operands[0], op.results[0])
    )
    return reshaped(layout, before, after)


def _backward(op: Operation, layout: RegisterLayout | None) -> RegisterLayout | None:
    """The layout of the operand that follows from the result's."""
    if layout is None or op.name == "tile.reduce":
        return None
    shape = RankedTensorType(op.operands[0].type).shape
    if op.name == "tile.broadcast":
        wide = RankedTensorType(op.results[0].type).shape
        return layout.reduced([at for at, size in enumerate(shape) if size != wide[at]])
    if op.name == "tile.transpose":
        dims = dims_of(op)
        return layout.permuted([dims.index(at) for at in range(len(dims))]).merged()
    return reshaped(layout, RankedTensorType(op.results[0].type).shape, shape)


def _convert_operand(
    op: Operation, number: int, wanted: RegisterLayout | None, *, early: bool = False
) -> None:
    """Convert before the operation, or after the definition: before a fence of registers."""
    value = op.operands[number]
    if wanted is None or layout_of(value) == wanted:
        return
    at_once = early and not isinstance(value, BlockArgument)
    with InsertionPoint.after(value.owner.operation) if at_once else InsertionPoint(op):
        op.operands[number] = tile.convert_layout(value, with_layout(value.type, wanted))


def _convert_result(op: Operation, made: RegisterLayout | None) -> None:
    """Give the operation's result this layout, and convert it to that of its class."""
    result = op.results[0]
    expected = layout_of(result)
    if made is None or expected is None or made == expected:
        return
    result.set_type(with_layout(result.type, made))
    block = op.block
    after = [view.operation for view in block.operations]
    following = after[after.index(op) + 1]
    with InsertionPoint(following):
        converted = tile.convert_layout(result, with_layout(result.type, expected))
    result.replace_all_uses_except(converted, [converted.owner.operation])


def _retype_constant(op: Operation) -> None:
    given = DenseElementsAttr(op.attributes["value"])
    op.attributes["value"] = DenseElementsAttr.get_splat(
        op.results[0].type, given.get_splat_value()
    )


def _lacks_layouts(kernel: Operation) -> bool:
    """Whether a tile of a kernel has no layout yet."""
    return any(layout_of(value) is None for op in all_operations(kernel) for value in _tiles(op))


def _copy_free_tiles(kernel: Operation) -> None:
    """Duplicate tiles that cost nothing for each use, so that each copy gets a separate layout."""
    for op in all_operations(kernel):
        if op.name not in ("tensor.splat", "arith.constant", "tile.indices"):
            continue
        if not is_tile(op.results[0]):
            continue
        uses = list(op.results[0].uses)
        for use in uses if _is_elsewhere(op, uses) else uses[1:]:
            user = use.owner.operation if hasattr(use.owner, "operation") else use.owner
            with op.location:
                made = op.clone(ip=InsertionPoint(user))
            user.operands[use.operand_number] = made.operation.results[0]


def _is_elsewhere(op: Operation, uses: Sequence[Any]) -> bool:
    """Whether a tile is used by other threads than those that run its operation."""
    own = group_of(op)
    return any(group_of(use.owner.operation) != own for use in uses)


def _maker(value: Value) -> Operation:
    """The operation that defines a value, or whose block has it as an argument."""
    owner = value.owner
    found: Operation = owner.owner.operation if isinstance(owner, Block) else owner.operation
    return found


def require_one_group(ops: Sequence[Operation]) -> None:
    """Raise UserError if threads use a tile of other threads."""
    for op in ops:
        for value in op.operands:
            if is_tile(value) and group_of(op) != group_of(_maker(value)):
                raise UserError(
                    f"{op.name.partition('.')[2]} uses a tile of other threads",
                    where=location_text(op.location),
                    notes=[
                        f"it is defined at {location_text(_maker(value).location)}",
                        f"by {_named(group_of(_maker(value)))}, and used by {_named(group_of(op))}",
                    ],
                    hints=[_shared_by(value)],
                )


def _named(group: tuple[int, int] | None) -> str:
    if group is None:
        return "all threads of the block"
    first, size = group
    return f"thread {first}" if size == 1 else f"threads {first} to {first + size - 1}"


def _shared_by(tile: Value) -> str:
    if _size(tile) == 1:
        return "x.item() is the number in a tile of one element: it can be used in all groups"
    return "define it in the threads that use it, or pass it through shared memory"


def _tiles(op: Operation) -> list[Value]:
    return [value for value in op.results if is_tile(value)]


def _size(value: Value) -> int:
    total = 1
    for size in RankedTensorType(value.type).shape:
        total *= size
    return total
