# SPDX-License-Identifier: Apache-2.0
"""Random networks of 20 to 200 operators, whose results are read near and far.

All steps map square matrices of one size to such a matrix, so that any step can follow any other.
Elements stay small: a wrong element remains visible in later results.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

import xtc
import xtc.ops as O
from xtc.graph.tensor import Tensor

Step = Callable[[Random, Tensor, Tensor], Tensor]


def _weights(rng: Random, *sizes: int) -> Tensor:
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    return O.tensor(sizes, const=numbers.uniform(-0.5, 0.5, sizes).astype(np.float32))


def _unary(rng: Random, x: Tensor, _: Tensor) -> Tensor:
    return rng.choice((O.relu, O.tanh, O.sigmoid, O.neg))(x)


def _binary(rng: Random, x: Tensor, y: Tensor) -> Tensor:
    return O.tanh(rng.choice((O.add, O.sub, O.mul, O.maximum, O.minimum))(x, y))


def _residual(rng: Random, x: Tensor, y: Tensor) -> Tensor:
    return O.layer_norm(O.add(x, _unary(rng, x, y)), axis=-1, eps=0.1)


def _matmul(rng: Random, x: Tensor, y: Tensor) -> Tensor:
    return O.tanh(O.matmul(x, y, transpose_b=rng.random() < 0.5))


def _dense(rng: Random, x: Tensor, _: Tensor) -> Tensor:
    size, wide = x.type.sizes[0], rng.choice((1, 8, 17))
    hidden = O.relu(O.add(O.matmul(x, _weights(rng, size, wide)), _weights(rng, wide)))
    return O.tanh(O.matmul(hidden, _weights(rng, size, wide), transpose_b=True))


def _normalised(rng: Random, x: Tensor, _: Tensor) -> Tensor:
    axis = rng.randrange(2)
    return O.softmax(x, axis=axis) if rng.random() < 0.5 else O.layer_norm(x, axis=axis, eps=0.1)


def _reduced(rng: Random, x: Tensor, y: Tensor) -> Tensor:
    reduce = rng.choice((O.reduce_sum, O.reduce_max, O.reduce_min, O.reduce_mean))
    return O.tanh(O.sub(y, reduce(x, axes=rng.randrange(2), keepdims=True)))


def _convolved(rng: Random, x: Tensor, y: Tensor) -> Tensor:
    """Two images as channels, convolved into one."""
    size, window = x.type.sizes[0], rng.choice((1, 3))
    image = O.concat(*(O.reshape(each, (1, size, size, 1)) for each in (x, y)), axis=3)
    wide = rng.choice((1, 4, 8))
    hidden = O.relu(O.conv2d(image, _weights(rng, window, window, 2, wide), padding="same"))
    return O.reshape(O.conv2d(O.tanh(hidden), _weights(rng, 1, 1, wide, 1)), (size, size))


def _pooled(rng: Random, x: Tensor, _: Tensor) -> Tensor:
    size = x.type.sizes[0]
    image = O.pad(O.reshape(x, (1, size, size, 1)), [(0, 0), (1, 0), (0, 1), (0, 0)])
    pool = rng.choice((O.max_pool2d, O.avg_pool2d))
    return O.reshape(pool(image, 2, stride=1), (size, size))


def _moved(rng: Random, x: Tensor, y: Tensor) -> Tensor:
    size, axis = x.type.sizes[0], rng.randrange(2)
    if rng.random() < 0.3:
        return O.transpose(x)
    if rng.random() < 0.3:
        return O.slice(O.pad(x, [(1, 2), (0, 1)], value=1), (1, 1), (size + 1, size + 1))
    first = [size // 2 if axis == n else 0 for n in range(2)]
    return O.slice(O.concat(x, y, axis=axis), first, [start + size for start in first])


STEPS: tuple[Step, ...] = (
    _unary,
    _binary,
    _residual,
    _matmul,
    _dense,
    _normalised,
    _reduced,
    _convolved,
    _pooled,
    _moved,
)


def random_network(seed: int, most: int = 200) -> xtc.Graph:
    """A graph of 20 to `most` operators; up to three results are also read inside it."""
    rng = Random(seed)  # noqa: S311
    size = rng.choice((1, 4, 8, 13))
    alive = [O.tensor((size, size), name=f"input{n}") for n in range(rng.randint(1, 3))]
    inputs, wanted = len(alive), rng.randint(20, most - 7)
    with O.graph(name="random") as gb:
        while len(gb.nodes) < wanted:
            alive.append(rng.choice(STEPS)(rng, rng.choice(alive[-6:]), rng.choice(alive)))
        read = {tensor for node in gb.nodes for tensor in node.inputs}
        returned = set(rng.sample(alive[inputs:], min(rng.randrange(4), len(alive) - inputs)))
        O.outputs(*(t for t in alive[inputs:] if t in returned or t not in read))
    return gb.graph
