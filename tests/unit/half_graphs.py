# SPDX-License-Identifier: Apache-2.0
"""Random graphs of float16 contractions and common surrounding operators, for tensor cores.

Sizes begin at 16: whole tiles of matrix instructions, partial tiles, and rows that are not
multiples of 16 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import xtc
import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.runtime import DriverDevice

SIZES = (16, 16, 17, 24, 31, 32, 32, 33, 48, 50, 63, 64, 65, 72, 96, 100, 128, 130)
BATCHES = ((), (), (), (2,), (3,), (2, 2))
MAX_ELEMENTS = 40_000
MAX_OPERATIONS = 3_000_000  # multiply-adds of a contraction, which the simulator runs one by one


@dataclass
class Drawing:
    """A graph under construction: the source of choices, the operators' device, and operands."""

    rng: Random
    device: DriverDevice
    inputs: int = 0
    tensors: list[Tensor] = field(default_factory=list)

    def new(self, *shape: int) -> Tensor:
        """An input on the host or on the device, or a constant."""
        kind = self.rng.randrange(4)
        self.inputs += 1
        if kind == 0:
            return O.tensor(shape, "float16", const=values(shape, self.rng.randrange(1000)))
        device = self.device if kind == 1 else None
        return O.tensor(shape, "float16", name=f"X{self.inputs}", device=device)

    def size(self) -> int:
        return self.rng.choice(SIZES)


def values(shape: tuple[int, ...], seed: int) -> Any:
    """Numbers around zero, such that sums along the last two dimensions stay near one."""
    rng = np.random.default_rng(seed)
    scale = max(1.0, math.sqrt(max(shape[-2:], default=1)) / 2)
    return (rng.standard_normal(shape) / scale).astype(np.float16)


def sizes(x: Tensor) -> list[int]:
    return [int(size) for size in x.shape]


def contraction(d: Drawing, x: Tensor) -> Tensor | None:
    """X as either operand, plain or transposed, with or without batches in the other."""
    if len(x.shape) < 2:
        return None
    *batch, rows, columns = sizes(x)
    transpose, transpose_other, second = (d.rng.random() < 0.4 for _ in range(3))
    outer, k = (rows, columns) if transpose == second else (columns, rows)
    n = d.size()
    if math.prod(batch) * outer * k * n > MAX_OPERATIONS:
        return None
    inner = (n, k) if transpose_other != second else (k, n)  # a second operand is (k, n)
    other = d.new(*(batch if batch and d.rng.random() < 0.6 else ()), *inner)
    if second:
        return O.matmul(
            other, x, transpose_a=transpose_other, transpose_b=transpose, device=d.device
        )
    return O.matmul(x, other, transpose_a=transpose, transpose_b=transpose_other, device=d.device)


def attention(d: Drawing, x: Tensor) -> Tensor | None:
    """Products of X with itself, normalized, and with X again."""
    if len(x.shape) < 2 or math.prod(sizes(x)) * int(x.shape[-2]) > MAX_OPERATIONS:
        return None
    scores = O.matmul(x, x, transpose_b=True, device=d.device)
    return O.matmul(O.softmax(scores, axis=-1, device=d.device), x, device=d.device)


def epilogue(d: Drawing, x: Tensor) -> Tensor:
    """A bias along any dimensions, on either side."""
    shape = [1 if d.rng.random() < 0.4 else size for size in sizes(x)]
    other = d.new(*shape[d.rng.randrange(len(shape)) :])
    op = d.rng.choice((O.add, O.add, O.sub, O.mul, O.maximum))
    pair = (x, other) if d.rng.random() < 0.7 else (other, x)
    return op(*pair, device=d.device)


def activation(d: Drawing, x: Tensor) -> Tensor:
    op = d.rng.choice((O.relu, O.tanh, O.sigmoid, O.gelu, O.neg, O.leaky_relu))
    return op(x, device=d.device)


def normalization(d: Drawing, x: Tensor) -> Tensor:
    axis = d.rng.randrange(len(x.shape))
    if d.rng.random() < 0.5:
        return O.softmax(x, axis=axis, device=d.device)
    return O.layer_norm(x, axis=-1, eps=0.1, device=d.device)


