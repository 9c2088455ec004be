# SPDX-License-Identifier: Apache-2.0
"""Random schedules, as plain data and as calls of primitives; most are legal, some nearly so."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from xtc.core.errors import UserError
from xtc.loops import Axis, Space
from xtc.schedule import NodeSchedule

Data = dict[str, Any]


def random_data(rng: Random, space: Space, depth: int = 0) -> Data:
    """A nest over `space` as plain data."""
    part = _part(rng, space.axes) if depth < 2 else None
    loops = _loops(rng, [axis for axis in space.axes if part is None or axis is not part[0]])
    vectors = set() if part else _vectors(rng, loops, space.axes)
    data: Data = {loop: {} for loop in (*(loop for loop in loops if loop not in vectors), *vectors)}
    _annotate(rng, data, space, vectors)
    if part is not None:
        data |= _segments(rng, space, part, depth, list(data))
    return {loop: _value(rng, words) for loop, words in data.items()}


def _part(rng: Random, axes: tuple[Axis, ...]) -> tuple[Axis, list[int]] | None:
    """An axis to split, and the position."""
    long = [axis for axis in axes if axis.size > 1]
    if not long or rng.random() > 0.2:
        return None
    axis = rng.choice(long)
    count = min(rng.choice((1, 1, 2)), axis.size - 1)
    return axis, sorted(rng.sample(range(1, axis.size), count))


def _segments(
    rng: Random, space: Space, part: tuple[Axis, list[int]], depth: int, outer: list[str]
) -> Data:
    axis, cuts = part
    bounds = [0, *cuts, axis.size]
    looped = {loop.partition("#")[0] for loop in outer}
    result = {}
    for start, stop in itertools.pairwise(bounds):
        axes = [axis for axis in space.axes if axis.name not in looped]
        axes = [replace(other, size=stop - start) if other is axis else other for other in axes]
        open_end = stop == axis.size and rng.random() < 0.5
        key = f"{axis.name}[{start or ''}:{'' if open_end else stop}]"
        result[key] = random_data(rng, replace(space, axes=tuple(axes)), depth + 1)
    return result


def _loops(rng: Random, axes: list[Axis]) -> list[str]:
    """Loops over tiles and whole axes in random order, larger tiles of an axis first."""
    queues = []
    for axis in axes:
        queue = [axis.name] if rng.random() < 0.7 else []
        size = axis.size
        while size > 1 and rng.random() < 0.45:
            size = rng.randint(1, size - 1) if rng.random() < 0.6 else max(1, size // 2)
            queue.append(f"{axis.name}#{size}")
        queues.append(queue)
    order = []
    while any(queues):
        queue = rng.choice([queue for queue in queues if queue])
        order.append(queue.pop(0))
    return order


def _vectors(rng: Random, loops: list[str], axes: tuple[Axis, ...]) -> set[str]:
    """Loops to vectorize: the last ones of some parallel axes.

    Axes whose elements a dot-product instruction adds are excluded, because not every processor has
    it.
    """
    kinds = {axis.name: axis.reduction for axis in axes if axis.size > 1 and not axis.groups}
    last = {loop.split("#")[0]: loop for loop in loops if not loop.endswith("#1")}
    chosen = [
        loop
        for name, loop in last.items()
        if name in kinds and (not kinds[name] or rng.random() < 0.03)
    ]
    if not chosen or rng.random() < 0.4:
        return set()
    return set(rng.sample(chosen, min(len(chosen), rng.choice((1, 1, 1, 2)))))


def _annotate(rng: Random, data: Data, space: Space, vectors: set[str]) -> None:
    repeated = {axis.name: not axis.reduction for axis in space.axes if axis.size > 1}
    outermost = True
    for loop, words in data.items():
        if loop in vectors:
            words["vectorize"] = True
            continue
        name = loop.split("#")[0]
        outermost = outermost and repeated.get(name, False) and rng.random() < 0.2
        if outermost and "#" not in loop:
            words["parallelize"] = True
        elif rng.random() < 0.2 and name in repeated and not loop.endswith("#1"):
            words["unroll"] = rng.choice((True, True, 2, 3))
        if rng.random() < 0.1:
            words["buffer"] = True
        if space.operands and rng.random() < 0.1:
            words["pack"] = rng.randrange(space.operands)
        if space.computed and rng.random() < 0.25:
            words["fuse"] = rng.choice(space.computed)


def random_blocks(rng: Random, space: Space) -> Data:
    """A nest whose outer loops run on blocks and whose inner ones run on threads, as plain data."""
    axes = [axis for axis in space.axes if axis.size > 1 and not axis.reduction]
    grid = rng.sample(axes, rng.randint(1, len(axes))) if axes else []
    tiles = {axis.name: rng.randint(1, axis.size - 1) for axis in grid}
    rest = [axis for axis in space.axes if axis.size > 1 and axis not in grid]
    shared = [f"{name}#{size}" for name, size in tiles.items() if size > 1]
    shared += [axis.name for axis in rest if not axis.reduction and rng.random() < 0.5]
    left = [axis.name for axis in rest if axis.name not in shared]
    between = [name for name in left if rng.random() < 0.6]
    inner = [name for name in left if name not in between]
    inner += [f"{axis.name}#{rng.randint(1, axis.size - 1)}" for axis in rest if rng.random() < 0.4]
    inner += [f"{name}#{size // 2}" for name, size in tiles.items() if size > 3]
    data: Data = {name: {"parallelize": True} for name in tiles}
    data |= {name: {} for name in between}
    data |= {name: {"parallelize": True} for name in shared}
    data |= {name: {} for name in inner}
    for words in [data[name] for name in (*list(tiles)[-1:], *between, *inner)]:
        _put_inside(rng, words, space, 0.3)
    for name in inner[:-1]:
        if rng.random() < 0.4:
            data[name]["unroll"] = True
    if inner and not data[inner[-1]] and rng.random() < 0.6:
        data[inner[-1]] = {rng.choice(("vectorize", "vectorize", "unroll")): True}
    return data


def _put_inside(rng: Random, words: Any, space: Space, chance: float) -> None:
    if rng.random() < chance / 2:
        words["buffer"] = True
    if space.operands and rng.random() < chance:
        words["pack"] = rng.randrange(space.operands)
    if space.computed and rng.random() < chance:
        words["fuse"] = rng.choice(space.computed)


def _value(rng: Random, words: Any) -> Any:
    """The annotations in another form that the data may have."""
    if not isinstance(words, dict) or rng.random() < 0.5:
        return words
    if not words:
        return None
    if any("[" in key for key in words) or any(value is not True for value in words.values()):
        return words
    names = list(words)
    return names[0] if len(names) == 1 else names


def random_calls(rng: Random, node: NodeSchedule, count: int) -> list[str]:
    """Call random primitives on `node`; returns the refused calls."""
    refused = []
    for _ in range(count):
        try:
            for child in _call(rng, node):
                refused += random_calls(rng, child, rng.randrange(4))
        except UserError as error:
            refused.append(error.what)
    return refused


def _call(rng: Random, node: NodeSchedule) -> list[NodeSchedule]:
    """One call, undone if the schedule becomes unusable; returns the new schedules of a split."""
    before = list(node._loops), list(node._parts), list(node._waiting)
    try:
        children = _any_call(rng, node)
        node._root().nest  # noqa: B018  checked when it is used
    except UserError:
        node._loops, node._parts, node._waiting = before
        node._root()._update_segments()
        raise
    return children


def _any_call(rng: Random, node: NodeSchedule) -> list[NodeSchedule]:
    loop = rng.choice(node.loops) if node.loops else "i"
    dim = rng.choice(node.dims)
    size = next(axis.size for axis in node.axes if axis.name == dim)
    return _CALLS[rng.choice(_WORDS)](rng, node, loop, dim, size) or []


def _strip_mine(rng: Random, node: NodeSchedule, _loop: str, dim: str, size: int) -> None:
    tile = rng.randint(1, max(1, size - 1))
    tiles = {f"{dim}{len(node.loops)}": tile}
    if tile > 1 and rng.random() < 0.3:
        tiles[f"{dim}{len(node.loops) + 1}"] = rng.randint(1, tile - 1)
    node.strip_mine(dim, tiles)


def _split(rng: Random, node: NodeSchedule, _loop: str, dim: str, size: int) -> list[NodeSchedule]:
    parts = {"low": 0, "high": rng.randint(1, max(1, size - 1))}
    return list(node.split(dim, parts).values())


def _vectorize(rng: Random, node: NodeSchedule, loop: str, *_: object) -> None:
    loop = node.loops[-1] if node.loops and rng.random() < 0.8 else loop
    axes = [node.space.axis(own.axis) for own in node._loops if own.name == loop]
    if not any(axis is not None and axis.groups for axis in axes):
        reduced = any(axis is not None and axis.reduction for axis in axes)
        node.vectorize([loop], reassociate=reduced and rng.random() < 0.7)


def _parallelize(rng: Random, node: NodeSchedule, loop: str, *_: object) -> None:
    node.parallelize([node.loops[0] if node.loops and rng.random() < 0.8 else loop])


def _operand(rng: Random, node: NodeSchedule) -> int:
    return rng.randrange(max(1, node.operands))


_CALLS: dict[str, Callable[..., Any]] = {
    "strip_mine": _strip_mine,
    "split": _split,
    "interchange": lambda rng, node, *_: _done(
        node.interchange(rng.sample(node.loops, len(node.loops)))
    ),
    "unroll": lambda rng, node, loop, *_: _done(node.unroll({loop: rng.choice((2, 2, 3, 4))})),
    "vectorize": _vectorize,
    "parallelize": _parallelize,
    "buffer_at": lambda rng, node, loop, *_: _done(node.buffer_at(loop)),
    "pack_at": lambda rng, node, loop, *_: _done(node.pack_at(loop, _operand(rng, node))),
    "fuse_producer_at": lambda rng, node, loop, *_: _done(
        node.fuse_producer_at(loop, _operand(rng, node))
    ),
}
_WORDS = (*_CALLS, "strip_mine", "strip_mine", "interchange", "vectorize")


def _done(_schedule: NodeSchedule) -> None:
    """Ignore the returned schedule, which primitives return for chaining."""
