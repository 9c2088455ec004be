# SPDX-License-Identifier: Apache-2.0
"""The two digit classifiers as xtc graphs; both end in probabilities (batch, 10).

On a device, which keeps the weights, all operators run there: a call sends images and receives
probabilities. The batch size is a dynamic dimension, "batch", until a graph is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import xtc.ops as O
from examples.digits import fixed_point
from examples.digits.data import SIDE, Digits, load_weights
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor

Images = npt.NDArray[np.float32]
Weights = Mapping[str, Images]
Device = object  # the type of `device` arguments; None is the host


def mlp(weights: Weights, device: Device = None) -> Graph:
    """Dense layers 64-128-64-10 with relu, on flat images (batch, 64)."""
    w = _constants(weights, device)
    x = O.tensor(("batch", SIDE * SIDE), "float32", name="images")
    with O.graph(name="mlp") as gb:
        for layer in ("1", "2"):
            x = O.matmul(x, w[f"w{layer}"], device=device)
            x = O.relu(O.add(x, w[f"b{layer}"], device=device), device=device)
        logits = O.add(O.matmul(x, w["w3"], device=device), w["b3"], device=device)
        O.softmax(logits, axis=-1, name="probabilities", device=device)
    return gb.graph


def cnn(weights: Weights, device: Device = None) -> Graph:
    """Two padded 3x3 convolutions, a max pool and a dense layer, on images (batch, 8, 8, 1)."""
    w = _constants(weights, device)
    x = O.tensor(("batch", SIDE, SIDE, 1), "float32", name="images")
    with O.graph(name="cnn") as gb:
        for layer in ("1", "2"):
            x = O.conv2d(x, w[f"w{layer}"], stride=1, padding=1, device=device)
            x = O.relu(O.add(x, w[f"b{layer}"], device=device), device=device)
        x = O.max_pool2d(x, window=2, stride=2, device=device)
        x = O.reshape(x, ("batch", weights["w3"].shape[0]), device=device)
        logits = O.add(O.matmul(x, w["w3"], device=device), w["b3"], device=device)
        O.softmax(logits, axis=-1, name="probabilities", device=device)
    return gb.graph


def _constants(weights: Weights, device: Device) -> dict[str, Tensor]:
    return {
        name: O.tensor(array.shape, "float32", name=name, const=array, device=device)
        for name, array in weights.items()
    }


@dataclass(frozen=True)
class DemoModel:
    """A named model: functions that write its graph, in float and int8, and prepare its images."""

    name: str
    write: Callable[[Weights, Device], Graph]
    write_int8: Callable[[Device], Graph]
    images: Callable[[Digits], Images]

    def graph(self, device: Device = None, *, int8: bool = False) -> Graph:
        """The graph with the stored weights, on `device` or the host."""
        if int8:
            return self.write_int8(device)
        return self.write(load_weights(self.name), device)


MODELS = {
    model.name: model
    for model in (
        DemoModel("mlp", mlp, fixed_point.mlp, lambda digits: digits.flat),
        DemoModel("cnn", cnn, fixed_point.cnn, lambda digits: digits.images),
    )
}
