# SPDX-License-Identifier: Apache-2.0
"""A simulated machine defines its image format: here text, not a shared library."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from xtc.core.errors import ArtifactError, DeviceFault, LaunchError
from xtc.core.numbering import Numbering
from xtc.runtime import DriverDevice, NativeUnit, OpenDevice, built_driver
from xtc.runtime.simulator import simulator_units

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent / "counting_sim.c"
_numbers = Numbering()


class Config(ctypes.Structure):
    """`counting_config`."""

    _fields_ = (("nbytes", ctypes.c_uint64), ("executable", ctypes.c_char_p))


def units() -> tuple[NativeUnit, NativeUnit]:
    return simulator_units("counting", [SOURCE], [SOURCE], driver_flags=("-DDRIVER",))


class CountingDevice(DriverDevice):
    """The machine."""

    device_arch = "counting"

    def __init__(self) -> None:
        super().__init__("counting", _numbers)

    @classmethod
    def detect_accelerator(cls) -> str | None:
        return None

    def check_code(self, toolchain: Mapping[str, str]) -> None:
        pass

    def peak_flops(self, dtype: str) -> float:
        return 0

    def _connect(self, name: str) -> OpenDevice:
        program, library = units()
        folder, driver = built_driver(program, library)
        executable = os.fsencode(folder / program.name)
        return OpenDevice(driver, Config(ctypes.sizeof(Config), executable), name)


@pytest.fixture
def device() -> Iterator[CountingDevice]:
    with CountingDevice() as opened:
        yield opened


def test_the_machine_loads_its_own_format(device: CountingDevice) -> None:
    module = device.load_module(b"add 5")
    add = device.get_module_function(module, "add")
    total = device.array(np.array([37], np.int64))
    device.launch(add, [total])
    assert total.numpy().tolist() == [42]
    with pytest.raises(LaunchError, match="the module has no function 'subtract'"):
        device.get_module_function(module, "subtract")


def test_data_has_the_machines_addresses(device: CountingDevice) -> None:
    module = device.load_module(b"add 5")
    number = device.get_module_data(module, "number")
    assert (number.address, number.nbytes) == (16, 8)
    queue, total = device.queue(), device.zeros(1, "int64")
    queue.copy_to(number.address, np.array([-9], np.int64).data)
    queue.launch(device.get_module_function(module, "add"), [total])
    queue.wait()
    assert total.numpy().tolist() == [-9]


def test_images_that_the_machine_refuses_are_errors(device: CountingDevice) -> None:
    with pytest.raises(ArtifactError, match="'add' is not a name with a number"):
        device.load_module(b"add")
    module = device.load_module(b"add 1")
    device.unload_module(module)
    device.load_module(b"add 2")


def test_types_of_arguments_reach_the_machine(device: CountingDevice) -> None:
    add = device.get_module_function(device.load_module(b"add 5"), "add")
    with pytest.raises(DeviceFault, match="kernel 'add': it takes an address"):
        device.launch(add, [np.int32(3)])
