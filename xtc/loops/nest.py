# SPDX-License-Identifier: Apache-2.0
"""Loop nests as data: the loops over each axis, their order and their annotations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xtc.core.location import SourceLocation
from xtc.loops.external import External
from xtc.loops.mesh import Mesh

ALL = -1
"""The unroll factor for complete unrolling, until the trip count is known."""

Subscript = tuple[tuple[str, int], ...]
"""One index of an operand as axes with their factors: `w * 2 + s` is `(("w", 2), ("s", 1))`."""


@dataclass(frozen=True)
class Axis:
    """One dimension of an operation's iteration space.

    Attributes:
        name: its name.
        size: its number of iterations.
        reduction: whether it is a reduction dimension.
        groups: the numbers of adjacent elements that an instruction can sum at once.
        unordered: whether elements along it can be combined in any order, like integers.
    """

    name: str
    size: int
    reduction: bool = False
    groups: tuple[int, ...] = ()
    unordered: bool = False


@dataclass(frozen=True)
class Space:
    """The iteration space of an operation, with the properties that schedules depend on.

    Attributes:
        axes: the dimensions of the iteration space, in the operation's order.
        operands: the number of operands.
        computed: the numbers of operands whose producers can be fused.
        subscripts: indices of operands that are not a single axis.
        ranks: the rank of each operand; () if unknown.
        moved: for data movement, the contiguous axes of the operand and of the result, if they
            differ.
        mesh: the processor mesh for distributed loops, or None.
        levels: the machine's levels of parallel loops: 1 for threads, 2 for blocks of threads.
    """

    axes: tuple[Axis, ...]
    operands: int = 0
    computed: tuple[int, ...] = ()
    subscripts: tuple[Subscript, ...] = ()
    ranks: tuple[int, ...] = ()
    moved: tuple[str, ...] = ()
    mesh: Mesh | None = None
    levels: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes in order."""
        return tuple(axis.name for axis in self.axes)

    @property
    def reduced(self) -> int:
        """The number of elements that are reduced to one."""
        return math.prod(axis.size for axis in self.axes if axis.reduction)

    def axis(self, name: str) -> Axis | None:
        """The axis called `name`, or None."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def size(self, name: str) -> int:
        """The size of the axis called `name`; 0 if it does not exist."""
        axis = self.axis(name)
        return axis.size if axis else 0

    def renamed(self, names: Mapping[str, str]) -> Space:
        """The space with renamed axes."""
        axes = tuple(replace(axis, name=names[axis.name]) for axis in self.axes)
        subscripts = tuple(
            tuple((names[axis], factor) for axis, factor in index) for index in self.subscripts
        )
        moved = tuple(names[axis] for axis in self.moved)
        return replace(self, axes=axes, subscripts=subscripts, moved=moved)

    def resized(self, size_of: Callable[[Axis], int]) -> Space:
        """The space with other sizes."""
        return replace(self, axes=tuple(replace(a, size=size_of(a)) for a in self.axes))


@dataclass(frozen=True)
class NestLoop:
    """One loop.

    Attributes:
        axis: its axis.
        tile: the number of the axis' elements that one run of the loop covers; None for all.
        name: the user's name for it; by default `i` or `i#4`.
        unroll: the unroll factor; 0 for none, `ALL` for complete unrolling.
        vectorize: the loop becomes vector instructions.
        reassociate: the vectors of a reduction may change its order.
        parallelize: the iterations run on several threads.
        buffer: the result's tile inside this loop is computed in a local buffer.
        pack: the operands whose tile inside this loop is packed into a buffer first.
        fuse: the operands whose producer is fused into this loop.
        consumer: the consumer of the result is fused into this loop.
        distribute: the axis of the processor mesh that shares the iterations, or "".
        shard: the operands sharded over the memory mesh, by number, with an axis of it, or `*`,
            for each dimension.
        external: the function that replaces the loops inside this one, or None.
        where: its location, for messages.
    """

    axis: str
    tile: int | None = None
    name: str = ""
    unroll: int = 0
    vectorize: bool = False
    reassociate: bool = False
    parallelize: bool = False
    buffer: bool = False
    pack: tuple[int, ...] = ()
    fuse: tuple[int, ...] = ()
    consumer: bool = False
    distribute: str = ""
    shard: tuple[tuple[int, tuple[str, ...]], ...] = ()
    external: External | None = None
    where: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.name:
            plain = self.axis if self.tile is None else f"{self.axis}#{self.tile}"
            object.__setattr__(self, "name", plain)


@dataclass(frozen=True)
class Segment:
    """A range of an axis, start included and stop excluded, with its nest.

    `written` is the user's spelling, for messages.
    """

    axis: str
    start: int
    stop: int
    nest: Nest
    written: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """Its spelling in data: `i[0:48]`."""
        return f"{self.axis}[{self.start}:{self.stop}]"


@dataclass(frozen=True)
class Extent:
    """The range of a loop.

    Attributes:
        loop: the loop.
        size: the number of elements of its axis that one run covers.
        step: the number of elements that one iteration covers.
    """

    loop: NestLoop
    size: int
    step: int

    @property
    def trips(self) -> int:
        """The trip count, including a last partial iteration."""
        return -(-self.size // self.step)


@dataclass(frozen=True)
class Nest:
    """Loops from the outermost to the innermost, then either the body or several segments.

    Attributes:
        space: the iteration space; inside a segment, the part that enclosing loops leave.
        loops: outermost first; every axis has its whole-axis loop, unless the segments have it.
        segments: the segments that replace the body of the innermost loop, in order.
        notes: messages about requests with no or reduced effect.
    """

    space: Space
    loops: tuple[NestLoop, ...] = ()
    segments: tuple[Segment, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The iteration space's axes."""
        return self.space.axes

    def fitted(self, space: Space) -> Nest:
        """This nest for `space`, with missing loops over whole axes added outermost, in order.

        With segments, axes without a loop here are left to them.
        """
        given = replace(self, space=space)
        present = {loop.axis for loop in self.loops if loop.tile in (None, space.size(loop.axis))}
        tiled = {loop.axis for loop in self.loops}
        missing = [
            axis
            for axis in space.axes
            if axis.name not in present and axis.size > 1
            if axis.name in tiled or not self.segments
        ]
        loops = (*(NestLoop(axis.name) for axis in missing), *self.loops)
        given = replace(given, loops=loops)
        parts = (replace(s, nest=s.nest.fitted(given.inside(s))) for s in self.segments)
        return replace(given, segments=tuple(parts))

    def inside(self, segment: Segment) -> Space:
        """The iteration space of a segment."""
        left = self.left()
        cut = {segment.axis: segment.stop - segment.start}
        return self.space.resized(lambda axis: cut.get(axis.name, left[axis.name]))

    def left(self) -> dict[str, int]:
        """The number of elements of each axis that an innermost iteration covers."""
        left = {axis.name: axis.size for axis in self.axes}
        return left | {extent.loop.axis: extent.step for extent in self.extents()}

    def extents(self) -> list[Extent]:
        """The range of each loop, outermost first."""
        covered = {axis.name: axis.size for axis in self.axes}
        result = []
        for position, loop in enumerate(self.loops):
            whole = covered.get(loop.axis, 1)
            size = whole if loop.tile is None else min(loop.tile, whole)
            step = self.step(position, size)
            covered[loop.axis] = step
            result.append(Extent(loop, size, step))
        return result

    def step(self, position: int, size: int) -> int:
        """The number of elements that an iteration of the loop at `position` covers, out of `size`.

        The innermost loop over a split axis leaves all of its elements to the segments.
        """
        axis = self.loops[position].axis
        tiles = [loop.tile or 1 for loop in self.loops[position + 1 :] if loop.axis == axis]
        if not tiles and self.segments and self.segments[0].axis == axis:
            return max(1, size)
        return max(1, min(tiles[0] if tiles else self._first_tile(axis), size))

    def _first_tile(self, axis: str) -> int:
        """The largest outermost tile of `axis` in any segment."""
        return max((_outer_tile(segment.nest, axis) for segment in self.segments), default=1)

    def renamed(self, names: Mapping[str, str]) -> Nest:
        """The nest with renamed axes and unchanged loop names."""
        return Nest(
            self.space.renamed(names),
            tuple(replace(loop, axis=names[loop.axis]) for loop in self.loops),
            tuple(
                replace(segment, axis=names[segment.axis], nest=segment.nest.renamed(names))
                for segment in self.segments
            ),
            self.notes,
        )

    def walk(self) -> Iterator[Nest]:
        """This nest and the nests of all its segments."""
        yield self
        for segment in self.segments:
            yield from segment.nest.walk()


