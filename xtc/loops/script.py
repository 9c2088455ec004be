# SPDX-License-Identifier: Apache-2.0
"""Writes a plan as transform-dialect operations, in phases between which Python rewrites the IR.

Tiling, splitting and fusing are transforms; packing a tile into a buffer is done between two
phases, on the operation that the previous phase marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xtc.ir.attributes import (
    AXES,
    EXTERNAL,
    MARK_PREFIX,
    PARTIAL_SUMS,
    UNROLL,
    VECTORIZE,
    loop_path,
)
from xtc.ir.transform import ANY
from xtc.loops.external import External
from xtc.loops.nest import NestLoop
from xtc.loops.plan import Level, Loops, Plan, Split

_MAPPINGS: dict[Level, str] = {
    "memories": "block",
    "processors": "thread",
    "blocks": "block",
    "threads": "thread",
}
_ON_MESH = ("memories", "processors")


@dataclass(frozen=True)
class Materialize:
    """An action between two phases: add local buffers to the marked operation.

    Attributes:
        mark: the attribute that finds the operation.
        operands: inputs to pack first.
        result: whether the result is computed in a buffer and copied out.
    """

    mark: str
    operands: tuple[int, ...]
    result: bool


@dataclass(frozen=True)
class Fuse:
    """An action between two phases: fuse a producer of the marked operation into the marked loop.

    Attributes:
        mark: the attribute that finds the operation.
        operand: the number of the input.
        loop: the attribute that finds the loop.
    """

    mark: str
    operand: int
    loop: str


@dataclass
class Phase:
    """Transform operations, then a Python action.

    Attributes:
        matches: the handles of marked operations at the start of the phase, by mark.
        lines: the operations of the script after these matches.
        action: the Python action at the end of the phase.
    """

    matches: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    action: Materialize | Fuse | None = None


@dataclass
class ScriptWriter:
    """Writes the phases for one operation after another."""

    phases: list[Phase] = field(default_factory=lambda: [Phase()])
    externals: list[External] = field(default_factory=list)
    _count: int = 0
    _marked: dict[str, str] = field(default_factory=dict)

    def add(
        self, plan: Plan, axes: tuple[str, ...], mark: str, before: tuple[int, ...] = ()
    ) -> None:
        """Add transforms that apply `plan` to the operation marked `mark`, which has these axes.

        `before` has operands to pack first.
        """
        walk = _Walk(self, axes)
        walk.plan(walk.packed(self.match(mark), before), plan)

    def line(self, text: str) -> None:
        """Append an operation without results."""
        self.phases[-1].lines.append(text)

    def new(self, text: str, results: int = 1) -> list[str]:
        """Append an operation; returns the names of its results."""
        names = [f"%h{self._count + position}" for position in range(results)]
        self._count += results
        self.line(f"{', '.join(names)} = {text}")
        return names

    def match(self, mark: str) -> str:
        """A handle to the operations with the unit attribute `mark`."""
        if mark in self._marked:
            return self._marked[mark]
        self._count += 1
        return self.phases[-1].matches.setdefault(mark, f"%m{self._count}")

    def annotate(self, handle: str, name: str, value: int | None = None) -> None:
        """Set an attribute of an operation."""
        if value is None:
            self.line(f'transform.annotate {handle} "{name}" : {ANY}')
            return
        (number,) = self.new(f"transform.param.constant {value} : i64 -> !transform.param<i64>")
        self.line(f'transform.annotate {handle} "{name}" = {number} : {ANY}, !transform.param<i64>')

    def number_of(self, external: External) -> int:
        """The number that identifies this function in attributes."""
        if external not in self.externals:
            self.externals.append(external)
        return self.externals.index(external)

    def annotate_texts(self, handle: str, name: str, texts: Sequence[str]) -> None:
        """Set an attribute of an operation to a list of texts."""
        value = ", ".join(f'"{text}"' for text in texts)
        (param,) = self.new(f"transform.param.constant [{value}] -> !transform.any_param")
        self.line(f'transform.annotate {handle} "{name}" = {param} : {ANY}, !transform.any_param')

    def mark(self, handle: str) -> str:
        """Mark an operation with a new name, to find it in a later phase."""
        self._count += 1
        name = f"{MARK_PREFIX}{self._count}"
        self.annotate(handle, name)
        self._marked[name] = handle
        return name

    def end_phase(self, action: Materialize | Fuse) -> None:
        """End the phase with a Python action, which invalidates all handles."""
        self.phases[-1].action = action
        self.phases.append(Phase())
        self._marked.clear()


@dataclass(frozen=True)
class _Walk:
    """Writes one plan recursively; `axes` is in the operation's order."""

    writer: ScriptWriter
    axes: tuple[str, ...]

    def plan(self, handle: str, plan: Plan) -> None:
        if isinstance(plan, Split):
            self._split(handle, plan)
        elif isinstance(plan, Loops):
            self._loops(handle, plan)
        elif plan.vector:
            self.writer.annotate(handle, VECTORIZE)
        elif plan.external:
            self.writer.annotate(handle, EXTERNAL, self.writer.number_of(plan.external))

    def _loops(self, handle: str, plan: Loops) -> None:
        """Write a loop, unless it runs once and nothing is inserted into it."""
        writer = self.writer
        around = ""
        handle = self.packed(handle, plan.before)
        if plan.partial:
            handle, around = self._partial_sums(handle, plan)
        elif plan.level or not plan.runs_once or any(loop.fuse for loop in plan.loops):
            tiles = ", ".join(str(plan.steps.get(axis, 0)) for axis in self.axes)
            form = "forall" if plan.loops[0].parallelize or plan.level else "for"
            handle, around = writer.new(
                f"transform.structured.tile_using_{form} {handle} tile_sizes [{tiles}]"
                f"{self._mapping(plan)} : ({ANY}) -> ({ANY}, {ANY})",
                2,
            )
            self._name(around, plan)
        for loop in plan.loops:
            handle = self._inside(handle, around, loop)
        self.plan(handle, plan.inner)

    def _partial_sums(self, handle: str, plan: Loops) -> tuple[str, str]:
        """A loop that accumulates a vector of partial sums, and their reduction after it."""
        writer = self.writer
        tiles = ", ".join(str(plan.steps.get(axis, 0)) for axis in self.axes)
        _, handle, whole, around = writer.new(
            f"transform.structured.tile_reduction_using_for {handle} by tile_sizes = [{tiles}]"
            f" : ({ANY}) -> ({', '.join([ANY] * 4)})",
            4,
        )
        writer.annotate(whole, PARTIAL_SUMS)
        self._name(around, plan)
        return handle, around

    def packed(self, handle: str, operands: tuple[int, ...]) -> str:
        """The operation with the tiles of these operands packed."""
        return self._materialized(handle, operands, result=False) if operands else handle

    def _materialized(self, handle: str, operands: tuple[int, ...], *, result: bool) -> str:
        mark = self.writer.mark(handle)
        self.writer.end_phase(Materialize(mark, operands, result))
        return self.writer.match(mark)

    def _mapping(self, plan: Loops) -> str:
        """The mapping of a distributed loop; the last dimension varies fastest."""
        if not plan.level:
            return ""
        axes = [axis for axis in self.axes if axis in plan.steps]
        order = [loop.axis for loop in plan.loops]
        kind = _MAPPINGS[plan.level]
        numbers = (len(order) - 1 - order.index(axis) for axis in axes)
        return f" (mapping = [{', '.join(f'#gpu.{kind}<linear_dim_{n}>' for n in numbers)}])"

    def _name(self, around: str, plan: Loops) -> None:
        if plan.level in _ON_MESH:
            order = [loop.axis for loop in plan.loops]
            named = [
                (axis, mesh_axis) for axis, mesh_axis in zip(order, plan.mesh_axes, strict=False)
            ]
            named.sort(key=lambda pair: self.axes.index(pair[0]))
            self.writer.annotate_texts(around, AXES, [mesh_axis for _, mesh_axis in named])
            if not named:
                return
        for loop in plan.loops:
            self.writer.annotate(around, loop_path(loop.name))
            trips = plan.trips(loop)
            if loop.unroll and trips > 1:
                self.writer.annotate(around, UNROLL, min(loop.unroll, trips))

    def _inside(self, handle: str, around: str, loop: NestLoop) -> str:
        """Apply the loop's annotations inside it: fused producers, then buffers."""
        for operand in loop.fuse:
            handle, around = self._fuse(handle, around, operand)
        if loop.pack or loop.buffer:
            handle = self._materialized(handle, loop.pack, result=loop.buffer)
        return handle

    def _fuse(self, handle: str, around: str, operand: int) -> tuple[str, str]:
        """Fuse the operand's producer into the loop `around`."""
        writer = self.writer
        mark, loop = writer.mark(handle), writer.mark(around)
        writer.end_phase(Fuse(mark, operand, loop))
        return writer.match(mark), writer.match(loop)

    def _split(self, handle: str, plan: Split) -> None:
        """Split the iteration space; each part has its own plan."""
        writer = self.writer
        parts, rest = [], handle
        dimension = self.axes.index(plan.axis)
        for start, stop in zip(plan.bounds[:-2], plan.bounds[1:-1], strict=True):
            (both,) = writer.new(
                f"transform.structured.split {rest} after {stop - start} "
                f"{{dimension = {dimension}}} : {ANY}"
            )
            part, rest = writer.new(f"transform.split_handle {both} : ({ANY}) -> ({ANY}, {ANY})", 2)
            parts.append(part)
        marks = [writer.mark(part) for part in (*parts, rest)]
        for mark, part_plan in zip(marks, plan.parts, strict=True):
            self.plan(writer.match(mark), part_plan)
