# SPDX-License-Identifier: Apache-2.0
"""The digits example: data, weights, training's gradients, and the compiled networks."""

from __future__ import annotations

import builtins
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.digits import data, demo, train
from examples.digits.data import Floats
from examples.digits.demo_targets import TARGETS
from examples.digits.layers import (
    Conv2d,
    Dense,
    Flatten,
    Layer,
    MaxPool2d,
    Relu,
    softmax_cross_entropy,
)
from examples.digits.models import MODELS
from examples.digits.run import run
from xtc.core.errors import UserError


@pytest.fixture(scope="module")
def test_split() -> data.Digits:
    return data.load_split()[1]


def relu(x: Floats) -> Floats:
    return np.maximum(x, 0)


def mlp_logits(images: Floats, w: dict[str, Any]) -> Floats:
    hidden = relu(images.reshape(-1, 64) @ w["w1"] + w["b1"])
    hidden = relu(hidden @ w["w2"] + w["b2"])
    result: Floats = hidden @ w["w3"] + w["b3"]
    return result


def conv_by_definition(x: Floats, w: Floats, b: Floats) -> Floats:
    n, height, width, _ = x.shape
    result = np.zeros((n, height, width, w.shape[3])) + b
    for dy, dx in np.ndindex(3, 3):
        for row, column in np.ndindex(height, width):
            y, z = row + dy - 1, column + dx - 1
            if 0 <= y < height and 0 <= z < width:
                result[:, row, column] += x[:, y, z] @ w[dy, dx]
    return result


def cnn_logits(images: Floats, w: dict[str, Any]) -> Floats:
    x = relu(conv_by_definition(images, w["w1"], w["b1"]))
    x = relu(conv_by_definition(x, w["w2"], w["b2"]))
    pooled = np.maximum(
        np.maximum(x[:, 0::2, 0::2], x[:, 0::2, 1::2]),
        np.maximum(x[:, 1::2, 0::2], x[:, 1::2, 1::2]),
    )
    result: Floats = pooled.reshape(len(images), 512) @ w["w3"] + w["b3"]
    return result


LOGITS = {"mlp": mlp_logits, "cnn": cnn_logits}

# As examples/digits/README.md says. The two largest logits of an image differ by 0.03 or more, so
# rounding on another machine moves no image across.
STATED_CORRECT = {"mlp": 493, "cnn": 496}


@pytest.mark.slow
def test_images_are_scaled_nhwc_float32(test_split: data.Digits) -> None:
    assert test_split.images.shape == (500, 8, 8, 1)
    assert test_split.images.dtype == np.float32
    assert (test_split.images.min(), test_split.images.max()) == (0.0, 1.0)
    assert np.array_equal(test_split.flat[7], test_split.images[7].ravel())


@pytest.mark.slow
def test_split_is_stratified_disjoint_and_complete() -> None:
    labels = data.load_digits().labels
    training, test = data.split_indices(labels)
    assert sorted([*training, *test]) == list(range(1797))
    assert np.bincount(labels[test]).tolist() == [50] * 10


@pytest.mark.slow
def test_the_split_is_fixed() -> None:
    _, test = data.split_indices(data.load_digits().labels)
    assert test[:6].tolist() == [662, 431, 1150, 1718, 1740, 692]


@pytest.mark.slow
@pytest.mark.parametrize("model", LOGITS)
def test_stored_weights_reach_the_stated_accuracy(model: str, test_split: data.Digits) -> None:
    weights = data.load_weights(model)
    predicted = LOGITS[model](test_split.images, weights).argmax(axis=1)
    correct = int(np.sum(predicted == test_split.labels))
    assert correct == STATED_CORRECT[model]
    assert correct / len(test_split) >= train.MINIMUM_ACCURACY[model]


@pytest.mark.parametrize("model", LOGITS)
def test_training_agrees_with_the_definition(model: str, test_split: data.Digits) -> None:
    layers = train.RECIPES[model].build(np.random.default_rng(5))
    images = test_split.images[:6]
    expected = LOGITS[model](images, train.weights_of(layers))
    np.testing.assert_allclose(train.forward(layers, images), expected, rtol=1e-4, atol=1e-5)


def test_weights_are_small_plain_float32_arrays() -> None:
    assert data.WEIGHTS_FILE.stat().st_size < 200_000
    with zipfile.ZipFile(data.WEIGHTS_FILE) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                assert np.lib.format.read_array(member, allow_pickle=False).dtype == np.float32


def test_weights_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    stored: dict[str, Floats] = {"w1": np.arange(6.0).reshape(2, 3), "b1": np.ones(3)}
    data.save_weights({"m": stored, "other": {"w1": np.ones(1)}}, path)
    loaded = data.load_weights("m", path)
    assert sorted(loaded) == ["b1", "w1"]
    assert np.array_equal(loaded["w1"], stored["w1"])
    assert [file.name for file in tmp_path.iterdir()] == ["weights.npz"]


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    hostile: Any = np.array([{"a": 1}], dtype=object)
    np.savez(path, **{"mlp.w1": hostile})
    with pytest.raises(UserError, match="cannot be read"):
        data.load_weights("mlp", path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"no archive"])
def test_damaged_weights_are_reported(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"weights\.npz.*cannot be read"):
        data.load_weights("mlp", path)


