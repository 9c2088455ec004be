# SPDX-License-Identifier: Apache-2.0
"""A loop nest as data: which loops run over which axes, in what order, and what is done to each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xtc.core.location import SourceLocation
from xtc.loops.external import External
from xtc.loops.mesh import Mesh

ALL = -1
"""The unroll factor that stands for all iterations, until it is known how many there are."""

Subscript = tuple[tuple[str, int], ...]
"""One index of an operand as axes with their factors: `w * 2 + s` is `(("w", 2), ("s", 1))`."""


@dataclass(frozen=True)
class Axis:
    """One dimension of an operation's iteration space.

    Attributes:
        name: what it is called.
        size: how many iterations it has.
        reduction: whether it is summed over.
        groups: how many neighbouring terms of the sum an instruction may add up at once.
        unordered: whether elements along it may be combined in any order, as integers may.
    """

    name: str
    size: int
    reduction: bool = False
    groups: tuple[int, ...] = ()
    unordered: bool = False


@dataclass(frozen=True)
class Space:
    """What a nest runs over.

    Attributes:
        axes: the iteration space, in the operation's own order.
        operands: how many operands the operation reads.
        computed: which of them an operation computes that can be fused, by number.
        subscripts: indices of operands that are more than one axis alone.
        ranks: rank of each operand; () where unknown.
        moved: of an operation that only moves elements, the axes along which neighbours of its
            operand and of its result lie, where these differ.
        mesh: the processors that loops may be distributed over, or None.
        levels: how many levels of parallel loops the machine has: 1 are threads, 2 are blocks and
            the threads of each.
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
        """How many terms an element of the result is a sum of."""
        return math.prod(axis.size for axis in self.axes if axis.reduction)

    def axis(self, name: str) -> Axis | None:
        """The axis called `name`, or None."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def size(self, name: str) -> int:
        """Elements of the axis called `name`; 0 if there is none."""
        axis = self.axis(name)
        return axis.size if axis else 0

    def renamed(self, names: Mapping[str, str]) -> Space:
        """The same space with other names of axes."""
        axes = tuple(replace(axis, name=names[axis.name]) for axis in self.axes)
        subscripts = tuple(
            tuple((names[axis], factor) for axis, factor in index) for index in self.subscripts
        )
        moved = tuple(names[axis] for axis in self.moved)
        return replace(self, axes=axes, subscripts=subscripts, moved=moved)

    def resized(self, size_of: Callable[[Axis], int]) -> Space:
        """The same space with other sizes."""
        return replace(self, axes=tuple(replace(a, size=size_of(a)) for a in self.axes))


@dataclass(frozen=True)
class NestLoop:
    """One loop.

    Attributes:
        axis: the axis it runs over.
        tile: how many of the axis' elements one run of the loop covers; None is all of them.
        name: how the user refers to it, `i` or `i#4` unless named otherwise.
        unroll: how many copies of the body are written out; 0 if it stays a loop, `ALL` for as
            many as there are iterations.
        vectorize: the loop becomes vector instructions.
        reassociate: elements along a reduction are combined in another order, for its vectors.
        parallelize: iterations run on several threads.
        buffer: the result's tile inside this loop is computed in a separate buffer.
        pack: operands whose tile inside this loop is copied to a buffer first.
        fuse: operands whose producer is computed inside this loop, tile by tile.
        consumer: what reads the result is computed inside this loop, tile by tile.
        distribute: the axis of the processor mesh whose places share the iterations, or "".
        spread: operands that the memory mesh holds, by number, with an axis of it, or `*`, for
            each of their dimensions.
        external: the function that computes what is inside this loop, or None.
        where: where a text has it, for messages.
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
    spread: tuple[tuple[int, tuple[str, ...]], ...] = ()
    external: External | None = None
    where: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.name:
            plain = self.axis if self.tile is None else f"{self.axis}#{self.tile}"
            object.__setattr__(self, "name", plain)


