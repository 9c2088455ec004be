# SPDX-License-Identifier: Apache-2.0
"""Operators of the domain com.microsoft against ONNX Runtime, each in a model of one node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")

import xtc  # noqa: E402

helper = onnx.helper
RNG = np.random.default_rng(7)


def reals(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(low: int, high: int, *shape: int, dtype: Any = np.int32) -> Any:
    return RNG.integers(low, high, shape).astype(dtype)


def weights(*shape: int) -> Any:
    """int8 of 7 bits: on processors without VNNI, ONNX Runtime adds pairs of products with uint8 in
    16 bits, which saturate for larger weights ("Quantize ONNX Models", reduce_range)."""
    return ints(-64, 65, *shape, dtype=np.int8)


def scale(value: float) -> Any:
    return np.asarray(value, np.float32)


def zero(value: int, dtype: Any = np.uint8) -> Any:
    return np.asarray(value, dtype)


def quantized(*shape: int) -> list[Any]:
    """uint8 with a scale and a zero point."""
    return [ints(0, 256, *shape, dtype=np.uint8), scale(0.03), zero(120)]


TABLES = [np.cos(np.arange(32)[:, None] * np.arange(1, 5) / 9).astype(np.float32)]
TABLES.append(np.sin(np.arange(32)[:, None] * np.arange(1, 5) / 9).astype(np.float32))
STEPS = [scale(0.08), zero(99)]
WIDE_TABLES = [np.concatenate([x, x[::-1]], 1) for x in TABLES]
ENDS = np.array([7, 4], np.int32)
WIDE = [reals(2, 5, 24) for _ in range(3)]
CASES: dict[str, tuple[str, list[Any], int, dict[str, Any]]] = {
    "fused_conv": (
        "FusedConv",
        [reals(1, 3, 6, 6), reals(4, 3, 3, 3), reals(4), reals(1, 4, 6, 6)],
        1,
        {"pads": [1, 1, 1, 1], "activation": "Relu"},
    ),
    "fused_conv_clip": (
        "FusedConv",
        [reals(1, 3, 6, 6), reals(4, 3, 3, 3)],
        1,
        {"activation": "Clip", "activation_params": [-0.5, 0.5]},
    ),
    "fused_gemm": (
        "FusedGemm",
        [reals(3, 4), reals(5, 4), reals(5)],
        1,
        {"transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.1},
    ),
    "embeddings": (
        "EmbedLayerNormalization",
        [
            ints(0, 9, 2, 5),
            ints(0, 2, 2, 5),
            reals(9, 8),
            reals(7, 8),
            reals(2, 8),
            reals(8),
            reals(8),
            ints(0, 2, 2, 5),
        ],
        2,
        {},
    ),
    "quantized_add": (
        "QLinearAdd",
        [*quantized(2, 9), *quantized(9), scale(0.05), zero(99)],
        1,
        {},
    ),
    "quantized_mul": ("QLinearMul", [*quantized(2, 9), *quantized(9), scale(0.1), zero(99)], 1, {}),
    "quantized_sigmoid": ("QLinearSigmoid", [*quantized(2, 9), scale(1 / 256), zero(0)], 1, {}),
    "quantized_leaky_relu": (
        "QLinearLeakyRelu",
        [*quantized(2, 9), scale(0.03), zero(50)],
        1,
        {"alpha": 0.2},
    ),
    "quantized_softmax": (
        "QLinearSoftmax",
        [*quantized(2, 9), scale(1 / 256), zero(0)],
        1,
        {"axis": -1, "opset": 13},
    ),
    "quantized_concat": (
        "QLinearConcat",
        [scale(0.04), zero(100), *quantized(2, 3), *quantized(2, 5)],
        1,
        {"axis": 1},
    ),
    "quantized_mean": (
        "QLinearGlobalAveragePool",
        [*quantized(1, 3, 4, 5), scale(0.02), zero(110)],
        1,
        {"channels_last": 0},
    ),
    "quantized_pool": (
        "QLinearAveragePool",
        [*quantized(1, 3, 6, 6), scale(0.02), zero(110)],
        1,
        {"kernel_shape": [2, 2], "strides": [2, 2]},
    ),
    "integer_matmul": (
        "MatMulIntegerToFloat",
        [
            ints(0, 256, 2, 3, 16, dtype=np.uint8),
            weights(16, 5),
            scale(0.02),
            RNG.random(5).astype(np.float32),
            zero(111),
            ints(-9, 9, 5, dtype=np.int8),
            reals(5),
        ],
        1,
        {},
    ),
    "dynamic_matmul": (
        "DynamicQuantizeMatMul",
        [reals(3, 16), ints(0, 256, 16, 5, dtype=np.uint8), scale(0.02), zero(131), reals(5)],
        1,
        {},
    ),
    "quantized_gemm": (
        "QGemm",
        [
            *quantized(3, 16),
            weights(5, 16),
            scale(0.02),
            zero(0, np.int8),
            ints(-99, 99, 5),
            scale(0.2),
            zero(128),
        ],
        1,
        {"transB": 1},
    ),
    "attention": (
        "Attention",
        [reals(2, 5, 12), reals(12, 36), reals(36), ints(0, 2, 2, 5)],
        1,
        {"num_heads": 3},
    ),
    "attention_with_cache": (
        "Attention",
        [reals(2, 3, 12), reals(12, 36), reals(36), ENDS, reals(2, 2, 3, 4, 4)],
        2,
        {"num_heads": 3, "unidirectional": 1},
    ),
    "quantized_attention": (
        "QAttention",
        [
            ints(0, 256, 1, 5, 12, dtype=np.uint8),
            weights(12, 36),
            reals(36),
            scale(0.02),
            scale(0.01),
            np.array([4], np.int32),
            zero(128),
            zero(0, np.int8),
        ],
        1,
        {"num_heads": 3},
    ),
    "heads": ("MultiHeadAttention", [*WIDE, reals(72)], 1, {"num_heads": 3}),
    "heads_with_all": (
        "MultiHeadAttention",
        [
            *WIDE,
            None,
            ints(0, 2, 2, 7) | 1,
            reals(1, 3, 5, 7),
            reals(2, 3, 2, 8),
            reals(2, 3, 2, 8),
        ],
        3,
        {"num_heads": 3, "unidirectional": 1, "scale": 0.3},
    ),
    "rotary": (
        "RotaryEmbedding",
        [reals(2, 5, 24), ints(0, 32, 2, 5, dtype=np.int64), *TABLES],
        1,
        {},
    ),
    "rotary_pairs": (
        "RotaryEmbedding",
        [reals(2, 3, 5, 8), np.array([4], np.int64), *TABLES],
        1,
        {"interleaved": 1},
    ),
}


def grouped(past: int, new: int, **attributes: Any) -> tuple[str, list[Any], int, dict[str, Any]]:
    """Four heads of queries on two of keys; a batch of two, the second sequence shorter."""
    total = past + new
    inputs = [
        reals(2, new, 64),
        reals(2, new, 32),
        reals(2, new, 32),
        reals(2, 2, past, 16) if past else None,
        reals(2, 2, past, 16) if past else None,
        np.array([total - 1, total - (2 if past else 1)], np.int32),
        np.array([total], np.int32),
        *WIDE_TABLES,
    ]
    return (
        "GroupQueryAttention",
        inputs,
        3,
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, **attributes},
    )


CASES["grouped_prompt"] = grouped(0, 6)
CASES["grouped_step"] = grouped(6, 1)
CASES["grouped_window"] = grouped(6, 1, local_window_size=3)
CASES["grouped_sink"] = grouped(0, 6, smooth_softmax=1, softcap=5.0, rotary_interleaved=1)


def lstm() -> tuple[str, list[Any], int, dict[str, Any]]:
    hidden, size = 6, 5
    return (
        "DynamicQuantizeLSTM",
        [
            reals(4, 2, size),
            weights(2, size, 4 * hidden),
            weights(2, hidden, 4 * hidden),
            reals(2, 8 * hidden),
            None,
            reals(2, 2, hidden),
            reals(2, 2, hidden),
            None,
            np.full((2, 4 * hidden), 0.01, np.float32),
            np.zeros((2, 4 * hidden), np.int8),
            np.full(2, 0.01, np.float32),
            np.zeros(2, np.int8),
        ],
        3,
        {"hidden_size": hidden, "direction": "bidirectional"},
    )


CASES["quantized_lstm"] = lstm()


def _kind(operator: str, result: str) -> int:
    if operator == "EmbedLayerNormalization" and result == "y1":
        return int(onnx.TensorProto.INT32)
    bytes_out = operator.startswith("QLinear") or operator == "QGemm"
    return int(onnx.TensorProto.UINT8 if bytes_out else onnx.TensorProto.FLOAT)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_operators_agree_with_onnx_runtime(name: str) -> None:
    operator, arrays, outputs, attributes = CASES[name]
    names = [f"x{n}" if array is not None else "" for n, array in enumerate(arrays)]
    given = {name: array for name, array in zip(names, arrays, strict=True) if name}
    free = "x0" if operator != "QLinearConcat" else "x2"
    names_out = [f"y{n}" for n in range(outputs)]
    node = helper.make_node(operator, names, names_out, domain="com.microsoft", **attributes)
    kind = helper.np_dtype_to_tensor_dtype(given[free].dtype)
    graph = helper.make_graph(
        [node],
        "tested",
        [helper.make_tensor_value_info(free, kind, given[free].shape)],
        [helper.make_tensor_value_info(r, _kind(operator, r), None) for r in names_out],
        initializer=[
            onnx.numpy_helper.from_array(np.asarray(x), name)
            for name, x in given.items()
            if name != free
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    read = xtc.from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=9))
    wanted, _ = read.expected({free: given[free]})
    found = read.graph.evaluate(given[free])
    results = list(found.values()) if isinstance(found, dict) else [found]
    for x, y in zip(results, wanted.values(), strict=True):
        assert x.shape == y.shape
        if y.dtype.kind == "f":
            # An intermediate result that is rounded to a byte may be rounded to a neighboring one.
            near = 5e-3 if operator == "DynamicQuantizeLSTM" else 2e-4
            np.testing.assert_allclose(x, y, rtol=2e-3, atol=near)
        else:  # sums in another order may differ by one rounding step
            assert np.abs(x.astype(int) - y.astype(int)).max() <= 1
