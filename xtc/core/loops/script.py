# SPDX-License-Identifier: Apache-2.0
"""A loop nest as transform-dialect operations, in phases between which Python rewrites the IR.

Tiling, splitting and fusing are transforms; copying a tile to a buffer of its own is done between
two phases, on the operation that the phase before has marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xtc.core.loops.nest import Nest, NestLoop

VECTORIZE = "xtc.vectorize"
UNROLL = "xtc.unroll"
ANY = "!transform.any_op"


@dataclass(frozen=True)
class Materialize:
    """Between two phases: give the marked operation buffers of its own.

    Attributes:
        mark: the attribute that finds the operation.
        operands: inputs to copy to a buffer first.
        result: whether the result is computed in a buffer and copied out.
    """

    mark: str
    operands: tuple[int, ...]
    result: bool


@dataclass(frozen=True)
class Unmark:
    """Between two phases: only the operation outside of loops keeps the mark of a producer."""

    mark: str


@dataclass
class Phase:
    """Transform operations, then what Python does before the next phase."""

    lines: list[str] = field(default_factory=list)
    action: Materialize | Unmark | None = None


@dataclass
class ScriptWriter:
    """Writes the phases for one operation after another."""

    phases: list[Phase] = field(default_factory=lambda: [Phase()])
    _count: int = 0

    def add(self, nest: Nest, mark: str, producers: Mapping[int, str]) -> None:
        """Transforms that make `nest` of the operation marked `mark`.

        `producers` has the marks of the operations that compute fused operands.
        """
        walk = _Walk(self, tuple(axis.name for axis in nest.axes), producers)
        sizes = {axis.name: axis.size for axis in nest.axes}
        walk.nest(self.match(mark), nest, 0, sizes)

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
        """A handle of the operations that carry the unit attribute `mark`."""
        text = f"transform.structured.match attributes {{{mark}}} in %root : ({ANY}) -> {ANY}"
        return self.new(text)[0]

    def annotate(self, handle: str, name: str, value: int | None = None) -> None:
        """Put an attribute on an operation."""
        if value is None:
            self.line(f'transform.annotate {handle} "{name}" : {ANY}')
            return
        (number,) = self.new(f"transform.param.constant {value} : i64 -> !transform.param<i64>")
        self.line(f'transform.annotate {handle} "{name}" = {number} : {ANY}, !transform.param<i64>')

    def mark(self, handle: str) -> str:
        """Mark an operation under a new name, to find it again in a later phase."""
        self._count += 1
        name = f"xtc.mark.{self._count}"
        self.annotate(handle, name)
        return name

    def end_phase(self, action: Materialize | Unmark) -> None:
        """Let Python act; handles from before are gone."""
        self.phases[-1].action = action
        self.phases.append(Phase())


@dataclass(frozen=True)
class _Walk:
    """Descends one nest; `order` is the operation's own order of axes."""

    writer: ScriptWriter
    order: tuple[str, ...]
    producers: Mapping[int, str]

    def nest(self, handle: str, nest: Nest, position: int, sizes: dict[str, int]) -> None:
        if position == len(nest.loops):
            self._end(handle, nest, sizes)
            return
        loop = nest.loops[position]
        if loop.vectorize:
            self.writer.annotate(handle, VECTORIZE)
            return
        group = _parallel_group(nest.loops, position)
        steps = {one.axis: _step(nest.loops, position, one, sizes) for one in group}
        uneven = next((a for a, step in steps.items() if sizes[a] % step), None)
        if uneven is not None:
            at = sizes[uneven] - sizes[uneven] % steps[uneven]
            self._split(handle, uneven, [0, at, sizes[uneven]], [(nest, position)] * 2, sizes)
            return
        self._loop(handle, nest, position, group, steps, sizes)

    def _loop(
        self,
        handle: str,
        nest: Nest,
        position: int,
        group: Sequence[NestLoop],
        steps: Mapping[str, int],
        sizes: dict[str, int],
    ) -> None:
        """One loop (or a group of parallel ones); none where a single iteration covers it all."""
        writer = self.writer
        around = None
        if any(sizes[axis] > step for axis, step in steps.items()):
            tiles = ", ".join(str(steps.get(axis, 0)) for axis in self.order)
            form = "forall" if group[0].parallelize else "for"
            handle, around = writer.new(
                f"transform.structured.tile_using_{form} {handle} tile_sizes [{tiles}] : "
                f"({ANY}) -> ({ANY}, {ANY})",
                2,
            )
            self._name(around, group, sizes, steps)
        for loop in group:
            handle = self._inside(handle, around, loop)
        self.nest(handle, nest, position + len(group), {**sizes, **steps})

    def _name(
        self,
        around: str,
        group: Sequence[NestLoop],
        sizes: Mapping[str, int],
        steps: Mapping[str, int],
    ) -> None:
        for loop in group:
            self.writer.annotate(around, f"./{loop.name}")
            trips = sizes[loop.axis] // steps[loop.axis]
            if loop.unroll and trips > 1:
                self.writer.annotate(around, UNROLL, min(loop.unroll, trips))

    def _inside(self, handle: str, around: str | None, loop: NestLoop) -> str:
        """What the loop asks for inside of it: fused producers, then buffers."""
        writer = self.writer
        for operand in loop.fuse:
            if around is not None:
                handle = self._fuse(handle, around, self.producers[operand])
        if loop.pack or loop.buffer:
            mark = writer.mark(handle)
            writer.end_phase(Materialize(mark, loop.pack, loop.buffer))
            handle = writer.match(mark)
        return handle

    def _fuse(self, handle: str, around: str, producer: str) -> str:
        writer = self.writer
        mark = writer.mark(handle)
        source = writer.match(producer)
        writer.new(
            f"transform.structured.fuse_into_containing_op {source} into {around} : "
            f"({ANY}, {ANY}) -> ({ANY}, {ANY})",
            2,
        )
        writer.end_phase(Unmark(producer))
        return writer.match(mark)

    def _end(self, handle: str, nest: Nest, sizes: dict[str, int]) -> None:
        if not nest.segments:
            return
        first = nest.segments[0]
        bounds = [first.start, *(segment.stop for segment in nest.segments)]
        inner = [(segment.nest, 0) for segment in nest.segments]
        self._split(handle, first.axis, bounds, inner, sizes)

    def _split(
        self,
        handle: str,
        axis: str,
        bounds: Sequence[int],
        inner: Sequence[tuple[Nest, int]],
        sizes: dict[str, int],
    ) -> None:
        """Cut the iteration space at `bounds`; each part goes on with its own nest."""
        writer = self.writer
        parts, rest = [], handle
        for at, start in zip(bounds[1:-1], bounds[:-2], strict=True):
            dimension = self.order.index(axis)
            (both,) = writer.new(
                f"transform.structured.split {rest} after {at - start} "
                f"{{dimension = {dimension}}} : {ANY}"
            )
            part, rest = writer.new(f"transform.split_handle {both} : ({ANY}) -> ({ANY}, {ANY})", 2)
            parts.append(part)
        marks = [writer.mark(part) for part in (*parts, rest)]
        extents = [stop - start for start, stop in zip(bounds, bounds[1:], strict=False)]
        for mark, (nest, position), extent in zip(marks, inner, extents, strict=True):
            self.nest(writer.match(mark), nest, position, {**sizes, axis: extent})


def _parallel_group(loops: Sequence[NestLoop], position: int) -> tuple[NestLoop, ...]:
    """The loop at `position`, with the parallel ones that follow it over other axes."""
    first = loops[position]
    if not first.parallelize:
        return (first,)
    group = [first]
    for loop in loops[position + 1 :]:
        if not loop.parallelize or loop.axis in {one.axis for one in group}:
            break
        group.append(loop)
    return tuple(group)


def _step(
    loops: Sequence[NestLoop], position: int, loop: NestLoop, sizes: Mapping[str, int]
) -> int:
    """How much of its axis one iteration of `loop` covers: the next tile inside, else 1."""
    inner = (one.tile for one in loops[position + 1 :] if one.axis == loop.axis and one != loop)
    return min(next(inner, 1) or 1, sizes[loop.axis])


def with_axes(nest: Nest, operands: int) -> Nest:
    """The nest for an operation that reads `operands` operands."""
    return replace(nest, operands=operands)
