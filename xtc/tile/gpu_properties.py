# SPDX-License-Identifier: Apache-2.0
"""Properties of the machine that kernels are compiled for, by the names of CUDA's runtime."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.tile.config import device_for, support_of


@dataclass(frozen=True)
class DeviceProperties:
    """Properties of the default device.

    Attributes:
        name: name of the device.
        multiProcessorCount: number of multiprocessors.
        warpSize: threads per warp.
        sharedMemPerBlockOptin: most bytes of shared memory per block.
        maxThreadsPerBlock: most threads per block.
        l2CacheSize: bytes of the last-level cache.
    """

    name: str
    multiProcessorCount: int  # noqa: N815
    warpSize: int  # noqa: N815
    sharedMemPerBlockOptin: int  # noqa: N815
    maxThreadsPerBlock: int  # noqa: N815
    l2CacheSize: int  # noqa: N815


class runtime:  # noqa: N801
    """Queries of CUDA's runtime."""

    @staticmethod
    def get_device_properties(device_id: int = 0) -> DeviceProperties:
        """Properties of the device in use; `device_id` is ignored."""
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
