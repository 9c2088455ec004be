# SPDX-License-Identifier: Apache-2.0
"""The machine as frozen data, which passes, device and simulator of a target share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NullDescription:
    """The parameters of a machine that does not exist; a real one names its sources here.

    Attributes:
        memory_bytes: size of the device memory.
        local_bytes: size of the local memory for the tiles of a kernel's schedule.
        burst_bytes: most bytes that one command copies between the two memories.
    """

    memory_bytes: int
    local_bytes: int
    burst_bytes: int


NULL = NullDescription(memory_bytes=1 << 30, local_bytes=64 << 10, burst_bytes=2048)

MAX_MEMORY_BYTES = 1 << 40
MAX_MEMORIES = 64  # the most members of a set of devices
