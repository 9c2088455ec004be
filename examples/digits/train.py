# SPDX-License-Identifier: Apache-2.0
"""Train both models in plain NumPy from a fixed seed and store their weights.

Run as `python -m examples.digits.train`; it takes less than a minute. The weights are reproducible
on the same machine with the same NumPy; another BLAS may round differently and give slightly
different weights.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track

from examples.digits import data
from examples.digits.data import Digits, Floats
from examples.digits.layers import (
    Conv2d,
    Dense,
    Flatten,
    Layer,
    MaxPool2d,
    Relu,
    softmax_cross_entropy,
)
from xtc.core.errors import UserError

MINIMUM_ACCURACY = {"mlp": 0.97, "cnn": 0.985}


@dataclass(frozen=True)
class Recipe:
    """The settings of a training run; `learning_rate` decays to 0 along half a cosine.

    The values were chosen by cross-validation on the training images.
    """

    build: Callable[[np.random.Generator], list[Layer]]
    epochs: int
    learning_rate: float
    weight_decay: float
    batch: int = 32
    seed: int = 1


def build_mlp(rng: np.random.Generator) -> list[Layer]:
    """64-128-64-10 with relu, on images of shape (n, 8, 8, 1)."""
    return [Flatten(), Dense(64, 128, rng), Relu(), Dense(128, 64, rng), Relu(), Dense(64, 10, rng)]


def build_cnn(rng: np.random.Generator) -> list[Layer]:
    """Two padded 3x3 convolutions to 16 and 32 channels, a 2x2 max pool, one dense layer."""
    convolutions: list[Layer] = [Conv2d(1, 16, rng), Relu(), Conv2d(16, 32, rng), Relu()]
    return [*convolutions, MaxPool2d(), Flatten(), Dense(512, 10, rng)]


RECIPES = {
    "mlp": Recipe(build_mlp, epochs=300, learning_rate=1e-2, weight_decay=1e-2),
    "cnn": Recipe(build_cnn, epochs=60, learning_rate=5e-3, weight_decay=1e-1),
}


class Adam:
    """Adam (Kingma and Ba, 2015) with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8

    def __init__(self, layers: Sequence[Layer], weight_decay: float) -> None:
        self._layers = [layer for layer in layers if layer.parameters]
        self._weight_decay = weight_decay
        self._steps = 0
        self._mean = [_zeros_like(layer) for layer in self._layers]
        self._square = [_zeros_like(layer) for layer in self._layers]

    def step(self, learning_rate: float) -> None:
        """Update every parameter against its gradient, in place."""
        self._steps += 1
        fix_mean, fix_square = 1 - self.BETA1**self._steps, 1 - self.BETA2**self._steps
        for layer, mean, square in zip(self._layers, self._mean, self._square, strict=True):
            for name, parameter in layer.parameters.items():
                grad = layer.gradients[name]
                mean[name] += (1 - self.BETA1) * (grad - mean[name])
                square[name] += (1 - self.BETA2) * (grad * grad - square[name])
                scale = np.sqrt(square[name] / fix_square) + self.EPSILON
                decay = self._weight_decay * parameter if name == "w" else 0.0
                parameter -= learning_rate * (mean[name] / fix_mean / scale + decay)


def _zeros_like(layer: Layer) -> dict[str, Floats]:
    return {name: np.zeros_like(value) for name, value in layer.parameters.items()}


def forward(layers: Sequence[Layer], images: Floats) -> Floats:
    """The logits (n, 10) of images (n, 8, 8, 1)."""
    for layer in layers:
        images = layer.forward(images)
    return images


def backward(layers: Sequence[Layer], grad: Floats) -> Floats:
    """Backpropagate through all layers; fills their gradients and returns that of the images."""
    for layer in reversed(layers):
        grad = layer.backward(grad)
    return grad


def shifted(images: Floats, rng: np.random.Generator) -> Floats:
    """Each image shifted by up to one pixel, as data augmentation."""
    n, side = len(images), images.shape[1]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(1, 2))
    rows, columns = rng.integers(0, 3, (2, n))
    channels_second = windows[np.arange(n), rows, columns]
    moved: Floats = channels_second.transpose(0, 2, 3, 1)
    return moved


def fit(recipe: Recipe, digits: Digits, description: str = "train") -> list[Layer]:
    """A model trained on `digits` with the settings of `recipe`."""
    rng = np.random.default_rng(recipe.seed)
    layers = recipe.build(rng)
    optimizer = Adam(layers, recipe.weight_decay)
    for epoch in track(range(recipe.epochs), description, console=Console(stderr=True)):
        learning_rate = recipe.learning_rate * (1 + np.cos(np.pi * epoch / recipe.epochs)) / 2
        order = rng.permutation(len(digits))
        for start in range(0, len(order), recipe.batch):
            batch = digits.subset(order[start : start + recipe.batch])
            logits = forward(layers, shifted(batch.images, rng))
            backward(layers, softmax_cross_entropy(logits, batch.labels)[1])
            optimizer.step(learning_rate)
    return layers


def fit_all(digits: Digits) -> dict[str, list[Layer]]:
    """Train all recipes on one thread, because multithreaded sums round differently."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # of scikit-learn

    with threadpool_limits(limits=1):
        return {name: fit(recipe, digits, name) for name, recipe in RECIPES.items()}


def accuracy(layers: Sequence[Layer], digits: Digits) -> float:
    """The fraction of images whose largest logit is that of their label."""
    return float(np.mean(forward(layers, digits.images).argmax(axis=1) == digits.labels))


def weights_of(layers: Sequence[Layer]) -> dict[str, Floats]:
    """The parameters, named w1, b1, w2, ... in the order of their layers."""
    parametric = [layer for layer in layers if layer.parameters]
    return {
        f"{name}{index}": value
        for index, layer in enumerate(parametric, start=1)
        for name, value in layer.parameters.items()
    }


def main() -> int:
    """Train, print the accuracies, store. Stores nothing if a model is not accurate enough."""
    try:
        train, test = data.load_split()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    models = fit_all(train)
    reached = {name: accuracy(layers, test) for name, layers in models.items()}
    for name, value in reached.items():
        print(
            f"{name}: {accuracy(models[name], train):.4f} on training images, {value:.4f} on test"
        )
    short = [name for name, value in reached.items() if value < MINIMUM_ACCURACY[name]]
    if short:
        print(f"error: accuracy too low for {', '.join(short)}, nothing stored", file=sys.stderr)
        return 1
    data.save_weights({name: weights_of(layers) for name, layers in models.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
