# SPDX-License-Identifier: Apache-2.0
"""However a simulated MPPA or its host ends, it is noticed, and nothing stays behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.unit.mppa_support import Kernels, image, opened
from xtc.core.errors import DeviceError, DeviceFault, DeviceLost, DeviceMemoryError, LaunchError
from xtc_targets.mppa.device import MppaDevice
from xtc_targets.mppa.options import MppaOptions

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def kernels() -> Iterator[Kernels]:
    with opened() as device:
        yield device


def simulator(device: MppaDevice) -> psutil.Process:
    """The device's process, the youngest child of this one."""
    device.memory_info()
    return max(psutil.Process().children(), key=lambda child: child.create_time())


def kill(process: psutil.Process) -> None:
    """End a process at once, without asking the system for its end, which is its device's to do."""
    process.send_signal(signal.SIGKILL)
    while process.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.001)


def test_a_simulator_that_is_killed_is_a_lost_device(kernels: Kernels) -> None:
    device = kernels.device
    array = device.zeros(4, "int64")
    queue = device.queue()
    kill(simulator(device))
    for use in (
        lambda: device.launch(kernels.empty),
        lambda: device.memory_copy_to(array.address, np.zeros(4, np.int64).data),
        lambda: array.numpy(),
        lambda: device.memory_allocate(1),
        lambda: device.load_module(image()),
        lambda: queue.wait(queue.fill_zero(array.address, 8)),
    ):
        with pytest.raises(DeviceLost, match=r"process [0-9]+ is gone"):
            use()
    assert repr(device) == "<mppa0, gone>"
    device.init_device()
    assert (device.device_name, repr(device)) == ("mppa0", "<mppa0, open>")
    with pytest.raises(LaunchError):
        device.launch(kernels.empty)
    device.launch(Kernels(device).empty)


def test_a_simulator_that_is_killed_in_a_kernel_is_a_lost_device(kernels: Kernels) -> None:
    word = kernels.device.zeros(1, "int32")
    process = simulator(kernels.device)
    queue = kernels.device.queue()
    queue.launch(kernels.wait_for_word, [word])
    process.send_signal(signal.SIGKILL)
    with pytest.raises(DeviceLost, match=r"command 0 of the queue, launch: .* is gone"):
        queue.wait()


def test_an_interrupt_of_the_terminal_does_not_reach_the_simulator(kernels: Kernels) -> None:
    assert os.getpgid(simulator(kernels.device).pid) != os.getpgid(0)


def test_a_child_process_cannot_use_or_end_its_parents_device(kernels: Kernels) -> None:
    array = kernels.device.array(np.arange(4))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            array.numpy()
        except DeviceLost as error:
            kernels.device.close()
            code = 0 if "opened by another process" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert array.numpy().tolist() == [0, 1, 2, 3]


KILLED_HOST = """
import os, signal, sys
from xtc_targets.mppa.device import MppaDevice
device = MppaDevice()
device.memory_allocate(1 << 20)
import psutil
print(*(child.pid for child in psutil.Process().children()), flush=True)
if sys.argv[1] == "kernel":
    from tests.unit.mppa_support import Kernels
    queue, kernels = device.queue(), Kernels(device)
    queue.launch(kernels.endless, [])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("busy", ["idle", "kernel"])
def test_a_host_that_is_killed_leaves_no_process(busy: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # noqa: TID251
    host = subprocess.run(
        [sys.executable, "-c", KILLED_HOST, busy],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment,
        check=False,
    )
    assert host.returncode == -signal.SIGKILL
    pid = int(host.stdout)
    with_pid = [process for process in psutil.process_iter() if process.pid == pid]
    _, alive = psutil.wait_procs(with_pid, timeout=60)
    assert not alive


def resources() -> dict[str, int]:
    """What this process holds that could leak; its shared memory has no name in any folder."""
    process = psutil.Process()
    own_folders = Path(tempfile.gettempdir()).glob(f"xtc-*/{process.pid}-*/*")
    return {
        "descriptors": process.num_fds(),
        "children": len(process.children(recursive=True)),
        "threads": process.num_threads(),
        "mappings": sum(
            "simulated device" in mapping.path for mapping in process.memory_maps(False)
        ),
        "temporary": len(list(own_folders)),
    }


def leave_by(kernels: Kernels, way: str) -> None:
    device = kernels.device
    queue = device.queue()
    array = device.array(np.arange(1000))
    queue.launch(kernels.step, [array, 2])
    if way == "forgotten":
        return
    if way == "fault":
        with pytest.raises(DeviceFault):
            device.launch(kernels.faults, [array, 0])
    if way == "killed":
        kill(simulator(device))
    if way == "running":
        device.memory_fill_zero(array.address, 4)
        queue.launch(kernels.wait_for_word, [array])
    if way == "error":
        with pytest.raises(DeviceError):
            device.memory_free(1)
    device.close()


@pytest.mark.parametrize("way", ["closed", "forgotten", "fault", "killed", "running", "error"])
def test_nothing_is_left_of_a_device(way: str) -> None:
    with opened() as kernels:  # what stays of the first one in a process, such as its driver
        kernels.device.queue().callback(lambda: None)
    del kernels
    gc.collect()
    before = resources()
    for _ in range(3):
        leave_by(Kernels(MppaDevice()), way)
        gc.collect()
    assert resources() == before


def test_nothing_is_left_of_what_a_device_did(kernels: Kernels) -> None:
    device = kernels.device
    device.queue().callback(lambda: None)
    process = simulator(device)
    used = device.memory_info()[0]
    empty = kernels.empty

    def once() -> tuple[int, int]:
        module = device.load_module(image())
        array = device.array(np.arange(100_000))
        queue = device.queue()
        queue.launch(empty, [array])
        queue.wait()
        queue.close()
        device.unload_module(module)
        array.free()
        return process.num_fds(), len(process.memory_maps(False))

    first = once()
    for _ in range(20):
        last = once()
    assert last == first
    assert device.memory_info()[0] == used


def test_freed_memory_goes_back_to_the_system(kernels: Kernels) -> None:
    device = kernels.device

    def resident() -> int:
        return sum(
            mapping.rss
            for mapping in psutil.Process().memory_maps(False)
            if "simulated" in mapping.path
        )

    address = device.memory_allocate(64 << 20)
    assert resident() >= 64 << 20
    device.memory_free(address)
    assert resident() < 8 << 20


def test_devices_can_be_opened_a_thousand_times() -> None:
    with MppaDevice() as device:
        device.memory_allocate(1)
    before = resources()
    for _ in range(1000):
        with MppaDevice(MppaOptions(ddr_bytes=1 << 20)) as device:
            device.memory_allocate(1)
    assert resources() == before


def test_memory_larger_than_that_of_this_machine_costs_nothing_until_used() -> None:
    with MppaDevice(MppaOptions(ddr_bytes=64 << 30)) as device:
        with pytest.raises(DeviceMemoryError, match="cannot allocate"):
            device.memory_allocate(1 << 62)
        first = device.memory_allocate(1 << 20)
        assert device.memory_info() == (1 << 20, 64 << 30)
        assert device.memory_data_pointer(first) == first
