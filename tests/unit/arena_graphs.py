# SPDX-License-Identifier: Apache-2.0
"""Random graphs with many temporary arrays of several shapes, read soon or much later."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

import xtc.ops as O
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor

_UNARY: tuple[Callable[[Tensor], Tensor], ...] = (O.relu, O.tanh, O.sigmoid, O.softmax)
_BINARY: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (O.add, O.mul, O.maximum, O.matmul)


def arena_graph(seed: int) -> Graph:
    """20 to 200 operators on matrices, or on images; some results are both outputs and operands."""
    rng = random.Random(seed)  # noqa: S311
    count = rng.randint(20, 200 if seed >= 2 else 40)
    size = rng.choice((4, 8, 13))
    is_image = seed % 3 == 2
    shape = (1, size, size, rng.choice((3, 8))) if is_image else (size, size)
    alive = [O.tensor(shape, name=f"input{n}") for n in range(rng.randint(1, 3))]
    write = _on_images if is_image else _on_matrices
    with O.graph(name="random") as gb:
        for _ in range(count):
            alive.append(write(rng, rng.choice(alive[-6:]), rng.choice(alive)))
        if rng.random() < 0.5:
            read = {tensor for node in gb.nodes for tensor in node.inputs}
            made = [node.output for node in gb.nodes]
            ends = [tensor for tensor in made if tensor not in read]
            O.outputs(*dict.fromkeys((*ends, rng.choice(made), rng.choice(made))))
    return gb.graph


def _on_matrices(rng: random.Random, x: Tensor, y: Tensor) -> Tensor:
    size, kind = x.type.sizes[0], rng.random()
    if kind < 0.4:
        return rng.choice(_UNARY)(x)
    if kind < 0.8:
        return rng.choice(_BINARY)(x, y)
    if kind < 0.85:
        return O.transpose(x)
    if kind < 0.9:
        return O.sub(x, O.reduce_mean(y, axes=rng.choice((0, 1)), keepdims=True))
    if kind < 0.95:
        return O.matmul(x, _constant(rng, (size, size)))
    both = O.concat(x, y, axis=0)
    return O.slice(both, (size // 2, 0), (size // 2 + size, size))


def _on_images(rng: random.Random, x: Tensor, y: Tensor) -> Tensor:
    _, size, _, channels = x.type.sizes
    kind = rng.random()
    if kind < 0.25:
        return rng.choice((O.relu, O.tanh, O.sigmoid))(x)
    if kind < 0.5:
        return rng.choice((O.add, O.mul, O.maximum))(x, y)
    if kind < 0.7:
        taps = rng.choice((1, 3))
        filters = _constant(rng, (taps, taps, channels, channels))
        return O.conv2d(x, filters, padding=(taps // 2, taps // 2))
    if kind < 0.8:
        return O.max_pool2d(x, (3, 3), stride=(1, 1), padding=(1, 1))
    if kind < 0.9:
        return O.sub(x, O.reduce_mean(y, axes=rng.choice(((1, 2), 3)), keepdims=True))
    if kind < 0.95:
        return O.reshape(O.transpose(O.reshape(x, (size, size, channels)), (1, 0, 2)), x.type.sizes)
    both = O.concat(x, y, axis=1)
    start = size // 2
    return O.slice(both, (0, start, 0, 0), (1, start + size, size, channels))


def _constant(rng: random.Random, shape: tuple[int, ...]) -> Tensor:
    drawn = np.random.default_rng(rng.randrange(1 << 30))
    values = drawn.standard_normal(shape, np.float32) / np.float32(np.prod(shape[:-1]))
    return O.tensor(shape, const=values)
