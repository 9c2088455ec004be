# SPDX-License-Identifier: Apache-2.0
"""A sample of the node tests of the package onnx; tools/onnx_node_tests.py runs all of them."""

from __future__ import annotations

import collections

import pytest

pytest.importorskip("onnx", reason="the package onnx is not installed")

from tools.onnx_node_tests import cases, outcome

_EVERY = 216  # stride through the tests sorted by name; a 36th of that in a long run
# Tests in every sample: pivots and their positions, the rounding of transforms.
_NAMED = {"test_det_nd", "test_dft_inverse", "test_cast_FLOAT_to_FLOAT4E2M1"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_sample_is_correct_or_refused(is_long: bool) -> None:
    every = _EVERY // 36 if is_long else _EVERY
    listed = sorted(cases(), key=lambda case: str(case.name))
    found = [*listed[::every], *(case for case in listed if case.name in _NAMED)]
    results = [outcome(case) for case in found]
    failed = [f"{r.name}: {r.text}" for r in results if r.kind in ("wrong", "crash")]
    assert not failed
    assert {r.name for r in results if r.kind == "right"} >= _NAMED
    counts = collections.Counter(result.kind for result in results)
    assert counts["right"] >= 0.75 * len(results), counts
