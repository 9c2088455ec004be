# SPDX-License-Identifier: Apache-2.0
"""Properties of the machine for which kernels are compiled, by the names of CUDA's runtime."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.tile.config import device_for, support_of


@dataclass(frozen=True)
class DeviceProperties:
    """Of the device on which kernels run where no argument says it.

    Attributes:
        name: of the device.
        multiProcessorCount: multiprocessors, each of which runs several blocks.
        warpSize: threads of a warp.
        sharedMemPerBlockOptin: bytes of shared memory that a block may have.
        maxThreadsPerBlock: threads of a block, at most.
        l2CacheSize: bytes of the last cache before main memory.
    """

    name: str
    multiProcessorCount: int  # noqa: N815
    warpSize: int  # noqa: N815
    sharedMemPerBlockOptin: int  # noqa: N815
    maxThreadsPerBlock: int  # noqa: N815
    l2CacheSize: int  # noqa: N815


class runtime:  # noqa: N801
    """What a program asks CUDA's runtime."""

    @staticmethod
    def get_device_properties(device_id: int = 0) -> DeviceProperties:
        """Properties of the device in use; `device_id` is not looked at."""
        device = device_for(())
        support = support_of(device)[2]
        return DeviceProperties(
            name=device.device_name,
            multiProcessorCount=support.multiprocessors,
            warpSize=support.warp_threads,
            sharedMemPerBlockOptin=support.shared_bytes,
            maxThreadsPerBlock=support.warp_threads * support.max_warps,
            l2CacheSize=support.cache_bytes,
        )
