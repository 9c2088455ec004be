# SPDX-License-Identifier: Apache-2.0
"""Images of every target's device: lookup of functions and data, loading and unloading."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.device_contract import KINDS, Kernels, Kind, kernels, kind
from xtc.core.errors import ArtifactError, DeviceMemoryError, LaunchError

__all__ = ["kernels", "kind"]

LIBRARIES = [device_kind for device_kind in KINDS if device_kind.name != "nvgpu:stand-in"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


def read(kernels: Kernels) -> list[int]:
    """The image's data, read by its own code."""
    out = kernels.device.zeros(4, "int64")
    kernels.device.launch(kernels.read_table, [out])
    return [int(word) for word in out.numpy()]


def test_data_is_found_by_its_name(kernels: Kernels) -> None:
    device = kernels.device
    table = device.get_module_data(kernels.module, "table")
    assert table.nbytes == 32
    values = np.zeros(4, np.int64)
    device.memory_copy_from(values.data, table.address)
    assert values.tolist() == [1, 2, 3, 4]
    device.memory_copy_to(table.address + 8, np.array([-7, 8], np.int64).data)
    assert read(kernels) == [1, -7, 8, 4]


def test_a_queue_copies_data_in_order(kernels: Kernels) -> None:
    table = kernels.device.get_module_data(kernels.module, "table")
    queue, out = kernels.device.queue(), kernels.device.zeros(4, "int64")
    queue.copy_to(table.address, np.array([9, 8, 7, 6], np.int64).data)
    queue.launch(kernels.read_table, [out])
    queue.copy_to(table.address, np.zeros(4, np.int64).data)
    queue.wait()
    assert out.numpy().tolist() == [9, 8, 7, 6]
    assert read(kernels) == [0, 0, 0, 0]


def test_copies_stay_inside_data(kernels: Kernels) -> None:
    table = kernels.device.get_module_data(kernels.module, "table")
    for offset, nbytes in ((0, 33), (8, 25), (32, 8)):
        with pytest.raises(DeviceMemoryError, match=f"{nbytes} bytes at 0x"):
            kernels.device.memory_copy_to(table.address + offset, np.zeros(nbytes, np.uint8).data)


def test_functions_and_data_are_distinguished(kernels: Kernels) -> None:
    if kernels.kind.name == "nvgpu:stand-in":
        wrong = ["other"]  # whose driver looks names up by dlsym
    else:
        wrong = ["other", "step"]
        with pytest.raises(LaunchError, match="has no function 'table'"):
            kernels.device.get_module_function(kernels.module, "table")
    for name in wrong:
        with pytest.raises(LaunchError, match=f"data '{name}'"):
            kernels.device.get_module_data(kernels.module, name)


def test_modules_have_separate_data(kernels: Kernels) -> None:
    device = kernels.device
    other = Kernels(device, kernels.kind)
    tables = [device.get_module_data(library.module, "table") for library in (kernels, other)]
    device.memory_copy_to(tables[0].address, np.full(4, 5, np.int64).data)
    assert read(kernels) == [5, 5, 5, 5]
    if kernels.kind.name != "nvgpu:stand-in":  # which opens one file for both
        assert read(other) == [1, 2, 3, 4]


def test_unloaded_data_is_refused(kernels: Kernels) -> None:
    device = kernels.device
    table = device.get_module_data(kernels.module, "table")
    device.unload_module(kernels.module)
    with pytest.raises(LaunchError, match="the module is not loaded on"):
        device.get_module_data(kernels.module, "table")
    with pytest.raises(DeviceMemoryError, match="not inside an allocation"):
        device.memory_copy_to(table.address, np.zeros(1, np.int64).data)


@pytest.mark.parametrize("kind", LIBRARIES, indirect=True, ids=str)
def test_an_invalid_image_is_refused(kind: Kind) -> None:
    with kind.opened() as kernels:
        for code in (b"no code", b"\x7fELF" + bytes(100)):
            with pytest.raises(ArtifactError):
                kernels.device.load_module(code)
        kernels.device.launch(kernels.empty, [])
