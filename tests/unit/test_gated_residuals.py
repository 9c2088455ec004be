# SPDX-License-Identifier: Apache-2.0
"""Network blocks in which a gate scales a branch before it is added to its shortcut."""

from __future__ import annotations

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor


def _weights(*shape: int) -> Tensor:
    rng = np.random.default_rng(shape)
    return O.tensor(shape, const=rng.standard_normal(shape, np.float32) / 8)


def _layer(x: Tensor, channels: int) -> Tensor:
    """A 1 x 1 convolution with a bias."""
    product = O.conv2d(x, _weights(1, 1, x.type.sizes[-1], channels))
    return O.add(product, _weights(channels))


def _gate(x: Tensor) -> Tensor:
    """A factor for each channel, from its mean."""
    channels = x.type.sizes[-1]
    means = O.reshape(O.reduce_mean(x, axes=(1, 2)), (1, channels))
    return O.reshape(O.sigmoid(O.matmul(means, _weights(channels, channels))), (1, 1, 1, channels))


def _two_blocks() -> Graph:
    x = O.tensor((1, 8, 8, 32), name="x")
    with O.graph(name="blocks") as gb:
        shortcut = _layer(x, 64)
        branch = _layer(O.relu(_layer(x, 16)), 64)
        joined = O.add(O.mul(O.mul(branch, _gate(branch)), 0.4), shortcut)
        narrow = O.relu(_layer(O.mul(O.silu(joined), 1.7), 16))
        O.add(O.mul(_layer(narrow, 64), 0.3), joined)
    return gb.graph


@pytest.mark.parametrize("threads", [1, 2])
def test_a_gated_convolution_is_added_to_its_shortcut(threads: int) -> None:
    # The sum is an epilogue of the shortcut, and reads a result that was moved earlier.
    with xtc.compile(_two_blocks(), threads=threads) as module:
        module.check()
