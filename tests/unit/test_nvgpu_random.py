# SPDX-License-Identifier: Apache-2.0
"""Random graphs over the host and GPUs agree with NumPy, and leak nothing.

The GPUs are simulated, plus a real one if this machine has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.random_graphs import check_placed_graph
from xtc.runtime import DriverDevice
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions
from xtc_targets.nvgpu.hardware import first_gpu, unavailable

COUNT = max(12, settings().max_examples // 4)  # 500 in a long run


@pytest.fixture(scope="module")
def devices() -> Iterator[list[DriverDevice]]:
    """Two architectures, races made visible on one; and a real GPU."""
    configs = [NvgpuOptions(), NvgpuOptions(arch="sm_80", sim_schedule="shuffled")]
    if unavailable() is None:
        configs.append(first_gpu())
    with ExitStack() as stack:
        yield [stack.enter_context(NvgpuDevice(config)) for config in configs]


@pytest.mark.slow
@settings(
    max_examples=COUNT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_placed_graphs_agree_with_numpy(
    devices: list[DriverDevice], data: st.DataObject, seed: int
) -> None:
    check_placed_graph(devices, data, seed)
