# SPDX-License-Identifier: Apache-2.0
"""The state of a loop nest under construction: its loops, deferred calls, and checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from typing_extensions import Self

from xtc.core.errors import UserError, about, did_you_mean, located, shown
from xtc.core.location import SourceLocation, user_location
from xtc.loops import Axis, Nest, NestLoop, Segment, Space, check_nest
from xtc.loops.incomplete import IncompleteError
from xtc.loops.normalize import normalized
from xtc.schedule.loop_names import check_loop_name, is_loop_name
from xtc.schedule.values import text


@dataclass(frozen=True)
class _Waiting:
    """A deferred call: it names loops that do not exist yet.

    Attributes:
        names: the loops that it needs.
        what: performs the call.
        where: the location of the call, for messages.
    """

    names: tuple[str, ...]
    what: Callable[[], None]
    where: SourceLocation | None


@dataclass(eq=False)
class NodeState:
    """The loop nest of one operator, or of one segment of it.

    Attributes:
        node: the operator's name in the graph.
        space: the iteration space; inside a segment, the part that the enclosing loops leave.
    """

    node: str
    space: Space
    _loops: list[NestLoop] = field(default_factory=list)
    _parts: list[tuple[str, int, int, NodeState]] = field(default_factory=list)
    _parent: NodeState | None = None
    _own: dict[str, str] = field(default_factory=dict)
    _waiting: list[_Waiting] = field(default_factory=list)
    _notes: tuple[str, ...] = ()
    _vectors: set[str] = field(default_factory=set)

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
        """The number of operands."""
        return self.space.operands

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes, in the operator's order."""
        return self.space.names

    @property
    def loops(self) -> tuple[str, ...]:
        """Names of the loops, from the outermost to the innermost."""
        return tuple(loop.name for loop in self._loops)

    @property
    def nest(self) -> Nest:
        """The legal loop nest, with notes on annotations that have no effect. Raises UserError."""
        root = self._root()
        with located(user_location()), about(self.node):
            root._check_settled()
            check_nest(normalized(root._written()), root.node)
        return normalized(self._written())

    def _written(self) -> Nest:
        """The loop nest as requested."""
        segments = tuple(
            Segment(axis, start, stop, child._written()) for axis, start, stop, child in self._parts
        )
        return Nest(self.space, tuple(self._loops), segments, self._notes)

    def _check_settled(self) -> None:
        """Raise UserError if a deferred call names a loop that was never created."""
        for waiting in self._waiting:
            with located(waiting.where):
                for name in waiting.names:
                    self._loop(name)
        for *_, child in self._parts:
            child._check_settled()

    def _replace(self, name: str, change: Callable[[NestLoop], NestLoop]) -> None:
        """Change the loop called `name`, once it exists."""
        where = user_location()

        def apply() -> None:
            old = self._loop(name)
            self._loops[self._loops.index(old)] = replace(change(old), where=where)

        self._when_there((name,), apply)

    def _when_there(self, names: tuple[str, ...], what: Callable[[], None]) -> None:
        """Perform a call now if these loops exist, else defer it until they do."""
        for name in names:
            if not is_loop_name(name):
                self._loop(name)
        if all(name in self.loops for name in names):
            what()
        else:
            self._waiting.append(_Waiting(names, what, user_location()))

    def _perform_deferred(self) -> None:
        """Perform the deferred calls whose loops exist now."""
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            if all(name in self.loops for name in request.names):
                request.what()
            else:
                self._waiting.append(request)

    def _checked(self, change: Callable[[], None]) -> Self:
        """Apply `change`; undo it and raise UserError if no later call can make it legal."""
        root = self._root()
        before = list(self._loops), list(self._parts), self.space, self._own, list(self._waiting)
        with located(user_location()), about(self.node):
            try:
                change()
                self._perform_deferred()
                root._update_segments()
                check_nest(normalized(root._written()), root.node)
            except IncompleteError:
                pass
            except BaseException:
                self._loops, self._parts, self.space, self._own, self._waiting = before
                root._update_segments()
                raise
        return self

    def _root(self) -> NodeState:
        return self if self._parent is None else self._parent._root()

    def _update_segments(self) -> None:
        """Update the iteration spaces of the segments."""
        nest = self._written()
        for segment, (*_, child) in zip(nest.segments, self._parts, strict=True):
            child.space = nest.inside(segment)
            child._update_segments()

    def _axis(self, name: object) -> str:
        """The axis called `name`, or the axis of the loop with that name. Raises UserError."""
        axis = next((loop.axis for loop in self._loops if loop.name == name), text(name))
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
        check_loop_name(name, self.node)
        if name in self.loops:
            raise UserError(f"{self.node} already has a loop '{name}'")
