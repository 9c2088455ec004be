# SPDX-License-Identifier: Apache-2.0
"""Legality of distributing loops over the axes of a processor mesh."""

from __future__ import annotations

from xtc.core.errors import UserError, did_you_mean
from xtc.loops.incomplete import IncompleteError
from xtc.loops.mesh import Mesh
from xtc.loops.nest import Nest, NestLoop


def check_distribution(nest: Nest, title: str) -> None:
    """Raise UserError unless the distribution in a complete nest is legal."""
    for inner in nest.walk():
        if inner is not nest:
            _check_segment(inner, title)
    loops = [loop for loop in nest.loops if loop.distribute]
    sharding = [loop for loop in nest.loops if loop.shard]
    if not loops and not sharding:
        return
    mesh = nest.space.mesh
    if mesh is None:
        raise UserError(
            f"'{(loops + sharding)[0].name}' of {title} is distributed, but no processor mesh is "
            "defined",
            hints=["schedule.define_processor_mesh(...) first"],
        )
    _check_axes(nest, loops, mesh, title)
    _check_order(nest, mesh, title)
    _check_between(nest, mesh, title)
    for loop in sharding:
        _check_shards(nest, loop, mesh, title)


def shard_loops(nest: Nest) -> list[NestLoop]:
    """Loops over mesh axes that cross memories."""
    mesh = nest.space.mesh
    return [loop for loop in nest.loops if mesh and loop.distribute in mesh.shard_axes]


def thread_loops(nest: Nest) -> list[NestLoop]:
    """Loops over mesh axes of the processors of one memory."""
    mesh = nest.space.mesh
    return [loop for loop in nest.loops if mesh and loop.distribute in mesh.thread_axes]


def _check_segment(nest: Nest, title: str) -> None:
    for loop in nest.loops:
        if loop.distribute or loop.shard:
            raise UserError(
                f"'{loop.name}' of {title} cannot be distributed inside a segment",
                hints=["distribute loops outside of the split"],
            )


def _check_axes(nest: Nest, loops: list[NestLoop], mesh: Mesh, title: str) -> None:
    used: dict[str, str] = {}
    for loop in loops:
        name = loop.distribute
        if mesh.memory and name in mesh.memory.names:
            raise UserError(
                f"'{loop.name}' of {title} cannot be distributed over '{name}', an axis of "
                f"memory mesh '{mesh.memory.name}'",
                hints=[f"over '{mesh.names[mesh.memory.names.index(name)]}', its processors"],
            )
        if name not in mesh.names:
            raise UserError(
                f"'{loop.name}' of {title} cannot be distributed over '{name}': processor mesh "
                f"'{mesh.name}' has no such axis",
                hints=did_you_mean(name, mesh.names),
            )
        if name in used:
            raise UserError(
                f"'{used[name]}' and '{loop.name}' of {title} are both distributed over '{name}'",
                hints=["an axis takes one loop"],
            )
        used[name] = loop.name
        _check_loop(nest, loop, title)


def _check_loop(nest: Nest, loop: NestLoop, title: str) -> None:
    axis = nest.space.axis(loop.axis)
    if axis is not None and axis.reduction:
        raise UserError(
            f"'{loop.name}' of {title} cannot be distributed: '{loop.axis}' is reduced",
            notes=["processors would add to one element at the same time"],
            hints=["distribute an axis of the result"],
        )
    if loop.vectorize or loop.unroll or loop.parallelize:
        raise UserError(
            f"'{loop.name}' of {title} is distributed and vectorized, unrolled or parallelized",
            hints=["strip-mine it, and do one of them to the inner loop"],
        )


