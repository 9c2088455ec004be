# SPDX-License-Identifier: Apache-2.0
"""What accelerators share at run time: the driver table, queues, device arrays, building their C.

A target brings a driver library (its own C, and that in `csrc/` here) and a device class on top of
`DriverDevice`. `csrc/xtc_driver.h` is the table through which Python and generated code reach it.
"""

from xtc.core.offload.array import BorrowedArray, DeviceArray
from xtc.core.offload.device import DeviceFunction, DeviceImage, DriverDevice
from xtc.core.offload.driver import Driver, OpenDevice, built_driver
from xtc.core.offload.native import CSRC, NativeUnit, build_native
from xtc.core.offload.program import DeviceProgram
from xtc.core.offload.queue import DriverEvent, DriverQueue

__all__ = [
    "CSRC",
    "BorrowedArray",
    "DeviceArray",
    "DeviceFunction",
    "DeviceImage",
    "DeviceProgram",
    "Driver",
    "DriverDevice",
    "DriverEvent",
    "DriverQueue",
    "NativeUnit",
    "OpenDevice",
    "build_native",
    "built_driver",
]
