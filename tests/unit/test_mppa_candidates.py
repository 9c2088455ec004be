# SPDX-License-Identifier: Apache-2.0
"""A search over kernels ends whatever they do: they crash, never end, or compute something else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.mppa_support import Kernels
from xtc.core.errors import DeviceError, DeviceFault, DeviceTimeout
from xtc_targets.mppa import MppaConfig, MppaDevice

pytestmark = pytest.mark.usefixtures("collected")
RNG = np.random.default_rng(7)
A = RNG.standard_normal((80, 64)).astype(np.float32)
B = RNG.standard_normal((64, 64)).astype(np.float32)
TIMEOUT_S = 0.1


class Candidates:
    """Kernels that are to compute A B, on one device that some of them take down."""

    def __init__(self, device: MppaDevice) -> None:
        self._device = device
        self.kinds: dict[str, Callable[[Kernels], np.ndarray]] = {
            "right": lambda kernels: self._product(kernels, A),
            "right, twice": lambda kernels: [self._product(kernels, A) for _ in range(2)][1],
            "wrong": lambda kernels: self._product(kernels, A + 1),
            "crashes": lambda kernels: self._ends_badly(kernels, "faults", 0),
            "never ends": lambda kernels: self._ends_badly(kernels, "endless", 0),
        }

    def cycles_of(self, kind: str) -> float | str:
        """Modelled cycles of a candidate that is right; what happened to any other one."""
        self._device.init_device()
        kernels = Kernels(self._device)
        before = self._device.counters()["modelled.mppa.CYCLES"]
        try:
            result = self.kinds[kind](kernels)
        except DeviceError as error:
            return type(error).__name__
        if not np.allclose(result, A @ B, rtol=1e-4, atol=1e-4):
            return "wrong"
        return self._device.counters()["modelled.mppa.CYCLES"] - before

    def _product(self, kernels: Kernels, left: np.ndarray) -> np.ndarray:
        a, b = self._device.array(left), self._device.array(B)
        c = self._device.empty((80, 64), "float32")
        self._device.launch(kernels.matmul, [a, b, c])
        return c.numpy()

    def _ends_badly(self, kernels: Kernels, name: str, word: int) -> np.ndarray:
        array = self._device.zeros(8, "int64")
        self._device.launch(getattr(kernels, name), [array, word])
        return array.numpy()


def test_wrong_and_broken_candidates_are_never_ranked(is_long: bool) -> None:
    draw = np.random.default_rng(11)
    with MppaDevice(MppaConfig(timeout_s=TIMEOUT_S)) as device:
        candidates = Candidates(device)
        drawn = draw.choice(list(candidates.kinds), 500 if is_long else 40).tolist()
        found = [(candidates.cycles_of(kind), kind) for kind in drawn]
        device.init_device()
        assert device.memory_info()[0] == 0
    ranked = sorted(one for one in found if isinstance(one[0], float))
    assert [kind for _, kind in ranked] == sorted(k for k in drawn if k.startswith("right"))
    failed = Counter(one for one in found if isinstance(one[0], str))
    assert failed == {
        ("wrong", "wrong"): drawn.count("wrong"),
        (DeviceFault.__name__, "crashes"): drawn.count("crashes"),
        (DeviceTimeout.__name__, "never ends"): drawn.count("never ends"),
    }
