# SPDX-License-Identifier: Apache-2.0
"""Random graphs over the host and sets of DPUs compute what NumPy computes, and leak nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.random_graphs import check_placed_graph
from xtc_targets.upmem import UpmemDevice
from xtc_targets.upmem.toolchain.clang import unavailable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(unavailable() is not None, reason=str(unavailable())),
]

COUNT = max(5, settings().max_examples // 4)  # 500 with --long


@pytest.fixture(scope="module")
def devices() -> Iterator[list[UpmemDevice]]:
    """One DPU, and a number of DPUs that divides no size."""
    with UpmemDevice() as single, UpmemDevice(nr_dpus=7, tasklets=11) as seven:
        yield [single, seven]


@settings(
    max_examples=COUNT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_placed_graphs_agree_with_numpy(
    devices: list[UpmemDevice], data: st.DataObject, seed: int
) -> None:
    check_placed_graph(devices, data, seed)