@dataclass(frozen=True)
class Segment:
    """A range of an axis, start included and stop excluded, with its nest.

    `written` is how the user wrote it, for messages.
    """

    axis: str
    start: int
    stop: int
    nest: Nest
    written: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """How data refers to it: `i[0:48]`."""
        return f"{self.axis}[{self.start}:{self.stop}]"


@dataclass(frozen=True)
class Extent:
    """What one loop runs over.

    Attributes:
        loop: the loop.
        size: how many elements of its axis one run of it covers.
        step: how many elements one iteration covers.
    """

    loop: NestLoop
    size: int
    step: int

    @property
    def trips(self) -> int:
        """How many iterations one run has, a last partial one included."""
        return -(-self.size // self.step)


@dataclass(frozen=True)
class Nest:
    """Loops from the outermost to the innermost, then either the body or several segments.

    Attributes:
        space: the iteration space; inside a segment, what the loops around it leave of it.
        loops: outermost first; every axis has its whole-axis loop unless the segments have.
        segments: what the innermost loop runs one after the other, in place of the body.
        notes: requests that came to nothing, or to less than was written, for people.
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
        """This nest for `space`, every axis looped over: what lacks is added outermost, in order.

        An axis that no loop here runs over is left to the segments.
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
        """What the loops here leave to a segment."""
        left = self.left()
        cut = {segment.axis: segment.stop - segment.start}
        return self.space.resized(lambda axis: cut.get(axis.name, left[axis.name]))

    def left(self) -> dict[str, int]:
        """Elements of each axis that one iteration of the innermost loop covers."""
        left = {axis.name: axis.size for axis in self.axes}
        return left | {extent.loop.axis: extent.step for extent in self.extents()}

    def extents(self) -> list[Extent]:
        """What each loop runs over, outermost first."""
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
        """Elements that one iteration of the loop at `position` covers, of `size` it runs over.

        The innermost loop over an axis that segments divide leaves them all that it covers.
        """
        axis = self.loops[position].axis
        tiles = [loop.tile or 1 for loop in self.loops[position + 1 :] if loop.axis == axis]
        if not tiles and self.segments and self.segments[0].axis == axis:
            return max(1, size)
        return max(1, min(tiles[0] if tiles else self._first_tile(axis), size))

    def _first_tile(self, axis: str) -> int:
        """The largest tile of `axis` that a segment begins with."""
        return max((_outer_tile(segment.nest, axis) for segment in self.segments), default=1)

    def renamed(self, names: Mapping[str, str]) -> Nest:
        """The same nest with other names of axes; those of loops stay."""
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
        """This nest and those of all segments in it."""
        yield self
        for segment in self.segments:
            yield from segment.nest.walk()


def _outer_tile(nest: Nest, axis: str) -> int:
    tiles = (loop.tile or 1 for loop in nest.loops if loop.axis == axis)
    divided = bool(nest.segments) and nest.segments[0].axis == axis
    return next(tiles, nest.segments[-1].stop if divided else nest._first_tile(axis))


def is_plain_reduction(nest: Nest, loop: NestLoop) -> bool:
    """Whether a loop is over a reduction of which no single instruction combines the elements.

    Such an instruction works beside vectors of the result, and in its own order.
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


def words_of(loop: NestLoop) -> list[str]:
    """What is done to a loop, in words, for printing."""
    words = []
    if loop.distribute:
        words.append(f"distribute {loop.distribute}")
    if loop.parallelize:
        words.append("parallelize")
    if loop.unroll:
        words.append(f"unroll {loop.unroll}")
    if loop.vectorize:
        words.append("vectorize in any order" if loop.reassociate else "vectorize")
    if loop.buffer:
        words.append("buffer")
    words += [f"pack {operand}" for operand in loop.pack]
    words += [f"fuse {operand}" for operand in loop.fuse]
    words += ["fuse consumer"] * loop.consumer
    words += [f"spread {operand} [{', '.join(axes)}]" for operand, axes in loop.spread]
    words += [f"external {loop.external.function}"] if loop.external else []
    return words


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
        words = words_of(extent.loop)
        comment = f"  // {', '.join(words)}" if words else ""
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
