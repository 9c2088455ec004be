# SPDX-License-Identifier: Apache-2.0
"""Neural network layers with gradients in plain NumPy; images are NHWC.

`forward` saves what `backward` needs, so the two must alternate. Layers follow the element type of
their parameters: float32 to train, float64 to check gradients.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from examples.digits.data import Floats, Labels


class Layer(Protocol):
    """A differentiable layer; `parameters` and `gradients` have the same names and shapes."""

    parameters: dict[str, Floats]
    gradients: dict[str, Floats]

    def forward(self, x: Floats) -> Floats:
        """Apply the layer to a batch."""

    def backward(self, grad: Floats) -> Floats:
        """Map the gradient of the output to that of the input; fills `gradients`."""


class _Parametric:
    """A weight tensor and a bias, with He initialization (He et al., 2015) for relu networks."""

    def __init__(self, shape: tuple[int, ...], rng: np.random.Generator, dtype: Any) -> None:
        fan_in = int(np.prod(shape[:-1]))
        weight = rng.normal(0.0, np.sqrt(2.0 / fan_in), shape)
        self.parameters: dict[str, Floats] = {
            "w": weight.astype(dtype),
            "b": np.zeros(shape[-1], dtype),
        }
        self.gradients: dict[str, Floats] = {}


class Dense(_Parametric):
    """x @ w + b, with x of shape (n, inputs)."""

    def __init__(
        self, inputs: int, outputs: int, rng: np.random.Generator, dtype: Any = np.float32
    ) -> None:
        super().__init__((inputs, outputs), rng, dtype)

    def forward(self, x: Floats) -> Floats:
        self._x = x
        return x @ self.parameters["w"] + self.parameters["b"]

    def backward(self, grad: Floats) -> Floats:
        self.gradients = {"w": self._x.T @ grad, "b": grad.sum(axis=0)}
        by_input: Floats = grad @ self.parameters["w"].T
        return by_input


class Conv2d(_Parametric):
    """A 3x3 convolution, stride 1, padding 1: (n, h, w, inputs) to (n, h, w, outputs).

    The weights have the layout HWCF, (3, 3, inputs, outputs).
    """

    SIZE = 3

    def __init__(
        self, inputs: int, outputs: int, rng: np.random.Generator, dtype: Any = np.float32
    ) -> None:
        super().__init__((self.SIZE, self.SIZE, inputs, outputs), rng, dtype)

    def forward(self, x: Floats) -> Floats:
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        self._windows = np.lib.stride_tricks.sliding_window_view(
            padded, (self.SIZE, self.SIZE), axis=(1, 2)
        )  # (n, h, w, c, kh, kw)
        y = np.tensordot(self._windows, self.parameters["w"], axes=((4, 5, 3), (0, 1, 2)))
        return y + self.parameters["b"]

    def backward(self, grad: Floats) -> Floats:
        by_window = np.tensordot(self._windows, grad, axes=((0, 1, 2), (0, 1, 2)))
        self.gradients = {"w": by_window.transpose(1, 2, 0, 3), "b": grad.sum(axis=(0, 1, 2))}
        return self._scatter(grad)

    def _scatter(self, grad: Floats) -> Floats:
        n, h, w, _ = grad.shape
        weight = self.parameters["w"]
        padded = np.zeros((n, h + 2, w + 2, weight.shape[2]), grad.dtype)
        for i, j in np.ndindex(self.SIZE, self.SIZE):
            padded[:, i : i + h, j : j + w] += grad @ weight[i, j].T
        return padded[:, 1:-1, 1:-1]


class _Plain:
    """A layer without parameters."""

    def __init__(self) -> None:
        self.parameters: dict[str, Floats] = {}
        self.gradients: dict[str, Floats] = {}


class Relu(_Plain):
    """max(x, 0), for any shape."""

    def forward(self, x: Floats) -> Floats:
        self._positive = x > 0
        return np.where(self._positive, x, x.dtype.type(0))

    def backward(self, grad: Floats) -> Floats:
        return grad * self._positive


class MaxPool2d(_Plain):
    """The maximum of each 2x2 window: (n, h, w, c) to (n, h/2, w/2, c), h and w even."""

    def forward(self, x: Floats) -> Floats:
        n, h, w, c = x.shape
        windows = x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 5, 2, 4)
        flat = windows.reshape(n, h // 2, w // 2, c, 4)
        self._winner = flat.argmax(axis=-1, keepdims=True)
        largest: Floats = np.take_along_axis(flat, self._winner, axis=-1)[..., 0]
        return largest

    def backward(self, grad: Floats) -> Floats:
        n, h, w, c = grad.shape
        flat = np.zeros((n, h, w, c, 4), grad.dtype)
        np.put_along_axis(flat, self._winner, grad[..., np.newaxis], axis=-1)
        windows = flat.reshape(n, h, w, c, 2, 2).transpose(0, 1, 4, 2, 5, 3)
        by_input: Floats = windows.reshape(n, 2 * h, 2 * w, c)
        return by_input


class Flatten(_Plain):
    """Flatten (n, ...) to (n, features)."""

    def forward(self, x: Floats) -> Floats:
        self._shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, grad: Floats) -> Floats:
        return grad.reshape(self._shape)


def softmax_cross_entropy(logits: Floats, labels: Labels) -> tuple[float, Floats]:
    """The mean negative log-likelihood of `labels` (n,), and its gradient by `logits` (n, c)."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_likelihood = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(labels))
    grad: Floats = np.exp(log_likelihood)
    grad[rows, labels] -= 1
    return -float(log_likelihood[rows, labels].mean()), grad / grad.dtype.type(len(labels))
