# SPDX-License-Identifier: Apache-2.0
"""The last step of every importer: simplifies, names outputs, and removes unused nodes."""

from __future__ import annotations

from collections.abc import Sequence

import xtc.ops as O
from xtc.graph.builder import GraphBuilder
from xtc.graph.placement import placement
from xtc.graph.tensor import Tensor
from xtc.importers.names import plain_name
from xtc.importers.simplify import simplified


def finish(
    builder: GraphBuilder,
    names: Sequence[str],
    results: Sequence[Tensor],
    leaves: Sequence[Tensor],
    device: object = None,
    updates: Sequence[tuple[Tensor, Tensor]] = (),
) -> None:
    """Make `results` the outputs of the open graph, called `names`; its inputs are in `leaves`.

    All operators run on `device`; inputs and outputs live on the host. An output that is an input,
    a constant or another output is copied. Unused inputs are removed.
    `updates` pairs each state in `leaves` with its value after a call.
    """
    wanted = [*results, *(value for _, value in updates)]
    prune(builder, wanted)  # unused nodes need not be folded
    nodes, found = simplified(builder.nodes, wanted)
    builder.replace(nodes)
    found, nexts = found[: len(results)], found[len(results) :]
    taken: set[Tensor] = set()
    outputs = []
    for name, tensor in zip(names, found, strict=True):
        if tensor.producer is None or tensor in taken:
            tensor = O.reshape(tensor, tensor.shape)
        tensor.name = plain_name(name, {str(other.name) for other in (*taken, *leaves)})
        taken.add(tensor)
        outputs.append(tensor)
    for (state, _), value in zip(updates, nexts, strict=True):
        O.update(state, value if value.producer else O.reshape(value, value.shape))
    prune(builder, [*outputs, *builder.updates.values()])
    O.outputs(*outputs)
    chosen = placement(device)
    for node in builder.nodes:
        node.placement = chosen
    used = {tensor for node in builder.nodes for tensor in node.inputs}
    builder.inputs = tuple(tensor for tensor in leaves if tensor in used)


def prune(builder: GraphBuilder, outputs: Sequence[Tensor]) -> None:
    """Remove nodes that no output depends on, and unused declared tensors."""
    needed = set(outputs)
    kept = []
    for node in reversed(builder.nodes):
        if node.output in needed:
            needed.update(node.inputs)
            kept.append(node)
    builder.nodes[:] = reversed(kept)
    builder.declared[:] = [tensor for tensor in builder.declared if tensor in needed]


def undeclared(builder: GraphBuilder, shape: tuple[int, ...], dtype: str, name: str) -> Tensor:
    """An input that the graph may leave unused, as models do."""
    tensor = O.tensor(shape, dtype, name=name)
    builder.declared.remove(tensor)
    return tensor
