# SPDX-License-Identifier: Apache-2.0
"""Races, divergent barriers and ended lanes are detected on the simulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.nvgpu_support import image, opened
from xtc.core.errors import DeviceFault
from xtc.runtime import DeviceArray
from xtc_targets.nvgpu import NvgpuDevice
from xtc_targets.nvgpu.description import H100

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]

FINE = (0, 2, 3, 5, 8, 9, 12, 15, 16)
_RACE = "race in shared memory: no barrier is between this (read and a write|write and a read) by"
WRONG = {
    1: _RACE,
    4: _RACE,
    6: "race in global memory: a write of data that another block of the launch wrote",
    7: "race in global memory: a (read of data that another block of the launch wrote"
    "|write of data that another block of the launch read)",
    10: "divergence at barrier 0: lane [0-9]+ of the warp is at another location in the code",
    13: f"race in shared memory: .* at {H100.shared_address + 29:#x}",
    14: f"race in shared memory: .* at {H100.shared_address + 21:#x}",
    **dict.fromkeys((17, 18), "no barrier is between this (write and reads|read and a write) by"),
    11: "cuda_shuffle: lane 0 reads from lane 16, which has ended",
}


def _launch(kind: int, **options: Any) -> None:
    code = image("nvgpu_races")
    with opened(code, sim_races=True, **options) as kernels:
        address = kernels.device.memory_allocate(256)
        kernels.device.launch(kernels.races, [address, kind])


@pytest.mark.parametrize("order", ["sequential", "shuffled"])
@pytest.mark.parametrize("kind", FINE)
def test_accesses_separated_by_barriers_do_not_race(kind: int, order: str) -> None:
    _launch(kind, sim_schedule=order)


@pytest.mark.parametrize("order", ["sequential", "shuffled"])
@pytest.mark.parametrize("kind", WRONG)
def test_races_are_detected_in_any_order(kind: int, order: str) -> None:
    with pytest.raises(DeviceFault, match=WRONG[kind]):
        _launch(kind, sim_schedule=order)


def test_races_are_detected_only_on_request() -> None:
    with opened(image("nvgpu_races")) as kernels:
        address = kernels.device.memory_allocate(256)
        for kind in (4, 6, 7):
            kernels.device.launch(kernels.races, [address, kind])


def test_check_reruns_in_another_order_with_race_detection(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, bool]] = []
    connect = NvgpuDevice._connect

    def noted(device: NvgpuDevice, name: str) -> Any:
        seen.append((device.options.sim_schedule, device.options.sim_races))
        return connect(device, name)

    monkeypatch.setattr(NvgpuDevice, "_connect", noted)
    with NvgpuDevice() as gpu:
        x = O.tensor((33, 40), name="x", device=gpu)
        with O.graph(name="check") as gb:
            O.softmax(x, device=gpu)
        with xtc.compile(gb.graph, target=gpu) as module:
            module.check()
            module.check()
            result = module(gpu.array(np.zeros((33, 40), np.float32)))
            assert isinstance(result, DeviceArray)
            assert np.allclose(result.numpy(), 1 / 40), "what was loaded first still runs"
    assert seen == [("sequential", False), *[("shuffled", True)] * 2]
