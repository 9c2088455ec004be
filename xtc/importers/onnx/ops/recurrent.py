# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers over sequences of known length: a loop, or unrolled if short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, moved_axis, part, stacked
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.activation import softplus_of
from xtc.importers.onnx.table import reads
from xtc.importers.values import Unsupported

MOST_UNROLLED = 4  # time steps; longer sequences become a loop
_GRU_GATES = 3
Activation = Callable[[Tensor], Tensor]
Step = Callable[["Layer", Tensor, list[Tensor]], list[Tensor]]


@dataclass(frozen=True)
class Layer:
    """One direction of a recurrent layer.

    Attributes:
        gates: number of gates.
        hidden: size of the state.
        w: input weights, the gates stacked by rows.
        r: recurrent weights.
        b: input biases, then recurrent biases; None for zeros.
        peepholes: peephole weights of an LSTM; None for zeros.
        activations: the functions, in the schema's order.
        call: the node, for attributes of single operators.
    """

    gates: int
    hidden: int
    w: Tensor
    r: Tensor
    b: Tensor | None
    peepholes: Tensor | None
    activations: Sequence[Activation]
    call: Call

    @property
    def joins_biases(self) -> bool:
        """Whether input and recurrent terms are only added, so that their biases can be merged."""
        return self.gates != _GRU_GATES

    def input(self, x: Tensor) -> Tensor:
        """The input terms of all gates, concatenated, including the bias."""
        return self.biased(O.matmul(x, self.w, transpose_b=True), 0)

    def state(self, h: Tensor) -> Tensor:
        """The recurrent terms of all gates, concatenated, including the bias."""
        return self.biased(O.matmul(h, self.r, transpose_b=True), 1)

    def biased(self, x: Tensor, half: int) -> Tensor:
        """`x` with the input (half 0) or recurrent bias (1), unless merged into the input's."""
        if self.b is None:
            return x
        size = self.gates * self.hidden
        own = part(self.b, 0, half * size, (half + 1) * size)
        if not self.joins_biases:
            return O.add(x, own)
        # Added once to the inputs of all time steps, not in each step.
        return x if half else O.add(x, O.add(own, part(self.b, 0, size, 2 * size)))

    def gate(self, x: Tensor, number: int) -> Tensor:
        """One gate of concatenated values."""
        return part(x, x.type.rank - 1, number * self.hidden, (number + 1) * self.hidden)

    def rows(self, weights: Tensor, number: int) -> Tensor:
        """The rows of one gate in a weight matrix."""
        return part(weights, 0, number * self.hidden, (number + 1) * self.hidden)


def _rnn(layer: Layer, x: Tensor, states: list[Tensor]) -> list[Tensor]:
    (h,) = states
    return [layer.activations[0](_clipped(layer, O.add(x, layer.state(h))))]


def _gru(layer: Layer, x: Tensor, states: list[Tensor]) -> list[Tensor]:
    (h,) = states
    f, g = layer.activations
    if layer.call.attribute("linear_before_reset", 0):
        gained = layer.state(h)
        z, r = (f(_clipped(layer, O.add(layer.gate(x, n), layer.gate(gained, n)))) for n in (0, 1))
        candidate = O.add(layer.gate(x, 2), O.mul(r, layer.gate(gained, 2)))
    else:
        gained = layer.state(h)
        z, r = (f(_clipped(layer, O.add(layer.gate(x, n), layer.gate(gained, n)))) for n in (0, 1))
        reset = O.matmul(O.mul(r, h), layer.rows(layer.r, 2), transpose_b=True)
        if layer.b is not None:
            start = 5 * layer.hidden
            reset = O.add(reset, part(layer.b, 0, start, start + layer.hidden))
        candidate = O.add(layer.gate(x, 2), reset)
    new = g(_clipped(layer, candidate))
    return [O.add(O.mul(O.sub(1.0, z), new), O.mul(z, h))]


def lstm_step(layer: Layer, x: Tensor, states: list[Tensor]) -> list[Tensor]:
    """The hidden state and the cell state after one time step."""
    h, c = states
    f, g, last = layer.activations
    gates = O.add(x, layer.state(h))
    i, o, forget, new = (layer.gate(gates, n) for n in range(4))
    i = f(_clipped(layer, _with_peephole(layer, i, c, 0)))
    if layer.call.attribute("input_forget", 0):
        forget = O.sub(1.0, i)
    else:
        forget = f(_clipped(layer, _with_peephole(layer, forget, c, 2)))
    cell = O.add(O.mul(forget, c), O.mul(i, g(_clipped(layer, new))))
    o = f(_clipped(layer, _with_peephole(layer, o, cell, 1)))
    return [O.mul(o, last(cell)), cell]


