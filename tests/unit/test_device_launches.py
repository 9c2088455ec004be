# SPDX-License-Identifier: Apache-2.0
"""A launch carries its grid and typed arguments, on every target's device."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.device_contract import KINDS, Kernels, Kind, kernels, kind
from xtc.core.errors import DeviceError, LaunchError, UserError

__all__ = ["kernels", "kind"]

GPUS = [device_kind for device_kind in KINDS if device_kind.name.startswith("nvgpu")]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


def test_arguments_have_types(kernels: Kernels) -> None:
    out = kernels.device.zeros(4, "float64")
    given = [np.int32(-7), -(1 << 40), np.float32(0.1), 0.1]
    kernels.device.launch(kernels.typed, [out, *given])
    assert out.numpy().tolist() == [-7, -(1 << 40), float(np.float32(0.1)), 0.1]
    kernels.device.launch(
        kernels.typed, [out.address, np.uint32(9), np.int64(3), np.float32(2), 1.5]
    )
    assert out.numpy().tolist() == [9, 3, 2, 1.5]


def test_a_queue_launches_with_types(kernels: Kernels) -> None:
    out = kernels.device.zeros(4, "float64")
    queue = kernels.device.queue()
    queue.launch(kernels.typed, [out, np.int32(1), 2, np.float32(3), np.float64(4)])
    queue.wait()
    assert out.numpy().tolist() == [1, 2, 3, 4]


def test_invalid_arguments_are_refused(kernels: Kernels) -> None:
    for value in ("4", None, [1], np.float16(1), np.zeros(2)):
        with pytest.raises(UserError, match="is neither a number nor an array of the device"):
            kernels.device.launch(kernels.step, [value, 1])
    with pytest.raises(UserError, match="does not fit in 64 bits"):
        kernels.device.launch(kernels.step, [1 << 64, 1])


def test_a_launch_sets_the_grid(kernels: Kernels) -> None:
    out = kernels.device.zeros(8, "int32")
    if not kernels.kind.has_grid:
        with pytest.raises(LaunchError, match="this device does not support grids"):
            kernels.device.launch(kernels.blocks, [out], grid=[5])
        return
    kernels.device.launch(kernels.blocks, [out])
    assert out.numpy().tolist() == [1, *[0] * 7]
    for count in (5, 7):
        kernels.device.launch(kernels.blocks, [out], grid=[count])
        expected = range(1, count + 1) if kernels.kind.runs_blocks else [1]
        assert [word for word in out.numpy().tolist() if word] == list(expected)


def test_a_launch_sets_clusters(kernels: Kernels) -> None:
    out = kernels.device.zeros(8, "int32")
    if not kernels.kind.has_clusters:
        with pytest.raises(LaunchError, match="this device does not support clusters"):
            kernels.device.launch(kernels.blocks, [out], cluster=[1])
        return
    kernels.device.launch(kernels.blocks, [out], grid=[4], cluster=[2])
    expected = range(1, 5) if kernels.kind.runs_blocks else [1]
    assert [word for word in out.numpy().tolist() if word] == list(expected)
    with pytest.raises(UserError, match=r"\(2, 0\) is not a cluster"):
        kernels.device.launch(kernels.blocks, [out], cluster=[2, 0])


def test_an_invalid_grid_is_refused(kernels: Kernels) -> None:
    for grid in ([0], [1, 2, 3, 4], [-1], [1 << 32]):
        with pytest.raises(UserError, match="is not a grid"):
            kernels.device.launch(kernels.empty, [], grid=grid)


@pytest.mark.parametrize("kind", GPUS, indirect=True, ids=str)
def test_an_image_may_leave_the_grid_to_the_launch(kind: Kind) -> None:
    with kind.opened() as kernels:
        out = kernels.device.zeros(3, "int32")
        kernels.device.launch(kernels.needs_grid, [out], grid=[3])
        with pytest.raises(DeviceError, match=r"needs a grid|a grid of size 0 in x"):
            kernels.device.launch(kernels.needs_grid, [out])
