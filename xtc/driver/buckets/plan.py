# SPDX-License-Identifier: Apache-2.0
"""Builds a bucket's graph that computes the unpadded graph's results from padded arguments.

Both graphs are walked in parallel. Elements outside the valid positions of a tensor are arbitrary.
If an operator would combine them with valid elements, they are first replaced by its neutral
element, under a mask that each call passes as an input.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import xtc.ops as O
from xtc.driver.buckets.extents import Extent, is_leading, leading, sizes, valid
from xtc.driver.buckets.rules import extents_after
from xtc.driver.buckets.step import InexactPaddingError, Step, Walk, Written
from xtc.graph.builder import apply
from xtc.graph.graph import Graph
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.ops.slice import Slice


@dataclass(frozen=True)
class Plan:
    """A padded graph, and how calls use it.

    Attributes:
        graph: takes the padded inputs, then the masks.
        masks: the extent of each mask, by the input's name.
        outputs: the extents of each output.
        written: the graph's masked operands; two calls with equal ones share the graph.
    """

    graph: Graph
    masks: Mapping[str, Extent]
    outputs: Sequence[Sequence[Extent]]
    written: tuple[Written, ...]


def planned(small: Graph, large: Graph) -> Plan:
    """How the graph of a bucket, `large`, computes what `small` does.

    Raises InexactPaddingError if padding would change results.
    """
    if small.updates or large.updates:
        raise InexactPaddingError("its states are kept in the size of the first call")
    if [tensor.name for tensor in small.inputs] != [tensor.name for tensor in large.inputs]:
        raise InexactPaddingError("its inputs differ from size to size")
    walk = Walk(pairs=dict(zip(small.inputs, large.inputs, strict=True)))
    with O.graph(name=large.name) as builder:
        leaves = [_leaf(walk, *leaf) for leaf in walk.pairs.items()]
        _follow_all(walk, deque(small.nodes), deque(large.nodes))
        if [walk.pairs.get(x) for x in small.outputs] != list(large.outputs):
            raise InexactPaddingError("its outputs differ from size to size")
        O.inputs(*leaves, *walk.masks.values())
        O.outputs(*(walk.copies[x] for x in small.outputs))
    found = [walk.extents[x] for x in small.outputs]
    masks = {str(tensor.name): extent for extent, tensor in walk.masks.items()}
    return Plan(builder.graph, masks, found, tuple(walk.written))


def _leaf(walk: Walk, small: Tensor, large: Tensor) -> Tensor:
    copy = O.tensor(large.shape, large.dtype, name=large.name, device=large.placement)
    walk.copies[small], walk.extents[small] = copy, _leading(small, large)
    return copy


def _leading(small: Tensor, large: Tensor) -> tuple[Extent, ...]:
    return tuple(leading(*pair) for pair in zip(small.type.sizes, large.type.sizes, strict=True))


def _follow_all(walk: Walk, small: deque[Node], large: deque[Node]) -> None:
    """Walk all nodes of both graphs. Only one of them may crop elements that no window needs."""
    while small or large:
        walk.number += 1
        if small and large and _corresponds(walk, small[0], large[0]):
            _follow(walk, small.popleft(), large.popleft())
        elif small and _cuts_ends(small[0]):
            _cut_in_small(walk, small.popleft())
        elif large and _cuts_ends(large[0]):
            _cut_in_large(walk, large.popleft())
        else:
            raise InexactPaddingError("its operators differ from size to size")


def _corresponds(walk: Walk, small: Node, large: Node) -> bool:
    """Whether two nodes apply the same operator to corresponding operands."""
    if type(small.op) is not type(large.op) or len(small.inputs) != len(large.inputs):
        return False
    operands = zip(small.inputs, large.inputs, strict=True)
    return all(
        walk.pairs.get(a) is b or (a.const is not None and b.const is not None) for a, b in operands
    )


def _are_constants(*tensors: Tensor) -> bool:
    return all(tensor.const is not None for tensor in tensors)


def _cuts_ends(node: Node) -> bool:
    op = node.op
    return isinstance(op, Slice) and not any(op.starts) and set(op.steps) == {1}


def _cut_in_small(walk: Walk, node: Node) -> None:
    """A slice of the unpadded graph alone: fewer positions of the tensor are valid."""
    (x,) = node.inputs
    old = walk.extents[x]
    cut = []
    for extent, before, after in zip(old, x.type.sizes, node.output.type.sizes, strict=True):
        if before != after and not is_leading(extent):
            raise InexactPaddingError(f"'{node.name}', slice: it slices several dimensions")
        cut.append(extent if before == after else leading(after, sizes(extent)[1]))
    walk.note(node.output, walk.pairs[x], walk.copies[x], cut)


def _cut_in_large(walk: Walk, node: Node) -> None:
    """A slice of the padded graph alone, if it drops no valid position."""
    (x,) = node.inputs
    for small, paired in list(walk.pairs.items()):
        if paired is x:
            pairs = zip(walk.extents[small], node.output.type.sizes, x.type.sizes, strict=True)
            if any(size != old and not is_leading(e) for e, size, old in pairs) or any(
                few > many
                for few, many in zip(small.type.sizes, node.output.type.sizes, strict=True)
            ):
                raise InexactPaddingError(
                    f"'{node.name}', slice: it drops elements that other operators need"
                )
            part = apply(node.op, walk.copies[small], device=node.placement)
            walk.note(small, node.output, part, _leading(small, node.output))


def _follow(walk: Walk, small: Node, large: Node) -> None:
    """Walk one pair of nodes."""
    for a, b in zip(small.inputs, large.inputs, strict=True):
        if _are_constants(a, b):
            _same(walk, a, b, large)
    step = Step(walk, small, large, [walk.copies[x] for x in small.inputs])
    extents, result = extents_after(step)
    wanted = list(zip(small.output.type.sizes, large.output.type.sizes, strict=True))
    step.require([sizes(x) for x in extents] == wanted, "its result has sizes of another kind")
    result.name = large.output.name
    walk.note(small.output, large.output, result, extents)


def _same(walk: Walk, small: Tensor, large: Tensor, node: Node) -> None:
    """Check that a constant has the same elements at all valid positions."""
    a, b = np.asarray(small.const), np.asarray(large.const)
    extents = _leading(small, large) if a.ndim == b.ndim else ()
    used = b[np.ix_(*(np.flatnonzero(valid(extent)) for extent in extents))] if extents else b
    if not np.array_equal(a, used, equal_nan=a.dtype.kind in "fc"):
        raise InexactPaddingError(f"'{node.name}', {node.op.name}: a constant depends on the size")
    walk.note(small, large, large, extents)
