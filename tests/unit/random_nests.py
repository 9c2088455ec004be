# SPDX-License-Identifier: Apache-2.0
"""Random schedules, as plain data and as calls of primitives; most are legal, some nearly so."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random
from typing import Any

from xtc.core.errors import UserError
from xtc.core.loops import Axis
from xtc.schedule import NodeSchedule

Data = dict[str, Any]


def random_data(
    rng: Random, axes: tuple[Axis, ...], operands: int, producers: list[int], depth: int = 0
) -> Data:
    """A nest over `axes` as plain data."""
    part = _part(rng, axes) if depth < 2 else None
    loops = _loops(rng, [axis for axis in axes if part is None or axis is not part[0]])
    vectors = set() if part else _vectors(rng, loops, axes)
    loops = [loop for loop in loops if loop not in vectors] + list(vectors)
    data: Data = {loop: {} for loop in loops}
    _annotate(rng, data, axes, {"pack": list(range(operands)), "fuse": producers}, vectors)
    if part is not None:
        data |= _segments(rng, axes, part, operands, producers, depth, list(data))
    return {loop: _value(rng, words) for loop, words in data.items()}


def _part(rng: Random, axes: tuple[Axis, ...]) -> tuple[Axis, list[int]] | None:
    """An axis to cut, and where."""
    long = [axis for axis in axes if axis.size > 1]
    if not long or rng.random() > 0.2:
        return None
    axis = rng.choice(long)
    count = min(rng.choice((1, 1, 2)), axis.size - 1)
    return axis, sorted(rng.sample(range(1, axis.size), count))


def _segments(
    rng: Random,
    axes: tuple[Axis, ...],
    part: tuple[Axis, list[int]],
    operands: int,
    producers: list[int],
    depth: int,
    outer: list[str],
) -> Data:
    axis, cuts = part
    bounds = [0, *cuts, axis.size]
    looped = {loop.partition("#")[0] for loop in outer}
    result = {}
    for start, stop in itertools.pairwise(bounds):
        inner = [one for one in axes if one.name not in looped]
        inner = [replace(one, size=stop - start) if one is axis else one for one in inner]
        open_end = stop == axis.size and rng.random() < 0.5
        key = f"{axis.name}[{start or ''}:{'' if open_end else stop}]"
        result[key] = random_data(rng, tuple(inner), operands, producers, depth + 1)
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
        queue = rng.choice([one for one in queues if one])
        order.append(queue.pop(0))
    return order


def _vectors(rng: Random, loops: list[str], axes: tuple[Axis, ...]) -> dict[str, None]:
    """Loops to vectorize: the last ones of some parallel axes."""
    kinds = {axis.name: axis.reduction for axis in axes}
    ones = {axis.name for axis in axes if axis.size == 1}
    last = {loop.split("#")[0]: loop for loop in loops if not loop.endswith("#1")}
    chosen = [
        loop
        for name, loop in last.items()
        if name not in ones and (not kinds[name] or rng.random() < 0.03)
    ]
    if not chosen or rng.random() < 0.4:
        return {}
    return dict.fromkeys(rng.sample(chosen, min(len(chosen), rng.choice((1, 1, 1, 2)))))


def _annotate(
    rng: Random,
    data: Data,
    axes: tuple[Axis, ...],
    operands: dict[str, list[int]],
    vectors: dict[str, None],
) -> None:
    kinds = {axis.name: axis.reduction for axis in axes}
    outermost = True
    for loop, words in data.items():
        if loop in vectors:
            words["vectorize"] = True
            continue
        outermost = outermost and not kinds[loop.split("#")[0]] and rng.random() < 0.2
        if outermost:
            words["parallelize"] = True
        elif rng.random() < 0.2:
            words["unroll"] = rng.choice((True, True, 2, 3))
        if rng.random() < 0.1:
            words["buffer"] = True
        for word, numbers in operands.items():
            if numbers and rng.random() < (0.1 if word == "pack" else 0.25):
                words[word] = rng.choice(numbers)


def _value(rng: Random, words: Any) -> Any:
    """The same in one of the other forms that data may have."""
    if not isinstance(words, dict) or rng.random() < 0.5:
        return words
    if not words:
        return None
    if any("[" in key for key in words) or any(value is not True for value in words.values()):
        return words
    names = list(words)
    return names[0] if len(names) == 1 else names


def random_calls(rng: Random, node: NodeSchedule, count: int, producers: list[int]) -> list[str]:
    """Call primitives on `node` at random; returns what was refused."""
    refused = []
    for _ in range(count):
        try:
            for child in _call(rng, node, producers):
                refused += random_calls(rng, child, rng.randrange(4), producers)
        except UserError as error:
            refused.append(str(error))
    return refused


def _call(rng: Random, node: NodeSchedule, producers: list[int]) -> list[NodeSchedule]:
    """One call; the new schedules where it was a split."""
    loop = rng.choice(node.loops) if node.loops else "i"
    dim = rng.choice(node.dims) if node.dims else "i"
    size = next((axis.size for axis in node.axes if axis.name == dim), 4)
    operand = rng.randrange(max(1, node.operands))
    word = rng.choice(_WORDS)
    if word == "strip_mine":
        tile = rng.randint(1, max(1, size - 1))
        tiles = {f"{dim}{len(node.loops)}": tile}
        if tile > 1 and rng.random() < 0.3:
            tiles[f"{dim}{len(node.loops) + 1}"] = rng.randint(1, tile - 1)
        node.strip_mine(dim, tiles)
    elif word == "split":
        return list(node.split(dim, {"low": 0, "high": rng.randint(1, max(1, size - 1))}).values())
    elif word == "interchange":
        node.interchange(rng.sample(node.loops, len(node.loops)))
    elif word == "unroll":
        node.unroll({loop: rng.choice((2, 2, 3, 4))})
    elif word == "vectorize":
        node.vectorize([node.loops[-1] if node.loops and rng.random() < 0.8 else loop])
    elif word == "parallelize":
        node.parallelize([node.loops[0] if node.loops and rng.random() < 0.8 else loop])
    elif word == "buffer_at":
        node.buffer_at(loop)
    elif word == "pack_at":
        node.pack_at(loop, operand)
    elif producers:
        node.fuse_producer_at(loop, rng.choice(producers))
    return []


_WORDS = (
    "strip_mine",
    "strip_mine",
    "strip_mine",
    "interchange",
    "interchange",
    "vectorize",
    "vectorize",
    "unroll",
    "split",
    "parallelize",
    "buffer_at",
    "pack_at",
    "fuse_producer_at",
)
