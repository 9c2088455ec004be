# SPDX-License-Identifier: Apache-2.0
"""The schedules of a graph's operators, written by calls or read from data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from xtc.core import discover
from xtc.core.errors import UserError, about, did_you_mean, located, shown
from xtc.core.location import user_location
from xtc.emit.module import main_operations
from xtc.graph.builder import GraphBuilder
from xtc.graph.graph import Graph
from xtc.graph.placement import placement
from xtc.ir.builders.linalg import MainOperation
from xtc.loops import Axis, Mesh, Space, check_nest, nest_data
from xtc.loops.descript import written_nest
from xtc.loops.mesh import is_head, memory_mesh, parse_head, processor_mesh
from xtc.loops.nest import Nest
from xtc.loops.normalize import normalized
from xtc.loops.yaml_text import Located, parse_yaml, plain
from xtc.schedule.node import NodeSchedule
from xtc.schedule.values import integers, text

MAX_NAME = 256
"""The longest name of an operator, in characters; graphs allow fewer."""


class Schedule:
    """How operators of a graph run: `schedule["C"]` is the loop nest of the operator named C.

    Bind the graph's symbolic dimensions first. `target`, a name or a device, is what the graph will
    be compiled for, if its operators name no device; it limits the levels of parallel loops.
    """

    def __init__(self, graph: Graph | GraphBuilder, target: object = None) -> None:
        with located(user_location()):
            self._target = placement(target)
            plain = graph.graph if isinstance(graph, GraphBuilder) else graph
            if not isinstance(plain, Graph):
                raise UserError(f"xtc.Schedule takes a graph, not {shown(graph)}")
            self.graph = plain
            if self.graph.symbols:
                raise UserError(
                    f"graph '{self.graph.name}' has the symbolic dimension "
                    f"'{self.graph.symbols[0]}'",
                    hints=["schedule graph.bind(...)"],
                )
        self._nodes: dict[str, NodeSchedule] = {}
        self._memory: Mesh | None = None
        self._processors: Mesh | None = None

    @cached_property
    def _mains(self) -> dict[str, MainOperation]:
        """The main operation of each node, from emitting the graph."""
        return main_operations(self.graph)

    def __getitem__(self, name: str) -> NodeSchedule:
        """The schedule of one operator. Raises UserError if it has no loops."""
        with located(user_location()):
            if text(name) not in self._nodes:
                self._nodes[name] = NodeSchedule(name, self._space(name))
            return self._nodes[name]

    def define_memory_mesh(self, name: str, axes: Mapping[str, int]) -> Mesh:
        """Name the grid of the device's local memories: `{"mx": 1, "my": 5}`, outermost first.

        Raises UserError for invalid names and sizes, and if a memory mesh is already defined.
        """
        with located(user_location()):
            if self._memory is not None:
                raise UserError(f"a memory mesh is already defined: '{self._memory.name}'")
            sizes = integers(axes, "define_memory_mesh", "sizes by axis")
            self._memory = memory_mesh(self._mesh_name(name), sizes)
            return self._memory

    def define_processor_mesh(self, name: str, axes: Mapping[str, int], memory: Mesh) -> Mesh:
        """Name the grid of the device's processors, for `distribute`.

        Its first axes are those of the memory mesh and have the same sizes; processors along the
        other axes share one memory: `{"px": 1, "py": 5, "psx": 2, "psy": 8}` has 16 for each of
        five memories. Raises UserError for invalid sizes, and if a processor mesh is already
        defined.
        """
        with located(user_location()):
            if self._processors is not None:
                raise UserError(f"a processor mesh is already defined: '{self._processors.name}'")
            if not isinstance(memory, Mesh) or memory is not self._memory:
                raise UserError(
                    f"processor mesh {shown(name)} is over {shown(memory)}, which is not this "
                    "schedule's memory mesh",
                    hints=["pass the mesh that define_memory_mesh returned"],
                )
            sizes = integers(axes, "define_processor_mesh", "sizes by axis")
            self._processors = processor_mesh(self._mesh_name(name), sizes, memory)
            for node in self._nodes.values():
                node.space = replace(node.space, mesh=self._processors)
                node._update_segments()
            return self._processors

    def _mesh_name(self, name: object) -> str:
        """The name of a new mesh. Raises UserError if it is taken."""
        if name in (self.graph.name, *(mesh.name for mesh in self.meshes)):
            taken = "graph" if name == self.graph.name else "other mesh"
            raise UserError(f"a mesh has the name {shown(name)} of the {taken}")
        return text(name)

    @property
    def meshes(self) -> tuple[Mesh, ...]:
        """The defined meshes, the memory mesh first."""
        return tuple(mesh for mesh in (self._memory, self._processors) if mesh is not None)

    @staticmethod
    def of(graph: Graph | GraphBuilder, data: object, target: object = None) -> Schedule:
        """The schedule that `data` describes: loop nests by operator name.

        `data` is a Schedule, a mapping, YAML text, or the path of a YAML file. Raises UserError,
        with line and column if it is text.
        """
        if isinstance(data, Schedule):
            return data
        schedule = Schedule(graph, target)
        with located(user_location()):
            entries = _entries(data)
            entries.sort(key=lambda entry: not is_head(str(entry[0].value)))  # meshes first
            for key, nest in entries:
                with located(key.where):
                    schedule._load(str(key.value), nest)
        return schedule

    @property
    def names(self) -> tuple[str, ...]:
        """Operators that can be scheduled, in the graph's order."""
        return tuple(name for name, main in self._mains.items() if main.loops)

    def texts(self) -> dict[str, str]:
        """One line of YAML for each mesh and each scheduled operator, by name."""
        nodes = {name: node.data for name, node in self._nodes.items()}
        return {mesh.head: mesh.data for mesh in self.meshes} | nodes

    def notes(self) -> dict[str, tuple[str, ...]]:
        """Annotations without effect, by operator, with loop names of the data form."""
        found = {}
        for name, node in self._nodes.items():
            written = node._written().renamed(node._own)
            again = written_nest(nest_data(written), self._space(name), name)
            found[name] = normalized(replace(again, notes=written.notes)).notes
        return found

    def with_notes(self, notes: Mapping[str, tuple[str, ...]]) -> Schedule:
        """This schedule with notes from its source on annotations without effect."""
        for name, node in self._nodes.items():
            node._notes = notes.get(name, ())
        return self

    def __str__(self) -> str:
        meshes = [f"{mesh.head} {mesh.data}" for mesh in self.meshes]
        return "\n".join([*meshes, *(str(node) for node in self._nodes.values())])

    def _space(self, name: str) -> Space:
        if len(name) > MAX_NAME:
            raise UserError(f"graph '{self.graph.name}' has no node {shown(name)}")
        self.graph.node(name)
        main = self._mains.get(name)
        if main is None or not main.loops:
            raise UserError(
                f"'{name}' only moves data; it has no loops to schedule",
                hints=did_you_mean(name, self._mains),
            )
        pairs = zip(main.loops, main.sizes, strict=True)
        axes = tuple(
            Axis(loop.name, size, loop.reduction, loop.groups, main.unordered)
            for loop, size in pairs
        )
        return Space(
            axes,
            main.inputs,
            main.computed,
            main.subscripts,
            main.ranks,
            main.moved,
            self._processors,
            self._levels(name),
        )

    def _levels(self, name: str) -> int:
        """The levels of parallel loops on the device that runs an operator."""
        runs_on = self.graph.node(name).placement or self._target
        return 1 if runs_on is None else int(discover.target(runs_on.target).parallel_levels)

    def _load(self, name: str, data: Located) -> None:
        if is_head(name):
            self._load_mesh(name, data)
            return
        nest = written_nest(data, self._space(name), name)
        check_nest(normalized(nest), name)
        self._nodes[name] = _from_nest(name, nest)

    def _load_mesh(self, key: str, data: Located) -> None:
        """Add a mesh from its key and its axes."""
        name, memory = parse_head(key)
        tree = parse_yaml(data.value) if isinstance(data.value, str) else data
        if not isinstance(tree.value, dict):
            raise UserError(
                f"mesh '{name}' is not sizes by axis",
                hints=[f"'{key}': {{x: 2, y: 4}}"],
            )
        axes = {str(axis.value): size.value for axis, size in tree.value.items()}
        if memory is None:
            self.define_memory_mesh(name, axes)
            return
        if self._memory is None or self._memory.name != memory:
            raise UserError(
                f"processor mesh '{name}' is over '@{memory}', which is not defined before it",
                hints=[f"write '@{memory}: {{...}}' first"],
            )
        self.define_processor_mesh(name, axes, self._memory)


