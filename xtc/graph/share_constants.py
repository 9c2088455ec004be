# SPDX-License-Identifier: Apache-2.0
"""Merges constants with equal bytes."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from xtc.graph.graph import Graph
from xtc.graph.operator import Array
from xtc.graph.rewritten import rewritten
from xtc.graph.tensor import Tensor

_SAMPLE_BYTES = 4096  # hashed at either end of a constant: enough to distinguish most


def share_constants(graph: Graph) -> Graph:
    """The graph with constants of the same type, device and bytes merged.

    Models repeat constants: an embedding table is also the last layer's weights, and layers share
    masks and scales.
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
    """A key that equal constants share and most other constants do not."""
    content = _bytes(tensor)
    ends = content[:_SAMPLE_BYTES].tobytes(), content[-_SAMPLE_BYTES:].tobytes()
    return tensor.type, tensor.placement, hash(ends)


def _bytes(tensor: Tensor) -> Array:
    assert tensor.const is not None  # noqa: S101  it is a constant
    return np.ascontiguousarray(tensor.const).reshape(-1).view(np.uint8)
