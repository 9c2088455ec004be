# SPDX-License-Identifier: Apache-2.0
"""Blocks of a launch run on several cores: equal bytes, counts and faults; no leaks."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.nvgpu_support import independent
from tests.unit.tile_instructions import Histogram
from tests.unit.tile_kernels import Matmul, RowSoftmax
from xtc import tile
from xtc.core.errors import DeviceFault, DeviceLost, DeviceTimeout, UserError
from xtc.runtime.native import NativeUnit, compile_unit
from xtc.tile import float16, float32
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions, simulator

KILLED, EXITS, HANGS, HANGS_DEAF, ATOMIC, PAUSES, CLUSTER = range(7)
MEMORY = 64 << 20

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches use all cores from the start."""
    monkeypatch.setattr(simulator, "ALONE_NS", 0)


def simulator_process() -> int:
    """The running simulator: the only child of this process with that name."""
    (found,) = [process for process in children(os.getpid()) if "nvgpu_sim" in comm(process)]
    return found


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(word) for task in tasks for word in (task / "children").read_text().split()]


def comm(process: int) -> str:
    return Path(f"/proc/{process}/comm").read_text()


def is_running(process: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_two_blocks_run_concurrently_in_separate_processes() -> None:
    with independent(2) as (found, memory):
        found.device.launch(found.meet, [memory])
        first, second = memory.numpy()[:2].tolist()
        assert len({first, second, simulator_process()}) == 3


def test_a_block_that_waits_for_another_deadlocks_on_one_core() -> None:
    where = r"kernel 'meet' in block \(0, 0, 0\), thread \(0, 0, 0\): "
    with (
        independent(1, timeout_s=0.2) as (found, memory),
        pytest.raises(DeviceTimeout, match=where),
    ):
        found.device.launch(found.meet, [memory])


def test_a_short_launch_runs_in_the_simulator_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "ALONE_NS", 10**18)
    with independent(2) as (found, memory):
        found.device.launch(found.processes, [memory], [64])
        assert set(memory.numpy()) == {simulator_process()}


def test_one_block_starts_no_process() -> None:
    with independent(3) as (found, memory):
        found.device.launch(found.processes, [memory], [1])
        assert memory.numpy()[0] == simulator_process()


@pytest.mark.parametrize("blocks", [2, 3, 64])
def test_more_cores_than_blocks_and_fewer(blocks: int) -> None:
    with independent(3) as (found, memory):
        found.device.launch(found.processes, [memory], [blocks])
        processes = memory.numpy().tolist()
        assert all(processes[:blocks])
        assert not any(processes[blocks:])
        assert simulator_process() not in processes
        assert len(set(processes[:blocks])) <= min(3, blocks)


