# SPDX-License-Identifier: Apache-2.0
"""Faults on a set of DPUs become located exceptions; operators in int8."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import (
    ArtifactError,
    DeviceFault,
    DeviceLost,
    DeviceMemoryError,
    DeviceTimeout,
    LaunchError,
)
from xtc_targets.upmem import UpmemDevice
from xtc_targets.upmem.build import Program, image_bytes
from xtc_targets.upmem.description import PROFILES
from xtc_targets.upmem.device_c import KernelCode
from xtc_targets.upmem.toolchain.clang import unavailable
from xtc_targets.upmem.toolchain.command_line import read_command_line
from xtc_targets.upmem.toolchain.program import build

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(unavailable() is not None, reason=str(unavailable())),
]

KERNELS = """
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <stdint.h>
__host uint32_t xtc_call[2 + 32];
__host uint64_t xtc_dpu_number;
BARRIER_INIT(some, 2);
volatile int zero;
int main(void)
{
    switch (xtc_call[0] * (me() == 1 && xtc_dpu_number == 2)) {
    case 1: *(volatile int *)70000 = 1; break;
    case 2: zero = 5 / zero; break;
    case 3: barrier_wait(&some); break;
    case 4: while (!zero) continue;
    }
    return 0;
}
"""
NAMES = ("nothing", "reach_outside", "divide", "wait_alone", "never_end")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("kernels")
    source, output = folder / "kernels.c", folder / "kernels.elf"
    source.write_text(KERNELS)
    line = read_command_line(["-DNR_TASKLETS=4", "-o", str(output), str(source)])
    build(line, PROFILES["v1B"], name="kernels")
    kernels = tuple(KernelCode(name, (8,), (24,), (2,)) for name in NAMES)
    return image_bytes([Program(output.read_bytes(), kernels)])


@pytest.fixture
def dpus() -> Iterator[UpmemDevice]:
    with UpmemDevice(nr_dpus=3, tasklets=4) as device:
        yield device


def start(dpus: UpmemDevice, image: bytes, name: str) -> None:
    kernel = dpus.get_module_function(dpus.load_module(image), name)
    dpus.launch(kernel, [dpus.array(np.arange(6, dtype=np.int32))])


@pytest.mark.parametrize(
    ("name", "error", "what"),
    [
        (
            "reach_outside",
            DeviceFault,
            "memory fault: a load or store outside of WRAM, address 0x11170",
        ),
        ("divide", DeviceFault, "division by zero"),
        ("wait_alone", DeviceFault, "deadlock: every tasklet waits for another"),
        ("never_end", DeviceTimeout, "an endless loop"),
    ],
)
def test_a_fault_names_kernel_dpu_tasklet_and_line(
    dpus: UpmemDevice, image: bytes, name: str, error: type[Exception], what: str
) -> None:
    start(dpus, image, "nothing")
    with pytest.raises(error) as raised:
        start(dpus, image, name)
    text = str(raised.value)
    assert f"kernel '{name}' on DPU 2 of rank 0, tasklet 1: {what}" in text
    assert "kernels.c:" in text


def test_a_launch_with_wrong_arguments_is_refused(dpus: UpmemDevice, image: bytes) -> None:
    kernel = dpus.get_module_function(dpus.load_module(image), "nothing")
    with pytest.raises(LaunchError, match="kernel 'nothing' takes 1 buffers, not 0"):
        dpus.launch(kernel, [])
    with pytest.raises(LaunchError, match="no function 'absent'"):
        dpus.get_module_function(dpus.load_module(image), "absent")


def test_an_image_of_another_target_is_refused(dpus: UpmemDevice) -> None:
    with pytest.raises((ArtifactError, LaunchError)):
        dpus.load_module(b"\x7fELF and so on")


def test_an_allocation_larger_than_mram_is_refused(dpus: UpmemDevice) -> None:
    with pytest.raises(DeviceMemoryError, match="cannot allocate 1099511627776 bytes"):
        dpus.memory_allocate(1 << 40)
    assert dpus.memory_info()[0] == 0


def test_code_for_another_number_of_dpus_is_refused(dpus: UpmemDevice, tmp_path: Path) -> None:
    a = O.tensor((8,), "int32", name="a")
    with O.graph(name="g") as graph:
        O.add(a, a, name="c")
    with xtc.compile(graph.graph, target="upmem", nr_dpus=2) as module:
        module.save(tmp_path / "saved")
    with pytest.raises(ArtifactError, match=r"compiled for nr_dpus 2, and .* has 3"):
        xtc.load(tmp_path / "saved", dpus)


def test_a_killed_simulator_raises_device_lost(image: bytes) -> None:
    before = set(_children())
    with UpmemDevice(nr_dpus=3, tasklets=4) as dpus:
        start(dpus, image, "nothing")
        (process,) = set(_children()) - before
        os.kill(process, signal.SIGKILL)
        with pytest.raises(DeviceLost):
            start(dpus, image, "nothing")


def _children() -> list[int]:
    """Processes that this one has started."""
    return [child.pid for child in psutil.Process().children()]


def test_a_kernel_that_is_too_large_is_compiled_for_size(dpus: UpmemDevice) -> None:
    """Two functions of doubles form one kernel with too many instructions."""
    x = O.tensor((3, 2), "float64", name="x")
    with O.graph(name="large") as graph:
        O.exp(O.tanh(x, device=dpus), device=dpus, name="y")
    with xtc.compile(graph.graph) as module:
        assert all(result.ok for result in module.check())


@pytest.mark.parametrize("nr_dpus", [1, 7])
def test_int8_layers_and_convolutions(nr_dpus: int) -> None:
    """Numbers of rows that are not divisible, parts that are not multiples of 8 bytes, windows."""
    with UpmemDevice(nr_dpus=nr_dpus) as dpus:
        x = O.tensor((13, 6, 5, 3), "int8", name="x")
        w = O.tensor((3, 3, 3, 4), "int8", name="w")
        v = O.tensor((120, 9), "int8", name="v")
        with O.graph(name="layers") as graph:
            y = O.conv2d(x, w, stride=1, padding=1, device=dpus)
            y = O.cast(O.minimum(O.relu(y, device=dpus), 127, device=dpus), "int8", device=dpus)
            O.matmul(O.reshape(y, (13, 120), device=dpus), v, device=dpus, name="z")
        with xtc.compile(graph.graph) as module:
            assert all(result.ok for result in module.check())
        assert dpus.counters()["upmem.BYTES_EXCHANGED"] == 0
        assert dpus.memory_info()[0] == 0