def _check_order(nest: Nest, mesh: Mesh, title: str) -> None:
    """Loops over memories are outermost, and loops over the processors of one are adjacent."""
    sharded, threaded = shard_loops(nest), thread_loops(nest)
    for loop, around in zip(sharded, nest.loops, strict=False):
        if around not in sharded:
            raise IncompleteError(
                f"'{loop.name}' of {title} cannot be distributed over '{loop.distribute}' inside "
                f"'{around.name}'",
                notes=[f"'{loop.distribute}' runs over memories, so its loop must be outermost"],
                hints=[f"distribute '{around.name}' instead"],
            )
    first = nest.loops.index(threaded[0]) if threaded else 0
    for loop, dimension in zip(threaded, nest.loops[first:], strict=False):
        if loop != dimension:
            raise IncompleteError(
                f"'{threaded[0].name}' and '{loop.name}' of {title} cannot be distributed over "
                f"processors of one memory with '{dimension.name}' between them",
                hints=["interchange the loops so that they are adjacent"],
            )
    _check_once(threaded, title)


def check_memories(nest: Nest, title: str) -> None:
    """Raise UserError if two loops over an axis cross memories, which few machines support."""
    _check_once(shard_loops(nest), title)


def _check_once(group: list[NestLoop], title: str) -> None:
    axes = [loop.axis for loop in group]
    twice = next((axis for axis in axes if axes.count(axis) > 1), None)
    if twice is not None:
        raise IncompleteError(
            f"axis '{twice}' of {title} is distributed twice, over "
            + " and ".join(f"'{other.distribute}'" for other in group if other.axis == twice),
            hints=["distribute another axis, or only the outer of the two loops"],
        )


def _check_between(nest: Nest, mesh: Mesh, title: str) -> None:
    """Adjacent distributed loops are collapsed: only packing is allowed between them."""
    for group in (shard_loops(nest), thread_loops(nest)):
        for loop in group[:-1]:
            packed = loop.pack if group is shard_loops(nest) else ()
            if packed or loop.buffer or loop.fuse:
                raise IncompleteError(
                    f"'{loop.name}' and '{group[-1].name}' of {title} are distributed as one "
                    "loop; nothing can be put between them",
                    hints=[f"put it inside '{group[-1].name}'"],
                )


def _check_shards(nest: Nest, loop: NestLoop, mesh: Mesh, title: str) -> None:
    if loop in thread_loops(nest) or any(
        other in thread_loops(nest) for other in nest.loops[: nest.loops.index(loop)]
    ):
        raise IncompleteError(
            f"'{loop.name}' of {title} runs on the processors of one memory; nothing can be "
            "distributed over memories there",
            hints=["name a loop outside them"],
        )
    for operand, axes in loop.shard:
        _check_operand(nest, loop, operand, mesh, title)
        for axis in axes:
            _check_memory_axis(nest, loop, operand, axis, mesh, title)
        named = [axis for axis in axes if axis != "*"]
        if len(set(named)) < len(named):
            raise IncompleteError(f"operand {operand} of {title} is distributed over an axis twice")


def _check_operand(nest: Nest, loop: NestLoop, operand: int, mesh: Mesh, title: str) -> None:
    count, ranks = nest.space.operands, nest.space.ranks
    if not 0 <= operand < count:
        raise UserError(
            f"a distributed buffer at '{loop.name}': {title} has no operand {operand}",
            notes=[f"it reads {count} operands, counted from 0"],
        )
    axes = dict(loop.shard)[operand]
    if ranks and len(axes) != ranks[operand]:
        raise UserError(
            f"operand {operand} of {title} has {ranks[operand]} dimensions, but {len(axes)} are "
            "distributed",
            hints=["name an axis of the memory mesh, or '*', for each dimension"],
        )


def _check_memory_axis(
    nest: Nest, loop: NestLoop, operand: int, axis: str, mesh: Mesh, title: str
) -> None:
    memory = mesh.memory
    if axis == "*" or memory is None:
        return
    if axis not in memory.names:
        raise UserError(
            f"operand {operand} of {title} cannot be distributed over '{axis}': memory mesh "
            f"'{memory.name}' has no such axis",
            hints=did_you_mean(axis, (*memory.names, "*")),
        )
    over = mesh.names[memory.names.index(axis)]
    if memory.size(axis) > 1 and over not in {other.distribute for other in nest.loops}:
        raise IncompleteError(
            f"operand {operand} of {title} is distributed over '{axis}', but no loop over '{over}'",
            notes=["a processor would read another one's memory"],
            hints=[f"distribute the loop that indexes it over '{over}'"],
        )