def test_a_running_block_continues_when_others_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a launch is divided, threads are in the middle of the first block."""
    results, counts = [], []
    values = np.arange(640, dtype=np.float32)
    for cores, alone in ((1, 0), (2, 0), (2, 30_000), (3, 100_000)):
        monkeypatch.setattr(simulator, "ALONE_NS", alone)
        with independent(cores) as (found, _):
            given, out = found.device.array(values), found.device.zeros(640, "float32")
            for _ in range(2):
                found.device.launch(found.halves, [given, out], [10])
            results.append(out.numpy().tolist())
            counts.append(dict(found.device.counters()))
    assert results[1:] == results[:1] * 3
    assert counts[1:] == counts[:1] * 3
    assert counts[0]["nvgpu.BLOCKS"] == 20
    assert counts[0]["nvgpu.BARRIERS"] == 20 * 16


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_the_fault_of_the_first_block_is_reported(cores: int) -> None:
    with independent(cores) as (found, memory):
        with pytest.raises(
            DeviceFault,
            match=r"^nvgpu\d+: kernel 'two_faults' in block \(1, 0, 0\), thread \(1, 0, 0\): read "
            rf"of 4 bytes outside an allocation in global memory at {memory.address + 260:#x}$",
        ):
            # If block 3 cannot run beside block 1, block 1 does not wait for it.
            found.device.launch(found.two_faults, [memory, int(cores > 1)])
        with pytest.raises(DeviceLost, match="the device has stopped: kernel 'two_faults' in"):
            found.device.memory_allocate(1)


@pytest.mark.parametrize("cores", [1, 2])
def test_two_deadlocks_leave_one_report(
    cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with (
        independent(cores) as (found, memory),
        pytest.raises(DeviceFault, match=r"in block \(0, 0, 0\).* deadlock:") as caught,
    ):
        found.device.launch(found.two_deadlocks, [memory, cores - 1])
    (report,) = tmp_path.glob("xtc-report-*")
    assert list(caught.value.notes) == [f"the full report: {report}"]
    assert report.read_text().count("waits at barrier 0") == 32


def test_a_process_that_is_killed_loses_the_device() -> None:
    text = r"kernel 'breaks': process \d+, which ran some of its blocks, was killed by signal 9"
    with independent(2) as (found, memory), pytest.raises(DeviceLost, match=text):
        found.device.launch(found.breaks, [memory, KILLED])


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize(
    ("what", "text"),
    [
        (EXITS, "it ended the process"),
        (ATOMIC, "atomic access to global memory in a launch whose blocks are independent"),
        (PAUSES, "cuda_pause in a launch whose blocks are independent"),
        (CLUSTER, "barrier.cluster in a launch whose blocks are independent"),
    ],
)
def test_interactions_of_independent_blocks_are_faults(cores: int, what: int, text: str) -> None:
    with independent(cores) as (found, memory):
        where = r"kernel 'breaks' in block \(2, 0, 0\), thread \(0, 0, 0\): "
        with pytest.raises(DeviceFault, match=where + re.escape(text)):
            found.device.launch(found.breaks, [memory, what])


@pytest.mark.parametrize("cores", [1, 2])
def test_the_time_limit_names_the_block(cores: int) -> None:
    with independent(cores, timeout_s=0.2) as (found, memory):
        where = (
            r"kernel 'breaks' in block \(2, 0, 0\), thread \(0, 0, 0\): it ran for more than 0.2 s"
        )
        with pytest.raises(DeviceTimeout, match=where):
            found.device.launch(found.breaks, [memory, HANGS])


def test_the_time_limit_ends_unresponsive_processes() -> None:
    with (
        independent(2, timeout_s=0.2) as (found, memory),
        pytest.raises(DeviceTimeout, match=r"kernel 'breaks': it ran for more than 0.2 s"),
    ):
        found.device.launch(found.breaks, [memory, HANGS_DEAF])


def wait_until_gone(process: int) -> None:
    limit = time.monotonic() + 60
    while is_running(process):
        assert time.monotonic() < limit, f"process {process} is still there"
        time.sleep(0.005)


@pytest.mark.parametrize("closed", [True, False])
def test_processes_end_with_the_device(closed: bool) -> None:
    """A closed device ends them; if it is killed, the system ends them."""
    with independent(2) as (found, memory):
        queue = found.device.queue()
        queue.launch(found.breaks, [memory, HANGS])
        parent = simulator_process()
        limit = time.monotonic() + 60
        while len(workers := children(parent)) < 1:
            assert time.monotonic() < limit
        if closed:
            found.device.close()
        else:
            os.kill(parent, signal.SIGKILL)
            with pytest.raises(DeviceLost, match=f"the simulator's process {parent} is gone"):
                queue.wait()
    for worker in workers:
        wait_until_gone(worker)


@pytest.mark.parametrize("started", [0, 1, 2])
def test_remaining_processes_run_all_blocks_if_none_can_be_started(
    started: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(__file__).with_name("no_fork.c")
    library = compile_unit(
        NativeUnit("no_fork.so", "library", (source,), (), libraries=("dl",)), tmp_path
    )
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("NO_FORK_FROM", str(started))
    with independent(3) as (found, memory):
        found.device.launch(found.processes, [memory], [64])
        processes = set(memory.numpy().tolist())
        monkeypatch.delenv("LD_PRELOAD")
        found.device.launch(found.processes, [memory], [64])
        again = set(memory.numpy().tolist())
        parent = simulator_process()
    assert all(processes)
    assert len(processes) <= max(1, started)
    assert (parent in processes) == (not started)
    assert again == {parent}


def test_many_launches_leave_no_process_descriptor_or_memory() -> None:
    def held() -> tuple[int, int, int]:
        process = Path(f"/proc/{simulator_process()}")
        maps = (process / "maps").read_text().count("\n")
        return len(children(int(process.name))), len(list((process / "fd").iterdir())), maps

    with independent(3) as (found, memory):
        found.device.launch(found.processes, [memory], [64])
        before = held()
        for _ in range(20):
            found.device.launch(found.processes, [memory], [64])
        assert held() == before
        assert before[0] == 0


def graph_results(device: NvgpuDevice) -> list[bytes]:
    """The results of kernels of graphs: a matmul, a row reduction, an elementwise operator."""
    rng = np.random.default_rng(0)
    x, y = rng.random((96, 80), np.float32), rng.random((80, 96), np.float32)
    a = O.tensor(x.shape, "float32", name="A")
    b = O.tensor(y.shape, "float32", name="B")
    with O.graph(name="g") as gb:
        product = O.matmul(a, b, name="C", device=device)
        O.softmax(product, name="D", device=device)
    module = xtc.compile(gb.graph, target=device)
    return [np.asarray(module(x, y)).tobytes()]


def tile_results() -> list[bytes]:
    """The results of tile kernels, the last of which has atomic additions."""
    rng = np.random.default_rng(1)
    a, b = rng.random((96, 48)).astype(np.float16), rng.random((48, 64)).astype(np.float16)
    c = np.zeros((96, 64), np.float32)
    Matmul(float16, float32)(96, 64, 48, a, b, c)
    x = rng.random((33, 77), np.float32)
    y = np.zeros_like(x)
    RowSoftmax()(33, 77, x, y)
    drawn = rng.integers(0, 8, (3, 96)).astype(np.int32)
    counts, sums, turned = (np.zeros(n, np.int32) for n in ((2, 8), (3, 96), 288))
    Histogram()(drawn, counts, sums, turned)
    return [each.tobytes() for each in (c, y, counts, sums, turned)]


def test_results_and_counts_are_the_same_on_any_number_of_cores() -> None:
    found = []
    for cores in (1, 2, 3):
        with NvgpuDevice(NvgpuOptions(sim_cores=cores, memory_bytes=MEMORY)) as device:
            tile.use_device(device)
            try:
                results = graph_results(device) + tile_results()
            finally:
                tile.use_device(None)
            found.append((results, dict(device.counters())))
    assert found[1] == found[0]
    assert found[2] == found[0]
    assert found[0][1]["nvgpu.BLOCKS"] > 20


def test_the_number_of_cores_is_checked() -> None:
    for wrong in (0, 65, 1.5, "all"):
        with pytest.raises(UserError, match="sim_cores"):
            NvgpuOptions(sim_cores=wrong)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="sim_cores=2 is not for platform 'hw'"):
        NvgpuOptions(platform="hw", sim_cores=2)