def _with_peephole(layer: Layer, gate: Tensor, cell: Tensor, number: int) -> Tensor:
    if layer.peepholes is None:
        return gate
    start = number * layer.hidden
    return O.add(gate, O.mul(part(layer.peepholes, 0, start, start + layer.hidden), cell))


def _clipped(layer: Layer, x: Tensor) -> Tensor:
    limit = layer.call.attribute("clip")
    if limit is None:
        return x
    return O.minimum(O.maximum(x, -float(limit)), float(limit))


@reads("RNN", 7, 14, 22)
def rnn(call: Call) -> list[Tensor | None]:
    return layers(call, _rnn, 1, ("Tanh",), 1)


@reads("GRU", 7, 14, 22)
def gru(call: Call) -> list[Tensor | None]:
    return layers(call, _gru, 3, ("Sigmoid", "Tanh"), 1)


@reads("LSTM", 7, 14, 22)
def lstm(call: Call) -> list[Tensor | None]:
    return layers(call, lstm_step, 4, ("Sigmoid", "Tanh", "Tanh"), 2)


def layers(
    call: Call,
    step: Step,
    gates: int,
    functions: Sequence[str],
    states: int,
    make: Callable[[Call, int], Layer] | None = None,
) -> list[Tensor | None]:
    """The outputs of all time steps, then the final states; `make` returns a direction's layer."""
    direction = call.choice("direction", "forward", "forward", "reverse", "bidirectional")
    backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    batch_first = bool(call.attribute("layout", 0))
    x = call.tensor(0)
    x = moved_axis(x, 1, 0) if batch_first else x
    of = make or (lambda call, number: layer_of(call, gates, functions, number))
    results = [
        _direction(call, step, of(call, number), x, number, back, states)
        for number, back in enumerate(backward)
    ]
    whole = stacked([sequence for sequence, _ in results], 1)
    finals = [stacked([last[n] for _, last in results], 0) for n in range(states)]
    if batch_first:
        whole = O.transpose(whole, axes=(2, 0, 1, 3))
        finals = [moved_axis(last, 0, 1) for last in finals]
    return [whole, *finals]


def layer_of(call: Call, gates: int, functions: Sequence[str], number: int) -> Layer:
    """The layer with direction `number` of the node's weights."""

    def of(position: int) -> Tensor | None:
        if not call.has(position):
            return None
        x = call.tensor(position)
        return O.reshape(part(x, 0, number, number + 1), x.type.sizes[1:])

    w, r = of(1), of(2)
    if w is None or r is None:
        raise Unsupported("weights are missing")
    peepholes = of(7) if gates == 4 else None
    hidden = r.type.sizes[-1]
    chosen = _activations(call, functions, number)
    return Layer(gates, hidden, w, r, of(3), peepholes, chosen, call)


def _activations(call: Call, functions: Sequence[str], number: int) -> list[Activation]:
    names = list(call.attribute("activations", list(functions) * (number + 1)))
    alphas = list(call.attribute("activation_alpha", []))
    betas = list(call.attribute("activation_beta", []))
    chosen: list[Activation] = []
    for position, name in enumerate(names):
        takes_alpha, takes_beta, write = _function(name)
        alpha = alphas.pop(0) if takes_alpha is not None and alphas else takes_alpha
        beta = betas.pop(0) if takes_beta is not None and betas else takes_beta
        first = number * len(functions)
        if first <= position < first + len(functions):
            chosen.append(lambda x, write=write, a=alpha, b=beta: write(x, a, b))  # type: ignore[misc]
    return chosen


def activation_of(name: str, numbers: Sequence[float] = ()) -> Activation:
    """An activation by name, with the given parameters or ONNX's defaults."""
    alpha, beta, write = _function(name)
    given = [*numbers, None, None]
    alpha = alpha if given[0] is None else given[0]
    beta = beta if given[1] is None else given[1]
    return lambda x: write(x, alpha, beta)


def _function(name: str) -> tuple[float | None, float | None, Callable[..., Tensor]]:
    """Default alpha, default beta and writer of an activation; the name is case-insensitive."""
    key = name.lower()
    if key not in _ACTIVATIONS:
        raise Unsupported(f"the activation {name}")
    return _ACTIVATIONS[key]


