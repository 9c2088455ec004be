# SPDX-License-Identifier: Apache-2.0
"""The end of a device, or of its host, is detected, and leaks nothing."""

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

from tests.unit.device_contract import ASYNCHRONOUS, DEVICES, Gate, Kernels, Kind
from tests.unit.device_contract import kernels as kernels  # fixtures
from tests.unit.device_contract import kind as kind
from xtc.core.errors import DeviceError, DeviceFault, DeviceLost, DeviceMemoryError, LaunchError
from xtc.interfaces.runtime import AcceleratorDevice
from xtc.runtime import DriverDevice

ROOT = Path(__file__).parents[2]
ALL = pytest.mark.parametrize("kind", DEVICES, indirect=True, ids=str)
PROCESSES = pytest.mark.parametrize(
    "kind", [device for device in DEVICES if device.has_process], indirect=True, ids=str
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def device(kind: Kind) -> Iterator[DriverDevice]:
    with kind.make() as opened:
        yield opened


def children() -> int:
    return len(psutil.Process().children())


def simulator(device: DriverDevice) -> psutil.Process:
    """The device's process, the youngest child of this one."""
    device.memory_info()
    return max(psutil.Process().children(), key=lambda child: child.create_time())


def kill(process: psutil.Process) -> None:
    """Kill a process without waiting for it, which is the device's task."""
    process.send_signal(signal.SIGKILL)
    tasks = Path(f"/proc/{process.pid}/task")  # the process exists until its last thread has ended
    while process.status() != psutil.STATUS_ZOMBIE or len(list(tasks.iterdir())) > 1:
        time.sleep(0.001)


@ALL
def test_a_device_opens_at_first_use_and_stays_closed(kind: Kind) -> None:
    before, process = children(), int(kind.has_process)
    device = kind.make()
    name = device.target_name
    assert (children(), repr(device)) == (before, f"<{name}0, not opened>")
    device.memory_allocate(1)
    assert (children(), repr(device)) == (before + process, f"<{name}0, open>")
    device.close()
    device.close()
    assert (children(), repr(device)) == (before, f"<{name}0, closed>")
    with pytest.raises(DeviceLost, match=f"{name}0 is closed"):
        device.memory_allocate(1)


@ALL
def test_a_device_has_name_target_and_number(kind: Kind, device: DriverDevice) -> None:
    assert isinstance(device, AcceleratorDevice)
    assert device.target_name == kind.name.partition(":")[0]
    assert (device.device_name, device.device_id) == (f"{device.target_name}0", 0)
    assert type(device).detect_accelerator() is None
    assert device.options is not None


@ALL
def test_devices_get_the_lowest_free_number(kind: Kind) -> None:
    with kind.make() as first, kind.make() as second:
        name = first.target_name
        assert [first.device_name, second.device_name] == [f"{name}0", f"{name}1"]
        first.close()
        with kind.make() as third:
            assert third.device_name == f"{name}0"
            first.init_device()
            assert first.device_name == f"{name}2"
            first.close()


@ALL
def test_a_collected_device_is_closed_and_releases_its_number(kind: Kind) -> None:
    before = children()
    device = kind.make()
    device.init_device()
    name = device.device_name
    del device
    gc.collect()
    assert children() == before
    assert kind.make().device_name == name


@ALL
def test_opening_twice_keeps_memory_and_reopening_clears_it(
    device: DriverDevice,
) -> None:
    address = device.memory_allocate(8)
    device.init_device()
    assert device.memory_data_pointer(address) == address
    device.close()
    device.init_device()
    assert device.memory_info()[0] == 0
    with pytest.raises(DeviceMemoryError):
        device.memory_free(address)


def test_code_is_found_by_name_until_it_is_unloaded(kernels: Kernels) -> None:
    device = kernels.device
    for name in ("nothing", "x" * 600):
        with pytest.raises(LaunchError):
            device.get_module_function(kernels.module, name)
    with pytest.raises(LaunchError, match="is not a device function"):
        device.launch("empty")
    with kernels.kind.make() as other, pytest.raises(LaunchError, match="not loaded on"):
        other.launch(kernels.empty)
    for _ in range(3):
        module = device.load_module(kernels.kind.image())
        function = device.get_module_function(module, "empty")
        device.launch(function)
        device.unload_module(module)
        device.unload_module(module)
        with pytest.raises(LaunchError, match="not loaded on"):
            device.launch(function)
    device.launch(kernels.empty)


@ASYNCHRONOUS
def test_a_killed_simulator_raises_device_lost(device: DriverDevice) -> None:
    array = device.zeros(4, "int64")
    queue = device.queue()
    kill(simulator(device))
    for use in (
        lambda: device.memory_copy_to(array.address, np.zeros(4, np.int64).data),
        lambda: array.numpy(),
        lambda: device.memory_allocate(1),
        lambda: queue.wait(queue.fill_zero(array.address, 8)),
    ):
        with pytest.raises(DeviceLost, match=r"process [0-9]+ is gone"):
            use()
    name = device.device_name
    assert repr(device) == f"<{name}, gone>"
    device.init_device()
    assert (device.device_name, repr(device)) == (name, f"<{name}, open>")
    device.memory_free(device.memory_allocate(1))


@ASYNCHRONOUS
def test_a_simulator_killed_in_a_kernel_raises_device_lost(kernels: Kernels) -> None:
    device = kernels.device
    queue = device.queue()
    Gate(kernels).start(queue)
    simulator(device).send_signal(signal.SIGKILL)
    with pytest.raises(DeviceLost, match=r"command 0 of the queue, launch: .* is gone"):
        queue.wait()
    device.init_device()
    with pytest.raises(LaunchError):
        device.launch(kernels.empty)
    device.launch(Kernels(device, kernels.kind).empty)


@PROCESSES
def test_ctrl_c_does_not_reach_the_simulator(device: DriverDevice) -> None:
    assert os.getpgid(simulator(device).pid) != os.getpgid(0)


@PROCESSES
def test_a_child_process_cannot_use_or_end_its_parents_device(device: DriverDevice) -> None:
    array = device.array(np.arange(4))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            array.numpy()
        except DeviceLost as error:
            device.close()
            code = 0 if "opened by another process" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert array.numpy().tolist() == [0, 1, 2, 3]


def is_running(pid: int) -> bool:
    """Whether the process runs; a zombie that waits for its new parent does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


KILLED_HOST = """
import os, signal, sys
import psutil
from tests.unit.device_contract import DEVICES, Gate, Kernels
(kind,) = [kind for kind in DEVICES if kind.name == sys.argv[1]]
device = kind.make()
device.memory_allocate(1 << 20)
print(*(child.pid for child in psutil.Process().children()), flush=True)
if kind.is_asynchronous:
    Gate(kernels := Kernels(device, kind)).start(device.queue())
os.kill(os.getpid(), signal.SIGKILL)
"""


@ASYNCHRONOUS
def test_a_killed_host_leaves_no_process(kind: Kind) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # noqa: TID251
    host = subprocess.run(
        [sys.executable, "-c", KILLED_HOST, kind.name],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment,
        check=False,
    )
    assert host.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 30
    while is_running(int(host.stdout)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(int(host.stdout))


def resources() -> dict[str, int]:
    """Resources of this process that could leak; its shared memory has no name in any folder."""
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
            device.launch(kernels.fault, [])
    if way == "killed":
        kill(simulator(device))
    if way == "running":
        Gate(kernels).start(queue)
    if way == "error":
        with pytest.raises(DeviceError):
            device.memory_free(1)
    device.close()


@ASYNCHRONOUS
@pytest.mark.parametrize("way", ["closed", "forgotten", "fault", "killed", "running", "error"])
def test_a_device_leaks_nothing(kind: Kind, way: str) -> None:
    with (
        kind.opened() as kernels
    ):  # resources that the first device of a process keeps, such as its driver
        kernels.device.queue().callback(lambda: None)
    del kernels
    gc.collect()
    before = resources()
    for _ in range(3):
        leave_by(Kernels(kind.make(), kind), way)
        gc.collect()
    assert resources() == before


def test_use_of_a_device_leaks_nothing(kernels: Kernels) -> None:
    device = kernels.device
    device.queue().callback(lambda: None)
    process = simulator(device) if kernels.kind.has_process else psutil.Process()
    used, empty = device.memory_info()[0], kernels.empty

    def work() -> tuple[int, int]:
        module = device.load_module(kernels.kind.image())
        array = device.array(np.arange(100_000))
        queue = device.queue()
        queue.launch(empty, [])
        queue.wait()
        queue.close()
        device.unload_module(module)
        array.free()
        return process.num_fds(), len(process.memory_maps(False))

    descriptors, mappings = work()
    for _ in range(20):
        last = work()
    assert last[0] == descriptors
    assert last[1] < mappings + 10  # the process's allocator keeps some memory
    assert device.memory_info()[0] == used


@ALL
def test_devices_can_be_opened_many_times(kind: Kind, is_long: bool) -> None:
    with kind.make() as device:
        device.memory_allocate(1)
    before = resources()
    for _ in range(1000 if is_long else 30):
        with kind.make() as device:
            device.memory_allocate(1)
    assert resources() == before
