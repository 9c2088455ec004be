# SPDX-License-Identifier: Apache-2.0
"""Dilated convolutions that skip taps on the border give the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O

CASES: list[tuple[tuple[int, int], tuple[int, int], dict[str, Any]]] = [
    ((9, 9), (3, 3), {"dilation": (6, 6), "padding": (6, 6)}),
    ((9, 7), (3, 3), {"dilation": (8, 5), "padding": (8, 5)}),
    ((7, 7), (3, 2), {"dilation": (9, 9), "padding": (9, 9)}),  # a tap that reads only the border
    ((11, 9), (3, 3), {"dilation": (5, 4), "padding": (5, 4), "stride": (2, 3)}),
    ((5, 12), (5, 1), {"dilation": (3, 1), "padding": (6, 0), "stride": (2, 1)}),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("image", "window", "options"), CASES)
def test_results_are_those_of_padded_images(
    image: tuple[int, int], window: tuple[int, int], options: dict[str, Any], threads: int
) -> None:
    rng = np.random.default_rng(0)
    x = O.tensor((2, *image, 4), name="x")
    filters = rng.standard_normal((*window, 4, 8), np.float32)
    with O.graph(name="g") as gb:
        y = O.conv2d(x, O.tensor(filters.shape, const=filters), **options, name="y")
        O.relu(y, name="z")
    values = rng.standard_normal((2, *image, 4), np.float32)
    with xtc.compile(gb.graph, threads=threads) as module:
        np.testing.assert_allclose(module(values), gb.graph.evaluate(values), rtol=1e-4, atol=1e-4)
        assert f"tensor<{window[0]}x{window[1]}x4x8xf32> to tensor<1x1x4x8xf32>" in module.ir(
            "scheduled"
        )


def test_a_users_schedule_applies_to_the_whole_convolution() -> None:
    x, w = O.tensor((1, 9, 9, 4), name="x"), O.tensor((3, 3, 4, 8), name="w")
    with O.graph(name="g") as gb:
        O.conv2d(x, w, dilation=(6, 6), padding=(6, 6), name="y")
    schedule = xtc.Schedule(gb.graph)
    schedule["y"].tile("h", {"h1": 3})
    with xtc.compile(gb.graph, schedule=schedule, threads=1) as module:
        module.check()
        assert "tensor<3x3x4x8xf32> to tensor<1x1x4x8xf32>" not in module.ir("scheduled")
