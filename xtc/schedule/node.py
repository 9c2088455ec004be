# SPDX-License-Identifier: Apache-2.0
"""How the loops of one operator run: the scheduling primitives, each with its before and after.

Every call is checked at once against the nest as it then stands, and a call that would change
nothing is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from typing_extensions import Self

from xtc.core.errors import UserError, about, did_you_mean, located, shown
from xtc.core.location import user_location
from xtc.loops import Axis, Nest, NestLoop, Segment, Space, check_nest, nest_data, nest_text
from xtc.schedule.values import integer, integers, text, texts

MAX_NAME = 64


@dataclass(eq=False)
class NodeSchedule:
    """The loop nest of one operator, or of one segment of it.

    Attributes:
        node: the operator's name in the graph.
        space: what it runs over; inside a segment, what the loops around it leave of that.
    """

    node: str
    space: Space
    _loops: list[NestLoop] = field(default_factory=list)
    _parts: list[tuple[str, int, int, NodeSchedule]] = field(default_factory=list)
    _parent: NodeSchedule | None = None
    _own: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._own = self._own or {name: name for name in self.dims}
        if not self._loops:
            self._loops = [NestLoop(axis.name) for axis in self.axes if self._is_open(axis)]

    def _is_open(self, axis: Axis) -> bool:
        return self._parent is None or axis.size > 1

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The iteration space's axes."""
        return self.space.axes

    @property
    def operands(self) -> int:
        """How many operands the operator reads."""
        return self.space.operands

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes, in the operator's own order."""
        return self.space.names

    @property
    def loops(self) -> tuple[str, ...]:
        """Names of the loops, from the outermost to the innermost."""
        return tuple(loop.name for loop in self._loops)

    @property
    def nest(self) -> Nest:
        """The loop nest as it stands."""
        segments = tuple(
            Segment(axis, start, stop, child.nest) for axis, start, stop, child in self._parts
        )
        return Nest(self.space, tuple(self._loops), segments)

    @property
    def data(self) -> str:
        """The nest as one line of YAML, under the operator's own names of axes."""
        return nest_data(self.nest.renamed(self._own))

    def set_dims(self, names: Sequence[str]) -> Self:
        """Rename the axes, in the operator's own order; loops over whole axes are renamed too."""

        def change() -> None:
            given = texts(names, "set_dims", "names")
            if len(given) != len(self.axes) or len(set(given)) != len(given):
                raise UserError(
                    f"set_dims of {self.node} takes {len(self.axes)} different names",
                    notes=[f"its axes are {', '.join(self.dims)}"],
                )
            if self._parent or self._parts or any(one.tile is not None for one in self._loops):
                raise UserError(f"the axes of {self.node} are renamed after they were scheduled")
            if given == self.dims:
                raise UserError(f"set_dims of {self.node} changes nothing")
            for name in given:
                self._check_name(name)
            new = dict(zip(self.dims, given, strict=True))
            self.space = self.space.renamed(new)
            self._own = {new[name]: own for name, own in self._own.items()}
            self._loops = [
                replace(one, axis=new[one.axis], name=new[one.axis]) for one in self._loops
            ]

        return self._checked(change)

    def strip_mine(self, dim: str, tiles: Mapping[str, int]) -> Self:
        """Put loops over tiles of `dim` innermost, larger tiles first.

        for i in 0..512              for i in 0..512 step 4
          for j in 0..512      ->      for j in 0..512
                                         for i1 in 0..4       strip_mine("i", {"i1": 4})
        """

        return self._tile("strip_mine", dim, tiles)

    def tile(self, dim: str, tiles: Mapping[str, int]) -> Self:
        """The same as `strip_mine`; XTC's other name for it."""
        return self._tile("tile", dim, tiles)

    def split(self, dim: str, segments: Mapping[str, int]) -> dict[str, NodeSchedule]:
        """Cut `dim` into segments that begin where `segments` says; each gets its own schedule.

            for i in 0..512      ->      i[0:500]:   for i in 0..500
              body                       i[500:512]: for i in 0..12

        Loops inside the one over `dim` move into every segment. Returns the schedules by name:
        `low, high = op.split("i", {"low": 0, "high": 500}).values()`.
        """
        children: dict[str, NodeSchedule] = {}

        def change() -> None:
            axis = self._axis(dim)
            starts = integers(segments, "split", "starts of segments by name")
            if not starts:
                raise UserError(f"split of '{dim}' of {self.node} names no segment")
            if self._parts:
                raise UserError(f"{self.node} is split already", hints=["split its segments"])
            position = next(i for i, loop in enumerate(self._loops) if loop.axis == axis)
            inner, self._loops = self._loops[position:], self._loops[:position]
            stops = [*list(starts.values())[1:], self.space.size(axis)]
            for (name, start), stop in zip(starts.items(), stops, strict=True):
                child = NodeSchedule(
                    self.node, self.space, list(inner), _parent=self, _own=self._own
                )
                children[name] = child
                self._parts.append((axis, start, stop, child))

        self._checked(change)
        return children

    def interchange(self, order: Sequence[str]) -> Self:
        """Order the loops, from the outermost to the innermost; all of them are named.

        for i in 0..512              for j in 0..512
          for j in 0..512      ->      for i in 0..512          interchange(["j", "i"])
        """

        def change() -> None:
            given = texts(order, "interchange", "loops")
            for name in given:
                self._loop(name)
            if sorted(given) != sorted(self.loops):
                missing = [name for name in self.loops if name not in given]
                what = f"'{missing[0]}' is missing" if missing else "a loop is named twice"
                raise UserError(
                    f"interchange of {self.node}: {what}",
                    hints=[f"name each once: {', '.join(self.loops)}"],
                )
            if given == self.loops:
                raise UserError(f"interchange of {self.node} changes nothing")
            by_name = {loop.name: loop for loop in self._loops}
            self._loops = [by_name[name] for name in given]

        return self._checked(change)

    def vectorize(self, loops: Sequence[str]) -> Self:
        """Run the innermost `loops` as vector instructions.

        for j1 in 0..16              vector over j1
          c[j1] += a * b[j1]   ->      c[0:16] += a * b[0:16]      vectorize(["j1"])
        """
        return self._annotate(loops, "vectorize", lambda loop: replace(loop, vectorize=True))

    def parallelize(self, loops: Sequence[str]) -> Self:
        """Run iterations of the outermost `loops` on several threads.

        for i in 0..512      ->      parallel for i in 0..512      parallelize(["i"])
        """
        return self._annotate(loops, "parallelize", lambda loop: replace(loop, parallelize=True))

    def unroll(self, factors: Mapping[str, int]) -> Self:
        """Write out copies of loop bodies.

        for k1 in 0..2               body(0)
          body(k1)             ->    body(1)                       unroll({"k1": 2})
        """

        def change() -> None:
            numbers = integers(factors, "unroll", "factors by loop")
            if not numbers:
                raise UserError(f"unroll of {self.node} names no loop")
            for name, factor in numbers.items():
                if factor < 1:
                    raise UserError(f"'{name}' of {self.node} cannot be unrolled by {factor}")
                self._replace(name, "unroll", partial(replace, unroll=factor))

        return self._checked(change)

    def buffer_at(self, loop: str) -> Self:
        """Compute the result's tile inside `loop` in a buffer, copied in before and out after.

        for i                        for i
          for k                        buffer = c[i]
            c[i] += ...        ->      for k
                                         buffer += ...
                                       c[i] = buffer               buffer_at("i")
        """
        return self._annotate([loop], "buffer", lambda one: replace(one, buffer=True))

    def pack_at(self, loop: str, operand: int) -> Self:
        """Copy the operand's tile inside `loop` to a dense buffer first; operands count from 0.

        for j                        for j
          for k                        packed = b[:, j]
            ... b[k, j]        ->      for k
                                         ... packed[k]             pack_at("j", 1)
        """
        return self._annotate(
            [loop],
            "pack",
            lambda one: replace(one, pack=(*one.pack, integer(operand, "the operand of pack_at"))),
        )

    def fuse_producer_at(self, loop: str, operand: int) -> Self:
        """Compute the operand inside `loop`, tile by tile, where it was computed whole before.

        for i: p[i] = f(i)           for i
        for i: c[i] = g(p[i])  ->      p = f(i)
                                       c[i] = g(p)                 fuse_producer_at("i", 0)
        """
        what = "the operand of fuse_producer_at"
        return self._annotate(
            [loop], "fuse", lambda one: replace(one, fuse=(*one.fuse, integer(operand, what)))
        )

    def distribute(self, loops: Mapping[str, str] | str, processor_axis: str | None = None) -> Self:
        """Share the iterations of loops between processors along axes of the processor mesh.

        for i in 0..4 step 2         for i in 0..4 step 2, one iteration on each place of psx
          for j in 0..8        ->      for j in 0..8, one iteration on each place of psy
            body                         body          distribute({"i": "psx", "j": "psy"})

        Loops over axes that run over memories are outermost; those over the processors of one
        memory are neighbours. `distribute("i", "px")` does one loop.
        """

        def change() -> None:
            given = loops if processor_axis is None else {text(loops): processor_axis}
            if not isinstance(given, Mapping) or not given:
                raise UserError(
                    f"distribute of {self.node} takes axes of the processor mesh by loop, "
                    f"not {shown(given)}",
                    hints=['distribute({"i": "px"}) or distribute("i", "px")'],
                )
            for name, axis in given.items():
                old = self._loop(name)
                if old.distribute:
                    raise UserError(
                        f"'{name}' of {self.node} is distributed over '{old.distribute}' already"
                    )
                self._replace(name, "distribute", partial(replace, distribute=text(axis)))

        return self._checked(change)

    def distributed_buffer_at(self, loop: str, operand: int, axes: Sequence[str]) -> Self:
        """Cut an operand between the memories of the memory mesh, each part copied there once.

        for i, over px               b's rows i are copied to the memory of place i
          for j                ->    for i, over px
            ... b[i, j]                for j
                                         ... b[i, j]   distributed_buffer_at("i", 1, ["mx", "*"])

        `axes` has an axis of the memory mesh for each dimension of the operand, or "*" where it is
        not cut. The loop is one outside of those over the processors of one memory.
        """

        def change() -> None:
            names = texts(axes, "distributed_buffer_at", "axes")
            number = integer(operand, "the operand of distributed_buffer_at")
            old = self._loop(loop)
            if any(number == one for one, _ in old.spread):
                raise UserError(f"operand {number} of {self.node} is distributed at '{loop}' twice")
            spread = (*old.spread, (number, names))
            self._replace(loop, "distributed_buffer_at", partial(replace, spread=spread))

        return self._checked(change)

    def __str__(self) -> str:
        return nest_text(self.nest, self.node)

    def _tile(self, word: str, dim: str, tiles: Mapping[str, int]) -> Self:
        def change() -> None:
            axis = self._axis(dim)
            sizes = integers(tiles, word, "tile sizes by name")
            if not sizes:
                raise UserError(f"{word} of '{dim}' of {self.node} names no tile")
            for name, size in sizes.items():
                self._check_new(name)
                self._loops.append(NestLoop(axis, size, name))

        return self._checked(change)

    def _annotate(
        self, names: Sequence[str], what: str, change: Callable[[NestLoop], NestLoop]
    ) -> Self:
        def change_all() -> None:
            given = texts([names] if isinstance(names, str) else names, what, "loops")
            if not given:
                raise UserError(f"{what} of {self.node} names no loop")
            for name in given:
                self._replace(name, what, change)

        return self._checked(change_all)

    def _replace(self, name: str, what: str, change: Callable[[NestLoop], NestLoop]) -> None:
        old = self._loop(name)
        new = change(old)
        if new == old:
            raise UserError(f"{what} of '{name}' of {self.node} is there already")
        self._loops[self._loops.index(old)] = new

    def _checked(self, change: Callable[[], None]) -> Self:
        """Apply `change`; where the nest is not legal afterwards, nothing has changed."""
        root = self._root()
        before = list(self._loops), list(self._parts), self.space, self._own
        with located(user_location()), about(self.node):
            try:
                change()
                root._refit()
                check_nest(root.nest, root.node)
            except BaseException:
                self._loops, self._parts, self.space, self._own = before
                root._refit()
                raise
        return self

    def _root(self) -> NodeSchedule:
        return self if self._parent is None else self._parent._root()

    def _refit(self) -> None:
        """Tell the segments what the loops around them leave."""
        nest = self.nest
        for segment, (*_, child) in zip(nest.segments, self._parts, strict=True):
            child.space = nest.inside(segment)
            child._refit()

    def _axis(self, name: object) -> str:
        """The axis called `name`, which has a loop here. Raises UserError."""
        axis = text(name)
        if self.space.axis(axis) is None:
            hints = did_you_mean(axis, self.dims)
            raise UserError(f"{self.node} has no axis {shown(name)}", hints=hints)
        if not any(loop.axis == axis for loop in self._loops):
            raise UserError(
                f"axis '{name}' of {self.node} has no loop here",
                notes=[f"the loops here: {', '.join(self.loops) or 'none'}"],
            )
        return axis

    def _loop(self, name: object) -> NestLoop:
        for loop in self._loops:
            if loop.name == name:
                return loop
        hints = did_you_mean(text(name), self.loops)
        raise UserError(f"{self.node} has no loop {shown(name)}", hints=hints)

    def _check_new(self, name: str) -> None:
        self._check_name(name)
        if name in self.loops:
            raise UserError(f"{self.node} has a loop '{name}' already")

    def _check_name(self, name: str) -> None:
        if not name.isidentifier() or len(name) > MAX_NAME:
            raise UserError(
                f"{shown(name)} cannot be the name of a loop of {self.node}",
                hints=[f"letters, digits and _, at most {MAX_NAME}"],
            )
