# SPDX-License-Identifier: Apache-2.0
"""Tunes networks operator by operator: each kind alone, then all results together.

Compiling a network takes as long as measuring a hundred candidates of one of its operators, so a
search over whole networks would see few candidates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xtc.core.errors import UserError, XtcError
from xtc.driver.compile import compile
from xtc.driver.module import Module
from xtc.evaluate.data import sample
from xtc.graph.finish import finish_graph
from xtc.graph.graph import Graph
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.schedule import Schedule
from xtc.search.builtin import family
from xtc.search.records import Result, Run
from xtc.search.session import Report, Session
from xtc.search.tuner import Progress

MOST_TOGETHER = 3  # contractions in a graph that is tuned as a whole
STRATEGY = "operators"
_LEAST_SECONDS = 5.0  # per kind of operator; shorter searches find nothing
_LEAST_GAIN = 0.03  # of an operator's time; less is noise
_SEARCHED = 0.8  # share of the budget; the rest is for whole networks
_ROUNDS = 7  # alternating measurements of whole networks
_CALLS = 3  # in each of them
_TOLERANCE = 1e-3  # of the largest element


@dataclass(frozen=True)
class Kind:
    """Equal operators of a network on different operands.

    Attributes:
        nodes: the operators.
        flops: their total operations.
    """

    nodes: tuple[Node, ...]
    flops: int

    @property
    def name(self) -> str:
        """The name of the first operator."""
        return self.nodes[0].name


@dataclass(frozen=True)
class Found:
    """The best schedule of a kind of operator.

    Attributes:
        kind: the operators.
        nest: the schedule as a line of YAML; "" if the default is the best.
        default: seconds of an operator with the default schedule; None if that is wrong.
        best: seconds with the schedule.
    """

    kind: Kind
    nest: str
    default: float | None
    best: float | None

    @property
    def saved(self) -> float:
        """The seconds that the network would save."""
        if not self.nest or self.default is None or self.best is None:
            return 0.0
        gain = self.default - self.best
        return len(self.kind.nodes) * gain if gain > _LEAST_GAIN * self.default else 0.0


Done = Callable[[Found], None]
Array = np.ndarray[Any, Any]


def is_network(graph: Graph) -> bool:
    """Whether a graph has too many contractions to be tuned as a whole."""
    return sum(len(kind.nodes) for kind in kinds(graph)) > MOST_TOGETHER


def kinds(graph: Graph) -> list[Kind]:
    """The contractions of a graph by kind, those with most work first."""
    schedule = Schedule(graph)
    groups: dict[object, list[Node]] = {}
    for node in graph.nodes:
        if node.name in schedule.names and (
            family(node.op.name, schedule[node.name].space) == "contraction"
        ):
            groups.setdefault(_key(node), []).append(node)
    found = [Kind(tuple(nodes), sum(n.flops for n in nodes)) for nodes in groups.values()]
    return sorted(found, key=lambda kind: -kind.flops)


def _key(node: Node) -> object:
    """The key of a kind: the operator, its types, and its constant operands."""
    constants = tuple(tensor.const is not None for tensor in node.inputs)
    return node.op, node.input_types, constants, node.placement


def alone(node: Node) -> Graph:
    """The graph of a single operator, whose non-constant operands are inputs."""
    given = {
        tensor: tensor if tensor.const is not None else Tensor(tensor.name, tensor.type)
        for tensor in node.inputs
    }
    output = Tensor(node.name, node.output.type)
    inputs = tuple(given[tensor] for tensor in node.inputs)
    operation = Node(node.op, inputs, output, node.placement, node.where)
    output.producer = operation
    return Graph(*finish_graph("operator", None, [operation], [], None, [output]))


def tune_network(
    session: Session, report: Report = lambda progress: None, done: Done = lambda found: None
) -> tuple[Run, Progress]:
    """Tune the kinds of operators of the session's graph, then measure it as a whole.

    The network's run has two results: without a schedule, and with all schedules found or, if they
    are slower together, with those that save most. `report` gets the progress of the search, `done`
    the result for each kind. Raises UserError if the graph has nothing to tune.
    """
    start = time.monotonic()
    chosen = _shares(session)
    found = []
    for kind, seconds in chosen:
        found.append(_tuned(session, kind, seconds, report))
        done(found[-1])
    return measured(session, found, start)


def _shares(session: Session) -> list[tuple[Kind, float | None]]:
    """The kinds to tune, with the time budget of each."""
    every = kinds(session.graph)
    if not every:
        raise UserError(f"graph '{session.graph.name}' has no contraction to tune")
    budget = session.settings.budget
    if budget is None:
        return [(kind, None) for kind in every]
    seconds = budget * _SEARCHED
    chosen = every[: max(1, int(seconds / _LEAST_SECONDS))]
    total = sum(kind.flops for kind in chosen) or 1
    spare = max(seconds - _LEAST_SECONDS * len(chosen), 0.0)
    return [(kind, _LEAST_SECONDS + spare * kind.flops / total) for kind in chosen]


def _tuned(session: Session, kind: Kind, seconds: float | None, report: Report) -> Found:
    settings = replace(session.settings, budget=seconds, operator=None)
    graph = alone(kind.nodes[0])
    search = Session(graph, session.store, settings, session.target, session.options)
    _, progress = search.search(report)
    default = progress.default.seconds if progress.default is not None else None
    best = progress.best
    if best is None or not best.schedule:
        return Found(kind, "", default, default)
    nest = Schedule.of(graph, best.schedule).texts()[kind.name]
    return Found(kind, nest, default, best.seconds)


def schedule_text(found: Sequence[Found]) -> str:
    """The schedule of a network from the results for its kinds."""
    lines = [f"{node.name}: {entry.nest}" for entry in found for node in entry.kind.nodes]
    return "\n".join(lines)


def measured(session: Session, found: Sequence[Found], start: float) -> tuple[Run, Progress]:
    """The run of the whole network, begun at `start`, from the results for its kinds."""
    better = sorted((f for f in found if f.saved > 0), key=lambda entry: -entry.saved)
    run = session.store.add_run(session.new_run(STRATEGY))
    progress = Progress(budget=session.settings.budget)
    while True:
        results = _compared(session, schedule_text(better))
        for result in results:
            at = time.monotonic() - start
            progress.note(session.store.add_result(run.number, replace(result, at=at)))
        seconds = [result.seconds for result in results]
        if not better or (seconds[-1] and seconds[0] and seconds[-1] < seconds[0]):
            break
        better = better[: len(better) // 2]
    session.store.finish_run(run.number, time.monotonic() - start)
    return session.store.run(run.number), progress


def _compared(session: Session, schedule: str) -> list[Result]:
    """The network without a schedule and, if there is one, with it, measured alternately."""
    arrays = _inputs(session)
    with ExitStack() as resources:
        plain, usual = _compiled(session, None, resources)
        if plain is None or not schedule:
            samples = [] if plain is None else [_seconds(plain, arrays) for _ in range(_ROUNDS)]
            return [replace(usual, samples=tuple(samples))]
        tuned, result = _compiled(session, schedule, resources)
        if tuned is None:
            return [replace(usual, samples=(_seconds(plain, arrays),)), result]
        message = _difference(plain(*arrays), tuned(*arrays))
        pairs = [(_seconds(plain, arrays), _seconds(tuned, arrays)) for _ in range(_ROUNDS)]
        before, after = zip(*pairs, strict=True)
        status = "wrong" if message else "ok"
        kept = () if message else after
        return [
            replace(usual, samples=before),
            replace(result, status=status, message=message, samples=kept),
        ]


def _compiled(
    session: Session, schedule: str | None, resources: ExitStack
) -> tuple[Module | None, Result]:
    """The network with a schedule, and its compile time; None if it cannot be compiled."""
    began = time.monotonic()
    text = schedule or ""
    try:
        module = compile(
            session.graph, session.target, schedule=schedule, cache=False, **session.options
        )
    except XtcError as error:
        return None, Result(text, {}, "failed", str(error)[:500])
    resources.enter_context(module)
    return module, Result(text, {}, "ok", compile_seconds=time.monotonic() - began)


def _seconds(module: Module, arrays: Sequence[Array]) -> float:
    """The shortest of a few calls."""
    return module.measure(*arrays, repeat=_CALLS).timing.best


def _inputs(session: Session) -> list[Array]:
    """Sample data for the graph's inputs."""
    given = [tensor for tensor in session.graph.inputs if not tensor.state]
    seed = session.settings.seed
    return [sample(x.type.sizes, x.dtype, seed + n) for n, x in enumerate(given)]


def _difference(expected: object, found: object) -> str:
    """A message if results differ by more than rounding, else ""."""
    pairs = zip(_arrays(expected), _arrays(found), strict=True)
    for number, (a, b) in enumerate(pairs):
        scale = float(np.abs(a).max(initial=0.0)) or 1.0
        error = float(np.abs(a - b).max(initial=0.0)) / scale
        if not error <= _TOLERANCE:
            return f"output {number} differs by {error:.1e} of its largest element"
    return ""


def _arrays(results: object) -> list[Array]:
    listed = list(results) if isinstance(results, tuple) else [results]
    if isinstance(results, Mapping):
        listed = list(results.values())
    return [np.asarray(array).astype(np.float64) for array in listed]