def _entries(data: object) -> list[tuple[Located, Located]]:
    if isinstance(data, Path):
        try:
            tree = parse_yaml(data.read_text(), str(data))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read {data}: {error}") from None
    elif isinstance(data, str):
        tree = parse_yaml(data)
    elif isinstance(data, Mapping):
        return [_entry(name, nest) for name, nest in data.items()]
    else:
        raise UserError(
            f"schedule={shown(data)} is not a schedule",
            hints=["pass an xtc.Schedule, a mapping, YAML text or a Path"],
        )
    if tree.value is None:
        return []
    if not isinstance(tree.value, dict):
        raise UserError("a schedule maps operator names to loop nests", where=tree.where)
    return list(tree.value.items())


def _entry(name: object, nest: object) -> tuple[Located, Located]:
    if not isinstance(name, str):
        raise UserError(f"a key of a schedule is an operator's name, not {shown(name)}")
    with about(name):
        return Located(name), plain(nest)


def _from_nest(name: str, nest: Nest, parent: NodeSchedule | None = None) -> NodeSchedule:
    node = NodeSchedule(name, nest.space, _parent=parent)
    node._loops = list(nest.loops)
    node._notes = nest.notes
    node._parts = [
        (part.axis, part.start, part.stop, _from_nest(name, part.nest, node))
        for part in nest.segments
    ]
    return node


def schedule_texts(graph: Graph, data: Any, *, trusted: bool = True) -> dict[str, str]:
    """The schedules of `data` as `emit.module_text` takes them; {} for None.

    Raises UserError like `Schedule.of`, and for a C function in untrusted data.
    """
    return given_schedule(graph, data, trusted=trusted).texts()


def given_schedule(graph: Graph, data: Any, *, trusted: bool = True) -> Schedule:
    """The schedule of `data`, empty for None. Raises UserError like `schedule_texts`."""
    schedule = Schedule.of(graph, {} if data is None else data)
    if data is not None and not trusted:
        _check_calls_nothing(schedule)
    return schedule


def _check_calls_nothing(schedule: Schedule) -> None:
    """Raise UserError if a loop calls a function, whose sources would be compiled and run."""
    for name, node in schedule._nodes.items():
        for loop in (loop for nest in node.nest.walk() for loop in nest.loops):
            if loop.external is not None:
                raise UserError(
                    f"'{loop.name}' of {name} calls '{loop.external.function}', which a schedule "
                    "from a database cannot",
                    hints=["xtc.compile(schedule=...) takes schedules that call functions"],
                )
