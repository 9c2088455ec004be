# SPDX-License-Identifier: Apache-2.0
"""The ONNX files of the networks in benchmarks/ compute the graphs' results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

import xtc  # noqa: E402
from benchmarks.networks import NETWORKS  # noqa: E402
from benchmarks.networks.exported import to_onnx  # noqa: E402

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def samples(graph: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal(tensor.type.sizes).astype(np.float32)
        if tensor.element.is_float
        else rng.integers(0, 50, tensor.type.sizes).astype(tensor.element.numpy)
        for tensor in graph.inputs
    ]


def listed(outputs: Any) -> list[Any]:
    return list(outputs.values()) if isinstance(outputs, dict) else [outputs]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(NETWORKS))
def test_a_file_computes_what_its_graph_computes(name: str) -> None:
    graph = NETWORKS[name](True)
    read = xtc.from_onnx(to_onnx(graph)).graph
    arrays = samples(graph)
    given = [array.transpose(FIRST) if array.ndim == len(FIRST) else array for array in arrays]
    found, expected = read.evaluate(*given), graph.evaluate(*arrays)
    for array, wanted in zip(listed(found), listed(expected), strict=True):
        is_image = wanted.ndim == len(FIRST)
        result = array.transpose(LAST) if is_image else array
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)
