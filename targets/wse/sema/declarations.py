# SPDX-License-Identifier: Apache-2.0
"""The declarations of a program about its machine: routes, queues, tasks, symbols."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from xtc_targets.wse.csl.errors import Position
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.values import Address, FunctionValue, Global, Value


@dataclass(frozen=True)
class Filter:
    """A filter that drops wavelets of a color before the core; `numbers` depend on the kind.

    counter: init, max, limit1, count data, count control. range: lowest, highest index.
    """

    kind: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class ColorConfig:
    """The configuration of a color at a router; directions are bits, indexed by their numbers.

    `positions` are the (rx, tx) of the switch; the first is that of the routes. `inputs` has a bit
    for each position that replaces the rx of the previous one.
    """

    positions: tuple[tuple[int, int], ...]
    current: int = 0
    ring: bool = False
    pop: int = 0  # none, always, on advance
    teardown: bool = False
    filter: Filter | None = None
    swap: int = 0  # bits: wavelets along x, along y
    inputs: int = 0


@dataclass(frozen=True)
class TaskBinding:
    """A task and the kind of id that it is bound to."""

    kind: str
    function: FunctionValue
    at: Position


@dataclass(frozen=True)
class QueueConfig:
    """An initialized queue; `color` is -1 if it has none."""

    color: int
    priority: int
    at: Position
    table: int = 0
    """The number of its table of control tasks."""


@dataclass(frozen=True)
class Export:
    """A symbol of a tile: a variable or a function.

    `location` is the location of the data, `pointer` that of a mutable pointer to it. A `known`
    symbol is a constant pointer to its data.
    """

    function: FunctionValue | None
    location: tuple[Global, int] | None
    pointer: tuple[Global, int] | None
    type: t.Type
    at: Position
    known: bool = False


@dataclass(frozen=True)
class Fifo:
    """A ring buffer of `nbytes` in a global, and the tasks that its use activates; -1 for none."""

    buffer: Global
    nbytes: int
    element: int
    on_push: int
    on_pop: int


CONTROL_TASKS = 65
"""The first key of control tasks in `TileDeclarations.tasks`, after tasks and host functions."""


@dataclass
class TileDeclarations:
    """The declarations of a tile class.

    `control_stride` is the distance between the tables of control tasks, or 0 if control tasks
    share their ids with other tasks. `rotations` gives, by data task, the number of starts before
    the other task runs.
    """

    tasks: dict[int, TaskBinding] = field(default_factory=dict)
    input_queues: dict[int, QueueConfig] = field(default_factory=dict)
    output_queues: dict[int, QueueConfig] = field(default_factory=dict)
    colors: dict[int, tuple[ColorConfig, Position]] = field(default_factory=dict)
    blocked: set[int] = field(default_factory=set)
    unblocked: set[int] = field(default_factory=set)
    activated: set[int] = field(default_factory=set)
    exports: dict[str, Export] = field(default_factory=dict)
    control_stride: int = 0
    rotations: dict[int, int] = field(default_factory=dict)
    fifos: list[Fifo] = field(default_factory=list)
    teardown: dict[int, FunctionValue] = field(default_factory=dict)
    empty_queue: dict[int, FunctionValue] = field(default_factory=dict)
    host_in: int = 0  # bits of colors that stream from the host
    host_out: int = 0
    launch: int = -1
    """The color of the host's launches, if the layout has one."""
    traces: list[tuple[str, Address, int]] = field(default_factory=list)  # key, location, words

    def task_number(self, key: int) -> int:
        """The id of a task in `tasks`; control tasks may share ids with others."""
        return key if self.control_stride else key % CONTROL_TASKS


@dataclass(frozen=True)
class Tile:
    """The code of a PE: file and parameters."""

    path: Path
    params: dict[str, Value]
    at: Position


@dataclass(frozen=True)
class ExportName:
    """A name that the layout exports to the host."""

    type: t.Type
    mutable: bool
    at: Position


@dataclass
class LayoutDeclarations:
    """The declarations of the layout."""

    width: int = 0
    height: int = 0
    tiles: dict[tuple[int, int], Tile] = field(default_factory=dict)
    colors: dict[tuple[int, int], dict[int, tuple[ColorConfig, Position]]] = field(
        default_factory=dict
    )
    exports: dict[str, ExportName] = field(default_factory=dict)