def _outer_tile(nest: Nest, axis: str) -> int:
    tiles = (loop.tile or 1 for loop in nest.loops if loop.axis == axis)
    divided = bool(nest.segments) and nest.segments[0].axis == axis
    return next(tiles, nest.segments[-1].stop if divided else nest._first_tile(axis))


def is_plain_reduction(nest: Nest, loop: NestLoop) -> bool:
    """Whether a loop is over a reduction whose elements no single instruction combines.

    Such an instruction works together with vectors of the result, in its own order.
    """
    axis = nest.space.axis(loop.axis)
    if axis is None or not axis.reduction:
        return False
    grouped = (loop.tile or axis.size) in axis.groups and not loop.reassociate
    return not grouped or not any(
        other.vectorize and _is_of_result(nest, other) for other in nest.loops
    )


def _is_of_result(nest: Nest, loop: NestLoop) -> bool:
    axis = nest.space.axis(loop.axis)
    return axis is not None and not axis.reduction


def annotations_of(loop: NestLoop) -> list[str]:
    """The annotations of a loop, for printing."""
    annotations = []
    if loop.distribute:
        annotations.append(f"distribute {loop.distribute}")
    if loop.parallelize:
        annotations.append("parallelize")
    if loop.unroll:
        annotations.append(f"unroll {loop.unroll}")
    if loop.vectorize:
        annotations.append("vectorize in any order" if loop.reassociate else "vectorize")
    if loop.buffer:
        annotations.append("buffer")
    annotations += [f"pack {operand}" for operand in loop.pack]
    annotations += [f"fuse {operand}" for operand in loop.fuse]
    annotations += ["fuse consumer"] * loop.consumer
    annotations += [f"shard {operand} [{', '.join(axes)}]" for operand, axes in loop.shard]
    annotations += [f"external {loop.external.function}"] if loop.external else []
    return annotations


def nest_text(nest: Nest, title: str) -> str:
    """The nest as indented pseudo-code under a title."""
    space = ", ".join(
        f"{axis.name}: {axis.size}{' reduced' if axis.reduction else ''}" for axis in nest.axes
    )
    notes = [f"  note: {note}" for note in nest.notes]
    return "\n".join([f"{title} ({space})", *_lines(nest, title, 1), *notes])


def _lines(nest: Nest, title: str, depth: int) -> list[str]:
    lines = []
    for extent in nest.extents():
        annotations = annotations_of(extent.loop)
        comment = f"  // {', '.join(annotations)}" if annotations else ""
        by = f" step {extent.step}" if extent.step > 1 else ""
        lines.append(f"{'  ' * depth}for {extent.loop.name} in 0..{extent.size}{by}{comment}")
        depth += 1
    for segment in nest.segments:
        lines.append(f"{'  ' * depth}{segment.name}:")
        lines += _lines(segment.nest, title, depth + 1)
    if not nest.segments:
        lines.append(f"{'  ' * depth}{title}")
    return lines


def axis_names(axes: Sequence[Axis]) -> list[str]:
    """Names of axes in order."""
    return [axis.name for axis in axes]
