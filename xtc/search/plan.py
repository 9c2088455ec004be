# SPDX-License-Identifier: Apache-2.0
"""Chooses the operators of a graph to tune, and their strategies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xtc.core.errors import UserError, did_you_mean
from xtc.core.types import element_type
from xtc.driver.compilation import Compilation
from xtc.graph.graph import Graph
from xtc.schedule import Schedule
from xtc.search.builtin import builtin, family
from xtc.search.space import OperatorSpace, SearchSpace
from xtc.search.strategy import Strategy

_MOST_PARTS = 3
_SHARE = 0.1  # of the graph's work; smaller operators are not tuned beside larger ones


def make_space(
    compilation: Compilation, strategy: str | Path | list[Strategy], operator: str | None = None
) -> SearchSpace:
    """The search space of the compilation's graph.

    Args:
        compilation: the graph with its target and options.
        strategy: the name of a built-in strategy, the path of a file, or strategies.
        operator: tune only this operator; None chooses those with most of the work.

    Raises UserError if nothing fits.
    """
    graph = compilation.graph
    machine_parameters = compilation.target.machine_parameters(compilation.options)
    schedule = Schedule(graph)
    if operator is not None and operator not in schedule.names:
        raise UserError(
            f"'{operator}' of graph '{graph.name}' has no loops to tune",
            hints=did_you_mean(operator, schedule.names),
        )
    chosen = _chosen(graph, schedule, strategy, operator)
    operators = []
    for name, wanted in chosen:
        space = schedule[name].space
        known = _known(graph, name, machine_parameters)
        if isinstance(wanted, Strategy):
            found = wanted
        else:
            node = graph.node(name)
            found = builtin(wanted, node.op.name, space, known, node.flops)
        prefix = f"{name}." if len(chosen) > 1 else ""
        operators.append(OperatorSpace.of(found, name, space, known, prefix))
    return SearchSpace(operators)


def _chosen(
    graph: Graph, schedule: Schedule, strategy: str | Path | list[Strategy], operator: str | None
) -> list[tuple[str, Strategy | str]]:
    """Names of operators, each with a strategy or a strategy's name."""
    if isinstance(strategy, str):
        names = [operator] if operator else _with_most_work(graph, schedule)
        return [(name, strategy) for name in names]
    read = Strategy.several(strategy) if isinstance(strategy, Path) else strategy
    if len(read) > 1:
        return [(str(strategy.operator), strategy) for strategy in read]
    return [(operator or read[0].operator or _fitting(graph, schedule, read[0]), read[0])]


def _fitting(graph: Graph, schedule: Schedule, strategy: Strategy) -> str:
    """The operator with most work among those with the axes of a strategy."""
    fitting = [name for name in schedule.names if strategy.axes <= set(schedule[name].dims)]
    if not fitting:
        raise UserError(
            f"no operator of '{graph.name}' has the axes of strategy '{strategy.name}'",
            where=strategy.where,
            notes=[f"they are {', '.join(sorted(strategy.axes))}"],
        )
    return max(fitting, key=lambda name: graph.node(name).flops)


def _with_most_work(graph: Graph, schedule: Schedule) -> list[str]:
    """The contractions with most of the work; else the operator with most work, the last of
    several, because the others are fused into it."""
    names = schedule.names
    if not names:
        raise UserError(f"graph '{graph.name}' has no operator with loops: nothing to tune")
    flops = {name: graph.node(name).flops for name in names}
    most = max(flops.values())
    products = [
        name
        for name in names
        if family(graph.node(name).op.name, schedule[name].space) == "contraction"
        and flops[name] >= _SHARE * most
    ]
    if not products:
        return [max(reversed(names), key=lambda name: flops[name])]
    heaviest = sorted(products, key=lambda name: -flops[name])[:_MOST_PARTS]
    return [name for name in products if name in heaviest]


def _known(graph: Graph, name: str, machine_parameters: Mapping[str, int]) -> dict[str, int]:
    """Machine parameters of the target, and the elements of the operator's result per vector."""
    nbytes = element_type(graph.node(name).output.dtype).nbytes
    return {**machine_parameters, "V": max(1, machine_parameters.get("VECTOR_BYTES", 1) // nbytes)}