_ACTIVATIONS: dict[str, tuple[float | None, float | None, Callable[..., Tensor]]] = {
    "relu": (None, None, lambda x, a, b: O.relu(x)),
    "tanh": (None, None, lambda x, a, b: O.tanh(x)),
    "sigmoid": (None, None, lambda x, a, b: O.sigmoid(x)),
    "softplus": (None, None, lambda x, a, b: softplus_of(x)),
    "softsign": (None, None, lambda x, a, b: O.div(x, O.add(O.abs(x), 1.0))),
    "affine": (1.0, 0.0, lambda x, a, b: O.add(O.mul(x, a), b)),
    "leakyrelu": (0.01, None, lambda x, a, b: O.leaky_relu(x, slope=a)),
    "thresholdedrelu": (1.0, None, lambda x, a, b: O.where(O.greater(x, a), x, 0.0)),
    "scaledtanh": (1.0, 1.0, lambda x, a, b: O.mul(O.tanh(O.mul(x, b)), a)),
    "hardsigmoid": (
        0.2,
        0.5,
        lambda x, a, b: O.minimum(O.maximum(O.add(O.mul(x, a), b), 0.0), 1.0),
    ),
    "elu": (
        1.0,
        None,
        lambda x, a, b: O.where(
            O.greater(x, 0.0), x, O.mul(O.sub(O.exp(O.minimum(x, 0.0)), 1.0), a)
        ),
    ),
}


def _direction(
    call: Call, step: Step, layer: Layer, x: Tensor, number: int, back: bool, states: int
) -> tuple[Tensor, list[Tensor]]:
    """The outputs of one direction, in time order, and its final states."""
    length, batch, size = x.type.sizes
    # One large matmul for the inputs of all time steps instead of many small ones.
    gained = layer.input(O.reshape(x, (length * batch, size)))
    first = [_initial(call, layer, number, batch, x, 5 + n) for n in range(states)]
    lengths = _lengths(call, length)
    steps = _repeated if length > MOST_UNROLLED else _unrolled
    whole, last = steps(
        step,
        layer,
        O.reshape(gained, (length, batch, layer.gates * layer.hidden)),
        first,
        lengths,
        back,
    )
    if lengths is not None:
        times = constant(np.arange(length).reshape(length, 1, 1))
        whole = O.where(O.greater(lengths, times), whole, 0.0)
    return whole, last


def _repeated(
    step: Step,
    layer: Layer,
    rows: Tensor,
    first: Sequence[Tensor],
    lengths: Tensor | None,
    back: bool,
) -> tuple[Tensor, list[Tensor]]:
    """The time steps as a loop, whose state stacks the layer's states."""
    count, batch, _ = rows.type.sizes

    def iteration(state: Tensor, row: Tensor, *time: Tensor) -> Tensor:
        old = [_at(state, n) for n in range(len(first))]
        return stacked(_within(step(layer, row, old), old, lengths, *time), 0)

    times = [] if lengths is None else [constant(np.arange(count))]
    every = O.scan(iteration, stacked(first, 0), rows, *times, reverse=back)
    last = part(every, 0, 0, 1) if back else part(every, 0, count, count + 1)
    kept = part(every, 0, 0, count) if back else part(every, 0, 1, count + 1)
    whole = O.reshape(part(kept, 1, 0, 1), (count, batch, layer.hidden))
    final = O.reshape(last, last.type.sizes[1:])
    return whole, [_at(final, n) for n in range(len(first))]


def _at(states: Tensor, number: int) -> Tensor:
    """One of the stacked states."""
    return O.reshape(part(states, 0, number, number + 1), states.type.sizes[1:])


def _within(
    new: Sequence[Tensor], old: Sequence[Tensor], lengths: Tensor | None, *time: Tensor
) -> list[Tensor]:
    """The new states of sequences that are not over yet, the old ones of the others."""
    if lengths is None:
        return list(new)
    inside = O.greater(lengths, time[0])
    return [O.where(inside, a, b) for a, b in zip(new, old, strict=True)]


def _unrolled(
    step: Step,
    layer: Layer,
    rows: Tensor,
    first: Sequence[Tensor],
    lengths: Tensor | None,
    back: bool,
) -> tuple[Tensor, list[Tensor]]:
    """The time steps, unrolled."""
    count = rows.type.sizes[0]
    collected: dict[int, Tensor] = {}
    current = list(first)
    for number in reversed(range(count)) if back else range(count):
        time = () if lengths is None else (constant(np.array(number)),)
        current = _within(step(layer, _at(rows, number), current), current, lengths, *time)
        collected[number] = current[0]
    return stacked([collected[number] for number in range(count)], 0), current


def _lengths(call: Call, length: int) -> Tensor | None:
    """The sequence lengths of a batch as a column; None if all have the full length."""
    if not call.has(4):
        return None
    value = call.value(4)
    if isinstance(value, np.ndarray) and (value == length).all():
        return None
    lengths = call.tensor(4)
    return O.reshape(O.cast(lengths, "int64"), (lengths.type.size, 1))


def _initial(call: Call, layer: Layer, number: int, batch: int, x: Tensor, position: int) -> Tensor:
    if not call.has(position):
        return constant(np.zeros((batch, layer.hidden), x.element.numpy))
    state = call.tensor(position)
    if call.attribute("layout", 0):
        state = moved_axis(state, 1, 0)
    return O.reshape(part(state, 0, number, number + 1), (batch, layer.hidden))
