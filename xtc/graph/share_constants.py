# SPDX-License-Identifier: Apache-2.0
"""Constants of equal bytes become one constant."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from xtc.graph.graph import Graph
from xtc.graph.operator import Array
from xtc.graph.rewritten import rewritten
from xtc.graph.tensor import Tensor

_SAMPLE_BYTES = 4096  # of a constant at either end, which tell most of them apart


def share_constants(graph: Graph) -> Graph:
    """The graph with one constant for those of the same type, device and bytes.

    Models repeat them: a table of embeddings is the last layer's weights as well, masks and scales
    are those of every layer.
    """
    alike: dict[Hashable, list[Tensor]] = {}
    shared: dict[Tensor, Tensor] = {}
    for tensor in graph.constants:
        if not tensor.is_scalar_constant:
            others = alike.setdefault(_key(tensor), [])
            same = next((t for t in others if np.array_equal(_bytes(t), _bytes(tensor))), None)
            if same is None:
                others.append(tensor)
            else:
                shared[tensor] = same
    return rewritten(graph, shared)


def _key(tensor: Tensor) -> Hashable:
    """What equal constants have in common, and most others do not."""
    content = _bytes(tensor)
    ends = content[:_SAMPLE_BYTES].tobytes(), content[-_SAMPLE_BYTES:].tobytes()
    return tensor.type, tensor.placement, hash(ends)


def _bytes(tensor: Tensor) -> Array:
    assert tensor.const is not None  # noqa: S101  it is a constant
    return np.ascontiguousarray(tensor.const).reshape(-1).view(np.uint8)
