# SPDX-License-Identifier: Apache-2.0
"""The shared runtime of accelerators: the driver table, queues, device arrays, native builds.

A target provides a driver library, from its C and that in `csrc/` here, and a subclass of
`DriverDevice`. Python and generated code call the driver through the table of `csrc/xtc_driver.h`.
"""

from xtc.runtime.board import Board, BoardModule, check_size, symbol_of
from xtc.runtime.device import DeviceFunction, DeviceImage, DriverDevice
from xtc.runtime.device_array import BorrowedArray, DeviceArray
from xtc.runtime.driver import Driver, OpenDevice, built_driver
from xtc.runtime.native import CSRC, NativeUnit, build_native
from xtc.runtime.program import DeviceProgram
from xtc.runtime.queue import DriverEvent, DriverQueue
from xtc.runtime.recording import Command

__all__ = [
    "CSRC",
    "Board",
    "BoardModule",
    "BorrowedArray",
    "Command",
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
    "check_size",
    "symbol_of",
]
