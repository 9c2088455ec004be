# SPDX-License-Identifier: Apache-2.0
"""Provides device memory for arguments that a call expects on a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.interfaces.artifact import Argument, Manifest
from xtc.interfaces.runtime import AcceleratorDevice
from xtc.runtime import DeviceArray, DriverDevice

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Allocation:
    argument: Argument
    device: AcceleratorDevice
    address: int

    @property
    def pointer(self) -> int:
        return self.device.memory_data_pointer(self.address)


@contextmanager
def argument_addresses(
    manifest: Manifest,
    devices: Mapping[str, AcceleratorDevice],
    arrays: Sequence[Array | DeviceArray],
) -> Iterator[list[int]]:
    """The addresses of the arguments: the arrays', or those of copies on the arguments' devices.

    Device arrays are used in place. Host arrays are copied: inputs at the start of the block,
    outputs back at its end, unless there was an error. All device memory is freed at the end.
    """
    with ExitStack() as frees:
        allocations = {
            position: _allocate(argument, devices[argument.device], frees)
            for position, argument in enumerate(manifest.arguments)
            if argument.device is not None and isinstance(arrays[position], np.ndarray)
        }
        for position, allocation in allocations.items():
            if allocation.argument.role == "input":
                allocation.device.memory_copy_to(allocation.address, _bytes(arrays[position]))
        yield [
            allocations[position].pointer if position in allocations else _address(array)
            for position, array in enumerate(arrays)
        ]
        for position, allocation in allocations.items():
            if allocation.argument.role == "output":
                allocation.device.memory_copy_from(_bytes(arrays[position]), allocation.address)


def _address(array: Array | DeviceArray) -> int:
    return array.address if isinstance(array, DeviceArray) else array.ctypes.data


def _allocate(argument: Argument, device: AcceleratorDevice, frees: ExitStack) -> _Allocation:
    if argument.shards and isinstance(device, DriverDevice):
        array = device.empty(argument.shape, argument.dtype, shards=argument.shards)
        frees.callback(array.free)
        return _Allocation(argument, device, array.address)
    address = device.memory_allocate(argument.nbytes)
    frees.callback(device.memory_free, address)
    return _Allocation(argument, device, address)


def _bytes(array: Array | DeviceArray) -> memoryview:
    """The bytes of a dense array of any element type."""
    return np.asarray(array).reshape(-1).view(np.uint8).data