def reduction(d: Drawing, x: Tensor) -> Tensor | None:
    if len(x.shape) < 3:
        return None
    op = d.rng.choice((O.reduce_mean, O.reduce_max, O.reduce_min))
    return op(x, axes=d.rng.randrange(len(x.shape)), device=d.device)


def residual(d: Drawing, x: Tensor) -> Tensor | None:
    """A sum with an earlier tensor of this shape."""
    others = [t for t in d.tensors if sizes(t) == sizes(x) and t is not x]
    return O.add(x, d.rng.choice(others), device=d.device) if others else None


def concatenation(d: Drawing, x: Tensor) -> Tensor:
    """Of X with an input, an earlier tensor or itself, in either order."""
    axis = d.rng.randrange(len(x.shape))
    shape = sizes(x)
    fitting = [
        t
        for t in d.tensors
        if len(t.shape) == len(shape)
        and all(i == axis or size == shape[i] for i, size in enumerate(sizes(t)))
    ]
    shape[axis] = d.size()
    other = d.rng.choice(fitting or [x]) if d.rng.random() < 0.5 else d.new(*shape)
    pair = [x, other] if d.rng.random() < 0.5 else [other, x]
    return O.concat(*pair, axis=axis, device=d.device)


def part(d: Drawing, x: Tensor) -> Tensor:
    """A slice with or without steps that leaves 16 elements of each dimension that has them."""
    starts, stops, steps = [], [], []
    for size in sizes(x):
        step = 2 if size >= 32 and d.rng.random() < 0.3 else 1
        room = max(0, size - 16 * step)
        start = d.rng.randint(0, min(room, 20))
        stop = size - d.rng.randint(0, min(room - start, 20))
        starts.append(start)
        stops.append(stop)
        steps.append(step)
    return O.slice(x, starts, stops, steps, device=d.device)


def movement(d: Drawing, x: Tensor) -> Tensor:
    shape = sizes(x)
    axes = d.rng.sample(range(len(shape)), len(shape))
    flat = [math.prod(shape[:-1]), shape[-1]]
    choices = (
        lambda: O.transpose(x, axes, device=d.device),
        lambda: O.reshape(x, flat, device=d.device),
        lambda: O.reshape(x, flat[::-1], device=d.device),
        lambda: O.pad(
            x, [(d.rng.randrange(3), d.rng.randrange(3)) for _ in shape], device=d.device
        ),
    )
    return d.rng.choice(choices)()


def widened(d: Drawing, x: Tensor) -> Tensor:
    """Through float32 and back."""
    wide = O.exp(O.tanh(O.cast(x, "float32", device=d.device), device=d.device), device=d.device)
    return O.cast(wide, "float16", device=d.device)


Step = Callable[[Drawing, Tensor], Tensor | None]
STEPS: dict[Step, int] = {
    contraction: 8,
    attention: 1,
    epilogue: 4,
    activation: 3,
    normalization: 2,
    reduction: 1,
    residual: 2,
    concatenation: 4,
    part: 4,
    movement: 3,
    widened: 1,
}


def half_graph(seed: int, device: DriverDevice, steps: int = 5) -> xtc.Graph:
    """A graph of float16 operators on `device`, at least one of which is a contraction."""
    d = Drawing(Random(seed), device)  # noqa: S311  data of a test
    with O.graph(name="half") as gb:
        x = d.new(*d.rng.choice(BATCHES), d.size(), d.size())
        d.tensors.append(x)
        first = contraction(d, x)
        d.tensors.append(first if first is not None else activation(d, x))
        for _ in range(d.rng.randint(1, steps)):
            x = d.tensors[-1] if d.rng.random() < 0.8 else d.rng.choice(d.tensors)
            if x.type.size > MAX_ELEMENTS:
                x = part(d, x)
                d.tensors.append(x)
            result = d.rng.choices(list(STEPS), list(STEPS.values()))[0](d, x)
            d.tensors += [] if result is None else [result]
        used = {id(tensor) for node in gb.nodes for tensor in node.inputs}
        O.outputs(*[t for t in d.tensors[1:] if id(t) not in used or d.rng.random() < 0.15])
    return gb.graph


def half_inputs(graph: xtc.Graph, seed: int) -> list[Any]:
    """Arrays for the graph's inputs."""
    return [values(tuple(t.type.sizes), seed + i) for i, t in enumerate(graph.inputs)]