def test_missing_weights_say_how_to_train(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"examples\.digits\.train"):
        data.load_weights("mlp", tmp_path / "none.npz")
    with pytest.raises(UserError, match="no weights of a model named 'rnn'"):
        data.load_weights("rnn")


def test_missing_scikit_learn_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_sklearn(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("sklearn"):
            raise ImportError(f"No module named '{name}'")
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_sklearn)
    with pytest.raises(UserError, match="pip install scikit-learn"):
        data.load_digits()


def numerical_gradient(loss: Callable[[], float], array: Floats) -> Floats:
    """Central differences by every element of `array`, which is changed and restored."""
    result, step = np.zeros_like(array), 1e-6
    for index in np.ndindex(array.shape):
        kept = array[index]
        array[index] = kept + step
        above = loss()
        array[index] = kept - step
        below = loss()
        array[index] = kept
        result[index] = (above - below) / (2 * step)
    return result


def tiny_rng() -> np.random.Generator:
    return np.random.default_rng(3)


TINY: dict[str, tuple[tuple[int, ...], Callable[[], list[Layer]]]] = {
    "dense": ((4, 5), lambda: [Dense(5, 3, tiny_rng(), np.float64)]),
    "relu": ((4, 3), lambda: [Relu()]),
    "conv2d": ((2, 4, 3, 2), lambda: [Conv2d(2, 2, tiny_rng(), np.float64), Flatten()]),
    "max_pool2d": ((2, 4, 4, 1), lambda: [MaxPool2d(), Flatten()]),
    "cnn": (
        (2, 4, 4, 1),
        lambda: [
            Conv2d(1, 2, tiny_rng(), np.float64),
            Relu(),
            Conv2d(2, 2, tiny_rng(), np.float64),
            MaxPool2d(),
            Flatten(),
            Dense(8, 3, tiny_rng(), np.float64),
        ],
    ),
}


@pytest.mark.parametrize("name", TINY)
def test_gradients_match_finite_differences(name: str) -> None:
    shape, build = TINY[name]
    layers, rng = build(), np.random.default_rng(11)
    images = rng.normal(size=shape)
    labels = rng.integers(0, 3, shape[0])

    def loss() -> float:
        return softmax_cross_entropy(train.forward(layers, images), labels)[0]

    _, grad = softmax_cross_entropy(train.forward(layers, images), labels)
    by_images = train.backward(layers, grad)
    np.testing.assert_allclose(by_images, numerical_gradient(loss, images), atol=1e-8)
    for layer in layers:
        for key, parameter in layer.parameters.items():
            expected = numerical_gradient(loss, parameter)
            np.testing.assert_allclose(layer.gradients[key], expected, atol=1e-8)


def test_adam_first_step_moves_every_weight_by_the_learning_rate() -> None:
    layer = Dense(3, 2, tiny_rng(), np.float64)
    before = layer.parameters["w"].copy()
    layer.gradients = {"w": np.array([[1.0, -2.0]] * 3), "b": np.array([0.5, -0.5])}
    train.Adam([layer], weight_decay=0.0).step(0.01)
    np.testing.assert_allclose(layer.parameters["w"] - before, [[-0.01, 0.01]] * 3, rtol=1e-6)
    np.testing.assert_allclose(layer.parameters["b"], [-0.01, 0.01], rtol=1e-6)


def test_shifted_moves_by_at_most_one_pixel() -> None:
    images = np.zeros((200, 8, 8, 1), np.float32)
    images[:, 4, 4] = 1
    moved = train.shifted(images, np.random.default_rng(0))
    _, rows, columns, _ = np.nonzero(moved)
    assert len(rows) == 200
    assert set(rows) == set(columns) == {3, 4, 5}


@pytest.mark.slow
def test_training_learns_and_is_deterministic() -> None:
    digits = data.load_split()[0].subset(np.arange(100))
    recipe = train.Recipe(train.build_mlp, epochs=40, learning_rate=1e-2, weight_decay=0.0)
    first, second = train.fit(recipe, digits), train.fit(recipe, digits)
    assert train.accuracy(first, digits) > 0.9
    for name, value in train.weights_of(first).items():
        assert np.array_equal(value, train.weights_of(second)[name])


@pytest.mark.parametrize("name", MODELS)
def test_the_graph_agrees_with_plain_numpy(name: str, test_split: data.Digits) -> None:
    some = test_split.subset(np.arange(40))
    logits = LOGITS[name](some.images, data.load_weights(name))
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    actual = MODELS[name].graph().evaluate(images=MODELS[name].images(some))
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch", [50, 64])
def test_compiled_code_reaches_the_stated_accuracy(
    name: str, batch: int, test_split: data.Digits
) -> None:
    outcome = run(MODELS[name], TARGETS["host"], test_split, batch, lambda *_: None)
    assert outcome.correct == outcome.reference_correct == STATED_CORRECT[name]
    assert outcome.agreement == 1
    assert outcome.max_difference < 1e-4


@pytest.mark.slow
def test_demo_runs_every_model_on_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--targets", "host"]) == 0
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    rows = {row[0]: row[2] for row in words if row[1:2] == ["host"] and len(row) > 5}
    assert rows == {"mlp": "98.60%", "cnn": "99.20%"}
