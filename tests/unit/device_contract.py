# SPDX-License-Identifier: Apache-2.0
"""Every target's device with the same kernels, for the contract tests."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tests.unit import nvgpu_stand_in
from xtc.interfaces.runtime import Event
from xtc.runtime import DriverDevice, DriverQueue
from xtc.runtime.device import DeviceFunction
from xtc.runtime.native import NativeUnit, compile_unit
from xtc_targets import mppa, nvgpu
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.null import NullDevice
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions
from xtc_targets.upmem import UpmemDevice
from xtc_targets.wse import WseDevice, WseOptions

MEBIBYTE = 1 << 20
SOURCE = Path(__file__).parent / "contract_kernels.c"
FLAGS = ("-fvisibility=default", "-Werror")


@functools.cache
def image(define: str = "", *include: Path) -> bytes:
    """The kernels, compiled for the device that `define` names."""
    flags = (*FLAGS, f"-D{define}") if define else FLAGS
    unit = NativeUnit("contract.so", "library", (SOURCE,), include, (), flags)
    with tempfile.TemporaryDirectory() as folder:
        return compile_unit(unit, Path(folder)).read_bytes()


class Kernels:
    """A device that has loaded the kernels; `kernels.step` is a device function."""

    def __init__(self, device: DriverDevice, kind: Kind) -> None:
        self.device = device
        self.kind = kind
        self.module = device.load_module(kind.image())

    def __getattr__(self, name: str) -> DeviceFunction:
        return self.device.get_module_function(self.module, name)


@dataclass(frozen=True)
class Kind:
    """A device to test, and what tells it from others.

    Attributes:
        name: of the test's parameter.
        make: a device, not opened yet, with 8 MiB of memory where that can be chosen.
        image: the kernels' code.
        impatient: a device that stops kernels after 0.2 seconds, where kernels can be stopped.
        has_grid: whether launches may give a grid.
        has_clusters: whether they may say how many blocks a cluster has.
        runs_blocks: whether each block of a grid is run, which the stand-in does not do.
        is_asynchronous: whether kernels run beside the host.
        has_process: whether the device is a separate process.
        shares_memory: whether its memory is that of the shared simulator, which fills new memory
            with NaN and reports accesses out of bounds.
        is_poisoned: whether fresh memory holds poison.
    """

    name: str
    make: Callable[[], DriverDevice]
    image: Callable[[], bytes]
    impatient: Callable[[], DriverDevice] | None = None
    has_grid: bool = False
    has_clusters: bool = False
    runs_blocks: bool = False
    is_asynchronous: bool = False
    has_process: bool = False
    shares_memory: bool = False
    is_poisoned: bool = True

    def __str__(self) -> str:
        return self.name

    @contextmanager
    def opened(self) -> Iterator[Kernels]:
        """A device with the kernels."""
        with self.make() as device:
            yield Kernels(device, self)


def _no_kernels() -> bytes:
    raise AssertionError("the kernels of the contract are not written for this device")


def _no_stand_in() -> DriverDevice:
    raise AssertionError("the fixture `kind` makes one, whose library is the test's own")


OWN = Path(str(mppa.__file__)).parent / "csrc", Path(str(nvgpu.__file__)).parent / "csrc"
KINDS = (
    Kind(
        "null",
        lambda: NullDevice(memory_bytes=8 * MEBIBYTE),
        image,
        has_grid=True,
        runs_blocks=True,
    ),
    Kind(
        "mppa:sim",
        lambda: MppaDevice(MppaOptions(ddr_bytes=8 * MEBIBYTE)),
        lambda: image("CONTRACT_MPPA", OWN[0]),
        impatient=lambda: MppaDevice(MppaOptions(timeout_s=0.2)),
        is_asynchronous=True,
        has_process=True,
        shares_memory=True,
    ),
    Kind(
        "nvgpu:sim",
        lambda: NvgpuDevice(NvgpuOptions(memory_bytes=8 * MEBIBYTE)),
        lambda: image("CONTRACT_NVGPU", OWN[1]),
        impatient=lambda: NvgpuDevice(NvgpuOptions(timeout_s=0.2)),
        has_grid=True,
        has_clusters=True,
        runs_blocks=True,
        is_asynchronous=True,
        has_process=True,
        shares_memory=True,
    ),
    Kind(
        "nvgpu:stand-in",
        _no_stand_in,
        lambda: image("CONTRACT_STAND_IN"),
        has_grid=True,
        has_clusters=True,
        is_poisoned=False,
    ),
)

"""Devices that run the kernels."""
DEVICES = (
    *KINDS,
    Kind("upmem", UpmemDevice, _no_kernels, has_process=True),
    Kind(
        "wse",
        lambda: WseDevice(WseOptions(memory_bytes=8 * MEBIBYTE)),
        _no_kernels,
        has_process=True,
        shares_memory=True,
    ),
)
"""Devices of all targets, for what needs no kernel."""


ASYNCHRONOUS = pytest.mark.parametrize(
    "kind",
    [device_kind for device_kind in KINDS if device_kind.is_asynchronous],
    indirect=True,
    ids=str,
)
"""For tests of what kernels do beside the host, and of those that are stopped."""


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """Each device in turn."""
    found: Kind = request.param
    if found.name == "nvgpu:stand-in":
        library = nvgpu_stand_in.stand_in(tmp_path, monkeypatch, image=found.image())
        config = NvgpuOptions(platform="hw", driver_library=library)
        return replace(found, make=lambda: NvgpuDevice(config))
    return found


@pytest.fixture
def kernels(kind: Kind) -> Iterator[Kernels]:
    """Each device in turn, with the kernels loaded."""
    with kind.opened() as opened:
        yield opened


class Gate:
    """A kernel that runs until it is released."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.word = kernels.device.zeros(1, "int32")

    def start(self, queue: DriverQueue) -> Event:
        return queue.launch(self.kernels.wait_for_word, [self.word])

    def open(self, queue: DriverQueue) -> None:
        """Release the kernel by a copy that overtakes it."""
        word = np.ones(1, np.int32)
        queue.wait(queue.copy_to(self.word.address, word.data, parallel=True))
