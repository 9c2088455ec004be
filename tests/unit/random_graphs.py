# SPDX-License-Identifier: Apache-2.0
"""Random tensor graphs over every operator: hypothesis strategies that targets' tests share.

Values stay in ranges in which float32 and float64 agree: exponentials, logarithms and divisions get
an argument that another operator has bounded first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from xtc.evaluate import sample
from xtc.graph.tensor import Tensor
from xtc.runtime import DriverDevice

SIZES = st.sampled_from([1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17])
FLOATS = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
INTEGERS = ("int32", "int64", "int8", "int16")
MAX_ELEMENTS = 4096


@dataclass
class Drawing:
    """A graph under construction: the source of choices, and the tensors so far.

    `place` gives the `device=` argument of the next tensor or operator.
    """

    draw: Callable[[Any], Any]
    dtype: str
    place: Callable[[], object] = lambda: None
    tensors: list[Tensor] = field(default_factory=list)

    @property
    def is_float(self) -> bool:
        return "float" in self.dtype

    def pick(self, rank: int | None = None) -> Tensor | None:
        """One of the tensors, of the given rank if any."""
        fitting = [t for t in self.tensors if rank is None or len(t.shape) == rank]
        chosen: Tensor | None = self.draw(st.sampled_from(fitting)) if fitting else None
        return chosen

    def new(self, shape: Sequence[int], dtype: str | None = None) -> Tensor:
        """A new input, or sometimes a constant, whose elements may all be equal."""
        dtype = dtype or self.dtype
        if self.draw(st.integers(0, 2)) == 0:
            content = values(shape, dtype, self.draw(st.integers(0, 1000)))
            if self.draw(st.booleans()):
                content = np.broadcast_to(content.flat[0], content.shape)
            return O.tensor(tuple(shape), dtype, const=content)
        return O.tensor(tuple(shape), dtype, device=self.place())

    def sizes(self, rank: int) -> tuple[int, ...]:
        return tuple(self.draw(SIZES) for _ in range(rank))


def values(shape: Sequence[int], dtype: str, seed: int) -> Any:
    """Sample data; half floats in a range whose products do not overflow."""
    array = sample(tuple(shape), dtype, seed)
    if dtype in ("float16", "bfloat16"):
        return (array.astype("float32") % 2 - 1).astype(array.dtype)
    return array


def called(op: Any, *args: Any, **attributes: Any) -> Tensor:
    """The result of the chosen operator."""
    result: Tensor = op(*args, **attributes)
    return result


def unary(d: Drawing, x: Tensor) -> Tensor:
    place = d.place()
    if not d.is_float:
        return called(d.draw(st.sampled_from([O.relu, O.neg])), x, device=place)

    def bounded() -> Tensor:
        return O.tanh(x, device=place)

    def square() -> Tensor:
        root = bounded()
        return O.mul(root, root, device=place)

    choices = {
        "relu": lambda: O.relu(x, device=place),
        "leaky_relu": lambda: O.leaky_relu(x, slope=0.1, device=place),
        "gelu": lambda: O.gelu(bounded(), device=place),
        "gelu_tanh": lambda: O.gelu(bounded(), approximate="tanh", device=place),
        "sigmoid": lambda: O.sigmoid(x, device=place),
        "tanh": bounded,
        "exp": lambda: O.exp(bounded(), device=place),
        "log": lambda: O.log(O.add(square(), 0.5), device=place),
        "sqrt": lambda: O.sqrt(square(), device=place),
        "neg": lambda: O.neg(x, device=place),
    }
    name = d.draw(st.sampled_from(sorted(choices)))
    return called(choices[name])


def binary(d: Drawing, x: Tensor) -> Tensor:
    other = d.new(_broadcast(d, x.type.sizes))
    names = ["add", "sub", "mul", "maximum", "minimum"]
    op = getattr(O, d.draw(st.sampled_from(names)))
    pair = (x, other) if d.draw(st.booleans()) else (other, x)
    if d.is_float and d.draw(st.integers(0, 5)) == 0:
        return O.div(x, O.add(O.sigmoid(other), 0.5), device=d.place())
    return called(op, *pair, device=d.place())


def matmul(d: Drawing, x: Tensor) -> Tensor | None:
    if len(x.shape) < 2 or d.dtype in ("int8", "int16"):
        return None
    k, n = int(x.shape[-1]), d.draw(SIZES)
    transpose = d.draw(st.booleans())
    batch = list(x.shape[:-2]) if d.draw(st.booleans()) else []
    other = d.new([*map(int, batch), n, k] if transpose else [*map(int, batch), k, n])
    return O.matmul(x, other, transpose_b=transpose, device=d.place())


def gemv(d: Drawing, x: Tensor) -> Tensor | None:
    if len(x.shape) != 2 or d.dtype in ("int8", "int16"):
        return None
    transpose = d.draw(st.booleans())
    return O.gemv(
        x, d.new([int(x.shape[0 if transpose else 1])]), transpose=transpose, device=d.place()
    )


def conv2d(d: Drawing, x: Tensor) -> Tensor | None:
    if len(x.shape) != 4 or d.dtype in ("int8", "int16"):
        return None
    channels = int(x.shape[3])
    groups = d.draw(st.sampled_from([g for g in (1, 2, 3, channels) if channels % g == 0]))
    window = d.draw(st.sampled_from([(1, 1), (3, 3), (2, 1)]))
    filters = d.new([*window, channels // groups, groups * d.draw(st.sampled_from([1, 2, 3]))])
    return O.conv2d(
        x,
        filters,
        stride=d.draw(st.sampled_from([1, 2])),
        padding="same",
        groups=groups,
        device=d.place(),
    )


def pool(d: Drawing, x: Tensor) -> Tensor | None:
    if len(x.shape) != 4 or min(int(s) for s in x.shape[1:3]) < 2:
        return None
    if d.is_float and d.draw(st.booleans()):
        pad = d.draw(st.sampled_from([0, 1]))
        return O.avg_pool2d(x, 2, padding=pad, device=d.place())
    return O.max_pool2d(x, 2, stride=1, device=d.place())


def normalize(d: Drawing, x: Tensor) -> Tensor | None:
    if not d.is_float or not x.shape:
        return None
    if d.draw(st.booleans()):
        axis = d.draw(st.integers(0, len(x.shape) - 1))
        return O.softmax(O.tanh(x, device=d.place()), axis=axis, device=d.place())
    return O.layer_norm(x, axis=-1, eps=0.1, device=d.place())


def reduce(d: Drawing, x: Tensor) -> Tensor | None:
    if not x.shape or d.dtype in ("int8", "int16"):
        return None
    axis = d.draw(st.integers(0, len(x.shape) - 1))
    names = ["reduce_sum", "reduce_max", "reduce_min", *(["reduce_mean"] if d.is_float else [])]
    op = getattr(O, d.draw(st.sampled_from(names)))
    return called(op, x, axes=axis, keepdims=d.draw(st.booleans()), device=d.place())


def move(d: Drawing, x: Tensor) -> Tensor | None:
    rank = len(x.shape)
    if rank == 0:
        forms = (O.transpose, lambda t, device: O.pad(t, [], device=device), _ones, _ones)
        return called(d.draw(st.sampled_from(forms)), x, device=d.place())
    axis = d.draw(st.integers(0, rank - 1))
    sizes = [int(size) for size in x.shape]
    place = d.place()
    choices = {
        "transpose": lambda: O.transpose(x, device=place),
        "reshape": lambda: O.reshape(x, (-1,), device=place),
        "to_rows": lambda: O.reshape(x, (1, 1, -1), device=place),
        "pad": lambda: O.pad(x, [(1, 0)] * rank, value=1, device=place),
        "concat": lambda: O.concat(x, x, axis=axis, device=place),
        "join": lambda: _joined(d, x, axis),
        "widen": lambda: O.expand(O.reshape(x, (*sizes, 1)), (*sizes, 3), device=place),
        "slice": lambda: O.slice(
            x,
            [size // 2 for size in sizes],
            [None] * rank,
            [2] * rank,
            device=place,
        ),
        "unpad": lambda: O.unpad(x, [(int(s > 1), 0) for s in sizes], device=place),
    }
    return called(choices[d.draw(st.sampled_from(sorted(choices)))])


def _ones(x: Tensor, device: object) -> Tensor:
    """A scalar in dimensions of size 1."""
    return O.reshape(x, (1, 1), device=device)


def _joined(d: Drawing, x: Tensor, axis: int) -> Tensor:
    """X and another tensor, in either order."""
    other = d.new([d.draw(SIZES) if n == axis else size for n, size in enumerate(x.type.sizes)])
    pair = (x, other) if d.draw(st.booleans()) else (other, x)
    return O.concat(*pair, axis=axis, device=d.place())


def where(d: Drawing, x: Tensor) -> Tensor:
    """Conditions and values that are broadcast, down to scalars."""
    condition, other = (d.new(_broadcast(d, x.type.sizes), dtype) for dtype in ("bool", None))
    pair = (x, other) if d.draw(st.booleans()) else (other, x)
    return O.where(condition, *pair, device=d.place())


def _broadcast(d: Drawing, sizes: Sequence[int]) -> list[int]:
    """The last of these sizes, some of them replaced by 1."""
    kept = sizes[d.draw(st.integers(0, len(sizes))) :]
    return [1 if d.draw(st.booleans()) else size for size in kept]


def cast(d: Drawing, x: Tensor) -> Tensor:
    through = "float64" if d.is_float else "int64"
    return O.cast(O.cast(x, through, device=d.place()), d.dtype, device=d.place())


STEPS = (unary, binary, binary, matmul, gemv, conv2d, pool, normalize, reduce, move, where, cast)


@st.composite
def graphs(
    draw: Any, max_nodes: int = 5, place: Callable[[Any], object] | None = None
) -> xtc.Graph:
    """A graph of up to `max_nodes` operators; `place(draw)` gives the devices of tensors and
    operators."""
    dtype = draw(st.sampled_from((*FLOATS, *INTEGERS)))
    d = Drawing(draw, dtype, (lambda: place(draw)) if place else (lambda: None))
    with O.graph(name="random_graph") as gb:
        rank = draw(st.sampled_from([4, 2, 4, 3, 2, 1, 0]))
        d.tensors.append(d.new(d.sizes(rank)))
        wanted = (
            2 if dtype in ("float64", "float16") else draw(st.sampled_from(range(max_nodes, 0, -1)))
        )
        for _ in range(3 * wanted):
            if len(d.tensors) > wanted:
                break
            x = d.tensors[-1] if draw(st.integers(0, 2)) else d.pick()
            if x is not None and x.type.size <= MAX_ELEMENTS:
                result = draw(st.sampled_from(STEPS))(d, x)
                d.tensors += [] if result is None else [result]
        if d.tensors[-1].producer is None:
            O.relu(d.tensors[-1], device=d.place())
    return gb.graph


def inputs_of(graph: xtc.Graph, seed: int) -> list[Any]:
    """Arrays for the graph's inputs: negative numbers, zeros, large and odd values."""
    return [
        values(tensor.type.sizes, tensor.dtype, seed + position)
        for position, tensor in enumerate(graph.inputs)
    ]


def check_placed_graph(devices: Sequence[DriverDevice], data: st.DataObject, seed: int) -> None:
    """Check that a random graph over the host and these devices agrees with NumPy and leaks
    nothing."""
    places = [None, *devices]
    graph = data.draw(graphs(place=lambda draw: draw(st.sampled_from(places))))
    with xtc.compile(graph) as module:
        module.check(*inputs_of(graph, seed))
    assert [device.memory_info()[0] for device in devices] == [0] * len(devices)
