# SPDX-License-Identifier: Apache-2.0
"""PTX of random graphs and schedules: launchable entries that ptxas accepts."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.nvgpu_code import ARCHITECTURES, gpu, machine_code, needs_ptxas, ptx_of
from tests.unit.nvgpu_nests import blocked_schedule
from tests.unit.random_graphs import graphs
from tests.unit.random_operators import FAMILIES
from tests.unit.test_random_schedules import legal_schedule
from xtc.core.errors import DeviceNotFound
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

FULL = 250  # of the 255 registers that a thread may have
COUNT = max(8, settings().max_examples // 10)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_launch_has_an_entry_and_a_shape(arch: str) -> None:
    device = gpu(arch)
    x = O.tensor((40, 50), name="X", device=device)
    with O.graph(name="f") as graph:
        O.softmax(x, name="Y", device=device)
    ptx = ptx_of(graph.graph, device)
    entries = set(re.findall(r"\.visible \.entry (\w+)\(", ptx))
    shapes = set(re.findall(r"\.visible \.const \.align 4 \.b8 (\w+)_launch\[32\]", ptx))
    assert entries == shapes != set()
    assert f".target {arch}\n" in ptx


@needs_ptxas
@pytest.mark.parametrize("arch", ARCHITECTURES)
@settings(
    max_examples=COUNT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_ptxas_accepts_random_graphs(arch: str, data: st.DataObject, tmp_path: Path) -> None:
    device = gpu(arch)
    graph = data.draw(graphs(place=lambda draw: draw(st.sampled_from([device, device, None]))))
    if ptx := ptx_of(graph, device):
        machine_code(ptx, arch, tmp_path)


@needs_ptxas
@pytest.mark.parametrize(
    "make", [partial(legal_schedule, target="nvgpu"), blocked_schedule], ids=["legal", "blocked"]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_ptxas_accepts_random_schedules_without_spills(
    family: str, make: Callable[[Random, str], xtc.Schedule], tmp_path: Path
) -> None:
    rng = Random(family)  # noqa: S311  data of a test
    arch = rng.choice(ARCHITECTURES)
    schedule = make(rng, family)
    code = machine_code(ptx_of(schedule.graph, gpu(arch), schedule), arch, tmp_path)
    # A nest may unroll so far that one thread fills all registers; nothing else spills.
    full = {kernel for kernel, count in code.registers.items() if count >= FULL}
    assert {kernel for kernel, nbytes in code.spilled_bytes.items() if nbytes} <= full


def one_operator() -> xtc.Graph:
    x = O.tensor((8,), name="X")
    with O.graph(name="f") as graph:
        O.relu(x, name="Y")
    return graph.graph


def test_code_is_built_without_a_driver_and_calls_report_it(tmp_path: Path) -> None:
    config = NvgpuOptions(platform="hw", driver_library="libcuda-that-is-not.so.1")
    with xtc.compile(one_operator(), NvgpuDevice(config)) as module:
        assert ".version" in module.ir("code")
        missing = pytest.raises(DeviceNotFound, match=r"libcuda-that-is-not\.so\.1")
        for evaluate in (module.check, module.measure, lambda: module(np.ones(8, np.float32))):
            with missing:
                evaluate()
        module.save(tmp_path / "saved")
    with NvgpuDevice(config) as device, xtc.load(tmp_path / "saved", device) as module, missing:
        module(np.ones(8, np.float32))


def test_a_device_found_later_is_used() -> None:
    with NvgpuDevice() as device:
        connect = device._connect

        def gone(name: str) -> Any:
            raise DeviceNotFound("it is switched off")

        device._connect = gone  # type: ignore[method-assign]
        with xtc.compile(one_operator(), device) as module:
            with pytest.raises(DeviceNotFound, match="it is switched off"):
                module.check()
            device._connect = connect  # type: ignore[method-assign]
            module.check()
            used = device.memory_info()[0]
        assert used == 0
