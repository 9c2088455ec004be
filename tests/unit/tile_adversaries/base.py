# SPDX-License-Identifier: Apache-2.0
"""The base class of adversarial kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtc import tile
from xtc.tile import float32, int32


class Adversary(tile.Script):
    """A kernel that is wrong, or with `right` its legal twin.

    Attributes:
        kind: of the RaceError that the wrong one raises; "deadlock" for a DeadlockError.
        sizes: elements of each array, float32 unless `types` says another type.
        on_simulator: whether the simulator finds the mistake.
    """

    kind = ""
    sizes: tuple[int, ...] = (128, 128)
    types: tuple[Any, ...] = ()
    on_simulator = False

    def __init__(self, right=False):
        super().__init__()
        self.right = right

    def vector(self, pointer, n=128):
        return self.global_view(pointer, dtype=float32, shape=[n])

    def ones(self, n=128):
        return self.register_tensor(dtype=float32, shape=[n], init=1.0)

    def shared(self, n=128):
        return self.shared_tensor(dtype=float32, shape=[n])

    def semaphore(self, n=1):
        return self.global_tensor(dtype=int32, shape=[n], requires_clean=False)

    @classmethod
    def arrays(cls) -> list[Any]:
        """Arguments for a call."""
        types = cls.types or (np.float32,) * len(cls.sizes)
        return [(np.arange(n) % 7).astype(t) for n, t in zip(cls.sizes, types, strict=True)]
