# SPDX-License-Identifier: Apache-2.0
"""The options of a null device: the number and the size of its memories."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.core.value_checks import whole
from xtc.interfaces.options import of_device, of_machine
from xtc_targets.null.description import MAX_MEMORIES, MAX_MEMORY_BYTES, NULL


@dataclass(frozen=True)
class NullOptions:
    """Options of a null device and of code for it.

    Attributes:
        memory_bytes: size of each memory of the device.
        memories: number of memories; elementwise kernels divide their rows among them.
    """

    memory_bytes: int = of_device(NULL.memory_bytes)
    memories: int = of_machine(1)

    def __post_init__(self) -> None:
        whole("memory_bytes", self.memory_bytes, 1, MAX_MEMORY_BYTES)
        whole("memories", self.memories, 1, MAX_MEMORIES)
