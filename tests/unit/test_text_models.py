# SPDX-License-Identifier: Apache-2.0
"""Networks of the package rapidocr, which reads text in pictures, compared with ONNX Runtime.

By default the graphs are evaluated with NumPy; a long run compiles them for the host and
simulators.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package onnx is not installed")
pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
rapidocr = pytest.importorskip("rapidocr", reason="the package rapidocr is not installed")

import xtc  # noqa: E402

SIZES = {"det": (1, 3, 32, 32), "rec": (1, 3, 48, 32), "cls": (1, 3, 48, 32)}
MOST_NODES = {"det": 300, "rec": 260, "cls": 270}  # 452, 387 and 315 before simplification

pytestmark = pytest.mark.slow


def bound(kind: str, device: str | None = None) -> tuple[Any, Any, Any]:
    """A network's graph at a small size, its input, and the result of ONNX Runtime."""
    (file,) = (Path(rapidocr.__file__).parent / "models").glob(f"*_{kind}_*.onnx")
    model = xtc.from_onnx(file, device=device)
    shape = SIZES[kind]
    (given,) = model.inputs
    sizes = {
        name: size for name, size in zip(given.shape, shape, strict=True) if isinstance(name, str)
    }
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected, _ = model.expected({given.name: x})
    return model.bind(sizes), x, next(iter(expected.values()))


def compare(found: Any, expected: Any) -> None:
    largest = float(np.abs(expected).max())
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-3, atol=1e-3 * largest)


@pytest.mark.parametrize("kind", list(SIZES))
def test_the_graph_agrees_with_onnx_runtime(kind: str) -> None:
    graph, x, expected = bound(kind)
    compare(graph.evaluate(x), expected)
    assert len(graph.nodes) <= MOST_NODES[kind]


@pytest.mark.parametrize("target", ["host", "mppa", "nvgpu"])
@pytest.mark.parametrize("kind", list(SIZES))
@pytest.mark.timeout(1800)
def test_compiled_networks(kind: str, target: str, is_long: bool) -> None:
    if not is_long:
        pytest.skip("compiles a network of 300 operators: part of a long run")
    graph, x, expected = bound(kind, None if target == "host" else target)
    with xtc.compile(graph, target=target) as module:
        compare(module(x), expected)
