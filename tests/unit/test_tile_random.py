# SPDX-License-Identifier: Apache-2.0
"""Simulator, interpreter and NumPy agree on random tile kernels, shapes and layouts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.tile_random import random_kernel

COUNT, LONG_COUNT = 12, 5000


@pytest.mark.slow
def test_three_ways_give_the_same(tmp_path: Path, is_long: bool) -> None:
    for seed in range(LONG_COUNT if is_long else COUNT):
        kernel = random_kernel(seed, tmp_path)
        for run in (kernel.program, kernel.program.check):
            kernel.arguments[-1][...] = 0
            run(*kernel.arguments)
            np.testing.assert_array_equal(kernel.arguments[-1], kernel.expected, kernel.text)
