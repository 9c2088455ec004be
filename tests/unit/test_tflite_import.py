# SPDX-License-Identifier: Apache-2.0
"""import_tflite compared with TensorFlow Lite's reference kernels: int8 bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite", reason="the package tflite is not installed")

import xtc
from tests.unit.tflite_layers import Layers
from tests.unit.tflite_models import random_inputs
from tests.unit.tflite_more_models import MODELS

SEEDS = 2


# ELU and ROUND are registered with the other kernels only, and the sum of int8 of the reference is
# wrong: sums of 0 are -1.
NOT_IN_REFERENCE = ("elu", "functions_float", "halves_float", "sum_of_int8")


def interpreter(data: bytes, name: str = "") -> Any:
    """A model that runs on the reference kernels."""
    litert = pytest.importorskip(
        "ai_edge_litert.interpreter", reason="the package ai-edge-litert is not installed"
    )
    kinds = litert.OpResolverType
    without = kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    kernels = without if name in NOT_IN_REFERENCE else kinds.BUILTIN_REF
    found = litert.Interpreter(model_content=data, experimental_op_resolver_type=kernels)
    found.allocate_tensors()
    return found


def reference(data: bytes, arrays: list[Any], name: str = "") -> list[Any]:
    """The results of the reference kernels."""
    return invoked(interpreter(data, name), arrays)


def invoked(found: Any, arrays: list[Any]) -> list[Any]:
    """The results of a model after its earlier calls."""
    for entry, array in zip(found.get_input_details(), arrays, strict=True):
        found.set_tensor(entry["index"], array)
    found.invoke()
    return [found.get_tensor(entry["index"]) for entry in found.get_output_details()]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_results_equal_those_of_the_reference_kernels(name: str, tmp_path: Path) -> None:
    make: Callable[..., Any] = MODELS[name]
    for seed in range(SEEDS):
        model = make(np.random.default_rng(seed))
        data = model.data()
        file = tmp_path / f"{name}.tflite"
        file.write_bytes(data)
        graph = xtc.import_tflite(file)
        arrays = random_inputs(model, seed)
        wanted = reference(data, arrays, name)
        # The NumPy evaluation is the reference for all targets.
        found = graph.evaluate(*arrays)
        got = list(found.values()) if isinstance(found, dict) else [found]
        for ours, theirs in zip(got, wanted, strict=True):
            assert ours.shape == theirs.shape
            assert ours.dtype == theirs.dtype
            if theirs.dtype == np.float32:
                np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)
            else:
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_dynamic_range_layers(seed: int, tmp_path: Path) -> None:
    """TensorFlow Lite rounds the operand to int8 in each call; the tolerance covers that error."""
    rng = np.random.default_rng(seed)
    model = Layers()
    x = model.input(3, 64, dtype="float32")
    scales = rng.uniform(0.002, 0.02, 1).astype(np.float32)
    values = rng.integers(-127, 128, (10, 64), np.int8)
    weights = model.constant(values, scale=scales, zero=0)
    bias = model.constant(rng.normal(0, 1, 10).astype(np.float32))
    y = model.tensor((3, 10), "float32")
    model.finish(model.op("FULLY_CONNECTED", [x, weights, bias], y, "FullyConnectedOptions"))
    file = tmp_path / "dynamic.tflite"
    file.write_bytes(model.data())
    (array,) = random_inputs(model, seed)
    (wanted,) = reference(model.data(), [array])
    step = np.abs(array).max(axis=1, keepdims=True) / 127
    most = (step / 2) @ (np.abs(values).sum(axis=1)[None] * scales)
    found = xtc.import_tflite(file).evaluate(array)
    assert (np.abs(found - wanted) <= most + 1e-5).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["streaming", "svdf"])
def test_variables_are_states_that_a_board_keeps(name: str, tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the package unicorn is not installed")
    model = MODELS[name](np.random.default_rng(0))
    file = tmp_path / "model.tflite"
    file.write_bytes(model.data())
    theirs = interpreter(model.data())
    with xtc.compile(xtc.import_tflite(file), "embedded", board="nucleo-g0b1") as module:
        for seed in range(4):
            (array,) = random_inputs(model, seed)
            (wanted,) = invoked(theirs, [array])
            np.testing.assert_array_equal(module(array), wanted)
        module.save(tmp_path / "program")
    header = next((tmp_path / "program").glob("*.h")).read_text()
    assert "/* state, " in header
    assert "keeps its value from call to call" in header


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes or words changed, or the end truncated."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(0, len(changed) - 4))
        how = rng.integers(5)
        if how == 0:
            changed[at] = int(rng.integers(256))
        elif how == 1:
            changed[at] ^= 1 << int(rng.integers(8))
        elif how == 2:
            words = (0, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 1 << 20, len(data))
            at -= at % 4
            changed[at : at + 4] = words[rng.integers(len(words))].to_bytes(4, "little")
        elif how == 3:
            other = int(rng.integers(0, len(changed) - 4))
            changed[at : at + 4] = changed[other : other + 4]
        elif rng.integers(8) == 0 and len(changed) > 64:
            del changed[int(rng.integers(8, len(changed))) :]
            changed.extend(bytes(8))
    return bytes(changed)


@pytest.mark.slow
def test_damaged_files_end_in_a_named_error(tmp_path: Path, is_long: bool) -> None:
    count = 5000 if is_long else 150
    names = ("residual_network", "float_network", "concatenation", "quantize", "logistic", "pad",
             "streaming", "svdf")  # fmt: skip
    rng = np.random.default_rng(0)
    whole = [MODELS[name](rng).data() for name in names]
    # Small files, so that most mutations affect more than weights.
    file, messages = tmp_path / "damaged.tflite", []
    for number in range(count):
        file.write_bytes(mutated(whole[number % len(whole)], rng))
        try:
            xtc.import_tflite(file)
        except xtc.UserError as error:
            messages.append(str(error))
    assert len(messages) > count // 3
    assert all(str(file) in message for message in messages)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "the identifier TFL3 at byte 4 is missing"),
        (b"\x1c\x00\x00\x00TFL3", "error: unpack_from requires a buffer of at least"),
    ],
)
def test_other_files_are_refused(data: bytes, text: str, tmp_path: Path) -> None:
    file = tmp_path / "none.tflite"
    file.write_bytes(data)
    with pytest.raises(xtc.UserError, match="cannot be read as a TensorFlow Lite model") as found:
        xtc.import_tflite(file)
    assert text in str(found.value)


def test_unsupported_operators_are_listed(tmp_path: Path) -> None:
    writer = MODELS["softmax"](np.random.default_rng(0))
    _code, inputs, outputs, *_ = writer.operators[0]
    writer.operators[0] = ("LOCAL_RESPONSE_NORMALIZATION", inputs, outputs, "", {})
    file = tmp_path / "unknown.tflite"
    file.write_bytes(writer.data())
    with pytest.raises(xtc.UserError) as found:
        xtc.import_tflite(file)
    assert str(found.value).splitlines() == [
        f"1 operator of {file} cannot be imported",
        "  note: operator 0, LOCAL_RESPONSE_NORMALIZATION: the operator is not supported",
    ]
