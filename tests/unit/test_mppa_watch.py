# SPDX-License-Identifier: Apache-2.0
"""Simulator checks detect accesses outside of a buffer, conflicts with the DMA, and races."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.mppa_support import image, opened
from xtc.core.errors import DeviceFault
from xtc.runtime import DeviceArray
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.mppa.description import COOLIDGE_V2

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]

SMEM = COOLIDGE_V2.smem_address + 2 * COOLIDGE_V2.smem_stride  # of cluster 2
RIGHT = 9
ARRAY_BYTES = 64


@pytest.fixture
def device() -> Iterator[MppaDevice]:
    with MppaDevice(MppaOptions(sim_checks=True)) as watched:
        yield watched


def launch(device: MppaDevice, name: str, kind: int) -> int:
    """Run a kernel on an array of 16 words that is followed by another one; returns its address."""
    function = device.get_module_function(device.load_module(image("mppa_watch")), name)
    array, _neighbor = device.zeros(16, "int32"), device.zeros(16, "int32")
    where.append(array.address)
    device.launch(function, [array, kind])
    return array.address


where: list[int] = []


@pytest.mark.parametrize(
    ("kind", "what", "at"),
    [
        (
            0,
            f"PE 3: write of 4 bytes outside its buffer in SMEM, 256 bytes from {SMEM:#x} on",
            SMEM + 256,
        ),
        (
            1,
            f"PE 3: read of 4 bytes outside its buffer in SMEM, 256 bytes from {SMEM + 256:#x} on",
            SMEM + 252,
        ),
        (2, "PE 3: read of 4 bytes outside its buffer in DDR, which ends at 0x", ARRAY_BYTES),
        (3, "PE 3: write of 4 bytes outside its buffer in DDR, which ends at 0x", 128),
        (4, "PE 5: race in SMEM: nothing orders this write and a write by PE 3", SMEM + 12),
        (5, "PE 1: race in SMEM: nothing orders this read and a write by PE 0", SMEM),
        (7, "PE 0 (control code): read of 4 bytes that a DMA transfer in flight writes", SMEM + 36),
        (8, "PE 0 (control code): write of 4 bytes that a DMA transfer in flight reads", SMEM + 36),
    ],
)
def test_a_wrong_access_is_a_located_fault(
    device: MppaDevice, kind: int, what: str, at: int
) -> None:
    with pytest.raises(DeviceFault) as caught:
        launch(device, "wrong", kind)
    assert re.search(rf"kernel 'wrong' on cluster 2, {re.escape(what)}", str(caught.value))
    address = at if at >= SMEM else where[-1] + at
    assert str(caught.value).endswith(f" at {address:#x}")


def test_accesses_ordered_by_forks_and_joins_do_not_race(device: MppaDevice) -> None:
    launch(device, "wrong", RIGHT)
    for _ in range(2):
        launch(device, "wrong", RIGHT)  # launches are ordered as well


def test_clusters_of_a_launch_are_unordered(device: MppaDevice) -> None:
    launch(device, "clusters", 1)  # overlapping tiles: the DMA writes the same values
    with pytest.raises(DeviceFault, match="race in DDR: a write of what another cluster of the"):
        launch(device, "clusters", 0)


@pytest.mark.parametrize("kind", [0, 1, 3, 4, 5, 7, 8])
def test_a_run_without_checks_reports_nothing(kind: int) -> None:
    with opened() as kernels:
        launch(kernels.device, "wrong", kind)


def test_only_check_enables_simulator_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    connect = MppaDevice._connect

    def noted(device: MppaDevice, name: str) -> Any:
        seen.append(device.options.sim_checks)
        return connect(device, name)

    monkeypatch.setattr(MppaDevice, "_connect", noted)
    with MppaDevice() as mppa:
        x, y = (O.tensor((33, 40), name=name, device=mppa) for name in "xy")
        with O.graph(name="check") as gb:
            O.softmax(O.matmul(x, y, transpose_b=True, device=mppa), device=mppa)
        with xtc.compile(gb.graph, target=mppa, opt_level=1) as module:
            assert "dev_access" not in module.ir("lowered")
            module.check()
            zeros = mppa.array(np.zeros((33, 40), np.float32))
            result = module(zeros, zeros)
            assert isinstance(result, DeviceArray)
            assert np.allclose(result.numpy(), 1 / 33)
    assert seen == [False, True]


def test_a_kernel_with_too_little_memory_is_detected() -> None:
    """Rows longer than a cluster's memory: PEs read DDR directly, without checks by the DMA."""
    with MppaDevice(MppaOptions(sim_checks=True)) as mppa:
        x = O.tensor((2, 1 << 20), name="x", device=mppa)
        with O.graph(name="rows") as gb:
            O.reduce_max(x, axes=1, device=mppa)
        with xtc.compile(gb.graph, target=mppa) as module:
            code = next(iter(module.artifact.manifest.offload.images.values()))
            kernels = mppa.load_module(module.artifact.file(code.file).read_bytes())
            (kernel,) = module.artifact.manifest.offload.kernels
            function = mppa.get_module_function(kernels, kernel.symbol)
            short, result = mppa.zeros((1 << 21) - 4, "float32"), mppa.zeros(2, "float32")
            what = r"read of \d+ bytes outside its buffer in DDR|DMA outside an allocation"
            with pytest.raises(DeviceFault, match=what):
                mppa.launch(function, [short, result])
