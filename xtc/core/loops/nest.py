# SPDX-License-Identifier: Apache-2.0
"""A loop nest as data: which loops run over which axes, in what order, and what is done to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Axis:
    """One dimension of an operation's iteration space."""

    name: str
    size: int
    reduction: bool = False


@dataclass(frozen=True)
class NestLoop:
    """One loop.

    Attributes:
        axis: the axis it runs over.
        tile: how many of the axis' elements one run of the loop covers; None is all of them.
        name: how the user refers to it, `i` or `i#4` unless named otherwise.
        unroll: how many copies of the body are written out; 0 where it stays a loop.
        vectorize: the loop becomes vector instructions.
        parallelize: iterations run on several threads.
        buffer: the result's tile inside this loop is computed in a buffer of its own.
        pack: operands whose tile inside this loop is copied to a buffer first.
        fuse: operands whose producer is computed inside this loop, tile by tile.
    """

    axis: str
    tile: int | None = None
    name: str = ""
    unroll: int = 0
    vectorize: bool = False
    parallelize: bool = False
    buffer: bool = False
    pack: tuple[int, ...] = ()
    fuse: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            plain = self.axis if self.tile is None else f"{self.axis}#{self.tile}"
            object.__setattr__(self, "name", plain)


@dataclass(frozen=True)
class Segment:
    """A range of an axis, start included and stop excluded, with a nest of its own."""

    axis: str
    start: int
    stop: int
    nest: Nest

    @property
    def name(self) -> str:
        """How data refers to it: `i[0:48]`."""
        return f"{self.axis}[{self.start}:{self.stop}]"


@dataclass(frozen=True)
class Nest:
    """Loops from the outermost to the innermost, then either the body or several segments.

    Attributes:
        axes: the iteration space, in the operation's own order; inside a segment its part of it.
        loops: outermost first; every axis has its whole-axis loop unless a segment follows.
        segments: what the innermost loop runs one after the other, in place of the body.
        operands: how many operands the operation reads.
    """

    axes: tuple[Axis, ...]
    loops: tuple[NestLoop, ...] = ()
    segments: tuple[Segment, ...] = ()
    operands: int = field(default=0, compare=False)

    def axis(self, name: str) -> Axis | None:
        """The axis called `name`, or None."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def completed(self) -> Nest:
        """This nest with a whole-axis loop for each axis that lacks one, outermost and in order."""
        present = {loop.axis for loop in self.loops if loop.tile is None}
        split = {segment.axis for segment in self.segments}
        done = present | split | self._left_inside()
        missing = [axis for axis in self.axes if axis.name not in done and axis.size > 1]
        return replace(self, loops=(*(NestLoop(axis.name) for axis in missing), *self.loops))

    def _left_inside(self) -> set[str]:
        """Axes whose whole-axis loop is inside the segments."""
        nests = [segment.nest for segment in self.segments]
        return {loop.axis for nest in nests for loop in nest.loops if loop.tile is None}

    def extents(self) -> list[tuple[NestLoop, int, int]]:
        """Each loop with how many elements it covers and how many one iteration of it covers."""
        covered = {axis.name: axis.size for axis in self.axes}
        result = []
        for position, loop in enumerate(self.loops):
            extent = covered[loop.axis] if loop.tile is None else min(loop.tile, covered[loop.axis])
            step = self._step(position, extent)
            covered[loop.axis] = step
            result.append((loop, extent, step))
        return result

    def _step(self, position: int, extent: int) -> int:
        axis = self.loops[position].axis
        inner = [loop.tile for loop in self.loops[position + 1 :] if loop.axis == axis]
        if inner and inner[0] is not None:
            return min(inner[0], extent)
        return 1


def annotations(loop: NestLoop) -> list[str]:
    """What is done to a loop, in words, for printing."""
    words = []
    if loop.parallelize:
        words.append("parallelize")
    if loop.unroll:
        words.append(f"unroll {loop.unroll}")
    if loop.vectorize:
        words.append("vectorize")
    if loop.buffer:
        words.append("buffer")
    words += [f"pack {operand}" for operand in loop.pack]
    words += [f"fuse {operand}" for operand in loop.fuse]
    return words


def nest_text(nest: Nest, title: str) -> str:
    """The nest as indented pseudo-code under a title."""
    space = ", ".join(
        f"{axis.name}: {axis.size}{' reduced' if axis.reduction else ''}" for axis in nest.axes
    )
    return "\n".join([f"{title} ({space})", *_lines(nest, title, 1)])


def _lines(nest: Nest, title: str, depth: int) -> list[str]:
    lines = []
    for loop, extent, step in nest.extents():
        words = annotations(loop)
        comment = f"  // {', '.join(words)}" if words else ""
        by = f" step {step}" if step > 1 else ""
        lines.append(f"{'  ' * depth}for {loop.name} in 0..{extent}{by}{comment}")
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
