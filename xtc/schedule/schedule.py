# SPDX-License-Identifier: Apache-2.0
"""The schedules of a graph's operators, written by calls or read from data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xtc.core.errors import UserError, about, did_you_mean, located, shown
from xtc.core.location import user_location
from xtc.core.loops import Axis, Space, check_nest, parse_nest
from xtc.core.loops.nest import Nest
from xtc.core.loops.yaml_text import Located, parse_yaml, plain
from xtc.emit.module import main_operations
from xtc.graph.builder import GraphBuilder
from xtc.graph.graph import Graph
from xtc.schedule.node import NodeSchedule
from xtc.schedule.values import text

MAX_NAME = 256
"""Characters of an operator's name; graphs allow fewer."""


class Schedule:
    """How operators of a graph run: `schedule["C"]` is the loop nest of the operator named C.

    Every dimension of the graph is known: bind symbolic ones first.
    """

    def __init__(self, graph: Graph | GraphBuilder) -> None:
        with located(user_location()):
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
        self._mains = main_operations(self.graph)
        self._nodes: dict[str, NodeSchedule] = {}

    def __getitem__(self, name: str) -> NodeSchedule:
        """The schedule of one operator. Raises UserError where it has no loops."""
        with located(user_location()):
            if text(name) not in self._nodes:
                self._nodes[name] = NodeSchedule(name, self._space(name))
            return self._nodes[name]

    @staticmethod
    def of(graph: Graph | GraphBuilder, data: object) -> Schedule:
        """The schedule that `data` describes: nests by operator name.

        `data` is a Schedule, a mapping, YAML text, or the path of a YAML file. Raises UserError,
        with line and column where it is text.
        """
        if isinstance(data, Schedule):
            return data
        schedule = Schedule(graph)
        with located(user_location()):
            for key, nest in _entries(data):
                with located(key.where):
                    schedule._load(str(key.value), nest)
        return schedule

    @property
    def names(self) -> tuple[str, ...]:
        """Operators that can be scheduled, in the graph's order."""
        return tuple(name for name, main in self._mains.items() if main.loops)

    def texts(self) -> dict[str, str]:
        """One line of YAML for each scheduled operator, by name."""
        return {name: node.data for name, node in self._nodes.items()}

    def __str__(self) -> str:
        return "\n".join(str(node) for node in self._nodes.values())

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
        axes = tuple(Axis(loop.name, size, loop.reduction) for loop, size in pairs)
        return Space(axes, main.inputs, main.computed, main.subscripts)

    def _load(self, name: str, data: Located) -> None:
        nest = parse_nest(data, self._space(name), name)
        check_nest(nest, name)
        self._nodes[name] = _from_nest(name, nest)


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
            f"schedule={shown(data)} is no schedule",
            hints=["pass an xtc.Schedule, a mapping, YAML text or a Path"],
        )
    if tree.value is None:
        return []
    if not isinstance(tree.value, dict):
        raise UserError("a schedule maps operator names to loop nests", where=tree.where)
    return list(tree.value.items())


def _entry(name: object, nest: object) -> tuple[Located, Located]:
    if not isinstance(name, str):
        raise UserError(f"a schedule is of an operator's name, not of {shown(name)}")
    with about(name):
        return Located(name), plain(nest)


def _from_nest(name: str, nest: Nest, parent: NodeSchedule | None = None) -> NodeSchedule:
    node = NodeSchedule(name, nest.space, _parent=parent)
    node._loops = list(nest.loops)
    node._parts = [
        (part.axis, part.start, part.stop, _from_nest(name, part.nest, node))
        for part in nest.segments
    ]
    return node


def schedule_texts(graph: Graph, data: Any) -> dict[str, str]:
    """The schedules of `data` as `emit.module_text` takes them; {} for None."""
    return {} if data is None else Schedule.of(graph, data).texts()
