# SPDX-License-Identifier: Apache-2.0
"""Random graphs over the host and several devices compute what NumPy computes, and leak nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.random_graphs import check_placed_graph
from xtc.runtime import DriverDevice
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.null import NullDevice
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

# 16 graphs in every run, 1,000 in a long one.
COUNT = max(10, settings().max_examples // 3)


@pytest.fixture(scope="module")
def devices() -> Iterator[list[DriverDevice]]:
    """Two devices of one target, a GPU, and another one; two of them expose races and late
    transfers."""
    exposing = MppaOptions(sim_schedule="shuffled", dma_mode="deferred", clusters=3)
    shuffled = NvgpuOptions(sim_schedule="shuffled", arch="sm_80")
    with (
        MppaDevice() as first,
        MppaDevice(exposing) as second,
        NullDevice() as third,
        NvgpuDevice(shuffled) as four,
    ):
        yield [first, second, third, four]


@pytest.mark.slow
@settings(
    max_examples=COUNT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_placed_graphs_agree_with_numpy(
    devices: list[DriverDevice], data: st.DataObject, seed: int
) -> None:
    check_placed_graph(devices, data, seed)
