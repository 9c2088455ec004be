# SPDX-License-Identifier: Apache-2.0
"""A search over kernels ends even if they crash, never end, or compute wrong results."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.device_checks import check_only_correct_candidates_are_ranked
from tests.unit.mppa_support import Kernels
from xtc.core.errors import DeviceFault, DeviceTimeout
from xtc_targets.mppa import MppaDevice, MppaOptions

pytestmark = pytest.mark.usefixtures("collected")
RNG = np.random.default_rng(7)
A = RNG.standard_normal((80, 64)).astype(np.float32)
B = RNG.standard_normal((64, 64)).astype(np.float32)
TIMEOUT_S = 0.1


@pytest.mark.slow
def test_wrong_and_failing_candidates_are_never_ranked(is_long: bool) -> None:
    with MppaDevice(MppaOptions(timeout_s=TIMEOUT_S)) as device:

        def matmul(left: np.ndarray) -> np.ndarray:
            a, b = device.array(left), device.array(B)
            c = device.empty((80, 64), "float32")
            device.launch(Kernels(device).matmul, [a, b, c])
            return c.numpy()

        def ends_badly(name: str) -> np.ndarray:
            array = device.zeros(8, "int64")
            device.launch(getattr(Kernels(device), name), [array, 0])
            return array.numpy()

        check_only_correct_candidates_are_ranked(
            device,
            {
                "right": lambda: matmul(A),
                "right, twice": lambda: [matmul(A) for _ in range(2)][1],
                "wrong": lambda: matmul(A + 1),
                "crashes": lambda: ends_badly("faults"),
                "never ends": lambda: ends_badly("endless"),
            },
            A @ B,
            {"crashes": DeviceFault, "never ends": DeviceTimeout},
            lambda: device.counters()["modelled.mppa.CYCLES"],
            500 if is_long else 40,
        )
